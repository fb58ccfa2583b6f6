#include "encore/backends/conformance/suite.h"

namespace encore::backends {

INSTANTIATE_TEST_SUITE_P(Ref, ConformanceTest, OpsOf("ref"), OpName);
INSTANTIATE_TEST_SUITE_P(Ref, DifferentialTest, SeedsOf("ref", 100), SeedName);

}  // namespace encore::backends
