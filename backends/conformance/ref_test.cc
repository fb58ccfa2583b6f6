#include "encore/backends/conformance/layout_suite.h"
#include "encore/backends/conformance/suite.h"

namespace encore::backends {

INSTANTIATE_TEST_SUITE_P(Ref, ConformanceTest, OpsOf("ref"), OpName);
INSTANTIATE_TEST_SUITE_P(Ref, DifferentialTest, SeedsOf("ref", 100), SeedName);
INSTANTIATE_TEST_SUITE_P(Ref, LayoutTest, LayoutsOf("ref"), LayoutName);

}  // namespace encore::backends
