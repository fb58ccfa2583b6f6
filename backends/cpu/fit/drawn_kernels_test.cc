#include "encore/backends/cpu/fit/drawn_kernels.h"

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "encore/backends/backend.h"
#include "encore/backends/cpu/candidates.h"
#include "encore/backends/cpu/cpu_backend.h"
#include "encore/backends/cpu/cpu_features.h"
#include "encore/backends/cpu/fit/measured_kernels.h"
#include "encore/backends/cpu/kernel_generator.h"
#include "encore/backends/cpu/kernel_spec.h"
#include "encore/backends/cpu/target.h"
#include "encore/backends/cpu/vendor/library.h"
#include "encore/backends/options.h"
#include "gtest/gtest.h"

namespace encore::backends::cpu {
namespace {

// What is asked of generator and library; code is not made of all the texts.
TEST(DrawnKernels, EachCandidateThatIsOfferedCompiles) {
  const CompileOptions options;
  std::map<std::string, int> offered;
  for (const DrawnKernel& kernel : DrawKernels(600, /*seed=*/4)) {
    const KernelProblem problem(kernel);
    const auto candidates = CpuBackend()->Candidates(problem.request, options);
    ASSERT_FALSE(candidates.empty()) << kernel.name;
    for (const Candidate& candidate : candidates) {
      ++offered[candidate.kernel];
      const auto generated =
          GenerateKernel({problem.request, candidate.kernel, IsaOf(options)});
      EXPECT_TRUE(generated.ok()) << kernel.name << ", " << candidate.kernel
                                  << ": " << generated.status();
    }
  }
  EXPECT_GT(offered[std::string(kTiles)], 300);
  EXPECT_GT(offered[std::string(kLoops)], 500);
  if (VendorVersion() != "none") {
    EXPECT_GT(offered[std::string(kVendor)], 200);
  }
}

TEST(DrawnKernels, AreOfAllKindsAndTheSameForASeed) {
  const std::vector<DrawnKernel> kernels = DrawKernels(80, /*seed=*/1);
  std::set<std::string> kinds;
  for (const DrawnKernel& kernel : kernels) kinds.insert(kernel.kind);
  EXPECT_EQ(kinds, (std::set<std::string>{"convolution", "elementwise", "map",
                                          "product", "reduction"}));
  const std::vector<DrawnKernel> again = DrawKernels(80, /*seed=*/1);
  for (size_t i = 0; i < kernels.size(); ++i) {
    EXPECT_EQ(kernels[i].text, again[i].text);
  }
  EXPECT_NE(kernels[0].text, DrawKernels(1, /*seed=*/2)[0].text);
}

}  // namespace
}  // namespace encore::backends::cpu
