#include "encore/runtime/plan/compiled_graph_text_parser.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <variant>

#include "encore/ir/support/hex.h"
#include "encore/ir/support/lexer.h"
#include "encore/ir/support/parse_number.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/support/typed_id.h"
#include "encore/ir/types/dim.h"
#include "encore/ir/types/shape.h"
#include "encore/ir/types/type_text.h"
#include "encore/runtime/plan/compiled_graph_text_fields.h"
#include "encore/runtime/plan/compiled_graph_text_steps.h"

namespace encore::runtime::plan_text {
namespace {

using text::Lexer;
using text::Token;
using text::TokenKind;

bool IsNumber(std::string_view text) {
  return !text.empty() && text[0] >= '0' && text[0] <= '9';
}

// The names of the rows of one table; views into the text. An ordered map, for
// which no text is a worst case.
using Names = std::map<std::string_view, uint32_t>;

struct Scope {
  Names devices, pools, symbols, blobs, slots, binaries, plans;

  Names& Of(DeviceId) { return devices; }
  Names& Of(PoolId) { return pools; }
  Names& Of(SymbolId) { return symbols; }
  Names& Of(BlobId) { return blobs; }
  Names& Of(SlotId) { return slots; }
  Names& Of(KernelBinaryId) { return binaries; }
  Names& Of(PlanId) { return plans; }
};

std::string_view KindName(DeviceId) { return "device"; }
std::string_view KindName(PoolId) { return "pool"; }
std::string_view KindName(SymbolId) { return "symbol"; }
std::string_view KindName(BlobId) { return "blob"; }
std::string_view KindName(SlotId) { return "slot"; }
std::string_view KindName(KernelBinaryId) { return "kernel_binary"; }
std::string_view KindName(PlanId) { return "plan"; }

// What a pass over the text does.
enum class Pass : uint8_t {
  kDeclare,  // gathers names: rows may name later ones
  kResolve,
};

// How blobs that are not in the text are found.
struct Blobs {
  const BlobSource* source;  // null: their sizes are all there is
  std::vector<int64_t> sizes;
};

// The archive that reads. After the first error it takes nothing more.
class Parser {
 public:
  static constexpr bool kReads = true;

  Parser(std::string_view text, Pass pass, Scope* scope, Blobs* blobs)
      : lexer_(text), pass_(pass), scope_(*scope), blobs_(*blobs) {}

  Status Parse(CompiledGraph* graph) {
    graph->pools.clear();
    Word("compiled_graph");
    const size_t offset = lexer_.peek().offset;
    uint32_t version = 0;
    Value(version);
    if (version != kTextVersion) {
      Fail(lexer_.ErrorAt(
          offset, StrCat("text version ", version,
                         ", this program reads version ", kTextVersion)));
    }
    Fields(*this, *graph);
    if (ok() && lexer_.peek().kind != TokenKind::kEnd) {
      Fail(lexer_.Expected("nothing after end"));
    }
    return status_;
  }

  void Word(std::string_view word) {
    if (!ok() || lexer_.AcceptName(word)) return;
    Fail(lexer_.Expected(StrCat("'", word, "'")));
  }
  void Mark(std::string_view mark) {
    if (ok()) Fail(lexer_.Expect(mark));
  }
  // The rows of the tables before it may go on.
  void Line(std::string_view word) {
    if (!ok()) return;
    if (!AcceptLine(word)) {
      return Fail(lexer_.Expected(
          row_.empty() ? StrCat("'", word, "'")
                       : StrCat("'", row_, "', a row of a later table or '",
                                word, "'")));
    }
    row_ = {};
  }

  void Value(uint32_t& number) {
    if (ok()) number = Number("a number", UINT32_MAX);
  }
  void Value(int64_t& number) {
    if (ok()) Take(lexer_.ExpectInteger("an integer"), &number);
  }
  void Value(Dim& dim) {
    if (ok()) Take(text::ParseDim(lexer_, symbols_), &dim);
  }
  void Value(std::string& name) {
    if (!ok()) return;
    if (lexer_.peek().kind == TokenKind::kName) {
      name = std::string(lexer_.Next().text);
    } else {
      Take(lexer_.ExpectString("a name or a string"), &name);
    }
  }
  void Value(TensorType& type) {
    if (!ok()) return;
    const size_t offset = lexer_.peek().offset;
    Take(text::ParseType(lexer_, symbols_), &type);
    if (ok() && type.kind != ValueKind::kTensor && lexer_.Is("[")) {
      Take(text::ParseDims(lexer_, symbols_), &type.shape.mutable_dims());
    }
    if (ok() && type.shape.rank() > kMaxRank) {
      Fail(lexer_.ErrorAt(offset,
                          StrCat("a type of more than ", kMaxRank, " dims")));
    }
  }
  template <typename Tag>
  void Value(TypedId<Tag>& id) {
    if (!ok()) return;
    if (lexer_.AcceptName("none")) {
      id = TypedId<Tag>();
    } else if (Token token; TakeLabel(id, &token)) {
      id = TypedId<Tag>(NumberOf(id, token));
    }
  }
  void SlotNumber(uint32_t& number) {
    SlotId id;
    Value(id);
    number = id.value();
  }

