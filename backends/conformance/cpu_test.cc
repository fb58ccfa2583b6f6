#include "encore/backends/conformance/suite.h"

namespace encore::backends {

INSTANTIATE_TEST_SUITE_P(Cpu, ConformanceTest, OpsOf("cpu"), OpName);
INSTANTIATE_TEST_SUITE_P(Cpu, DifferentialTest, SeedsOf("cpu", 60), SeedName);

}  // namespace encore::backends
