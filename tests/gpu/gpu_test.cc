// What the tests say of CUDA's kernels and device on a driver that executes,
// on a GPU; README.md says how to run it.
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "encore/backends/conformance/suite.h"
#include "encore/backends/conformance/target_test.h"
#include "encore/tests/gpu/device_tests.h"
#include "encore/tests/gpu/device_under_test.h"
#include "encore/tests/gpu/packages.h"
#include "gtest/gtest.h"

namespace encore::backends {
namespace {

// Of the fake's conformance test there are 20; a GPU has the time.
constexpr uint64_t kSeeds = 200;

std::string_view TargetOfTests() {
  static const auto* const target = new std::string(TargetsUnderTest()[0]);
  return *target;
}

}  // namespace

INSTANTIATE_TEST_SUITE_P(Gpu, ConformanceTest, OpsOf(TargetOfTests()), OpName);
INSTANTIATE_TEST_SUITE_P(Gpu, DifferentialTest,
                         SeedsOf(TargetOfTests(), kSeeds), SeedName);

}  // namespace encore::backends

namespace encore::gpu {
namespace {

int Main(int argc, char** argv) {
  std::vector<char*> arguments(argv, argv + argc);
  const std::string target =
      TakeArgument("target", &arguments).value_or("cuda");
  const auto folder = TakeArgument("write-packages", &arguments);
  SetPackageFolder(TakeArgument("packages", &arguments).value_or(""));
  if (folder) {
    const Status written = WritePackages(*folder, target);
    if (written.ok()) return kExitPassed;
    std::cerr << "gpu_test: " << written << "\n";
    return kExitFailed;
  }
  const auto device = OpenDevice(target);
  if (!device.ok()) {
    std::cerr << "gpu_test: nothing was tested: " << Message(device.status())
              << "\n";
    return kExitNoDevice;
  }
  // A test that ends with the process loses no line of those before.
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  setenv(backends::kTargetVariable, target.c_str(), /*overwrite=*/1);
  int count = static_cast<int>(arguments.size());
  arguments.push_back(nullptr);
  ::testing::InitGoogleTest(&count, arguments.data());
  if (count > 1) {
    std::cerr << "gpu_test: " << arguments[1]
              << ": expected --target=T, --packages=FOLDER, "
                 "--write-packages=FOLDER or a flag of GoogleTest's\n";
    return kExitWrongArguments;
  }
  return RUN_ALL_TESTS() == 0 ? kExitPassed : kExitFailed;
}

}  // namespace
}  // namespace encore::gpu

int main(int argc, char** argv) { return encore::gpu::Main(argc, argv); }
