// The conformance suite: what every backend has to pass.
//
// ConformanceTest runs each op of the table, in each dtype that its row and the
// backend both name, on edge shapes (scalars, extents of 0, 1 and primes,
// broadcasts). Results are right where they lie within the bounds of bounds.h:
// what f32 arithmetic may lose, and one rounding. An op without cases in a
// dtype (cases.h) fails, and so does one whose right results could be replaced
// by 0 or by what is 1 % off (mutants.h). DifferentialTest runs random graphs,
// of f32 and of f16 and bf16 in turn, as they are and fused, on the backend and
// half of it on ref with Copy steps between; of those that work late
// (late_backends.h) over both of these, ref and cpu, of CUDA's over it, ref,
// cpu and a late one. A backend instantiates them in a file of its own:
//
//   INSTANTIATE_TEST_SUITE_P(Ref, ConformanceTest, OpsOf("ref"), OpName);
//   INSTANTIATE_TEST_SUITE_P(Ref, DifferentialTest, SeedsOf("ref"), SeedName);
#ifndef ENCORE_BACKENDS_CONFORMANCE_SUITE_H_
#define ENCORE_BACKENDS_CONFORMANCE_SUITE_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "encore/backends/options.h"
#include "encore/ir/ops/op.h"
#include "gtest/gtest.h"

namespace encore::backends {

struct OpCase {
  std::string_view backend;
  Op op;
  CpuKernels kernels = CpuKernels::kAuto;
};
struct SeedCase {
  std::string_view backend;
  uint64_t seed;
  CpuKernels kernels = CpuKernels::kAuto;
};

class ConformanceTest : public ::testing::TestWithParam<OpCase> {};
class DifferentialTest : public ::testing::TestWithParam<SeedCase> {};

std::string OpName(const ::testing::TestParamInfo<OpCase>& info);
std::string SeedName(const ::testing::TestParamInfo<SeedCase>& info);

// Every op that becomes kernels, for one backend; of kernels that a vendor
// makes, every op whose decomposition has a product or a convolution.
::testing::internal::ParamGenerator<OpCase> OpsOf(
    std::string_view backend, CpuKernels kernels = CpuKernels::kAuto);
::testing::internal::ParamGenerator<SeedCase> SeedsOf(
    std::string_view backend, uint64_t count,
    CpuKernels kernels = CpuKernels::kAuto);

}  // namespace encore::backends

#endif  // ENCORE_BACKENDS_CONFORMANCE_SUITE_H_
