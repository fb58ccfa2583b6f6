// Images of dynamic extents against images of known ones.
#include "encore/ir/import/onnx/image/sampling.h"

#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "encore/ir/eval/evaluator.h"
#include "encore/ir/import/onnx/test_models.h"
#include "gtest/gtest.h"

namespace encore::onnx {
namespace {

struct Operand {
  std::string_view name;
  std::vector<std::string> dims;
  Literal value;
};

// Numbers between -scale and scale.
Literal Waves(const std::vector<int64_t>& dims, double scale) {
  Literal literal(DType::kF32, dims);
  for (int64_t i = 0; i < literal.element_count(); ++i) {
    literal.SetDouble(i, scale * std::sin(1.0 + 2.3 * static_cast<double>(i)));
  }
  return literal;
}

// x is [2, 2, H, W]; `others` follow it, the extents of an "Oh" and "Ow" of
// theirs are those of their value.
void ExpectSame(std::string_view op, const std::vector<Operand>& others,
                const std::vector<Proto>& attributes, int64_t height,
                int64_t width) {
  SCOPED_TRACE(testing::Message() << op << " " << height << " x " << width);
  ModelText text;
  text.opset = 20;
  text.inputs = {TensorInput("x", {"2", "2", "H", "W"})};
  std::vector<std::string_view> names = {"x"};
  std::vector<Literal> arguments = {Waves({2, 2, height, width}, 1)};
  for (const Operand& other : others) {
    text.inputs.push_back(
        TensorInput(other.name, other.dims,
                    other.value.dtype() == DType::kI64 ? kInt64 : kFloat));
    names.push_back(other.name);
    arguments.push_back(other.value);
  }
  text.nodes = {Node(op, names, {"y"}, attributes)};
  ImportOptions known;
  for (size_t i = 0; i < names.size(); ++i) {
    const auto dims = arguments[i].dims();
    known.input_shapes[std::string(names[i])] = {dims.begin(), dims.end()};
  }
  const auto open = ImportText(text), fixed = ImportText(text, known);
  ASSERT_TRUE(open.ok()) << open.status();
  ASSERT_TRUE(fixed.ok()) << fixed.status();
  const auto actual = Evaluate(*open, arguments);
  const auto expected = Evaluate(*fixed, arguments);
  ASSERT_TRUE(actual.ok()) << actual.status();
  ASSERT_TRUE(expected.ok()) << expected.status();
  ASSERT_EQ((*actual)[0].type(), (*expected)[0].type());
  for (int64_t i = 0; i < (*actual)[0].element_count(); ++i) {
    EXPECT_NEAR((*actual)[0].AsDouble(i), (*expected)[0].AsDouble(i), 1e-5);
  }
}

constexpr std::pair<int64_t, int64_t> kExtents[] = {{4, 5}, {7, 3}, {3, 3}};

TEST(SamplesOfAnyExtent, Grid) {
  const Operand grid = {"grid", {"2", "2", "3", "2"}, Waves({2, 2, 3, 2}, 1.3)};
  for (const char* mode : {"linear", "nearest", "cubic"}) {
    for (const char* padding : {"zeros", "border", "reflection"}) {
      for (const bool align : {false, true}) {
        for (const auto& [height, width] : kExtents) {
          ExpectSame("GridSample", {grid},
                     {StringAttribute("mode", mode),
                      StringAttribute("padding_mode", padding),
                      IntAttribute("align_corners", align)},
                     height, width);
        }
      }
    }
  }
  // One element is every element's neighbour.
  ExpectSame("GridSample", {grid},
             {StringAttribute("padding_mode", "reflection"),
              IntAttribute("align_corners", 1)},
             1, 1);
}

TEST(SamplesOfAnyExtent, Regions) {
  Literal rois(DType::kF32, {2, 4}), pooled(DType::kF32, {2, 5});
  const float corners[] = {0, 1, 3, 4, 1, 0, 2.5, 2};
  for (int64_t i = 0; i < 8; ++i) {
    rois.SetDouble(i, corners[i]);
    pooled.SetDouble(i / 4 * 5 + 1 + i % 4, corners[i]);
  }
  const Operand regions = {"rois", {"2", "4"}, rois};
  const Operand batch = {
      "batch", {"2"}, Literal::Vector<int64_t>(std::vector<int64_t>{1, 0})};
  for (const auto& [height, width] : kExtents) {
    for (const char* mode : {"avg", "max"}) {
      for (const int64_t samples : {0, 2}) {
        ExpectSame(
            "RoiAlign", {regions, batch},
            {StringAttribute("mode", mode),
             IntAttribute("sampling_ratio", samples),
             IntAttribute("output_height", 2), IntAttribute("output_width", 3)},
            height, width);
      }
    }
    ExpectSame("MaxRoiPool", {{"rois", {"2", "5"}, pooled}},
               {IntsAttribute("pooled_shape", {2, 2})}, height, width);
  }
}

TEST(SamplesOfAnyExtent, DeformedWindows) {
  const Operand weights = {"w", {"3", "2", "2", "2"}, Waves({3, 2, 2, 2}, 1)};
  for (const auto& [height, width] : kExtents) {
    const Operand offset = {"offset",
                            {"2", "8", "Oh", "Ow"},
                            Waves({2, 8, height - 1, width - 1}, 0.8)};
    ExpectSame("DeformConv", {weights, offset},
               {IntsAttribute("kernel_shape", {2, 2})}, height, width);
  }
}

}  // namespace
}  // namespace encore::onnx
