// Models whose sizes are data, from the importer to the replay, compiled and
// recalled: each backend gives what the reference evaluator gives.

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "encore/ir/import/onnx/test_models.h"
#include "encore/tests/onnx/session_fixture.h"
#include "gtest/gtest.h"

namespace encore::tests {
namespace {

using onnx::IntAttribute;
using onnx::kBool;
using onnx::kFloat;
using onnx::kInt64;
using onnx::ModelText;
using onnx::Node;
using onnx::Proto;
using onnx::TensorInput;

// An initializer: a vector of i64.
Proto Numbers(std::string_view name, const std::vector<int64_t>& values) {
  Proto tensor;
  tensor.Int(1, values.size()).Int(2, kInt64);
  for (const int64_t value : values) tensor.Int(7, value);
  return tensor.Bytes(8, name);
}

// Floats that repeat after long.
Literal Floats(const std::vector<int64_t>& dims) {
  Literal literal(DType::kF32, dims);
  for (int64_t i = 0; i < literal.element_count(); ++i) {
    literal.SetDouble(i, std::sin(1.0 + 3.7 * i));
  }
  return literal;
}

using RunTimeSizes = SessionFixture;

// What lies where x is not 0, multiplied and normalized, in a shape and cut to
// a number that are computed.
TEST_P(RunTimeSizes, FromNonZeroToTopK) {
  ModelText text;
  text.inputs = {TensorInput("x", {"40"}), TensorInput("table", {"40", "4"}),
                 TensorInput("w", {"4", "6"})};
  text.initializers = {Numbers("flat", {-1}), Numbers("open", {-1}),
                       Numbers("two", {2}), Numbers("one", {1}),
                       Numbers("first", {0})};
  const Proto to_i64 = IntAttribute("to", kInt64);
  text.nodes = {
      Node("NonZero", {"x"}, {"found"}),
      Node("Reshape", {"found", "flat"}, {"at"}),
      Node("Gather", {"table", "at"}, {"rows"}),
      Node("MatMul", {"rows", "w"}, {"product"}),
      Node("Softmax", {"product"}, {"parts"}),
      Node("Concat", {"parts", "product"}, {"both"}, {IntAttribute("axis", 1)}),
      Node("Sign", {"x"}, {"sign"}),
      Node("Abs", {"sign"}, {"is"}),
      Node("Cast", {"is"}, {"counted"}, {to_i64}),
      Node("ReduceSum", {"counted", "first"}, {"n"}),
      Node("Concat", {"n", "open", "two"}, {"shape"},
           {IntAttribute("axis", 0)}),
      Node("Reshape", {"both", "shape"}, {"boxes"}),
      Node("Add", {"n", "one"}, {"more"}),
      Node("Div", {"more", "two"}, {"k"}),
      Node("TopK", {"boxes", "k"}, {"y", "order"}, {IntAttribute("axis", 0)}),
  };
  const auto graph = onnx::ImportText(text);
  ASSERT_TRUE(graph.ok()) << graph.status();
  std::vector<std::vector<Literal>> calls;
  for (const int64_t count : {7, 1, 40, 18}) {
    Literal x(DType::kF32, {40});
    for (int64_t i = 0; i < count; ++i)
      x.SetDouble(i * 27 % 40, 1.0 - 2 * (i % 2));
    calls.push_back({x, Floats({40, 4}), Floats({4, 6})});
  }
  Expect(*graph, Evaluated(*graph, calls));
}

// Rows that are found twice, in two ways, written back where they lay.
TEST_P(RunTimeSizes, ScatterOfWhatWasFound) {
  ModelText text;
  text.inputs = {TensorInput("x", {"10"}), TensorInput("table", {"10", "3"})};
  text.initializers = {Numbers("column", {-1, 1}), Numbers("wide", {1, 3})};
  const Proto rows = IntAttribute("axis", 0);
  text.nodes = {
      Node("NonZero", {"x"}, {"found"}),
      Node("Reshape", {"found", "column"}, {"at"}),
      Node("Expand", {"at", "wide"}, {"places"}),
      Node("Cast", {"x"}, {"mask"}, {IntAttribute("to", kBool)}),
      Node("Compress", {"table", "mask"}, {"chosen"}, {rows}),
      Node("Neg", {"chosen"}, {"minus"}),
      Node("ScatterElements", {"table", "places", "minus"}, {"once"}, {rows}),
      Node("Exp", {"chosen"}, {"raised"}),
      Node("ScatterND", {"once", "at", "raised"}, {"y"}),
  };
  const auto graph = onnx::ImportText(text);
  ASSERT_TRUE(graph.ok()) << graph.status();
  std::vector<SessionCall> calls;
  for (const int64_t count : {4, 0, 10}) {
    Literal x(DType::kF32, {10});
    for (int64_t i = 0; i < count; ++i) x.SetDouble(i * 7 % 10, 1);
    Literal y = Floats({10, 3});
    for (int64_t i = 0; i < y.element_count(); ++i) {
      if (x.AsDouble(i / 3) != 0) y.SetDouble(i, std::exp(y.AsDouble(i)));
    }
    calls.push_back({{x, Floats({10, 3})}, {y}});
  }
  Expect(*graph, calls);
}

// What weights alone decide is computed before the run; what its size is, in
// it.
TEST_P(RunTimeSizes, FromConstants) {
  ModelText text;
  text.inputs = {TensorInput("x", {"3"})};
  text.initializers = {Numbers("w", {3, 0, 3, 5, 0, 8})};
  const Proto to_float = IntAttribute("to", kFloat);
  text.nodes = {
      Node("NonZero", {"w"}, {"found"}),
      Node("Cast", {"w"}, {"mask"}, {IntAttribute("to", kBool)}),
      Node("Compress", {"w", "mask"}, {"chosen"}),
      Node("Unique", {"chosen"}, {"distinct"}),
      Node("Cast", {"found"}, {"at"}, {to_float}),
      Node("Cast", {"distinct"}, {"values"}, {to_float}),
      Node("ReduceSum", {"at"}, {"sum"}, {IntAttribute("keepdims", 0)}),
      Node("Mul", {"values", "x"}, {"scaled"}),
      Node("Add", {"scaled", "sum"}, {"y"}),
  };
  const auto graph = onnx::ImportText(text);
  ASSERT_TRUE(graph.ok()) << graph.status();
  const Literal x = Literal::Vector<float>(std::vector<float>{1, 10, 100});
  Expect(*graph,
         std::vector<SessionCall>{
             {{x}, {Literal::Vector<float>(std::vector<float>{13, 60, 810})}}});
}

// Sizes that do not fit what was computed end the call, and the next is right.
TEST_P(RunTimeSizes, ShapesThatDoNotFit) {
  ModelText text;
  text.inputs = {TensorInput("x", {"24"}), TensorInput("a", {"2"}, kInt64),
                 TensorInput("b", {"2"}, kInt64)};
  text.initializers = {Numbers("axis", {0})};
  text.nodes = {
      Node("CumSum", {"x", "axis"}, {"sums"}),
      Node("Reshape", {"sums", "a"}, {"boxes"}),
      Node("CumSum", {"boxes", "axis"}, {"running"}),
      Node("Expand", {"running", "b"}, {"y"}),
  };
  const auto graph = onnx::ImportText(text);
  ASSERT_TRUE(graph.ok()) << graph.status();
  const auto call = [](std::vector<int64_t> a, std::vector<int64_t> b) {
    return std::vector<Literal>{Floats({24}), Literal::Vector<int64_t>(a),
                                Literal::Vector<int64_t>(b)};
  };
  Expect(*graph, Evaluated(*graph, {call({4, 6}, {4, 6}), call({5, 5}, {5, 5}),
                                    call({1, 24}, {9, 1}), call({4, 6}, {3, 6}),
                                    call({-1, 1}, {1, 5}), call({0, 0}, {1, 1}),
                                    call({24, 1}, {24, 0})}));
}

// Data-dependent extents, apart, and make sense together only: between the
// two (H - 2) * (W - 2) is below 0.
TEST_P(RunTimeSizes, ImagesOfTwoSizes) {
  ModelText text;
  text.inputs = {TensorInput("x", {"1", "2", "7", "9"}),
                 TensorInput("rows", {"7"}, kBool),
                 TensorInput("columns", {"9"}, kBool),
                 TensorInput("w", {"3", "2", "3", "3"}),
                 TensorInput("offsets", {"1", "18", "5", "7"}),
                 TensorInput("grid", {"1", "2", "3", "2"}),
                 TensorInput("inner_rows", {"5"}, kBool),
                 TensorInput("inner_columns", {"7"}, kBool)};
  text.opset = 20;
  text.nodes = {
      Node("Compress", {"x", "rows"}, {"cut"}, {IntAttribute("axis", 2)}),
      Node("Compress", {"cut", "columns"}, {"image"},
           {IntAttribute("axis", 3)}),
      Node("Compress", {"offsets", "inner_rows"}, {"cut_offsets"},
           {IntAttribute("axis", 2)}),
      Node("Compress", {"cut_offsets", "inner_columns"}, {"offset"},
           {IntAttribute("axis", 3)}),
      Node("DeformConv", {"image", "w", "offset"}, {"moved"}),
      Node("MaxPool", {"image"}, {"pooled", "at"},
           {onnx::IntsAttribute("kernel_shape", {2, 2}),
            onnx::IntsAttribute("strides", {2, 3}),
            IntAttribute("ceil_mode", 1)}),
      Node("GridSample", {"pooled", "grid"}, {"sampled"}),
      Node("ReduceMax", {"moved"}, {"most"}),
      Node("ReduceSum", {"at"}, {"named"}),
      Node("Cast", {"named"}, {"number"}, {IntAttribute("to", kFloat)}),
      Node("Add", {"most", "number"}, {"sum"}),
      Node("Add", {"sampled", "sum"}, {"y"})};
  const auto graph = onnx::ImportText(text);
  ASSERT_TRUE(graph.ok()) << graph.status();
  std::vector<std::vector<Literal>> calls;
  for (const auto& [rows, columns] :
       {std::pair<int64_t, int64_t>{5, 4}, {7, 9}, {3, 8}, {4, 3}}) {
    const auto first = [](int64_t size, int64_t count) {
      Literal mask(DType::kBool, {size});
      for (int64_t i = 0; i < count; ++i) mask.SetInt(i, 1);
      return mask;
    };
    calls.push_back({Floats({1, 2, 7, 9}), first(7, rows), first(9, columns),
                     Floats({3, 2, 3, 3}), Floats({1, 18, 5, 7}),
                     Floats({1, 2, 3, 2}), first(5, rows - 2),
                     first(7, columns - 2)});
  }
  Expect(*graph, Evaluated(*graph, calls));
}

INSTANTIATE_TEST_SUITE_P(Backends, RunTimeSizes,
                         testing::Values("cpu", "ref", "late_cpu", "late_ref"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace encore::tests
