#include "encore/ir/graph/stencil.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <map>
#include <set>
#include <system_error>
#include <utility>

#include "encore/ir/graph/stencil_format.h"
#include "encore/ir/graph/symbol_definitions.h"
#include "encore/ir/support/bytes.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/types/dim_codec.h"
#include "encore/ir/types/dim_symbols.h"

namespace encore {
namespace {

using stencil::FieldTag;
using stencil::LiteralForm;

constexpr uint32_t kNoNumber = UINT32_MAX;

bool IsArgument(Op op) { return op == Op::kInput || op == Op::kParameter; }

std::vector<NodeId> OwnOrder(const Graph& graph) {
  std::vector<NodeId> order;
  for (const NodeId node : Nodes(graph)) {
    if (!IsArgument(graph.op(node))) order.push_back(node);
  }
  return order;
}

// The nodes that the outputs need, arguments apart, operands first: a node
// comes after its operands, those in their order, and what defines its symbols.
std::vector<NodeId> PostOrder(const Graph& graph) {
  const SymbolDefinitions finders(graph);
  std::vector<bool> seen(graph.node_count());
  std::vector<NodeId> order;
  struct Visit {
    NodeId node;
    std::vector<NodeId> finders;  // of sizes that it uses; after the operands
    size_t next = 0;
  };
  std::vector<Visit> stack;
  const auto enter = [&](NodeId node) {
    if (seen[node.value()] || IsArgument(graph.op(node))) return;
    seen[node.value()] = true;
    stack.push_back({node, finders.NeededBy(node)});
  };
  for (const Graph::Output& output : graph.outputs()) {
    enter(graph.producer(output.value));
    while (!stack.empty()) {
      Visit& top = stack.back();
      const auto operands = graph.operands(top.node);
      const size_t next = top.next++;
      if (next < operands.size()) {
        enter(graph.producer(operands[next]));
      } else if (next < operands.size() + top.finders.size()) {
        enter(top.finders[next - operands.size()]);
      } else {
        order.push_back(top.node);
        stack.pop_back();
      }
    }
  }
  return order;
}

class Writer {
 public:
  Writer(const Graph& graph, Stencil* stencil, const KnownDigests& known,
         StencilOrder order)
      : graph_(graph), stencil_(stencil), known_(known), order_(order) {}

  void Write() {
    if (order_ == StencilOrder::kAsIs) {
      for (uint32_t i = 0; i < graph_.symbols().size(); ++i) FindSymbol(i);
    }
    Plan(graph_);
    replacements_.resize(graph_.symbols().size());
    for (size_t i = 0; i < symbols_.size(); ++i) {
      replacements_[symbols_[i]] = Dim::OfSymbol(static_cast<uint32_t>(i));
    }
    out_.Raw(stencil::MagicOf(order_ == StencilOrder::kAsIs));
    out_.Varint(symbols_.size());
    for (const uint32_t number : symbols_) {
      const Symbol& symbol = graph_.symbols()[number];
      out_.Signed(symbol.lower);
      out_.Signed(symbol.upper);
      out_.Byte(symbol.at_run_time);
    }
    WriteGraph(graph_);
    stencil_->bytes = out_.Take();
  }

 private:
  // Orders the nodes, numbers them, and finds the symbols in the order of their
  // first use. Bodies nest at most kMaxBodyDepth deep.
  void Plan(const Graph& graph) {
    std::vector<uint32_t>& numbers = stencil_->numbers[&graph];
    numbers.assign(graph.node_count(), kNoNumber);
    const auto number = [&](NodeId node) {
      stencil_->numbers[&graph][node.value()] =
          static_cast<uint32_t>(stencil_->places.size());
      stencil_->places.push_back({&graph, node});
    };
    for (const Graph::Argument& argument : graph.arguments()) {
      number(graph.producer(argument.value));
      for (const Dim& dim : graph.shape(argument.value).dims())
        FindSymbols(dim);
    }
    std::vector<NodeId> order =
        order_ == StencilOrder::kAsIs ? OwnOrder(graph) : PostOrder(graph);
    for (const NodeId node : order) {
      VisitFields(graph.attributes(node), [&](std::string_view,
                                              const auto& field, const auto&) {
        if constexpr (std::is_same_v<std::decay_t<decltype(field)>, Dims>) {
          for (const Dim& dim : field) FindSymbols(dim);
        }
      });
      for (const Graph& body : graph.bodies(node)) Plan(body);
      number(node);
    }
    orders_[&graph] = std::move(order);
  }

