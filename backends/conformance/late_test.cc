// All of the suite on devices that do everything as late as they may.
#include "encore/backends/conformance/suite.h"

namespace encore::backends {

INSTANTIATE_TEST_SUITE_P(LateRef, ConformanceTest, OpsOf("late_ref"), OpName);
INSTANTIATE_TEST_SUITE_P(LateRef, DifferentialTest, SeedsOf("late_ref", 60),
                         SeedName);
INSTANTIATE_TEST_SUITE_P(LateCpu, DifferentialTest, SeedsOf("late_cpu", 40),
                         SeedName);

}  // namespace encore::backends
