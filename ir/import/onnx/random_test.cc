// Random operators: the same numbers for the same seed, others for another, and
// distributed as the operator says. Bounds are those of a significance of 0.001
// or beyond; seeds are fixed, so no run differs from another.
#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "encore/ir/eval/evaluator.h"
#include "encore/ir/import/onnx/test_models.h"
#include "gtest/gtest.h"

namespace encore::onnx {
namespace {

constexpr int64_t kCount = 4096;

Proto FloatAttribute(std::string_view name, float value) {
  return Proto().Bytes(1, name).Float(2, value).Int(20, 1);
}

std::vector<double> Draw(std::string_view op, float seed,
                         std::vector<Proto> attributes,
                         const std::vector<Literal>& arguments = {}) {
  ModelText text;
  text.inputs.clear();
  std::vector<std::string_view> inputs;
  if (arguments.empty()) {
    attributes.push_back(IntsAttribute("shape", {kCount}));
  } else {
    std::vector<std::string> dims;
    for (const int64_t dim : arguments[0].dims()) {
      dims.push_back(std::to_string(dim));
    }
    text.inputs = {TensorInput("x", dims)};
    inputs = {"x"};
  }
  attributes.push_back(FloatAttribute("seed", seed));
  text.nodes = {Node(op, inputs, {"y"}, attributes)};
  const auto graph = ImportText(text);
  EXPECT_TRUE(graph.ok()) << graph.status();
  if (!graph.ok()) return {};
  const auto results = Evaluate(*graph, arguments);
  EXPECT_TRUE(results.ok()) << results.status();
  std::vector<double> numbers;
  for (int64_t i = 0; results.ok() && i < (*results)[0].element_count(); ++i) {
    numbers.push_back((*results)[0].AsDouble(i));
  }
  return numbers;
}

// Kolmogorov and Smirnov: how far the numbers are from the distribution whose
// cumulative function is given, times the root of how many there are.
template <typename Cumulative>
double Distance(std::vector<double> numbers, Cumulative cumulative) {
  std::ranges::sort(numbers);
  const auto n = static_cast<double>(numbers.size());
  double most = 0;
  for (size_t i = 0; i < numbers.size(); ++i) {
    const double at = cumulative(numbers[i]);
    most = std::max({most, std::abs(at - static_cast<double>(i) / n),
                     std::abs(at - static_cast<double>(i + 1) / n)});
  }
  return most * std::sqrt(n);
}

// A larger distance has a probability below 0.001.
constexpr double kMostDistance = 1.95;

TEST(Random, SeedsDecide) {
  for (const std::string_view op : {"RandomUniform", "RandomNormal"}) {
    const auto numbers = Draw(op, 3, {});
    ASSERT_EQ(numbers.size(), static_cast<size_t>(kCount));
    EXPECT_EQ(numbers, Draw(op, 3, {}));
    EXPECT_NE(numbers, Draw(op, 4, {}));
  }
}

TEST(Random, Uniform) {
  for (const float seed : {1.f, 2.f, 77.f}) {
    const auto numbers =
        Draw("RandomUniform", seed,
             {FloatAttribute("low", -3), FloatAttribute("high", 5)});
    EXPECT_GE(*std::ranges::min_element(numbers), -3);
    EXPECT_LT(*std::ranges::max_element(numbers), 5);
    EXPECT_LT(Distance(numbers, [](double x) { return (x + 3) / 8; }),
              kMostDistance);
    // Neighbours do not depend on each other: their correlation is near 0.
    double sum = 0;
    for (size_t i = 1; i < numbers.size(); ++i) {
      sum += (numbers[i] - 1) * (numbers[i - 1] - 1);
    }
    EXPECT_LT(std::abs(sum / (kCount * 64.0 / 12)), 3.3 / std::sqrt(kCount));
  }
}

TEST(Random, Normal) {
  for (const float seed : {1.f, 2.f, 77.f}) {
    const auto numbers =
        Draw("RandomNormal", seed,
             {FloatAttribute("mean", 2), FloatAttribute("scale", 0.5f)});
    EXPECT_LT(Distance(numbers,
                       [](double x) {
                         return std::erfc(-(x - 2) / 0.5 / std::sqrt(2)) / 2;
                       }),
              kMostDistance);
  }
}

// How often is within 3.3 standard deviations of what is expected.
void ExpectFrequency(int64_t seen, double probability) {
  EXPECT_NEAR(static_cast<double>(seen), kCount * probability,
              3.3 * std::sqrt(kCount * probability * (1 - probability)));
}

TEST(Random, Bernoulli) {
  for (const double probability : {0.0, 0.1, 0.5, 1.0}) {
    Literal x(DType::kF32, {kCount});
    for (int64_t i = 0; i < kCount; ++i) x.SetDouble(i, probability);
    const auto numbers = Draw("Bernoulli", 5, {}, {x});
    const auto ones = std::ranges::count(numbers, 1.0);
    EXPECT_EQ(ones + std::ranges::count(numbers, 0.0), kCount);
    ExpectFrequency(ones, probability);
  }
}

TEST(Random, Multinomial) {
  constexpr std::array kProbabilities = {0.1, 0.2, 0.7};
  Literal x(DType::kF32, {1, 3});
  for (int64_t i = 0; i < 3; ++i) x.SetDouble(i, std::log(kProbabilities[i]));
  const auto numbers =
      Draw("Multinomial", 5, {IntAttribute("sample_size", kCount)}, {x});
  ASSERT_EQ(numbers.size(), static_cast<size_t>(kCount));
  for (int i = 0; i < 3; ++i) {
    ExpectFrequency(std::ranges::count(numbers, static_cast<double>(i)),
                    kProbabilities[i]);
  }
}

}  // namespace
}  // namespace encore::onnx