  void FindSymbols(const Dim& dim) {
    ForEachSymbol(dim, [this](uint32_t symbol) { FindSymbol(symbol); });
  }
  void FindSymbol(uint32_t symbol) {
    if (seen_symbols_.insert(symbol).second) symbols_.push_back(symbol);
  }

  void WriteGraph(const Graph& graph) {
    std::vector<uint32_t> values(graph.value_count());
    uint32_t next_value = 0;
    out_.Varint(graph.arguments().size());
    for (const Graph::Argument& argument : graph.arguments()) {
      out_.Byte(argument.is_parameter);
      WriteType(graph.type(argument.value));
      values[argument.value.value()] = next_value++;
    }
    const std::vector<NodeId>& order = orders_.at(&graph);
    out_.Varint(order.size());
    for (const NodeId node : order) {
      WriteNode(graph, node, values);
      for (int i = 0; i < graph.result_count(node); ++i) {
        values[graph.result(node, i).value()] = next_value++;
      }
    }
    out_.Varint(graph.outputs().size());
    for (const Graph::Output& output : graph.outputs()) {
      out_.Varint(values[output.value.value()]);
    }
  }

  void WriteNode(const Graph& graph, NodeId node,
                 const std::vector<uint32_t>& values) {
    WriteText(Mnemonic(graph.op(node)));
    out_.Varint(graph.operands(node).size());
    for (const ValueId operand : graph.operands(node)) {
      out_.Varint(values[operand.value()]);
    }
    size_t count = 0;
    VisitFields(graph.attributes(node),
                [&](std::string_view, const auto& field, const auto& fallback) {
                  count += !SameBits(field, fallback);
                });
    out_.Varint(count);
    VisitFields(
        graph.attributes(node),
        [&](std::string_view name, const auto& field, const auto& fallback) {
          if (SameBits(field, fallback)) return;
          WriteText(name);
          out_.Byte(static_cast<uint8_t>(
              stencil::TagOf<std::decay_t<decltype(field)>>()));
          WriteField(field);
        });
    out_.Varint(graph.bodies(node).size());
    for (const Graph& body : graph.bodies(node)) WriteGraph(body);
    if (graph.op(node) == Op::kCustom) {
      const CustomAttrs& custom = graph.attrs<CustomAttrs>(node);
      if (custom.digest.empty()) {
        stencil_->unkeyable =
            StrCat("custom op ", Quote(custom.name), " has no digest");
      }
    }
  }

  // A text of the table: its number, or one past the last and the text itself.
  void WriteText(std::string_view text) {
    const auto [entry, fresh] = texts_.emplace(text, texts_.size());
    out_.Varint(entry->second);
    if (fresh) out_.String(text);
  }

  void WriteType(const TensorType& type) {
    out_.Byte(static_cast<uint8_t>(type.kind));
    out_.Byte(static_cast<uint8_t>(type.dtype));
    WriteField(type.shape.dims());
  }

