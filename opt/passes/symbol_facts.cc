#include "encore/opt/passes/symbol_facts.h"

#include <algorithm>
#include <bitset>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "encore/ir/build/builder.h"
#include "encore/ir/graph/symbol_definitions.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/transform/rewrite.h"
#include "encore/ir/transform/specialize.h"
#include "encore/ir/types/dim_symbols.h"
#include "encore/opt/passes/dim_relations.h"

namespace encore::opt {
namespace {

// What a symbol became.
struct Replacement {
  Dim dim;
  // The value of its definition is a multiple of this; 1 where it is `dim`.
  int64_t divisor = 1;
  // Whether the definition says so anyway: nothing is to be asserted.
  bool certain = false;
  std::string message;
};

int64_t FloorDivided(int64_t a, int64_t b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

// The coefficient and symbol of a term that is nothing but these.
std::optional<std::pair<int64_t, uint32_t>> AsSymbol(const Dim::Term& term) {
  if (term.factors.size() != 1 || term.factors[0].op != Dim::Op::kSymbol) {
    return std::nullopt;
  }
  return std::pair(term.coefficient, term.factors[0].symbol);
}

bool Mentions(const Dim& dim, uint32_t symbol) {
  bool found = false;
  ForEachSymbol(dim, [&](uint32_t other) { found |= other == symbol; });
  return found;
}

// What is 0 where `dim` is, without a factor that all its terms have.
Dim Reduced(const Dim& dim) {
  int64_t common = dim.constant_term();
  for (const Dim::Term& term : dim.terms()) {
    // The lowest has no absolute value.
    if (common == INT64_MIN || term.coefficient == INT64_MIN) return dim;
    common = std::gcd(common, term.coefficient);
  }
  return common > 1 ? FloorDiv(dim, common) : dim;
}

// The facts of a graph and its bodies.
class Facts {
 public:
  explicit Facts(const Graph& graph)
      : symbols_(graph.symbols().begin(), graph.symbols().end()) {
    for (uint32_t i = 0; i < symbols_.size(); ++i) {
      replacements_.push_back(Dim::OfSymbol(i));
    }
    definitions_.resize(symbols_.size());
    CountDefinitions(graph);
    Gather(graph);
  }

  bool empty() const { return learned_ == 0; }
  // With the bounds that hold, and new ones at the end.
  std::span<const Symbol> symbols() const { return symbols_; }
  std::span<const Dim> replacements() const { return replacements_; }
  // Null where the symbol stays.
  const Replacement* Of(uint32_t symbol) const {
    const auto found = replaced_.find(symbol);
    return found == replaced_.end() ? nullptr : &found->second;
  }

  // What the definition of a symbol says where it is out of bounds, if it has
  // no words of its own; empty where its bounds are the program's.
  std::string BoundMessage(uint32_t symbol) const {
    const auto found = bound_messages_.find(symbol);
    return found == bound_messages_.end() ? "" : found->second;
  }

 private:
  // Bodies nest at most kMaxBodyDepth deep.
  void CountDefinitions(const Graph& graph) {
    for (const NodeId node : Nodes(graph)) {
      for (const Graph& body : graph.bodies(node)) CountDefinitions(body);
      if (!graph.info(node).has(kDefinesSymbols)) continue;
      for (const Dim& dim : DefiningDims(graph, node)) {
        if (const auto symbol = dim.symbol()) ++definitions_[*symbol];
      }
    }
  }

  void Gather(const Graph& graph) {
    const DimIntegers integers(graph);
    const SymbolDefinitions definitions(graph);
    const std::vector<bool> live = LiveNodes(graph);
    for (const NodeId node : Nodes(graph)) {
      if (!live[node.value()]) continue;
      for (const Graph& body : graph.bodies(node)) Gather(body);
      if (graph.op(node) == Op::kDefineSymbols) {
        LearnDefinition(graph, definitions, integers, node);
      } else if (graph.op(node) == Op::kAssertion) {
        const std::string& message = graph.attrs<AssertionAttrs>(node).message;
        for (const DimRelation& relation :
             integers.Implied(graph.operand(node, 1))) {
          Learn(graph, definitions, relation, message);
        }
      }
    }
  }

  // A symbol whose value is computed from extents is that expression.
  void LearnDefinition(const Graph& graph, const SymbolDefinitions& definitions,
                       const DimIntegers& integers, NodeId node) {
    const Dims& dims = graph.attrs<DefineSymbolsAttrs>(node).dims;
    const DimIntegers::Elements* elements = integers.Of(graph.operand(node, 0));
    if (elements == nullptr || !elements->computed) return;
    for (size_t i = 0; i < dims.size(); ++i) {
      const auto symbol = dims[i].symbol();
      if (learned_ >= kMaxSymbolFacts) return;
      if (!symbol || Of(*symbol) != nullptr) continue;
      const Dim dim = elements->dims[i].Substitute(replacements_);
      if (!MayReplace(graph, definitions, *symbol, dim)) continue;
      const Symbol& entry = symbols_[*symbol];
      Replace(*symbol,
              {.dim = dim,
               .certain = dim.LowerBound(symbols_) >= entry.lower &&
                          dim.UpperBound(symbols_) <= entry.upper,
               .message = graph.attrs<DefineSymbolsAttrs>(node).message});
    }
  }

  void Learn(const Graph& graph, const SymbolDefinitions& definitions,
             const DimRelation& relation, const std::string& message) {
    if (learned_ >= kMaxSymbolFacts) return;
    const Dim expr = relation.expr.Substitute(replacements_);
    if (!expr.valid()) return;
    switch (relation.kind) {
      case DimRelation::Kind::kZero:
        return Equate(graph, definitions, expr, message);
      case DimRelation::Kind::kNotNegative:
        return Bound(graph, definitions, expr, message);
      case DimRelation::Kind::kMultiple:
        return Divide(graph, definitions, expr, relation.divisor, message);
    }
  }

  // And nowhere else: two branches may define one symbol, and what is known in
  // one of them is not known in the other.
  bool IsDefinedHere(const Graph& graph, const SymbolDefinitions& definitions,
                     uint32_t symbol) const {
    const NodeId node = definitions.Of(symbol);
    return node.valid() && graph.op(node) == Op::kDefineSymbols &&
           definitions_[symbol] == 1;
  }

  // An output that is no tensor takes no assertion, so nothing of what it
  // depends on is replaced.
  static bool HasObjectOutputs(const Graph& graph) {
    return std::ranges::any_of(
        graph.outputs(), [&](const Graph::Output& output) {
          return graph.type(output.value).kind != ValueKind::kTensor;
        });
  }

  // Whether `dim` is an extent that is known where `symbol` is defined.
  bool MayReplace(const Graph& graph, const SymbolDefinitions& definitions,
                  uint32_t symbol, const Dim& dim) const {
    if (!IsDefinedHere(graph, definitions, symbol) || HasObjectOutputs(graph) ||
        !dim.valid() || dim.LowerBound(symbols_) < 0 || Mentions(dim, symbol)) {
      return false;
    }
    bool known = true;
    ForEachSymbol(dim, [&](uint32_t other) {
      const NodeId node = definitions.Of(other);
      known &= !node.valid() || node <= definitions.Of(symbol);
    });
    return known;
  }

  void Replace(uint32_t symbol, Replacement replacement) {
    std::vector<Dim> single;
    for (uint32_t i = 0; i <= symbol; ++i) single.push_back(Dim::OfSymbol(i));
    single[symbol] = replacement.dim;
    for (Dim& dim : replacements_) {
      if (Mentions(dim, symbol)) dim = dim.Substitute(single);
    }
    replaced_.emplace(symbol, std::move(replacement));
    ++learned_;
  }

  // zero == 0: of the symbols in it the one that is defined last.
  void Equate(const Graph& graph, const SymbolDefinitions& definitions,
              const Dim& zero, const std::string& message) {
    const Dim expr = Reduced(zero);
    for (const Dim::Term& term : expr.terms()) {
      const auto linear = AsSymbol(term);
      if (!linear || (linear->first != 1 && linear->first != -1)) continue;
      const auto [sign, symbol] = *linear;
      const Dim itself = Dim::OfSymbol(symbol);
      const Dim dim = sign > 0 ? itself - expr : expr + itself;
      if (!MayReplace(graph, definitions, symbol, dim)) continue;
      return Replace(symbol, {.dim = dim, .message = message});
    }
  }

  // expr >= 0, a multiple of one symbol and a number.
  void Bound(const Graph& graph, const SymbolDefinitions& definitions,
             const Dim& expr, const std::string& message) {
    if (expr.terms().size() != 1) return;
    const auto linear = AsSymbol(expr.terms()[0]);
    if (!linear || !IsDefinedHere(graph, definitions, linear->second)) return;
    const auto [factor, number] = *linear;
    Symbol& symbol = symbols_[number];
    Symbol narrow = symbol;
    const int64_t rest = expr.constant_term();
    if (rest == INT64_MIN || factor == INT64_MIN) return;
    if (factor > 0) {
      narrow.lower = std::max(narrow.lower, -FloorDivided(rest, factor));
    } else {
      narrow.upper = std::min(narrow.upper, FloorDivided(rest, -factor));
    }
    // What never holds is left for the run to say.
    if (narrow == symbol || narrow.lower > narrow.upper) return;
    symbol = std::move(narrow);
    bound_messages_.emplace(number, message);
    ++learned_;
  }

  void Divide(const Graph& graph, const SymbolDefinitions& definitions,
              const Dim& expr, int64_t divisor, const std::string& message) {
    const auto symbol = expr.symbol();
    if (!symbol || !IsDefinedHere(graph, definitions, *symbol) ||
        HasObjectOutputs(graph)) {
      return;
    }
    const Symbol& whole = symbols_[*symbol];
    Symbol part = {StrCat(whole.name, "_by_", divisor),
                   -FloorDivided(-whole.lower, divisor),
                   FloorDivided(whole.upper, divisor), /*at_run_time=*/true};
    const auto taken = [&](const Symbol& other) {
      return other.name == part.name;
    };
    if (part.lower > part.upper || std::ranges::any_of(symbols_, taken)) return;
    const Dim quotient = Dim::OfSymbol(static_cast<uint32_t>(symbols_.size()));
    symbols_.push_back(std::move(part));
    replacements_.push_back(quotient);
    definitions_.push_back(1);
    Replace(
        *symbol,
        {.dim = quotient * divisor, .divisor = divisor, .message = message});
  }

  std::vector<Symbol> symbols_;
  std::vector<Dim> replacements_;  // by symbol
  std::vector<int> definitions_;   // by symbol: how many nodes define it
  std::map<uint32_t, Replacement> replaced_;
  std::map<uint32_t, std::string> bound_messages_;
  int learned_ = 0;
};

// What must hold for a symbol that was replaced.
struct Check {
  Value condition;
  std::string message;
};

// Makes the graph anew with definitions that define only what stays.
class DefinitionRewriter {
 public:
  explicit DefinitionRewriter(const Facts& facts) : facts_(facts) {}

  std::optional<std::vector<Value>> Node(GraphBuilder& g, const Graph& from,
                                         NodeId node,
                                         std::span<const Value> operands) {
    if (from.op(node) != Op::kDefineSymbols) return std::nullopt;
    const auto& attrs = from.attrs<DefineSymbolsAttrs>(node);
    const Value values = operands[0];
    Value result = values;
    std::vector<Value> parts;
    Dims dims;
    std::string message = attrs.message;
    for (size_t i = 0; i < attrs.dims.size(); ++i) {
      const auto at = static_cast<int64_t>(i);
      const Value value =
          values.rank() == 0 ? values : g.SliceAxis(values, 0, at, at + 1);
      const auto symbol = attrs.dims[i].symbol();
      const Replacement* replacement = symbol ? facts_.Of(*symbol) : nullptr;
      if (replacement == nullptr) {
        parts.push_back(value);
        dims.push_back(attrs.dims[i]);
        if (symbol && message.empty()) message = facts_.BoundMessage(*symbol);
        continue;
      }
      if (replacement->divisor > 1) {
        parts.push_back(g.Div(value, replacement->divisor));
        dims.push_back(QuotientOf(*replacement));
      }
      if (replacement->certain) continue;
      const Check check = {Holds(g, value, *symbol, *replacement),
                           replacement->message};
      result = g.Assert(result, check.condition, check.message);
      checks_[&from].of_symbol.emplace(*symbol, check);
    }
    if (!parts.empty()) {
      const Value kept = values.rank() == 0 ? parts[0] : g.Concat(parts, 0);
      g.DefineSymbols(kept, std::move(dims), std::move(message));
    }
    return std::vector<Value>{result};
  }

  // The output, once what it relied on is known to hold.
  Value Output(GraphBuilder& g, const Graph& from, ValueId output,
               Value value) {
    const auto found = checks_.find(&from);
    if (found == checks_.end()) return value;
    GraphChecks& checks = found->second;
    if (checks.relied_on.empty()) checks.relied_on = ReliedOn(from, checks);
    const CheckSet& needed = checks.relied_on[from.producer(output).value()];
    size_t index = 0;
    for (const auto& [symbol, check] : checks.of_symbol) {
      if (!needed[index++]) continue;
      value = g.Assert(value, check.condition, check.message);
    }
    return value;
  }

 private:
  // One bit for each check of a graph, in the order of their symbols.
  using CheckSet = std::bitset<kMaxSymbolFacts>;
  struct GraphChecks {
    std::map<uint32_t, Check> of_symbol;
    std::vector<CheckSet> relied_on;  // by node; empty until it is computed
  };

  static Dim QuotientOf(const Replacement& replacement) {
    return FloorDiv(replacement.dim, replacement.divisor);
  }

  Value Holds(GraphBuilder& g, Value value, uint32_t symbol,
              const Replacement& replacement) const {
    value = g.Reshape(value, Shape());
    if (replacement.divisor > 1) {
      return g.Compare(g.Rem(value, replacement.divisor), 0, Comparison::kEq);
    }
    const Value dim = g.Reshape(g.DimValues({replacement.dim}), Shape());
    Value holds = g.Compare(value, dim, Comparison::kEq);
    const Symbol& bounds = facts_.symbols()[symbol];
    if (replacement.dim.LowerBound(facts_.symbols()) < bounds.lower) {
      holds = g.And(holds, g.Compare(value, bounds.lower, Comparison::kGe));
    }
    if (replacement.dim.UpperBound(facts_.symbols()) > bounds.upper) {
      holds = g.And(holds, g.Compare(value, bounds.upper, Comparison::kLe));
    }
    return holds;
  }

  // By node: the checks of the symbols that the node, or what it is computed
  // from, mentions.
  static std::vector<CheckSet> ReliedOn(const Graph& from,
                                        const GraphChecks& checks) {
    const SymbolDefinitions definitions(from);
    std::vector<CheckSet> relied_on(from.node_count());
    // What a definition gives its users, which is no part of itself.
    const auto defined_by = [&](NodeId definition) {
      CheckSet set = relied_on[definition.value()];
      for (const Dim& dim : DefiningDims(from, definition)) {
        const auto symbol = dim.symbol();
        const auto check =
            symbol ? checks.of_symbol.find(*symbol) : checks.of_symbol.end();
        if (check == checks.of_symbol.end()) continue;
        set.set(static_cast<size_t>(
            std::distance(checks.of_symbol.begin(), check)));
      }
      return set;
    };
    for (const NodeId node : Nodes(from)) {
      CheckSet& set = relied_on[node.value()];
      for (const ValueId operand : from.operands(node)) {
        set |= relied_on[from.producer(operand).value()];
      }
      for (const NodeId definition : definitions.NeededBy(node)) {
        set |= defined_by(definition);
      }
    }
    return relied_on;
  }

  const Facts& facts_;
  std::map<const Graph*, GraphChecks> checks_;
};

// The graph without assertions that are sure to hold, simplified.
StatusOr<Graph> DropCertain(const Graph& graph) {
  std::map<const Graph*, std::unique_ptr<DimIntegers>> integers;
  return RewriteGraph(graph,
                      [&](GraphBuilder&, const Graph& from, NodeId node,
                          std::span<const Value> operands)
                          -> std::optional<std::vector<Value>> {
                        if (from.op(node) != Op::kAssertion)
                          return std::nullopt;
                        std::unique_ptr<DimIntegers>& known = integers[&from];
                        if (known == nullptr)
                          known = std::make_unique<DimIntegers>(from);
                        if (!known->IsCertain(from.operand(node, 1)))
                          return std::nullopt;
                        return std::vector<Value>{operands[0]};
                      });
}

}  // namespace

StatusOr<std::optional<Graph>> ApplySymbolFacts(const Graph& graph) {
  if (std::ranges::none_of(graph.symbols(), &Symbol::at_run_time)) {
    return std::nullopt;
  }
  const Facts facts(graph);
  if (facts.empty()) return std::nullopt;
  DefinitionRewriter rewriter(facts);
  Rewrites rewrites;
  rewrites.symbols = facts.symbols();
  rewrites.node = [&](GraphBuilder& g, const Graph& from, NodeId node,
                      std::span<const Value> operands) {
    return rewriter.Node(g, from, node, operands);
  };
  rewrites.output = [&](GraphBuilder& g, const Graph& from, ValueId output,
                        Value value) {
    return rewriter.Output(g, from, output, value);
  };
  ENCORE_ASSIGN_OR_RETURN(const Graph defined, RewriteGraph(graph, rewrites));
  ENCORE_ASSIGN_OR_RETURN(const Graph replaced,
                          Specialize(defined, facts.replacements()));
  ENCORE_ASSIGN_OR_RETURN(const Graph dropped, DropCertain(replaced));
  ENCORE_ASSIGN_OR_RETURN(Graph result, Simplify(dropped));
  return result;
}

}  // namespace encore::opt
