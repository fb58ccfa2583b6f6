#include "encore/runtime/plan/compiled_graph_text.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "encore/ir/support/hex.h"
#include "encore/ir/support/sha256.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/support/typed_id.h"
#include "encore/ir/types/dim.h"
#include "encore/ir/types/shape.h"
#include "encore/runtime/plan/compiled_graph_text_fields.h"
#include "encore/runtime/plan/compiled_graph_text_steps.h"
#include "encore/runtime/plan/step_kinds.h"

namespace encore::runtime::plan_text {
namespace {

// A name as it is, or quoted where the lexer would not take it for one.
std::string Name(std::string_view text) {
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  const bool plain = !text.empty() && is_letter(text[0]) &&
                     std::ranges::all_of(text, [&](char c) {
                       return is_letter(c) || (c >= '0' && c <= '9');
                     });
  return plain ? std::string(text) : Quote(text);
}

std::string Label(SlotId id) { return StrCat("%", id.value()); }
std::string Label(SymbolId id) { return StrCat("s", id.value()); }
template <typename Tag>
std::string Label(TypedId<Tag> id) {
  return StrCat(id.value());
}

// The archive that appends.
class Printer {
 public:
  static constexpr bool kReads = false;

  Printer(const CompiledGraph& graph, const OriginName& origin_name)
      : graph_(graph), origin_name_(origin_name) {}

  const std::string& text() const { return out_; }

  void Word(std::string_view word) {
    if (spaced_) out_ += ' ';
    out_ += word;
    spaced_ = true;
  }
  void Mark(std::string_view mark) {
    const bool opens = mark == "(" || mark == "[";
    const bool joins = mark == ":";
    if (spaced_ && !joins && mark != ")" && mark != "]" && mark != ",") {
      out_ += ' ';
    }
    out_ += mark;
    spaced_ = !opens && !joins;
  }
  void Line(std::string_view word) {
    EndLine();
    Word(word);
  }
  void EndLine() {
    if (!out_.empty()) out_ += '\n';
    spaced_ = false;
  }

  void Value(uint32_t number) { Word(StrCat(number)); }
  void Value(int64_t number) { Word(StrCat(number)); }
  void Value(const Dim& dim) { Word(dim.ToString()); }
  void Value(const std::string& name) { Word(Name(name)); }
  template <typename Tag>
  void Value(TypedId<Tag> id) {
    Word(id.valid() ? Label(id) : "none");
  }
  // Types of host objects are without dims; those that have some show them.
  void Value(const TensorType& type) {
    const bool odd = type.kind != ValueKind::kTensor && type.shape.rank() > 0;
    Word(StrCat(type, odd ? type.shape.ToString() : ""));
  }
  void SlotNumber(uint32_t number) { Value(SlotId(number)); }

  template <typename E, size_t kCount>
  void Enum(E value, const std::string_view (&names)[kCount]) {
    Word(names[static_cast<size_t>(value)]);
  }
  void Flag(std::string_view word, bool value) {
    if (value) Word(word);
  }
  template <typename T>
  void Field(std::string_view word, const T& value) {
    Word(word);
    Value(value);
  }
  template <typename T>
  void Optional(std::string_view word, const T& value, const T& none) {
    if (!(value == none)) Field(word, value);
  }
  template <typename T, typename F>
  void Assumed(std::string_view word, const T& value, const F&) {
    Field(word, value);
  }
  template <typename T>
  void List(std::string_view open, const std::vector<T>& list,
            std::string_view close) {
    Mark(open);
    for (size_t i = 0; i < list.size(); ++i) {
      if (i > 0) Mark(",");
      Item(*this, list[i]);
    }
    Mark(close);
  }
  template <typename T>
  void OptionalList(std::string_view word, const std::vector<T>& list) {
    if (list.empty()) return;
    Word(word);
    List("[", list, "]");
  }
  void OptionalBytes(std::string_view word, std::span<const std::byte> bytes) {
    if (!bytes.empty()) Hex(word, bytes);
  }
  void Contents(const Blob& blob) {
    if (blob.bytes.size() <= kMostHexBytes) return Hex("hex", blob.bytes);
    Word("sha256");
    Word(Quote(Sha256Of(blob.bytes).ToHex()));
    Field("bytes", static_cast<int64_t>(blob.bytes.size()));
  }

  template <typename Id, typename T>
  void Table(std::string_view word, const std::vector<T>& rows) {
    for (size_t i = 0; i < rows.size(); ++i) {
      const Id id(static_cast<uint32_t>(i));
      Line(word);
      Value(id);
      if constexpr (std::same_as<Id, PlanId>) plan_ = id;
      Fields(*this, rows[i]);
    }
  }
  void Block(const std::vector<Step>& steps) {
    Mark("{");
    if (plan_ == graph_.run) out_ += "  // run";
    if (plan_ == graph_.prepare) out_ += "  // prepare";
    for (size_t i = 0; i < steps.size(); ++i) {
      EndLine();
      StrAppend(&out_, "  ", i);
      spaced_ = true;
      OneStep(steps[i]);
    }
    Line("}");
  }
  void OneStep(const Step& step) {
    Fields(*this, step);
    std::string comment;
    const Launch* launch = LaunchOf(step);
    if (launch != nullptr && launch->binary.valid() &&
        launch->binary.value() < graph_.kernel_binaries.size()) {
      const KernelBinary& binary = graph_.kernel_binary(launch->binary);
      comment = StrCat(" ", Name(binary.backend), ":", Name(binary.entry));
    }
    for (const uint32_t origin : step.origins) {
      const std::string name = origin_name_ ? origin_name_(origin) : "";
      if (!name.empty()) StrAppend(&comment, " ", Quote(name));
    }
    if (!comment.empty()) StrAppend(&out_, "  //", comment);
  }
  template <typename Variant>
  void Op(const Variant& op) {
    std::visit(
        [this]<typename T>(const T& alternative) {
          Word(StepKeyword<T>::kWord);
          Fields(*this, alternative);
        },
        op);
  }

 private:
  void Hex(std::string_view word, std::span<const std::byte> bytes) {
    Word(word);
    std::string digits;
    AppendHex(&digits, bytes);
    Word(Quote(digits));
  }

  const CompiledGraph& graph_;
  const OriginName& origin_name_;
  std::string out_;
  bool spaced_ = false;  // whether a space goes before the next word
  PlanId plan_;
};

}  // namespace
}  // namespace encore::runtime::plan_text

namespace encore::runtime {

std::string StepText(const CompiledGraph& graph, const Step& step,
                     const OriginName& origin_name) {
  plan_text::Printer printer(graph, origin_name);
  printer.OneStep(step);
  return printer.text();
}

std::string CompiledGraphText(const CompiledGraph& graph,
                              const OriginName& origin_name) {
  plan_text::Printer printer(graph, origin_name);
  printer.Field("compiled_graph", plan_text::kTextVersion);
  plan_text::Fields(printer, graph);
  return StrCat(printer.text(), "\n");
}

}  // namespace encore::runtime
