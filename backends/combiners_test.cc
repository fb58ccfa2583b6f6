// The combiners of more than one component, which no rewrite makes yet: every
// candidate of every backend against two passes over the values.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "encore/backends/backends.h"
#include "encore/backends/kernel_binary.h"
#include "encore/backends/region/codec.h"
#include "encore/backends/region/text.h"
#include "encore/backends/region/verify.h"
#include "encore/runtime/device/device.h"
#include "encore/runtime/device/thread_pool.h"
#include "gtest/gtest.h"

namespace encore::backends {
namespace {

constexpr int64_t kRows = 5;

// Components 0 and 1 of the rows of a matrix, as two outputs.
Region RowsCombined(RegionCombiner combiner, int64_t columns) {
  Region region;
  region.extents = {Dim(kRows), Dim(columns)};
  region.outer = 1;
  region.inputs = {{DType::kF32, {Dim(kRows), Dim(columns)}, {}}};
  region.outputs.assign(2, {DType::kF32, {Dim(kRows)}, {}});
  Index row, column;
  row.terms = {{0, 1}};
  column.terms = {{1, 1}};
  const auto load = [&](Access access) {
    const uint32_t number = AddAccess(&region, std::move(access));
    return AddExpr(&region, {.kind = Expr::Kind::kLoad, .number = number});
  };
  Stage reduce{.kind = Stage::Kind::kReduce};
  reduce.reduced = {1};
  reduce.combiner = combiner;
  reduce.value = load({.indices = {row, column}});
  region.stages.push_back(reduce);
  Stage store;
  for (uint32_t component = 0; component < 2; ++component) {
    const ExprId value =
        load({.source = Access::Source::kStage, .component = component});
    store.stores.push_back(
        {.output = component, .value = value, .indices = {row}});
  }
  region.stages.push_back(store);
  return region;
}

std::vector<float> Values(int64_t columns) {
  std::vector<float> values(kRows * columns);
  uint32_t seed = 7;
  for (float& value : values) {
    seed = seed * 1664525 + 1013904223;
    value = static_cast<float>((seed >> 8) * 0x1p-24 * 20 - 4);
  }
  return values;
}

using Pair = std::pair<double, double>;

Pair MeanAndSquares(const float* begin, const float* end) {
  double sum = 0, squares = 0;
  for (const float* x = begin; x != end; ++x) sum += *x;
  const double mean = sum / static_cast<double>(end - begin);
  for (const float* x = begin; x != end; ++x) {
    squares += (*x - mean) * (*x - mean);
  }
  return {mean, squares};
}

Pair MaximumAndExponentials(const float* begin, const float* end) {
  const double maximum = *std::max_element(begin, end);
  double sum = 0;
  for (const float* x = begin; x != end; ++x) sum += std::exp(*x - maximum);
  return {maximum, sum};
}

// The outputs of one candidate, on two threads.
std::vector<std::vector<float>> Run(const Backend& backend,
                                    const CompileRequest& request,
                                    std::vector<float> values) {
  std::vector<std::vector<float>> outputs(2, std::vector<float>(kRows));
  const auto module = backend.Compile({&request, 1}, {}, nullptr);
  EXPECT_TRUE(module.ok()) << module.status();
  if (!module.ok()) return outputs;
  const CompiledKernel& kernel = module->kernels[0];
  std::vector<std::byte> scratch(kernel.scratch.constant() + 64);
  runtime::ThreadPool pool(2);
  const auto device = backend.NewDevice(0);
  EXPECT_TRUE(device.ok()) << device.status();
  const auto loaded =
      LoadKernel(**device, *module, kernel.code,
                 ShapeOfLaunch(*request.kernel.region, kernel), &pool);
  EXPECT_TRUE(loaded.ok()) << loaded.status();
  if (!loaded.ok()) return outputs;
  void* const buffers[] = {values.data(), outputs[0].data(), outputs[1].data(),
                           scratch.data()};
  const int64_t row = kRows * static_cast<int64_t>(sizeof(float));
  const int64_t sizes[] = {static_cast<int64_t>(values.size() * sizeof(float)),
                           row, row, static_cast<int64_t>(scratch.size())};
  runtime::LaunchContext context;
  context.buffers = buffers;
  context.sizes = sizes;
  context.threads = &pool;
  const Status launched = (*loaded)->Launch(context);
  EXPECT_TRUE(launched.ok()) << launched;
  return outputs;
}

void Check(RegionCombiner combiner,
           Pair (*expected)(const float* begin, const float* end)) {
  EXPECT_EQ(ComponentCount(combiner), 2);
  for (const int64_t columns : {1, 37, 256}) {
    const Region region = RowsCombined(combiner, columns);
    SCOPED_TRACE(ToText(region));
    ASSERT_TRUE(VerifyRegion(region).ok()) << VerifyRegion(region);
    const auto bytes = EncodeRegion(region);
    const auto decoded = DecodeRegion(bytes);
    ASSERT_TRUE(decoded.ok()) << decoded.status();
    EXPECT_EQ(EncodeRegion(*decoded), bytes);
    const std::vector<float> values = Values(columns);
    for (const Backend* backend : AllBackends()) {
      if (!backend->uses_host_memory()) continue;
      const KernelRequest request{&region, {false}, {}};
      const auto candidates = backend->Candidates(request, {});
      ASSERT_FALSE(candidates.empty()) << backend->name();
      for (const Candidate& candidate : candidates) {
        SCOPED_TRACE(candidate.kernel);
        const auto got = Run(*backend, {request, candidate}, values);
        for (int64_t r = 0; r < kRows; ++r) {
          const float* begin = values.data() + r * columns;
          const auto [first, second] = expected(begin, begin + columns);
          EXPECT_NEAR(got[0][r], first, 1e-5 * (1 + std::abs(first)));
          EXPECT_NEAR(got[1][r], second, 1e-5 * (1 + std::abs(second)));
        }
      }
    }
  }
}

TEST(CombinersTest, WelfordIsMeanAndSumOfSquares) {
  Check(RegionCombiner::kWelford, MeanAndSquares);
}

TEST(CombinersTest, OnlineSoftmaxIsMaximumAndSumOfExponentials) {
  Check(RegionCombiner::kOnlineSoftmax, MaximumAndExponentials);
}

}  // namespace
}  // namespace encore::backends