  template <typename E, size_t kCount>
  void Enum(E& value, const std::string_view (&names)[kCount]) {
    if (!ok()) return;
    for (size_t i = 0; i < kCount; ++i) {
      if (!lexer_.AcceptName(names[i])) continue;
      value = static_cast<E>(i);
      return;
    }
    Fail(lexer_.Expected(StrJoin(names, " or ")));
  }
  void Flag(std::string_view word, bool& value) { value = Accept(word); }
  template <typename T>
  void Field(std::string_view word, T& value) {
    Word(word);
    Value(value);
  }
  template <typename T>
  void Optional(std::string_view word, T& value, const T& none) {
    if (Accept(word)) {
      Value(value);
    } else {
      value = none;
    }
  }
  template <typename F>
  void Assumed(std::string_view word, Dim& value, const F& assume) {
    if (Accept(word)) return Value(value);
    if (!ok()) return;
    value = assume();
    if (!value.valid()) Fail(lexer_.Expected(StrCat("'", word, "'")));
  }
  template <typename T>
  void List(std::string_view open, std::vector<T>& list,
            std::string_view close) {
    Mark(open);
    list.clear();
    if (!ok() || lexer_.Accept(close)) return;
    do {
      Item(*this, list.emplace_back());
    } while (ok() && lexer_.Accept(","));
    if (ok() && !lexer_.Accept(close)) {
      Fail(lexer_.Expected(StrCat("',' or '", close, "'")));
    }
  }
  template <typename T>
  void OptionalList(std::string_view word, std::vector<T>& list) {
    if (Accept(word)) List("[", list, "]");
  }
  void OptionalBytes(std::string_view word, std::vector<std::byte>& bytes) {
    if (Accept(word)) Hex(&bytes);
  }
  void Contents(Blob& blob) {
    if (!ok()) return;
    if (lexer_.AcceptName("hex")) {
      std::vector<std::byte> bytes;
      Hex(&bytes);
      blob = Blob::Copy(bytes);
      blobs_.sizes.push_back(static_cast<int64_t>(bytes.size()));
    } else if (lexer_.AcceptName("sha256")) {
      Find(blob);
    } else {
      Fail(lexer_.Expected("'hex' or 'sha256'"));
    }
  }

  template <typename Id, typename T>
  void Table(std::string_view word, std::vector<T>& rows) {
    while (AcceptLine(word)) {
      Declare(Id(static_cast<uint32_t>(rows.size())));
      row_ = word;
      Fields(*this, rows.emplace_back());
    }
  }
  void Block(std::vector<Step>& steps) {
    Mark("{");
    while (ok() && !lexer_.Accept("}")) {
      const Token& token = lexer_.peek();
      if (token.kind != TokenKind::kEnd && !token.begins_line) {
        return Fail(lexer_.Expected("the step on a line of its own"));
      }
      if (token.kind == TokenKind::kNumber) {
        ExpectPosition("step", steps.size());
      }
      if (ok()) Fields(*this, steps.emplace_back());
    }
  }
  template <typename... Ops>
  void Op(std::variant<Ops...>& op) {
    if (!ok()) return;
    const bool known = (TryOp<Ops>(op) || ...);
    if (known) return;
    const std::string_view words[] = {StepKeyword<Ops>::kWord...};
    Fail(lexer_.Expected(StrCat("a step (", StrJoin(words, ", "), ") or '}'")));
  }

