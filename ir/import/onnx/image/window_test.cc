// Windows over dynamic extents against windows over known ones,
// whose padding is constant: one graph for all extents.
#include "encore/ir/import/onnx/image/window.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "encore/ir/eval/evaluator.h"
#include "encore/ir/import/onnx/test_models.h"
#include "gtest/gtest.h"

namespace encore::onnx {
namespace {

Literal Image(int64_t height, int64_t width) {
  Literal x(DType::kF32, {1, 2, height, width});
  for (int64_t i = 0; i < x.element_count(); ++i) {
    x.SetDouble(i, std::sin(1.0 + 2.3 * static_cast<double>(i)));
  }
  return x;
}

bool Convolves(std::string_view op) {
  return op == "Conv" || op == "ConvTranspose";
}

// A model of one operator over an image whose extents are symbols.
ModelText Model(std::string_view op, const std::vector<Proto>& attributes,
                std::string output) {
  ModelText text;
  text.inputs = {TensorInput("x", {"1", "2", "H", "W"})};
  text.output = output;
  std::vector<std::string_view> inputs = {"x"}, outputs = {"y"};
  if (Convolves(op)) {
    text.inputs.push_back(TensorInput(
        "w", op == "Conv" ? std::vector<std::string>{"3", "2", "2", "3"}
                          : std::vector<std::string>{"2", "3", "2", "3"}));
    inputs.push_back("w");
  }
  if (output == "at") outputs.push_back("at");
  text.nodes = {Node(op, inputs, outputs, attributes)};
  return text;
}

void ExpectSame(std::string_view op, std::vector<Proto> attributes,
                const std::string& output = "y") {
  attributes.push_back(IntsAttribute("kernel_shape", {2, 3}));
  const ModelText text = Model(op, attributes, output);
  const auto graph = ImportText(text);
  ASSERT_TRUE(graph.ok()) << graph.status();
  for (const auto& [height, width] :
       {std::pair{5, 6}, {6, 5}, {4, 9}, {7, 8}, {3, 4}, {2, 3}}) {
    SCOPED_TRACE(testing::Message() << height << " x " << width);
    std::vector<Literal> arguments = {Image(height, width)};
    if (Convolves(op)) {
      const Literal kernel = Image(6, 3);
      arguments.push_back(op == "Conv" ? Literal(DType::kF32, {3, 2, 2, 3})
                                       : Literal(DType::kF32, {2, 3, 2, 3}));
      for (int64_t i = 0; i < kernel.element_count(); ++i) {
        arguments[1].SetDouble(i, kernel.AsDouble(i));
      }
    }
    ImportOptions known;
    known.input_shapes["x"] = {1, 2, height, width};
    const auto fixed = ImportText(text, known);
    ASSERT_TRUE(fixed.ok()) << fixed.status();
    const auto expected = Evaluate(*fixed, arguments);
    const auto actual = Evaluate(*graph, arguments);
    ASSERT_TRUE(expected.ok()) << expected.status();
    ASSERT_TRUE(actual.ok()) << actual.status();
    ASSERT_EQ((*actual)[0].type(), (*expected)[0].type());
    for (int64_t i = 0; i < (*actual)[0].element_count(); ++i) {
      EXPECT_NEAR((*actual)[0].AsDouble(i), (*expected)[0].AsDouble(i), 1e-5);
    }
  }
}

TEST(WindowsOfAnyExtent, PadToTheSameExtent) {
  for (const std::string_view same : {"SAME_UPPER", "SAME_LOWER"}) {
    for (const auto& strides :
         std::vector<std::vector<int64_t>>{{1, 1}, {2, 2}, {3, 3}, {2, 5}}) {
      SCOPED_TRACE(testing::Message()
                   << same << " " << strides[0] << " " << strides[1]);
      const std::vector<Proto> attributes = {StringAttribute("auto_pad", same),
                                             IntsAttribute("strides", strides)};
      ExpectSame("Conv", attributes);
      ExpectSame("MaxPool", attributes);
      ExpectSame("MaxPool", attributes, "at");
      ExpectSame("LpPool", attributes);
      std::vector<Proto> counting = attributes;
      ExpectSame("AveragePool", counting);
      counting.push_back(IntAttribute("count_include_pad", 1));
      ExpectSame("AveragePool", counting);
    }
  }
}

// More elements than the windows reach, or fewer.
TEST(WindowsOfAnyExtent, TransposedOnesGiveTheExtentAskedFor) {
  for (const std::string_view pad : {"NOTSET", "SAME_UPPER", "SAME_LOWER"}) {
    SCOPED_TRACE(pad);
    ExpectSame("ConvTranspose", {StringAttribute("auto_pad", pad),
                                 IntsAttribute("strides", {2, 3}),
                                 IntsAttribute("output_shape", {9, 14})});
    ExpectSame("ConvTranspose", {StringAttribute("auto_pad", pad),
                                 IntsAttribute("strides", {1, 2}),
                                 IntsAttribute("output_padding", {0, 1}),
                                 IntsAttribute("output_shape", {4, 11})});
    ExpectSame("ConvTranspose", {StringAttribute("auto_pad", pad),
                                 IntsAttribute("strides", {2, 3})});
  }
}

// As above where data say the extents.
TEST(WindowsOfAnyExtent, OfExtentsThatDataSay) {
  ModelText text;
  text.inputs = {TensorInput("whole", {"1", "2", "9", "9"}),
                 TensorInput("zeros", {"4"}, kInt64),
                 TensorInput("ends", {"4"}, kInt64)};
  text.nodes = {Node("Slice", {"whole", "zeros", "ends"}, {"x"}),
                Node("AveragePool", {"x"}, {"y"},
                     {IntsAttribute("kernel_shape", {2, 3}),
                      IntsAttribute("strides", {2, 2}),
                      StringAttribute("auto_pad", "SAME_UPPER")})};
  const auto graph = ImportText(text);
  ASSERT_TRUE(graph.ok()) << graph.status();
  const Literal whole = Image(9, 9);
  for (const auto& [height, width] : {std::pair{5, 6}, {9, 9}, {1, 3}}) {
    SCOPED_TRACE(testing::Message() << height << " x " << width);
    const std::vector<Literal> arguments = {
        whole, Literal::Vector<int64_t>(std::vector<int64_t>(4)),
        Literal::Vector<int64_t>(std::vector<int64_t>{1, 2, height, width})};
    const auto actual = Evaluate(*graph, arguments);
    ASSERT_TRUE(actual.ok()) << actual.status();
    const Literal& y = (*actual)[0];
    ASSERT_EQ(y.dims(),
              (std::vector<int64_t>{1, 2, (height + 1) / 2, (width + 1) / 2}));
    // By hand: rows are padded below, columns on the right, then on the left.
    const int64_t left = std::max((width - 1) / 2 * 2 + 3 - width, 0) / 2;
    for (int64_t i = 0; i < y.element_count(); ++i) {
      const int64_t columns = y.dims()[3], rows = y.dims()[2];
      double sum = 0, count = 0;
      for (int64_t k = 0; k < 6; ++k) {
        const int64_t row = i / columns % rows * 2 + k / 3;
        const int64_t column = i % columns * 2 + k % 3 - left;
        if (row >= height || column < 0 || column >= width) continue;
        sum += whole.AsDouble((i / columns / rows * 9 + row) * 9 + column);
        ++count;
      }
      EXPECT_NEAR(y.AsDouble(i), sum / count, 1e-5) << i;
    }
  }
}

TEST(WindowsOfAnyExtent, CompleteTheLastOne) {
  for (const std::vector<int64_t>& pads :
       {std::vector<int64_t>{0, 0, 0, 0}, {1, 0, 0, 2}, {0, 2, 1, 1}}) {
    for (const auto& strides :
         std::vector<std::vector<int64_t>>{{1, 2}, {2, 3}, {3, 4}}) {
      SCOPED_TRACE(testing::Message() << pads[0] << " " << strides[0]);
      const std::vector<Proto> attributes = {IntAttribute("ceil_mode", 1),
                                             IntsAttribute("pads", pads),
                                             IntsAttribute("strides", strides)};
      ExpectSame("MaxPool", attributes);
      std::vector<Proto> by_column = attributes;
      by_column.push_back(IntAttribute("storage_order", 1));
      ExpectSame("MaxPool", by_column, "at");
      ExpectSame("LpPool", attributes);
      std::vector<Proto> counting = attributes;
      ExpectSame("AveragePool", counting);
      counting.push_back(IntAttribute("count_include_pad", 1));
      ExpectSame("AveragePool", counting);
    }
  }
}

}  // namespace
}  // namespace encore::onnx
