#include "encore/ir/testing/random_graph.h"

#include <algorithm>
#include <set>

#include "encore/ir/support/check.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/testing/random_generator.h"
#include "encore/ir/testing/random_operands.h"

namespace encore {
namespace {

using internal::RandomGenerator;
using internal::RandomOperands;

// Every value that nothing uses becomes an output; if there is none, the last.
Graph Finish(GraphBuilder& g, const RandomOperands& operands) {
  std::set<ValueId> used;
  for (const NodeId node : Nodes(g.graph())) {
    const auto read = g.graph().operands(node);
    used.insert(read.begin(), read.end());
  }
  std::vector<std::pair<std::string, Value>> outputs;
  for (const auto values : {operands.pool(), operands.others()}) {
    for (const Value& value : values) {
      if (!used.contains(value.id())) {
        outputs.emplace_back(StrCat("y", outputs.size()), value);
      }
    }
  }
  if (outputs.empty()) outputs.emplace_back("y", operands.pool().back());
  StatusOr<Graph> graph = g.Build(outputs);
  ENCORE_CHECK_OK(graph.status());
  return *std::move(graph);
}

void FillFloats(std::mt19937_64& random, Literal* literal) {
  for (int64_t i = 0; i < literal->element_count(); ++i) {
    const auto steps = static_cast<int64_t>(random() % 128) - 64;
    literal->SetDouble(i, (static_cast<double>(steps) + 0.5) / 16);
  }
}

void FillIntegers(std::mt19937_64& random, Literal* literal) {
  for (int64_t i = 0; i < literal->element_count(); ++i) {
    const uint64_t bits = random();
    const bool wild = bits % 8 == 0;
    literal->SetInt(i, wild ? static_cast<int64_t>(random())
                            : static_cast<int64_t>(bits >> 8 & 15) - 5);
  }
}

}  // namespace

Graph RandomGraph(uint64_t seed, const RandomGraphOptions& options) {
  GraphBuilder g(StrCat("random", seed), {.simplify = false});
  RandomGenerator generator(g, seed, options, /*is_body=*/false);
  if (options.symbolic) generator.operands().AddSymbols();
  generator.AddNodes(std::max(options.nodes, 1));
  return Finish(g, generator.operands());
}

std::optional<Graph> RandomNode(Op op, DType dtype, uint64_t seed,
                                bool symbolic) {
  GraphBuilder g(StrCat(op, "_", dtype, "_", seed), {.simplify = false});
  RandomGraphOptions options;
  options.symbolic = symbolic;
  options.dtypes = {dtype};
  RandomGenerator generator(g, seed, options, /*is_body=*/false);
  if (symbolic) generator.operands().AddSymbols();
  if (!generator.AddNode(op, dtype)) return std::nullopt;
  return Finish(g, generator.operands());
}

Literal RandomLiteral(DType dtype, std::vector<int64_t> dims, uint64_t seed) {
  std::mt19937_64 random(seed);
  Literal literal(dtype, std::move(dims));
  if (IsFloat(dtype)) {
    FillFloats(random, &literal);
  } else if (dtype == DType::kBool) {
    for (bool& value : literal.mutable_values<bool>()) value = random() & 1;
  } else if (IsString(dtype)) {
    for (std::string& text : literal.mutable_strings()) {
      text = StrCat("s", random() % 100);
    }
  } else {
    FillIntegers(random, &literal);
  }
  return literal;
}

std::vector<Literal> RandomArguments(const Graph& graph, uint64_t seed) {
  std::mt19937_64 random(seed ^ 0x5bd1e995);
  std::vector<int64_t> symbols;
  for (const Symbol& symbol : graph.symbols()) {
    const int64_t room = std::min<int64_t>(symbol.upper - symbol.lower, 7);
    symbols.push_back(symbol.lower +
                      static_cast<int64_t>(random() % (room + 1)));
  }
  std::vector<Literal> arguments;
  for (const Graph::Argument& argument : graph.arguments()) {
    const TensorType& type = graph.type(argument.value);
    const auto dims = type.shape.Evaluate(symbols);
    ENCORE_CHECK(dims.has_value()) << type.ToString(graph.symbols());
    arguments.push_back(RandomLiteral(type.dtype, *dims, random()));
  }
  return arguments;
}

}  // namespace encore