 private:
  bool ok() const { return status_.ok(); }
  void Fail(Status status) {
    if (ok()) status_ = std::move(status);
  }
  template <typename T, typename U>
  void Take(StatusOr<T> from, U* to) {
    if (from.ok()) {
      *to = *std::move(from);
    } else {
      Fail(from.status());
    }
  }
  // What may be missing stands on the line of what it belongs to: the next line
  // may begin with the same word.
  bool Accept(std::string_view word) {
    return ok() && !lexer_.peek().begins_line && lexer_.AcceptName(word);
  }
  bool AcceptLine(std::string_view word) {
    return ok() && lexer_.peek().begins_line && lexer_.AcceptName(word);
  }

  uint32_t Number(std::string_view what, uint32_t most) {
    const Token& token = lexer_.peek();
    const auto value = token.kind == TokenKind::kNumber
                           ? ParseNumber<uint32_t>(token.text)
                           : std::nullopt;
    if (!value || *value > most) {
      Fail(lexer_.Expected(StrCat(what, " from 0 to ", most)));
      return 0;
    }
    lexer_.Next();
    return *value;
  }
  // A number that is there must be that.
  void ExpectPosition(std::string_view what, size_t position) {
    const auto value = ParseNumber<uint32_t>(lexer_.peek().text);
    if (!value || *value != position) {
      return Fail(lexer_.Expected(StrCat(what, " ", position)));
    }
    lexer_.Next();
  }

  // "%x", "%3"; of all but slots "x", "3". Of symbols names only.
  template <typename Id>
  bool TakeLabel(Id id, Token* token) {
    constexpr bool kIsSlot = std::same_as<Id, SlotId>;
    constexpr bool kIsSymbol = std::same_as<Id, SymbolId>;
    const Token& next = lexer_.peek();
    const bool fits =
        kIsSlot ? next.kind == TokenKind::kValue && next.text[0] != '"'
                : next.kind == TokenKind::kName ||
                      (!kIsSymbol && next.kind == TokenKind::kNumber);
    if (!fits) {
      Fail(lexer_.Expected(StrCat("a ", KindName(id),
                                  kIsSlot     ? ": %number or %name"
                                  : kIsSymbol ? ": a name"
                                              : ": a number or a name")));
      return false;
    }
    *token = lexer_.Next();
    return true;
  }
  // The digits of a label that is a number: those of s12 for symbols.
  template <typename Id>
  static std::string_view Digits(Id, std::string_view label) {
    if constexpr (std::same_as<Id, SymbolId>) {
      const bool numbered = label[0] == 's' && label.size() > 1 &&
                            std::ranges::all_of(label.substr(1), [](char c) {
                              return c >= '0' && c <= '9';
                            });
      return numbered ? label.substr(1) : std::string_view();
    }
    return IsNumber(label) ? label : std::string_view();
  }

  // The label of the row `id`.
  template <typename Id>
  void Declare(Id id) {
    Token token;
    if (!ok() || !TakeLabel(id, &token)) return;
    if (const std::string_view digits = Digits(id, token.text);
        !digits.empty()) {
      if (ParseNumber<uint32_t>(digits) == id.value()) return;
      return Fail(lexer_.ErrorAt(
          token.offset, StrCat("expected ", KindName(id), " ", id.value(),
                               " or a name, found ", Quote(token.text))));
    }
    if (token.text == "none") {
      return Fail(lexer_.ErrorAt(token.offset,
                                 "\"none\" is reserved and cannot be a name"));
    }
    if (pass_ == Pass::kResolve) return;
    if (!scope_.Of(id).emplace(token.text, id.value()).second) {
      Fail(lexer_.ErrorAt(token.offset, StrCat("a second ", KindName(id), " ",
                                               Quote(token.text))));
    }
  }
  // The number of the row that a label names. In the first pass the row may
  // still come.
  template <typename Id>
  uint32_t NumberOf(Id id, const Token& token) {
    if (const std::string_view digits = Digits(id, token.text);
        !digits.empty()) {
      const auto number = ParseNumber<uint32_t>(digits);
      if (number && *number < UINT32_MAX) return *number;
      Fail(lexer_.ErrorAt(token.offset,
                          StrCat("expected a number from 0 to ", UINT32_MAX - 1,
                                 ", found ", Quote(token.text))));
      return 0;
    }
    const Names& names = scope_.Of(id);
    if (const auto it = names.find(token.text); it != names.end()) {
      return it->second;
    }
    if (pass_ == Pass::kResolve) {
      Fail(lexer_.ErrorAt(token.offset,
                          StrCat("no ", KindName(id), " ", Quote(token.text))));
    }
    return 0;
  }
  StatusOr<uint32_t> SymbolNumber(std::string_view name) {
    const std::string_view digits = Digits(SymbolId(), name);
    if (!digits.empty()) {
      const auto number = ParseNumber<uint32_t>(digits);
      if (number && *number < UINT32_MAX) return *number;
    } else if (const auto it = scope_.symbols.find(name);
               it != scope_.symbols.end()) {
      return it->second;
    } else if (pass_ == Pass::kDeclare) {
      return 0;
    }
    return NotFoundError(StrCat("no symbol ", Quote(name)));
  }

