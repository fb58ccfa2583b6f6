#include "encore/backends/conformance/layout_suite.h"
#include "encore/backends/conformance/suite.h"

namespace encore::backends {

INSTANTIATE_TEST_SUITE_P(Cpu, ConformanceTest, OpsOf("cpu"), OpName);
INSTANTIATE_TEST_SUITE_P(Cpu, DifferentialTest, SeedsOf("cpu", 60), SeedName);
INSTANTIATE_TEST_SUITE_P(CpuVendor, ConformanceTest,
                         OpsOf("cpu", CpuKernels::kVendor), OpName);
INSTANTIATE_TEST_SUITE_P(CpuVendor, DifferentialTest,
                         SeedsOf("cpu", 12, CpuKernels::kVendor), SeedName);
INSTANTIATE_TEST_SUITE_P(Cpu, LayoutTest, LayoutsOf("cpu"), LayoutName);

}  // namespace encore::backends
