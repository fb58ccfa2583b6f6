// The evaluator against NumPy (testdata/make_goldens.py).
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>

#include "encore/ir/build/builder.h"
#include "encore/ir/eval/evaluator.h"
#include "encore/ir/support/strings.h"

namespace encore {
namespace {

struct Case {
  std::string name;
  std::vector<Literal> operands;
  Literal result;
};

Literal ReadLiteral(std::istream& in) {
  std::string dtype, dims_text;
  in >> dtype >> dims_text;
  std::vector<int64_t> dims;
  if (dims_text != "-") {
    for (const auto part : StrSplit(dims_text, ',')) {
      dims.push_back(ParseInt64(part).value());
    }
  }
  Literal literal(ParseDType(dtype).value(), std::move(dims));
  for (int64_t i = 0; i < literal.element_count(); ++i) {
    std::string value;
    in >> value;
    literal.SetDouble(i, ParseDouble(value).value());
  }
  return literal;
}

std::vector<Case> ReadCases() {
  std::ifstream file("ir/eval/testdata/goldens.txt");
  std::vector<Case> cases;
  std::string text;
  while (std::getline(file, text)) {
    std::istringstream in(text);
    std::string kind;
    in >> kind;
    if (kind == "case") {
      in >> cases.emplace_back().name;
    } else if (kind == "in") {
      cases.back().operands.push_back(ReadLiteral(in));
    } else {
      cases.back().result = ReadLiteral(in);
    }
  }
  return cases;
}

using Build = std::function<Value(GraphBuilder&, std::span<const Value>)>;

// How to build the cases that are not named after an op without attributes.
const std::map<std::string, Build>& Builds() {
  using In = std::span<const Value>;
  static const std::map<std::string, Build> builds = {
      {"arctan", [](auto& g, In x) { return g.Atan(x[0]); }},
      {"arcsinh", [](auto& g, In x) { return g.Asinh(x[0]); }},
      {"add_i8", [](auto& g, In x) { return g.Add(x[0], x[1]); }},
      {"mul_i8", [](auto& g, In x) { return g.Mul(x[0], x[1]); }},
      {"transpose", [](auto& g, In x) { return g.Transpose(x[0], {2, 0, 1}); }},
      {"pad", [](auto& g, In x) { return g.Pad(x[0], 0.5, {1, 2}, {0, 1}); }},
      {"reverse", [](auto& g, In x) { return g.Reverse(x[0], {1}); }},
      {"slice",
       [](auto& g, In x) { return g.Slice(x[0], {0, 1}, {3, 4}, {2, 2}); }},
      {"take", [](auto& g, In x) { return g.Take(x[0], x[1], 1); }},
      {"sum", [](auto& g, In x) { return g.Sum(x[0], {0, 2}); }},
      {"product",
       [](auto& g, In x) { return g.Reduce(x[0], Combiner::kProduct, {1}); }},
      {"argmax", [](auto& g, In x) { return g.ArgReduce(x[0], {.axis = 1}); }},
      {"cumsum", [](auto& g, In x) { return g.Cumulative(x[0], {.axis = 1}); }},
      {"matmul", [](auto& g, In x) { return g.MatMul(x[0], x[1]); }},
      {"batch_matmul", [](auto& g, In x) { return g.MatMul(x[0], x[1]); }},
      {"convolution", [](auto& g, In x) { return g.Convolution(x[0], x[1]); }},
      {"window_sum",
       [](auto& g, In x) {
         return g.ReduceWindow(x[0], {.window = {3}, .strides = {2}});
       }},
      {"softmax", [](auto& g, In x) { return g.Softmax(x[0], 1); }},
      {"layer_norm",
       [](auto& g, In x) { return g.LayerNorm(x[0], x[1], x[2]); }},
      {"cast_i32", [](auto& g, In x) { return g.Cast(x[0], DType::kI32); }},
      {"cast_f32", [](auto& g, In x) { return g.Cast(x[0], DType::kF32); }},
  };
  return builds;
}

TEST(GoldensTest, AgreesWithNumPy) {
  const std::vector<Case> cases = ReadCases();
  EXPECT_GT(cases.size(), 35u);
  for (const Case& golden : cases) {
    SCOPED_TRACE(golden.name);
    GraphBuilder g;
    std::vector<Value> operands;
    for (const Literal& operand : golden.operands) {
      operands.push_back(g.Input(StrCat("x", operands.size()), operand.type()));
    }
    const auto build = Builds().find(golden.name);
    const Value y = build != Builds().end()
                        ? build->second(g, operands)
                        : g.Node(ParseOp(golden.name).value(), operands)[0];
    const StatusOr<Graph> graph = g.Build({{"y", y}});
    ASSERT_TRUE(graph.ok()) << graph.status();
    const auto results = Evaluate(*graph, golden.operands);
    ASSERT_TRUE(results.ok()) << results.status();
    ASSERT_EQ(results->front().type(), golden.result.type());
    for (int64_t i = 0; i < golden.result.element_count(); ++i) {
      const double expected = golden.result.AsDouble(i);
      EXPECT_NEAR(results->front().AsDouble(i), expected,
                  1e-13 * (1 + std::abs(expected)));
    }
  }
}

}  // namespace
}  // namespace encore
