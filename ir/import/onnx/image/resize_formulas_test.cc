// Positions and weights against numbers worked out by hand, and formulas that
// were written into a graph against the same formulas computed.
#include "encore/ir/import/onnx/image/resize_formulas.h"

#include <bit>
#include <cstdint>
#include <functional>
#include <vector>

#include "encore/ir/build/builder.h"
#include "encore/ir/eval/evaluator.h"
#include "encore/ir/import/onnx/image/interpolation.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace encore::onnx {
namespace {

using ::testing::ElementsAre;

using Axis = ResizedAxis<double>;

constexpr Transformation kTransformations[] = {
    Transformation::kAsymmetric,         Transformation::kHalfPixel,
    Transformation::kTfHalfPixelForNn,   Transformation::kPytorchHalfPixel,
    Transformation::kHalfPixelSymmetric, Transformation::kAlignCorners,
    Transformation::kTfCropAndResize};
constexpr NearestMode kNearestModes[] = {
    NearestMode::kRoundPreferFloor, NearestMode::kRoundPreferCeil,
    NearestMode::kFloor, NearestMode::kCeil,
    NearestMode::kFloorOrCeilIfSmaller};

std::vector<double> Positions(Transformation transformation, const Axis& axis) {
  std::vector<double> positions;
  for (int i = 0; i < axis.to; ++i) {
    positions.push_back(SourcePosition<double>(transformation, axis, i));
  }
  return positions;
}

TEST(SourcePosition, OfAnAxisThatDoubles) {
  const Axis axis = {2, 4, 2, 0.5, 1};
  EXPECT_THAT(Positions(Transformation::kAsymmetric, axis),
              ElementsAre(0, 0.5, 1, 1.5));
  EXPECT_THAT(Positions(Transformation::kHalfPixel, axis),
              ElementsAre(-0.25, 0.25, 0.75, 1.25));
  EXPECT_THAT(Positions(Transformation::kTfHalfPixelForNn, axis),
              ElementsAre(0.25, 0.75, 1.25, 1.75));
  EXPECT_THAT(Positions(Transformation::kPytorchHalfPixel, axis),
              ElementsAre(-0.25, 0.25, 0.75, 1.25));
  EXPECT_THAT(Positions(Transformation::kHalfPixelSymmetric, axis),
              ElementsAre(-0.25, 0.25, 0.75, 1.25));
}

TEST(SourcePosition, AlignCornersKeepsBothEnds) {
  EXPECT_THAT(Positions(Transformation::kAlignCorners, {3, 5, 5.0 / 3, 0, 1}),
              ElementsAre(0, 0.5, 1, 1.5, 2));
}

TEST(SourcePosition, OfASingleElement) {
  const Axis axis = {4, 1, 0.25, 0.25, 0.75};
  EXPECT_THAT(Positions(Transformation::kHalfPixel, axis), ElementsAre(1.5));
  EXPECT_THAT(Positions(Transformation::kPytorchHalfPixel, axis),
              ElementsAre(0));
  EXPECT_THAT(Positions(Transformation::kAlignCorners, axis), ElementsAre(0));
  EXPECT_THAT(Positions(Transformation::kTfCropAndResize, axis),
              ElementsAre(1.5));
}

TEST(SourcePosition, OfACrop) {
  EXPECT_THAT(
      Positions(Transformation::kTfCropAndResize, {5, 3, 0.6, 0.25, 1.25}),
      ElementsAre(1, 3, 5));
}

// A scale of 0.7 makes 3 elements of 5 where exactly 3.5 would be right.
TEST(SourcePosition, SymmetricImagesShareTheirCentre) {
  const Axis axis = {5, 3, 0.7, 0, 1};
  EXPECT_DOUBLE_EQ(
      SourcePosition<double>(Transformation::kHalfPixelSymmetric, axis, 1), 2);
}

TEST(NearestElement, BetweenAndAtHalf) {
  const Axis smaller = {4, 2, 0.5, 0, 1}, larger = {2, 4, 2, 0, 1};
  std::vector<double> half, rest;
  for (const NearestMode mode : kNearestModes) {
    half.push_back(NearestElement<double>(mode, larger, 2.5));
    rest.push_back(NearestElement<double>(mode, smaller, 1.25));
  }
  EXPECT_THAT(half, ElementsAre(2, 3, 2, 3, 2));
  EXPECT_THAT(rest, ElementsAre(1, 1, 1, 2, 2));
}

TEST(Weights, OfAPositionInTheMiddle) {
  EXPECT_THAT(LinearWeights(0.25), ElementsAre(0.75, 0.25));
  EXPECT_THAT(CubicWeights(0.5, -0.75),
              ElementsAre(-0.09375, 0.59375, 0.59375, -0.09375));
  EXPECT_THAT(CubicWeights(0.5, -0.5),
              ElementsAre(-0.0625, 0.5625, 0.5625, -0.0625));
}

// Keys' kernel sums to one, is 1 at 0 and 0 at other integers.
TEST(Weights, SumToOneAndEndAtTwo) {
  for (const double a : {-0.75, -0.5, -1.0}) {
    for (double t = 0; t < 1; t += 0.125) {
      const std::vector<double> weights = CubicWeights(t, a);
      double sum = 0;
      for (int k = 0; k < 4; ++k) {
        sum += weights[k];
        EXPECT_NEAR(weights[k], CubicWeight<double>(k - 1 - t, a), 1e-15);
      }
      EXPECT_NEAR(sum, 1, 1e-15);
    }
    EXPECT_EQ(CubicWeight<double>(0, a), 1);
    for (const double d : {-3.0, -2.0, -1.0, 1.0, 2.0, 2.5}) {
      EXPECT_EQ(CubicWeight<double>(d, a), 0) << d;
    }
  }
  EXPECT_EQ(LinearWeight(-0.25), 0.75);
  EXPECT_EQ(LinearWeight(1.5), 0);
}

TEST(FirstTap, KernelsBecomeWider) {
  const ResizeMode linear = {.interpolation = Interpolation::kLinear};
  const ResizeMode cubic = {.interpolation = Interpolation::kCubic};
  EXPECT_EQ(FirstTap<double>(linear, 1), 0);
  EXPECT_EQ(FirstTap<double>(cubic, 1), -1);
  EXPECT_EQ(FirstTap<double>(linear, 0.5), -1);
  EXPECT_EQ(FirstTap<double>(cubic, 0.4), -4);
}

TEST(Sizes, PoliciesKeepTheAspectRatio) {
  const auto scaled = [](AspectPolicy policy) {
    std::vector<Axis> axes = {{10, 20, 0, 0, 1}, {8, 4, 0, 0, 1}};
    ApplySizes<double>(policy, axes);
    return std::vector<double>{axes[0].scale, axes[0].to, axes[1].scale,
                               axes[1].to};
  };
  EXPECT_THAT(scaled(AspectPolicy::kStretch), ElementsAre(2, 20, 0.5, 4));
  EXPECT_THAT(scaled(AspectPolicy::kNotLarger), ElementsAre(0.5, 5, 0.5, 4));
  EXPECT_THAT(scaled(AspectPolicy::kNotSmaller), ElementsAre(2, 20, 2, 16));
}

// What a graph computes of inputs that it knows nothing of.
double Evaluated(const std::vector<double>& inputs,
                 const std::function<GraphNumber(
                     GraphBuilder&, const std::vector<GraphNumber>&)>& write) {
  GraphBuilder g;
  std::vector<GraphNumber> numbers;
  std::vector<Literal> arguments;
  for (const double input : inputs) {
    numbers.emplace_back(g, g.Input(std::string(1, 'a' + numbers.size()),
                                    {DType::kF64, Shape(Dims())}));
    arguments.push_back(Literal::Scalar<double>(input));
  }
  const Value result = write(g, numbers).value();
  const auto graph = g.Build({{"result", result}});
  EXPECT_TRUE(graph.ok()) << graph.status();
  const auto results = Evaluate(*graph, arguments);
  EXPECT_TRUE(results.ok()) << results.status();
  return (*results)[0].AsDouble(0);
}

TEST(GraphNumber, GivesTheBitsOfDouble) {
  const Axis axes[] = {
      {5, 8, 1.7, 0.1, 0.9}, {7, 1, 0.2, -0.3, 1.1}, {9, 3, 0.37, 0.25, 0.5}};
  for (const Axis& axis : axes) {
    const std::vector<double> inputs = {
        axis.from, axis.to, axis.scale, axis.crop_start, axis.crop_end, 2};
    for (const Transformation transformation : kTransformations) {
      for (const NearestMode mode : kNearestModes) {
        const double expected = NearestElement(
            mode, axis, SourcePosition<double>(transformation, axis, 2));
        const double position = Evaluated(inputs, [&](auto&, const auto& n) {
          return SourcePosition<GraphNumber>(
              transformation, {n[0], n[1], n[2], n[3], n[4]}, n[5]);
        });
        EXPECT_EQ(std::bit_cast<uint64_t>(position),
                  std::bit_cast<uint64_t>(
                      SourcePosition<double>(transformation, axis, 2)))
            << static_cast<int>(transformation);
        EXPECT_EQ(expected, Evaluated(inputs, [&](auto&, const auto& n) {
                    const ResizedAxis<GraphNumber> written = {n[0], n[1], n[2],
                                                              n[3], n[4]};
                    return NearestElement(
                        mode, written,
                        SourcePosition(transformation, written, n[5]));
                  }));
      }
    }
  }
}

TEST(GraphNumber, WeighsAsDoubleDoes) {
  for (const Interpolation interpolation :
       {Interpolation::kLinear, Interpolation::kCubic}) {
    const ResizeMode mode = {.interpolation = interpolation};
    for (const double d : {-2.5, -1.7, -0.3, 0.0, 0.9, 1.0, 1.3, 2.0}) {
      EXPECT_EQ(WeightAt(mode, d), Evaluated({d},
                                             [&](auto&, const auto& n) {
                                               return WeightAt(mode, n[0]);
                                             }))
          << d;
    }
  }
}

}  // namespace
}  // namespace encore::onnx
