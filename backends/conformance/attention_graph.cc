#include "encore/backends/conformance/attention_graph.h"

#include <cmath>
#include <random>

#include "encore/ir/support/check.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/testing/parsed_graph.h"
#include "encore/ir/text/printer.h"
#include "encore/ir/transform/decompose.h"

namespace encore::backends {
namespace {

// Of the dtypes and shapes of the graph's arguments, zeros.
std::vector<Literal> Zeros(const Graph& graph) {
  std::vector<Literal> arguments;
  for (const Graph::Argument& argument : graph.arguments()) {
    const TensorType& type = graph.type(argument.value);
    arguments.emplace_back(type.dtype, type.shape.ConstantDims());
  }
  return arguments;
}

}  // namespace

std::string AttentionGraph::ToText() const {
  const auto type = [this](int64_t h, int64_t length, int64_t width) {
    return StrCat(dtype, "[", batch, ",", h, ",", length, ",", width, "]");
  };
  return StrCat("graph g(%q: ", type(heads, queries, depth),
                ", %k: ", type(kv_heads, keys, depth),
                ", %v: ", type(kv_heads, keys, columns),
                mask.empty() ? "" : StrCat(", %m: ", dtype, mask), ") -> ",
                type(heads, queries, columns),
                " {\n  %y = attention(%q, %k, %v", mask.empty() ? "" : ", %m",
                ") {scale = 0.3", attributes, "}\n  return %y\n}");
}

std::string AttentionGraph::ToPrimitives() const {
  const StatusOr<Graph> primitives = DecomposeAll(ParsedGraph(ToText()));
  ENCORE_CHECK(primitives.ok()) << primitives.status().ToString();
  return Print(*primitives);
}

std::vector<AttentionGraph> DrawnAttentions(int count, int64_t most_queries) {
  std::vector<AttentionGraph> drawn;
  std::mt19937_64 random(5);
  const auto draw = [&random](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random() % (high - low + 1));
  };
  for (int i = 0; i < count; ++i) {
    AttentionGraph& a = drawn.emplace_back();
    a.batch = draw(1, 2);
    a.heads = a.kv_heads = draw(1, 3);
    a.queries = draw(1, most_queries);
    a.keys = draw(2, 90);
    a.depth = draw(1, 70);
    a.columns = draw(2, 70);
    if (i % 3 == 1) a.mask = StrCat("[", a.batch, ",1,1,", a.keys, "]");
    if (i % 3 == 2) a.mask = StrCat("[1,1,", a.queries, ",", a.keys, "]");
    if (i % 2 == 1) a.attributes = ", causal = true";
  }
  return drawn;
}

std::vector<Literal> ArgumentsWithHiddenKeys(const Graph& graph, int64_t keys) {
  std::vector<Literal> arguments = Zeros(graph);
  std::mt19937_64 random(3);
  for (Literal& data : arguments) {
    for (int64_t i = 0; i < data.element_count(); ++i) {
      data.SetDouble(i, static_cast<double>(random() >> 40) * 0x1p-23 - 1);
    }
  }
  for (int64_t i = 0; i < 8; ++i) {
    for (int64_t j = 0; j < keys; ++j) {
      const bool seen = i == 1   ? j == keys / 2
                        : i == 2 ? j == keys - 1
                        : i == 3 ? j == 0
                        : i == 4 ? j > keys / 2
                        : i == 5 ? j < keys / 2
                        : i == 6 ? j % 3 == 0
                                 : i != 0;
      arguments[3].SetDouble(i * keys + j, seen ? 0 : -INFINITY);
    }
  }
  return arguments;
}

std::vector<Literal> ArgumentsWithInfinities(const Graph& graph) {
  std::vector<Literal> arguments = Zeros(graph);
  arguments[3].SetDouble(1 * 300 + 7, INFINITY);
  arguments[3].SetDouble(2 * 300 + 299, INFINITY);
  arguments[3].SetDouble(3 * 300 + 150, NAN);
  arguments[2].SetDouble(20, 3);
  return arguments;
}

}  // namespace encore::backends
