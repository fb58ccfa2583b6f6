// Without NVRTC, compiling says what is not there.
#include <cstdlib>

#include "encore/backends/cuda/codegen/device_compiler.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace encore::backends::cuda {
namespace {

TEST(DeviceCompiler, IsNotThere) {
  setenv("ENCORE_NVRTC", "none", 1);
  const auto code = CompileDeviceCode("", {8, 0});
  EXPECT_EQ(code.status().code(), StatusCode::kNotFound) << code.status();
  EXPECT_THAT(std::string(code.status().message()),
              ::testing::HasSubstr("ENCORE_NVRTC says where"));
  EXPECT_EQ(NvrtcVersion(), "13.0 none");
}

}  // namespace
}  // namespace encore::backends::cuda
