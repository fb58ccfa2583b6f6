// Operators whose shapes are data: one graph for all of them, and data that
// make no sense end the run.
#include "encore/ir/import/onnx/shapes/dynamic_shape.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "encore/ir/eval/evaluator.h"
#include "encore/ir/import/onnx/test_models.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace encore {
namespace {

using onnx::ImportText;
using onnx::IntAttribute;
using onnx::kInt64;
using onnx::ModelText;
using onnx::Node;
using onnx::TensorInput;
using ::testing::HasSubstr;

using Int64s = std::vector<int64_t>;

Literal Vector(const Int64s& values) {
  return Literal::Vector<int64_t>(values);
}

// 0, 1, … in a shape.
Literal Counted(const Int64s& dims) {
  Literal literal(DType::kF32, dims);
  for (int64_t i = 0; i < literal.element_count(); ++i) literal.SetInt(i, i);
  return literal;
}

// A model of one node whose first input is x, a float tensor, and whose others
// are vectors of i64 of the lengths given.
class ByData {
 public:
  ByData(std::string_view op, const std::vector<std::string>& x,
         const Int64s& lengths, const std::vector<onnx::Proto>& attributes = {},
         std::vector<std::string_view> outputs = {"y"}) {
    ModelText text;
    text.inputs = {TensorInput("x", x)};
    std::vector<std::string_view> names = {"x"};
    constexpr std::string_view kNames[] = {"a", "b", "c", "d"};
    for (size_t i = 0; i < lengths.size(); ++i) {
      names.push_back(kNames[i]);
      text.inputs.push_back(
          TensorInput(kNames[i], {std::to_string(lengths[i])}, kInt64));
    }
    text.nodes = {Node(op, names, std::move(outputs), attributes)};
    auto graph = ImportText(text);
    EXPECT_TRUE(graph.ok()) << graph.status();
    if (graph.ok()) graph_ = *std::move(graph);
  }

  StatusOr<std::vector<Literal>> Run(const Literal& x,
                                     const std::vector<Int64s>& data) const {
    std::vector<Literal> arguments = {x};
    for (const Int64s& values : data) arguments.push_back(Vector(values));
    return Evaluate(graph_, arguments);
  }
  // The extents of the result.
  Int64s DimsOf(const Literal& x, const std::vector<Int64s>& data) const {
    const auto results = Run(x, data);
    EXPECT_TRUE(results.ok()) << results.status();
    if (!results.ok()) return {-1};
    const auto dims = (*results)[0].dims();
    return {dims.begin(), dims.end()};
  }
  // The elements of the result, which are integers.
  Int64s ElementsOf(const Literal& x, const std::vector<Int64s>& data) const {
    const auto results = Run(x, data);
    EXPECT_TRUE(results.ok()) << results.status();
    Int64s elements;
    if (!results.ok()) return elements;
    for (int64_t i = 0; i < (*results)[0].element_count(); ++i) {
      elements.push_back(static_cast<int64_t>((*results)[0].AsDouble(i)));
    }
    return elements;
  }
  std::string ErrorOf(const Literal& x, const std::vector<Int64s>& data) const {
    const auto results = Run(x, data);
    return results.ok() ? "no error" : Message(results.status());
  }

