// All of the suite on CUDA's kernels: by NVRTC, through the device, on a driver
// that executes.
#include "encore/backends/conformance/suite.h"

namespace encore::backends {

INSTANTIATE_TEST_SUITE_P(Cuda, ConformanceTest, OpsOf("cuda_emulated"), OpName);
INSTANTIATE_TEST_SUITE_P(Cuda, DifferentialTest, SeedsOf("cuda_emulated", 100),
                         SeedName);

}  // namespace encore::backends
