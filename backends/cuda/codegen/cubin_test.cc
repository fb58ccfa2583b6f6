#include "encore/backends/cuda/codegen/cubin.h"

#include <string>

#include "encore/backends/cuda/codegen/device_compiler.h"
#include "gtest/gtest.h"

namespace encore::backends::cuda {
namespace {

// `plain` is small; `crowded` keeps 96 floats under a bound of 32 registers,
// and 1200 bytes of shared memory.
constexpr char kSource[] = R"cuda(
extern "C" __global__ void plain(const float* a, float* b) { b[threadIdx.x] = a[threadIdx.x]; }
extern "C" __global__ void __launch_bounds__(1024, 2) crowded(const float* a, float* b, int n) {
  __shared__ float s[300];
  float r[96];
#pragma unroll
  for (int i = 0; i < 96; ++i) r[i] = a[i * n + threadIdx.x];
  s[threadIdx.x % 300] = a[threadIdx.x];
  __syncthreads();
#pragma unroll
  for (int i = 0; i < 96; ++i) {
    b[i * n] = r[95 - i] * s[i];
    __syncthreads();
  }
}
)cuda";

TEST(Cubin, Resources) {
  for (const Architecture& architecture :
       {Architecture{8, 0}, Architecture{9, 0, true},
        Architecture{10, 0, true}}) {
    const auto code = CompileDeviceCode(kSource, architecture);
    ASSERT_TRUE(code.ok()) << code.status();
    const auto resources = ReadResources(code->cubin);
    ASSERT_TRUE(resources.ok()) << resources.status();
    ASSERT_EQ(resources->size(), 2u);
    const KernelResources& plain = resources->at("plain");
    EXPECT_GT(plain.registers, 3u);
    EXPECT_LT(plain.registers, 33u);
    EXPECT_EQ(plain.frame_bytes, 0u);
    EXPECT_EQ(plain.shared_bytes, 0u);
    const KernelResources& crowded = resources->at("crowded");
    EXPECT_EQ(crowded.registers, 32u);
    EXPECT_GT(crowded.frame_bytes, 0u);
    // From sm_90 on 1 KiB is the system's.
    EXPECT_EQ(crowded.shared_bytes, architecture.major == 8 ? 1200u : 2224u);
    EXPECT_GT(SpilledBytes(code->log), 0u) << code->log;
  }
}

TEST(Cubin, AnyBytes) {
  const auto code = CompileDeviceCode(kSource, {8, 0});
  ASSERT_TRUE(code.ok()) << code.status();
  for (size_t size = 0; size < code->cubin.size(); size += 7) {
    (void)ReadResources(std::span(code->cubin).first(size));
  }
  for (size_t at = 0; at < code->cubin.size(); at += 3) {
    auto bytes = code->cubin;
    bytes[at] ^= std::byte{0xff};
    (void)ReadResources(bytes);
  }
  EXPECT_FALSE(ReadResources({}).ok());
}

TEST(DeviceCompiler, SaysWhatIsWrong) {
  const auto code = CompileDeviceCode("not a program", {8, 0});
  ASSERT_FALSE(code.ok());
  EXPECT_EQ(code.status().code(), StatusCode::kInternal);
  EXPECT_NE(code.status().message().find("kernels.cu(1)"), std::string::npos)
      << code.status();
}

}  // namespace
}  // namespace encore::backends::cuda