 private:
  Graph graph_;
};

TEST(ByData, Reshape) {
  const ByData reshape("Reshape", {"4", "6"}, {3});
  const Literal x = Counted({4, 6});
  EXPECT_EQ(reshape.DimsOf(x, {{2, 3, 4}}), (Int64s{2, 3, 4}));
  EXPECT_EQ(reshape.DimsOf(x, {{-1, 2, 3}}), (Int64s{4, 2, 3}));
  EXPECT_EQ(reshape.DimsOf(x, {{0, -1, 1}}), (Int64s{4, 6, 1}));
  for (const Int64s& bad : {Int64s{5, 5, 1},
                            {-1, -1, 4},
                            {-2, -3, 4},
                            {-1, 5, 1},
                            {2, 3, 0},
                            {INT64_MAX, INT64_MAX, 24},
                            {int64_t{1} << 32, int64_t{1} << 32, 1}}) {
    EXPECT_THAT(reshape.ErrorOf(x, {bad}),
                HasSubstr("input shape has another number"));
  }
  const ByData empty("Reshape", {"0", "3"}, {2},
                     {IntAttribute("allowzero", 1)});
  EXPECT_EQ(empty.DimsOf(Counted({0, 3}), {{0, 7}}), (Int64s{0, 7}));
}

TEST(ByData, Expand) {
  const ByData expand("Expand", {"3", "1"}, {3});
  const Literal x = Counted({3, 1});
  EXPECT_EQ(expand.DimsOf(x, {{2, 3, 4}}), (Int64s{2, 3, 4}));
  EXPECT_EQ(expand.DimsOf(x, {{1, 1, 0}}), (Int64s{1, 3, 0}));
  EXPECT_THAT(expand.ErrorOf(x, {{2, 2, 4}}), HasSubstr("does not broadcast"));
  EXPECT_THAT(expand.ErrorOf(x, {{-1, 3, 4}}), HasSubstr("does not broadcast"));
}

TEST(ByData, Tile) {
  const ByData tile("Tile", {"2"}, {1});
  EXPECT_EQ(tile.ElementsOf(Counted({2}), {{3}}), (Int64s{0, 1, 0, 1, 0, 1}));
  EXPECT_EQ(tile.ElementsOf(Counted({2}), {{0}}), Int64s());
  EXPECT_THAT(tile.ErrorOf(Counted({2}), {{-1}}), HasSubstr("negative"));
}

TEST(ByData, Slice) {
  const ByData slice("Slice", {"5"}, {1, 1, 1, 1});
  const Literal x = Counted({5});
  const auto cut = [&](int64_t from, int64_t to, int64_t step) {
    return slice.ElementsOf(x, {{from}, {to}, {0}, {step}});
  };
  EXPECT_EQ(cut(1, 4, 2), (Int64s{1, 3}));
  EXPECT_EQ(cut(-2, INT64_MAX, 1), (Int64s{3, 4}));
  EXPECT_EQ(cut(INT64_MAX, INT64_MIN, -2), (Int64s{4, 2, 0}));
  EXPECT_EQ(cut(3, 1, 1), Int64s());
  EXPECT_EQ(cut(0, 5, INT64_MAX), (Int64s{0}));
  EXPECT_EQ(cut(4, 0, INT64_MIN), (Int64s{4}));
  EXPECT_THAT(slice.ErrorOf(x, {{0}, {1}, {0}, {0}}), HasSubstr("steps"));
  EXPECT_THAT(slice.ErrorOf(x, {{0}, {1}, {1}, {1}}), HasSubstr("axes"));
}

TEST(ByData, Pad) {
  const Literal x = Counted({3});
  const auto padded = [&](std::string_view mode, int64_t low, int64_t high) {
    const ByData pad(
        "Pad", {"3"}, {2},
        {onnx::Proto().Bytes(1, "mode").Bytes(4, mode).Int(20, 3)});
    return pad.ElementsOf(x, {{low, high}});
  };
  EXPECT_EQ(padded("constant", 1, 2), (Int64s{0, 0, 1, 2, 0, 0}));
  EXPECT_EQ(padded("constant", -1, -1), (Int64s{1}));
  EXPECT_EQ(padded("edge", 2, 1), (Int64s{0, 0, 0, 1, 2, 2}));
  EXPECT_EQ(padded("reflect", 2, 2), (Int64s{2, 1, 0, 1, 2, 1, 0}));
  EXPECT_EQ(padded("wrap", 1, 4), (Int64s{2, 0, 1, 2, 0, 1, 2, 0}));
  const ByData pad("Pad", {"3"}, {2});
  EXPECT_THAT(pad.ErrorOf(x, {{-2, -2}}), HasSubstr("negative extent"));
  EXPECT_THAT(pad.ErrorOf(x, {{INT64_MAX, INT64_MAX}}), HasSubstr("pads"));
  EXPECT_THAT(pad.ErrorOf(x, {{int64_t{1} << 60, 0}}), HasSubstr("pads"));
}

TEST(ByData, Split) {
  const ByData split("Split", {"5"}, {2}, {IntAttribute("axis", 0)},
                     {"y", "z"});
  const Literal x = Counted({5});
  EXPECT_EQ(split.ElementsOf(x, {{2, 3}}), (Int64s{0, 1}));
  EXPECT_EQ(split.ElementsOf(x, {{0, 5}}), Int64s());
  EXPECT_THAT(split.ErrorOf(x, {{2, 2}}), HasSubstr("its sum is not"));
  EXPECT_THAT(split.ErrorOf(x, {{-1, 6}}), HasSubstr("its sum is not"));
}

TEST(ByData, TopK) {
  const ByData top("TopK", {"5"}, {1}, {}, {"y", "z"});
  const Literal x = Counted({5});
  EXPECT_EQ(top.ElementsOf(x, {{2}}), (Int64s{4, 3}));
  EXPECT_EQ(top.ElementsOf(x, {{0}}), Int64s());
  EXPECT_THAT(top.ErrorOf(x, {{6}}), HasSubstr("input K"));
  EXPECT_THAT(top.ErrorOf(x, {{-1}}), HasSubstr("input K"));
}

TEST(ByData, OnesAreMoved) {
  const ByData squeeze("Squeeze", {"1", "3", "1"}, {1});
  EXPECT_EQ(squeeze.DimsOf(Counted({1, 3, 1}), {{0}}), (Int64s{3, 1}));
  EXPECT_EQ(squeeze.DimsOf(Counted({1, 3, 1}), {{-1}}), (Int64s{1, 3}));
  EXPECT_THAT(squeeze.ErrorOf(Counted({1, 3, 1}), {{1}}), HasSubstr("axes"));
  const ByData unsqueeze("Unsqueeze", {"2", "3"}, {2});
  EXPECT_EQ(unsqueeze.DimsOf(Counted({2, 3}), {{0, -1}}), (Int64s{1, 2, 3, 1}));
  EXPECT_EQ(unsqueeze.DimsOf(Counted({2, 3}), {{2, 1}}), (Int64s{2, 1, 1, 3}));
  EXPECT_THAT(unsqueeze.ErrorOf(Counted({2, 3}), {{1, 1}}), HasSubstr("axes"));
  EXPECT_THAT(unsqueeze.ErrorOf(Counted({2, 3}), {{1, 4}}), HasSubstr("axes"));
}

TEST(ByData, CumSum) {
  const ByData sum("CumSum", {"2", "2"}, {1});
  const Literal x = Counted({2, 2});
  EXPECT_EQ(sum.ElementsOf(x, {{0}}), (Int64s{0, 1, 2, 4}));
  EXPECT_EQ(sum.ElementsOf(x, {{-1}}), (Int64s{0, 1, 2, 5}));
  EXPECT_THAT(sum.ErrorOf(x, {{2}}), HasSubstr("axis"));
}

// What nothing comes to, too.
TEST(ByData, ReduceAxes) {
  const ByData sum("ReduceSum", {"2", "3"}, {1});
  const Literal x = Counted({2, 3});
  EXPECT_EQ(sum.ElementsOf(x, {{0}}), (Int64s{3, 5, 7}));
  EXPECT_EQ(sum.DimsOf(x, {{0}}), (Int64s{1, 3}));
  EXPECT_EQ(sum.ElementsOf(x, {{-1}}), (Int64s{3, 12}));
  EXPECT_THAT(sum.ErrorOf(x, {{2}}), HasSubstr("axes"));
  const ByData both("ReduceMax", {"2", "3"}, {2},
                    {IntAttribute("keepdims", 0)});
  EXPECT_EQ(both.ElementsOf(x, {{1, -2}}), (Int64s{5}));
  EXPECT_EQ(both.DimsOf(x, {{1, -2}}), Int64s());
  EXPECT_THAT(both.ErrorOf(x, {{1, -1}}), HasSubstr("axes"));
  const ByData empty("ReduceProd", {"2", "0", "2"}, {1});
  const Literal none = Counted({2, 0, 2});
  EXPECT_EQ(empty.DimsOf(none, {{1}}), (Int64s{2, 1, 2}));
  EXPECT_EQ(empty.ElementsOf(none, {{1}}), (Int64s{1, 1, 1, 1}));
  EXPECT_EQ(empty.DimsOf(none, {{0}}), (Int64s{1, 0, 2}));
}

// By the definition: results [outer, bins, inner, 2] along one axis of x.
std::vector<double> TransformAlong(const Literal& x, int axis, int64_t size,
                                   int64_t bins) {
  int64_t inner = 1, outer = 1;
  for (int d = 0; d + 1 < x.rank(); ++d) {
    if (d < axis) outer *= x.dims()[d];
    if (d > axis) inner *= x.dims()[d];
  }
  const int64_t extent = x.dims()[axis];
  std::vector<double> results;
  for (int64_t i = 0; i < outer * bins * inner; ++i) {
    const int64_t a = i / (bins * inner), k = i / inner % bins, b = i % inner;
    std::complex<double> sum = 0;
    for (int64_t n = 0; n < std::min(extent, size); ++n) {
      const int64_t at = ((a * extent + n) * inner + b) * 2;
      const double angle = -2 * std::numbers::pi * k * n / size;
      sum += std::complex(x.AsDouble(at), x.AsDouble(at + 1)) *
             std::polar(1.0, angle);
    }
    results.insert(results.end(), {sum.real(), sum.imag()});
  }
  return results;
}

TEST(ByData, FourierTransform) {
  const Literal x = Counted({2, 3, 4, 2});
  for (const bool onesided : {false, true}) {
    const ByData dft("DFT", {"2", "3", "4", "2"}, {1, 1},
                     {IntAttribute("onesided", onesided)});
    for (const auto& [axis, size] :
         {std::pair{0, 2}, {1, 3}, {2, 4}, {0, 5}, {1, 2}, {2, 7}, {1, 1}}) {
      SCOPED_TRACE(testing::Message() << "axis " << axis << " size " << size);
      const int64_t bins = onesided ? size / 2 + 1 : size;
      Int64s dims = {2, 3, 4, 2};
      dims[axis] = bins;
      for (const int64_t given : {axis, axis - 4}) {
        EXPECT_EQ(dft.DimsOf(x, {{size}, {given}}), dims);
      }
      const auto results = dft.Run(x, {{size}, {axis}});
      ASSERT_TRUE(results.ok()) << results.status();
      const auto expected = TransformAlong(x, axis, size, bins);
      for (size_t i = 0; i < expected.size(); ++i) {
        EXPECT_NEAR((*results)[0].AsDouble(static_cast<int64_t>(i)),
                    expected[i], 1e-4);
      }
    }
    for (const int64_t axis : {3, -1, -5, 4}) {
      EXPECT_THAT(dft.ErrorOf(x, {{3}, {axis}}), HasSubstr("input axis"));
    }
    for (const int64_t size : {int64_t{0}, int64_t{-1}, INT64_MAX}) {
      EXPECT_THAT(dft.ErrorOf(x, {{size}, {1}}), HasSubstr("length of the"));
    }
  }
}

TEST(ByData, FrameLength) {
  ModelText text;
  text.inputs = {TensorInput("x", {"1", "10"}), TensorInput("a", {}, kInt64),
                 TensorInput("b", {}, kInt64)};
  text.nodes = {Node("STFT", {"x", "a", "", "b"}, {"y"})};
  const auto graph = ImportText(text);
  ASSERT_TRUE(graph.ok()) << graph.status();
  const auto run = [&](int64_t step, int64_t length) {
    return Evaluate(*graph, {{Counted({1, 10}), Literal::Scalar(step),
                              Literal::Scalar(length)}});
  };
  const auto dims = [&](int64_t step, int64_t length) {
    const auto results = run(step, length);
    EXPECT_TRUE(results.ok()) << results.status();
    if (!results.ok()) return Int64s();
    const auto extents = (*results)[0].dims();
    return Int64s(extents.begin(), extents.end());
  };
  EXPECT_EQ(dims(2, 4), (Int64s{1, 4, 3, 2}));
  EXPECT_EQ(dims(10, 10), (Int64s{1, 1, 6, 2}));
  EXPECT_EQ(dims(3, 1), (Int64s{1, 4, 1, 2}));
  // Frames 0 1 2, 3 4 5, 6 7 8: the sum, and what half a turn leaves.
  const auto results = run(3, 3);
  ASSERT_TRUE(results.ok()) << results.status();
  const double height = std::sqrt(3) / 2;
  const std::array expected = {3.0,  0.0,    -1.5, height, 12.0, 0.0,
                               -1.5, height, 21.0, 0.0,    -1.5, height};
  for (int64_t i = 0; i < 12; ++i) {
    EXPECT_NEAR((*results)[0].AsDouble(i), expected[i], 1e-5);
  }
  EXPECT_FALSE(run(0, 4).ok());
  EXPECT_FALSE(run(2, 11).ok());
  EXPECT_FALSE(run(2, 0).ok());
  EXPECT_FALSE(run(2, INT64_MIN).ok());
}

// Though nothing else is known of the input.
TEST(ByData, KnownAxisThatIsNone) {
  for (const int64_t axis : {INT64_MAX, int64_t{3}, int64_t{-1}, INT64_MIN}) {
    ModelText text;
    text.inputs = {TensorInput("x", {"A", "B", "C", "2"})};
    text.nodes = {
        Node("Constant", {}, {"axis"}, {IntAttribute("value_int", axis)}),
        Node("DFT", {"x", "", "axis"}, {"y"})};
    EXPECT_THAT(onnx::ErrorOf(text), HasSubstr("input axis"));
  }
}

// What does not fit is an error of the node, whatever is computed from it.
TEST(ByData, NothingIsReadOfWhatDoesNotFit) {
  ModelText pad;
  pad.inputs = {TensorInput("x", {"2", "3", "4"}),
                TensorInput("a", {"6"}, kInt64)};
  pad.nodes = {Node("Pad", {"x", "a", "x"}, {"y"})};
  EXPECT_THAT(onnx::ErrorOf(pad), HasSubstr("Pad_node"));
  ModelText hot;
  hot.inputs = {TensorInput("x", {"9223372036854775807"}, kInt64),
                TensorInput("a", {}, kInt64), TensorInput("b", {"2"})};
  hot.nodes = {Node("OneHot", {"x", "a", "b"}, {"y"})};
  EXPECT_THAT(onnx::ErrorOf(hot), HasSubstr("OneHot_node"));
}

// Positions are computed when it runs, not tabulated.
TEST(ByData, LongReflection) {
  ModelText text;
  text.opset = 10;
  text.inputs = {TensorInput("x", {"2147483648"})};
  text.nodes = {
      Node("Pad", {"x"}, {"y"},
           {onnx::IntsAttribute("pads", {1, 1}),
            onnx::Proto().Bytes(1, "mode").Bytes(4, "reflect").Int(20, 3)})};
  const auto graph = ImportText(text);
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(graph->outputs().size(), 1u);
}

// Blocks of two that overlap, and of one.
TEST(ByData, BlocksToImage) {
  const ByData image("Col2Im", {"1", "2", "3"}, {1, 1});
  const Literal x = Counted({1, 2, 3});
  EXPECT_EQ(image.ElementsOf(x, {{4}, {2}}), (Int64s{0, 4, 6, 5}));
  EXPECT_EQ(image.DimsOf(x, {{4}, {2}}), (Int64s{1, 1, 4}));
  EXPECT_EQ(image.ElementsOf(x, {{3}, {1}}), (Int64s{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(image.DimsOf(x, {{3}, {1}}), (Int64s{1, 2, 3}));
  for (const auto& [extent, block] : {std::pair<int64_t, int64_t>{5, 2},
                                      {4, 3},
                                      {4, 0},
                                      {0, 0},
                                      {-1, 2},
                                      {INT64_MAX, INT64_MAX},
                                      {1, 2}}) {
    EXPECT_THAT(image.ErrorOf(x, {{extent}, {block}}),
                HasSubstr("do not match the shape"));
  }
}

TEST(ByData, UnpoolShape) {
  ModelText text;
  text.inputs = {TensorInput("x", {"1", "1", "2"}),
                 TensorInput("i", {"1", "1", "2"}, kInt64),
                 TensorInput("a", {"3"}, kInt64)};
  text.nodes = {Node("MaxUnpool", {"x", "i", "a"}, {"y"},
                     {onnx::IntsAttribute("kernel_shape", {2}),
                      onnx::IntsAttribute("strides", {2})})};
  const auto graph = ImportText(text);
  ASSERT_TRUE(graph.ok()) << graph.status();
  const auto run = [&](const Int64s& shape) {
    Literal at(DType::kI64, {1, 1, 2});
    at.SetInt(0, 1);
    at.SetInt(1, 2);
    Literal x(DType::kF32, {1, 1, 2});
    x.SetInt(0, 7);
    x.SetInt(1, 8);
    const auto results = Evaluate(*graph, {{x, at, Vector(shape)}});
    Int64s elements;
    if (!results.ok()) return Int64s{-1};
    for (int64_t i = 0; i < (*results)[0].element_count(); ++i) {
      elements.push_back(static_cast<int64_t>((*results)[0].AsDouble(i)));
    }
    return elements;
  };
  EXPECT_EQ(run({1, 1, 4}), (Int64s{0, 7, 8, 0}));
  EXPECT_EQ(run({1, 1, 6}), (Int64s{0, 7, 8, 0, 0, 0}));
  EXPECT_EQ(run({1, 1, 3}), (Int64s{0, 7, 8}));
  EXPECT_EQ(run({1, 1, -3}), (Int64s{-1}));
}

// A model of i64 scalars a, b, … alone.
StatusOr<Graph> OfScalars(const std::vector<onnx::Proto>& nodes, int scalars) {
  ModelText text;
  text.nodes = nodes;
  text.inputs.clear();
  for (const char* name : std::array{"a", "b", "c"}) {
    if (scalars-- > 0) text.inputs.push_back(TensorInput(name, {}, kInt64));
  }
  return ImportText(text);
}

StatusOr<std::vector<Literal>> RunScalars(const Graph& graph,
                                          const Int64s& data) {
  std::vector<Literal> arguments;
  for (const int64_t value : data) arguments.push_back(Literal::Scalar(value));
  return Evaluate(graph, arguments);
}

TEST(ByData, Range) {
  const auto graph = OfScalars({Node("Range", {"a", "b", "c"}, {"y"})}, 3);
  ASSERT_TRUE(graph.ok()) << graph.status();
  const auto count = [&](int64_t start, int64_t limit, int64_t delta) {
    const auto results = RunScalars(*graph, {start, limit, delta});
    return results.ok() ? (*results)[0].element_count() : -1;
  };
  EXPECT_EQ(count(0, 5, 2), 3);
  EXPECT_EQ(count(5, 0, -2), 3);
  EXPECT_EQ(count(0, 5, -1), 0);
  EXPECT_EQ(count(7, 7, 1), 0);
  EXPECT_EQ(count(0, 5, 0), -1);
  EXPECT_EQ(count(0, INT64_MAX, 1), -1);
}

TEST(ByData, WindowSize) {
  const auto graph = OfScalars({Node("HannWindow", {"a"}, {"y"})}, 1);
  ASSERT_TRUE(graph.ok()) << graph.status();
  const auto four = RunScalars(*graph, {4});
  ASSERT_TRUE(four.ok()) << four.status();
  ASSERT_EQ((*four)[0].element_count(), 4);
  EXPECT_NEAR((*four)[0].AsDouble(1), 0.5, 1e-6);
  EXPECT_NEAR((*four)[0].AsDouble(2), 1.0, 1e-6);
  EXPECT_FALSE(RunScalars(*graph, {-1}).ok());
}

TEST(ByData, OneHotDepth) {
  ModelText text;
  text.inputs = {TensorInput("x", {"3"}, kInt64), TensorInput("a", {}, kInt64),
                 TensorInput("b", {"2"})};
  text.nodes = {Node("OneHot", {"x", "a", "b"}, {"y"})};
  const auto graph = ImportText(text);
  ASSERT_TRUE(graph.ok()) << graph.status();
  const auto run = [&](int64_t depth) {
    return Evaluate(*graph, {{Vector({0, 2, -1}), Literal::Scalar(depth),
                              Literal::Vector<float>(std::array{5.f, 7.f})}});
  };
  const auto results = run(3);
  ASSERT_TRUE(results.ok()) << results.status();
  Int64s elements;
  for (int i = 0; i < 9; ++i) {
    elements.push_back(static_cast<int64_t>((*results)[0].AsDouble(i)));
  }
  EXPECT_EQ(elements, (Int64s{7, 5, 5, 5, 5, 7, 5, 5, 7}));
  EXPECT_FALSE(run(-1).ok());
}

// Sizes of two names, which agree or not when the graph runs.
TEST(ByData, ShapesThatMustAgree) {
  ModelText text;
  text.inputs = {TensorInput("x", {"4"}), TensorInput("y", {"4"})};
  text.nodes = {Node("NonZero", {"x"}, {"at_x"}),
                Node("NonZero", {"y"}, {"at_y"}),
                Node("Add", {"at_x", "at_y"}, {"z"})};
  text.output = "z";
  const auto graph = ImportText(text);
  ASSERT_TRUE(graph.ok()) << graph.status();
  const auto dims = [&](std::array<float, 4> x, std::array<float, 4> y) {
    const auto results = Evaluate(
        *graph, {{Literal::Vector<float>(x), Literal::Vector<float>(y)}});
    return results.ok() ? (*results)[0].dims()[1] : -1;
  };
  EXPECT_EQ(dims({1, 1, 0, 0}, {0, 0, 1, 1}), 2);
  EXPECT_EQ(dims({1, 1, 1, 0}, {0, 0, 0, 1}), 3);
  EXPECT_EQ(dims({0, 0, 0, 0}, {0, 0, 0, 1}), 0);
  EXPECT_EQ(dims({1, 1, 1, 0}, {0, 0, 1, 1}), -1);
}

}  // namespace
}  // namespace encore
