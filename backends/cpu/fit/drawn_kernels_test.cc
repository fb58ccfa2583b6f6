#include "encore/backends/cpu/fit/drawn_kernels.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
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
#include "encore/backends/cpu/vendor/kernel.h"
#include "encore/backends/cpu/vendor/library.h"
#include "encore/backends/cpu/vendor/match.h"
#include "encore/backends/options.h"
#include "encore/ir/support/status.h"
#include "encore/ir/support/strings.h"
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

DrawnKernel InGroups(int64_t groups, int64_t channels, int64_t rows,
                     int64_t window, int64_t stride) {
  const int64_t pad = window / 2;
  return {
      "convolution",
      StrCat(channels, "-", rows, " of ", groups, " groups, window ", window,
             ", stride ", stride),
      StrCat("graph g(%x: f32[1,", groups * channels, ",14,14], %w: param f32[",
             groups * rows, ",", channels, ",", window, ",", window,
             "]) {\n  %y = convolution(%x, %w) ", "{strides = [", stride, ",",
             stride, "], padding_low = [", pad, ",", pad, "], padding_high = [",
             pad, ",", pad, "], lhs_dilation = [1,1], rhs_dilation = [1,1], ",
             "feature_groups = ", groups, "}\n  return %y\n}")};
}

// Asking the library gives what making its primitives would.
TEST(DrawnKernels, TheLibraryIsAskedForWhatItWouldMake) {
  if (VendorVersion() == "none") GTEST_SKIP() << "there is no oneDNN";
  std::vector<DrawnKernel> kernels = DrawKernels(600, /*seed=*/4);
  for (const int64_t groups : {2, 3, 8, 32}) {
    for (const int64_t channels : {1, 2, 3, 8, 16, 20}) {
      for (const int64_t rows : {1, 2, 4, 16, 24}) {
        for (const int64_t window : {1, 3}) {
          for (const int64_t stride : {1, 2}) {
            kernels.push_back(InGroups(groups, channels, rows, window, stride));
          }
        }
      }
    }
  }
  int had = 0;
  for (const DrawnKernel& kernel : kernels) {
    const KernelProblem problem(kernel);
    std::optional<VendorMatch> match =
        MatchVendor(*problem.request.region, problem.request.weights);
    if (!match) continue;
    const Status asked = CheckVendor(match->pack, match->program);
    const Status made = CompleteVendor(match->pack, &match->program);
    EXPECT_EQ(asked.code(), made.code()) << kernel.name << ": " << made;
    had += made.ok();
    // A sum or a result that does not follow from the source.
    VendorProgram& wrong = match->program;
    ++(wrong.kind == VendorProgram::Kind::kMatmul ? wrong.source : wrong.result)
          .dims.back();
    const Status refused = CheckVendor(match->pack, match->program);
    EXPECT_EQ(refused.code(), StatusCode::kUnimplemented) << refused;
  }
  EXPECT_GT(had, 200);
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