  // "00ff".
  void Hex(std::vector<std::byte>* bytes) {
    const Token token = lexer_.peek();
    if (token.kind != TokenKind::kString || token.text.size() % 2 != 0) {
      return Fail(lexer_.Expected("bytes in hexadecimal, in quotes"));
    }
    const std::string_view digits = token.text.substr(1, token.text.size() - 2);
    bytes->resize(digits.size() / 2);
    const size_t read = ReadHex(digits, *bytes);
    if (read != digits.size()) {
      return Fail(
          lexer_.ErrorAt(token.offset + 1 + read, "not a hexadecimal byte"));
    }
    lexer_.Next();
  }
  // "<digest>" bytes N: the blob of the source.
  void Find(Blob& blob) {
    const Token token = lexer_.peek();
    const auto digest =
        token.kind == TokenKind::kString
            ? Digest::FromHex(token.text.substr(1, token.text.size() - 2))
            : std::nullopt;
    if (!digest) {
      return Fail(lexer_.Expected("64 hexadecimal digits, in quotes"));
    }
    lexer_.Next();
    Word("bytes");
    const size_t offset = lexer_.peek().offset;
    int64_t size = 0;
    Value(size);
    if (ok() && size < 0) {
      Fail(lexer_.ErrorAt(offset, StrCat("a size of ", size, " bytes")));
    }
    blobs_.sizes.push_back(size);
    if (!ok() || pass_ == Pass::kDeclare || blobs_.source == nullptr) return;
    std::optional<Blob> found;
    if (*blobs_.source) found = (*blobs_.source)(*digest);
    const std::string name =
        StrCat("blob ", blobs_.sizes.size() - 1, " (sha256 ", digest->ToHex(),
               ", ", size, " bytes)");
    if (!found) {
      const Status missing =
          lexer_.ErrorAt(token.offset, StrCat(name, " is not there"));
      return Fail(NotFoundError(Message(missing)));
    }
    if (found->bytes.size() != static_cast<uint64_t>(size)) {
      return Fail(lexer_.ErrorAt(
          offset, StrCat(name, " has ", found->bytes.size(), " bytes")));
    }
    blob = *std::move(found);
  }

  template <typename T, typename Variant>
  bool TryOp(Variant& op) {
    if (!lexer_.AcceptName(StepKeyword<T>::kWord)) return false;
    Fields(*this, op.template emplace<T>());
    return true;
  }

  Lexer lexer_;
  const Pass pass_;
  Scope& scope_;
  Blobs& blobs_;
  Status status_;
  std::string_view row_ = "device";  // the table at hand; none: a line
  const text::SymbolLookup symbols_ = [this](std::string_view name) {
    return SymbolNumber(name);
  };
};

StatusOr<CompiledGraph> ParseText(std::string_view text, Blobs* blobs) {
  Scope scope;
  CompiledGraph graph;
  for (const Pass pass : {Pass::kDeclare, Pass::kResolve}) {
    graph = CompiledGraph();
    blobs->sizes.clear();
    const Status status = Parser(text, pass, &scope, blobs).Parse(&graph);
    if (!status.ok()) return status;
  }
  return graph;
}

}  // namespace
}  // namespace encore::runtime::plan_text

namespace encore::runtime {

StatusOr<CompiledGraph> ParseCompiledGraphText(std::string_view text,
                                               const BlobSource& blobs) {
  plan_text::Blobs found{&blobs, {}};
  return plan_text::ParseText(text, &found);
}

StatusOr<PlanWithoutBlobs> ParsePlanWithoutBlobs(std::string_view text) {
  plan_text::Blobs found{nullptr, {}};
  StatusOr<CompiledGraph> graph = plan_text::ParseText(text, &found);
  if (!graph.ok()) return graph.status();
  return PlanWithoutBlobs{*std::move(graph), std::move(found.sizes)};
}

}  // namespace encore::runtime