  void WriteField(bool value) { out_.Byte(value); }
  void WriteField(int64_t value) { out_.Signed(value); }
  void WriteField(double value) {
    out_.Fixed64(std::bit_cast<uint64_t>(value));
  }
  void WriteField(const std::string& value) { out_.String(value); }
  void WriteField(const Ints& value) {
    out_.Varint(value.size());
    for (const int64_t item : value) out_.Signed(item);
  }
  void WriteField(const Dims& value) {
    out_.Varint(value.size());
    for (const Dim& dim : value) {
      WriteDim(dim.is_constant() ? dim : dim.Substitute(replacements_), &out_);
    }
  }
  void WriteField(const AxisPairs& value) {
    WriteField(value.lhs);
    WriteField(value.rhs);
  }
  template <typename Enum>
    requires std::is_enum_v<Enum>
  void WriteField(Enum value) {
    out_.Byte(static_cast<uint8_t>(value));
  }
  void WriteField(const Literal& value) {
    out_.Byte(static_cast<uint8_t>(value.dtype()));
    WriteField(value.dims());
    if (IsString(value.dtype())) {
      out_.Byte(static_cast<uint8_t>(LiteralForm::kStrings));
      for (const std::string& text : value.strings()) out_.String(text);
    } else if (static_cast<int64_t>(value.bytes().size()) <=
               kMaxInlineConstant) {
      out_.Byte(static_cast<uint8_t>(LiteralForm::kBytes));
      out_.Raw(value.Canonical().bytes());
    } else {
      const auto known =
          known_.find({value.bytes().data(), value.dtype(), value.dims()});
      const Digest digest =
          known == known_.end() ? LiteralDigest(value) : known->second;
      out_.Byte(static_cast<uint8_t>(LiteralForm::kDigest));
      out_.Raw(digest.view());
      if (digests_.insert(digest).second)
        stencil_->constants.push_back(value.Canonical());
    }
  }

  const Graph& graph_;
  Stencil* stencil_;
  const KnownDigests& known_;
  const StencilOrder order_;
  ByteWriter out_;
  std::unordered_map<const Graph*, std::vector<NodeId>> orders_;
  // Numbers of the symbols that are used, in the order of their first use.
  std::vector<uint32_t> symbols_;
  std::set<uint32_t> seen_symbols_;
  std::vector<Dim> replacements_;
  std::map<std::string, size_t, std::less<>> texts_;
  std::set<Digest> digests_;
};

}  // namespace

std::optional<uint32_t> Stencil::NumberOf(const Graph& graph,
                                          NodeId node) const {
  const auto found = numbers.find(&graph);
  if (found == numbers.end()) return std::nullopt;
  const uint32_t number = found->second[node.value()];
  if (number == kNoNumber) return std::nullopt;
  return number;
}

Stencil MakeStencil(const Graph& graph, StencilOrder order) {
  Stencil stencil;
  Writer(graph, &stencil, {}, order).Write();
  return stencil;
}

std::string StencilBytes(const Graph& graph, const KnownDigests& known,
                         StencilOrder order) {
  Stencil stencil;
  Writer(graph, &stencil, known, order).Write();
  return std::move(stencil.bytes);
}

Digest LiteralDigest(const Literal& literal) {
  ByteWriter head;
  head.Byte(static_cast<uint8_t>(literal.dtype()));
  head.Varint(literal.dims().size());
  for (const int64_t dim : literal.dims()) head.Signed(dim);
  if (IsString(literal.dtype())) {
    for (const std::string& text : literal.strings()) head.String(text);
  }
  Sha256 hash;
  hash.Update(head.str());
  if (!IsString(literal.dtype())) hash.Update(literal.Canonical().bytes());
  return hash.Finish();
}

std::string StencilOrigin(uint32_t number) { return StrCat("#", number); }

std::optional<uint32_t> StencilNumber(std::string_view origin) {
  if (!origin.starts_with("#")) return std::nullopt;
  origin.remove_prefix(1);
  uint32_t number;
  const char* end = origin.data() + origin.size();
  const auto [rest, error] = std::from_chars(origin.data(), end, number);
  if (error != std::errc() || rest != end) return std::nullopt;
  return number;
}

}  // namespace encore
