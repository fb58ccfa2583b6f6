// Resize by data and of dynamic extents against Resize of constants: one result
// for every mode. The formulas have a test of their own, and ONNX's cases.
#include <cmath>
#include <string>
#include <tuple>
#include <vector>

#include "encore/ir/eval/evaluator.h"
#include "encore/ir/graph/graph.h"
#include "encore/ir/import/onnx/test_models.h"
#include "encore/ir/ops/op.h"
#include "encore/ir/support/strings.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace encore::onnx {
namespace {

using ::testing::HasSubstr;

struct Call {
  std::string interpolation, transformation = "half_pixel",
                             nearest = "round_prefer_floor";
  bool exclude_outside = false, antialias = false;
  std::vector<float> scales = {};
  std::vector<int64_t> sizes = {};
  std::string policy = "stretch";
};

std::ostream& operator<<(std::ostream& out, const Call& call) {
  return out << call.interpolation << " " << call.transformation << " "
             << call.nearest << " " << call.policy << " " << call.scales.size();
}

// A vector as an initializer.
template <typename T>
Proto Tensor(std::string_view name, const std::vector<T>& values, int dtype) {
  return Proto()
      .Int(1, values.size())
      .Int(2, dtype)
      .Bytes(8, name)
      .Bytes(9, {reinterpret_cast<const char*>(values.data()),
                 values.size() * sizeof(T)});
}

constexpr float kRoi[] = {0.1f, -0.2f, 0.7f, 1.3f};

// The model with what it takes as constants or as inputs.
ModelText Model(const Call& call, bool by_data) {
  ModelText text;
  const bool by_sizes = !call.sizes.empty();
  text.inputs = {TensorInput("x", {"3", "5"})};
  const std::vector<float> roi(std::begin(kRoi), std::end(kRoi));
  if (by_data) {
    text.inputs.push_back(TensorInput("roi", {"4"}));
    text.inputs.push_back(by_sizes ? TensorInput("to", {"2"}, kInt64)
                                   : TensorInput("to", {"2"}));
  } else {
    text.initializers = {Tensor("roi", roi, kFloat),
                         by_sizes ? Tensor("to", call.sizes, kInt64)
                                  : Tensor("to", call.scales, kFloat)};
  }
  std::vector<std::string_view> inputs = {"x", "roi", "to"};
  if (by_sizes) inputs = {"x", "roi", "", "to"};
  std::vector<Proto> attributes = {
      StringAttribute("mode", call.interpolation),
      StringAttribute("coordinate_transformation_mode", call.transformation),
      StringAttribute("nearest_mode", call.nearest),
      IntAttribute("exclude_outside", call.exclude_outside),
      IntAttribute("antialias", call.antialias)};
  if (by_sizes) {
    attributes.push_back(
        StringAttribute("keep_aspect_ratio_policy", call.policy));
  }
  text.nodes = {Node("Resize", inputs, {"y"}, attributes)};
  return text;
}

Literal Image() {
  Literal x(DType::kF32, {3, 5});
  for (int64_t i = 0; i < 15; ++i) x.SetDouble(i, std::sin(1.0 + 2.3 * i));
  return x;
}

StatusOr<Literal> RunByData(const Call& call) {
  const auto graph = ImportText(Model(call, true));
  if (!graph.ok()) return graph.status();
  const std::vector<Literal> arguments = {
      Image(), Literal::Vector<float>(kRoi),
      call.sizes.empty() ? Literal::Vector<float>(call.scales)
                         : Literal::Vector<int64_t>(call.sizes)};
  const auto results = Evaluate(*graph, arguments);
  if (!results.ok()) return results.status();
  return (*results)[0];
}

void ExpectSame(const Call& call) {
  SCOPED_TRACE(testing::PrintToString(call));
  const auto graph = ImportText(Model(call, false));
  ASSERT_TRUE(graph.ok()) << graph.status();
  const Literal x = Image();
  std::vector<Literal> arguments = {x};
  const auto expected = Evaluate(*graph, arguments);
  ASSERT_TRUE(expected.ok()) << expected.status();
  const auto actual = RunByData(call);
  ASSERT_TRUE(actual.ok()) << actual.status();
  ASSERT_EQ(actual->type().ToString(), (*expected)[0].type().ToString());
  for (int64_t i = 0; i < actual->element_count(); ++i) {
    EXPECT_NEAR(actual->AsDouble(i), (*expected)[0].AsDouble(i), 1e-5) << i;
  }
}

// Scales that shrink and grow, extents of 1 among the results.
const std::vector<float> kScales[] = {{2, 1.5f}, {0.4f, 3}, {1, 0.7f}};

TEST(ResizeByData, EveryInterpolationAndTransformation) {
  for (const char* interpolation : {"nearest", "linear", "cubic"}) {
    for (const char* transformation :
         {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel",
          "align_corners", "asymmetric", "tf_crop_and_resize"}) {
      for (const auto& scales : kScales) {
        ExpectSame({.interpolation = interpolation,
                    .transformation = transformation,
                    .scales = scales});
      }
      ExpectSame({.interpolation = interpolation,
                  .transformation = transformation,
                  .sizes = {1, 9}});
    }
    ExpectSame({.interpolation = interpolation,
                .exclude_outside = true,
                .scales = {2, 0.5f}});
  }
}

// What a ratio says needs no list of positions.
TEST(NearestResize, ByARatioGathersNothing) {
  for (const auto& [transformation, scales, gathers] :
       {std::tuple<std::string, std::vector<float>, int>{
            "asymmetric", {2, 1.5f}, 0},
        {"asymmetric", {1.25f, 0.5f}, 0},
        {"half_pixel", {1, 2}, 1}}) {
    const auto graph = ImportText(Model({.interpolation = "nearest",
                                         .transformation = transformation,
                                         .nearest = "floor",
                                         .scales = scales},
                                        false));
    ASSERT_TRUE(graph.ok()) << graph.status();
    int found = 0;
    for (const NodeId node : Nodes(*graph)) {
      found += graph->op(node) == Op::kGather ? 1 : 0;
    }
    EXPECT_EQ(found, gathers) << scales[1];
  }
}

// The number of taps depends on the scale.
TEST(ResizeByData, AgainstAliasing) {
  for (const char* interpolation : {"nearest", "linear", "cubic"}) {
    for (const bool exclude_outside : {false, true}) {
      const Call call = {.interpolation = interpolation,
                         .exclude_outside = exclude_outside,
                         .antialias = true};
      for (const auto& scales : kScales) {
        Call scaled = call;
        scaled.scales = scales;
        ExpectSame(scaled);
      }
      Call sized = call;
      sized.sizes = {1, 2};
      ExpectSame(sized);
    }
  }
}

// Nothing stays nothing, whatever the scale.
TEST(ResizeOfNothing, HasNoElements) {
  for (const char* interpolation : {"nearest", "linear", "cubic"}) {
    ModelText text =
        Model({.interpolation = interpolation, .scales = {1, 1.7f}}, false);
    text.inputs = {TensorInput("x", {"3", "0"})};
    const auto graph = ImportText(text);
    ASSERT_TRUE(graph.ok()) << graph.status();
    const std::vector<Literal> arguments = {Literal(DType::kF32, {3, 0})};
    const auto results = Evaluate(*graph, arguments);
    ASSERT_TRUE(results.ok()) << results.status();
    EXPECT_EQ((*results)[0].element_count(), 0);
  }
}

TEST(ResizeByData, NearestModesAndPolicies) {
  for (const char* nearest :
       {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}) {
    for (const auto& scales : kScales) {
      ExpectSame(
          {.interpolation = "nearest", .nearest = nearest, .scales = scales});
    }
  }
  for (const char* policy : {"stretch", "not_larger", "not_smaller"}) {
    ExpectSame({.interpolation = "linear", .sizes = {7, 8}, .policy = policy});
  }
}

// The model of an image [N, 2, H, W].
ModelText DynamicModel(const Call& call) {
  ModelText text = Model(call, false);
  text.inputs = {TensorInput("x", {"N", "2", "H", "W"})};
  const std::vector<float> roi = {0, 0, 0.1f, -0.2f, 1, 1, 0.7f, 1.3f};
  text.initializers[0] = Tensor("roi", roi, kFloat);
  return text;
}

Literal DynamicImage(std::vector<int64_t> dims) {
  Literal x(DType::kF32, dims);
  for (int64_t i = 0; i < x.element_count(); ++i) {
    x.SetDouble(i, std::sin(1.0 + 2.3 * static_cast<double>(i)));
  }
  return x;
}

// One graph for all extents, against a graph of each: the same results.
void ExpectSameOfDynamic(const Call& call) {
  SCOPED_TRACE(testing::PrintToString(call));
  const ModelText text = DynamicModel(call);
  const auto graph = ImportText(text);
  ASSERT_TRUE(graph.ok()) << graph.status();
  for (const std::vector<int64_t>& dims :
       {std::vector<int64_t>{2, 2, 5, 6}, {1, 2, 3, 4}, {1, 2, 1, 7}}) {
    ImportOptions known;
    known.input_shapes["x"] = dims;
    const auto constant = ImportText(text, known);
    ASSERT_TRUE(constant.ok()) << constant.status();
    const std::vector<Literal> arguments = {DynamicImage(dims)};
    const auto expected = Evaluate(*constant, arguments);
    const auto actual = Evaluate(*graph, arguments);
    ASSERT_TRUE(expected.ok()) << expected.status();
    ASSERT_TRUE(actual.ok()) << actual.status();
    ASSERT_EQ((*actual)[0].dims(), (*expected)[0].dims());
    for (int64_t i = 0; i < (*actual)[0].element_count(); ++i) {
      EXPECT_NEAR((*actual)[0].AsDouble(i), (*expected)[0].AsDouble(i), 1e-5)
          << i;
    }
  }
}

TEST(ResizeOfDynamicExtents, EveryInterpolationAndTransformation) {
  for (const char* interpolation : {"nearest", "linear", "cubic"}) {
    for (const char* transformation :
         {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel",
          "align_corners", "asymmetric", "tf_crop_and_resize"}) {
      for (const auto& scales :
           std::vector<std::vector<float>>{{1, 1, 2, 1.5f}, {1, 1, 0.7f, 3}}) {
        ExpectSameOfDynamic({.interpolation = interpolation,
                             .transformation = transformation,
                             .scales = scales});
      }
      ExpectSameOfDynamic({.interpolation = interpolation,
                           .transformation = transformation,
                           .exclude_outside = true,
                           .sizes = {2, 2, 4, 9}});
    }
    ExpectSameOfDynamic({.interpolation = interpolation,
                         .antialias = true,
                         .scales = {1, 1, 0.6f, 2}});
    ExpectSameOfDynamic({.interpolation = interpolation,
                         .antialias = true,
                         .sizes = {1, 2, 2, 5}});
  }
}

std::string ResultType(const ModelText& text) {
  const auto graph = ImportText(text);
  if (!graph.ok()) return Message(graph.status());
  return graph->type(graph->outputs()[0].value).ToString(graph->symbols());
}

TEST(ResizeOfDynamicExtents, ConstantScalesGiveExpressions) {
  const ModelText text =
      DynamicModel({.interpolation = "nearest", .scales = {1, 1, 2, 0.75f}});
  EXPECT_EQ(ResultType(text), "f32[N,2,2*H,floor_div(3*W, 4)]");
}

// The axes of batch and channels stay as they are; the others become those of
// the other image.
TEST(ResizeOfDynamicExtents, SizesOfAnotherImage) {
  ModelText text;
  text.inputs = {TensorInput("x", {"N", "C", "3", "W"}),
                 TensorInput("other", {"N", "C", "h", "w"})};
  text.nodes = {Node("Shape", {"other"}, {"sizes"}),
                Node("Resize", {"x", "", "", "sizes"}, {"y"})};
  EXPECT_EQ(ResultType(text), "f32[N,C,h,w]");
  const auto graph = ImportText(text);
  ASSERT_TRUE(graph.ok()) << graph.status();
  int gathers = 0;
  for (const NodeId node : NodeRange(*graph)) {
    gathers += graph->op(node) == Op::kGather;
  }
  EXPECT_EQ(gathers, 2);
}

TEST(ResizeErrors, NameTheEntry) {
  const auto error = [](const Call& call) {
    return ErrorOf(Model(call, false));
  };
  EXPECT_THAT(error({.interpolation = "linear", .scales = {-1, 1}}),
              HasSubstr("input scales has an entry of -1: dim 0 of extent 3"));
  EXPECT_THAT(error({.interpolation = "linear", .scales = {1, 4e7f}}),
              HasSubstr("input scales has an entry of 4"));
  EXPECT_THAT(error({.interpolation = "cubic", .sizes = {3, -2}}),
              HasSubstr("input sizes has an entry of -2: dim 1 of extent 5"));
  EXPECT_THAT(error({.interpolation = "nearest",
                     .sizes = {1 << 24, 1 << 24},
                     .policy = "not_smaller"}),
              HasSubstr("input sizes has an entry of 16777216: dim 1"));
  ModelText empty = Model({.interpolation = "nearest", .sizes = {3, 2}}, false);
  empty.inputs = {TensorInput("x", {"3", "0"})};
  EXPECT_THAT(ErrorOf(empty),
              HasSubstr("input sizes has an entry of 2: dim 1 of extent 0"));
}

TEST(ResizeByData, NumbersThatMakeNoSenseEndTheRun) {
  const float nan = std::nanf("");
  for (const auto& scales : std::vector<std::vector<float>>{
           {0, 1}, {-1, 1}, {nan, 1}, {1e30f, 1}, {INFINITY, 1}}) {
    const auto result =
        RunByData({.interpolation = "linear", .scales = scales});
    ASSERT_FALSE(result.ok());
    EXPECT_THAT(Message(result.status()), HasSubstr("input scales"));
  }
  for (const auto& sizes : std::vector<std::vector<int64_t>>{
           {-1, 4}, {int64_t{1} << 40, 4}, {INT64_MIN, 4}}) {
    EXPECT_FALSE(RunByData({.interpolation = "nearest", .sizes = sizes}).ok());
  }
}

}  // namespace
}  // namespace encore::onnx
