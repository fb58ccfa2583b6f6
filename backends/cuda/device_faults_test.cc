// What a device says of kernels, memory and modules that are not as they should
// be, on a driver that executes.
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "encore/backends/cuda/device.h"
#include "encore/backends/cuda/driver/types.h"
#include "encore/backends/cuda/fake/fake_driver.h"
#include "encore/backends/cuda/kernel_params.h"
#include "encore/backends/cuda/module_file.h"
#include "encore/backends/cuda/testing/plan_device.h"
#include "encore/ir/support/check.h"
#include "encore/ir/support/status.h"
#include "encore/runtime/device/device.h"
#include "encore/runtime/device/thread_pool.h"
#include "encore/runtime/plan/compiled_graph.h"
#include "gtest/gtest.h"

namespace encore::backends::cuda {
namespace {

using fake::FakeDriver;
using runtime::Device;
using runtime::Event;
using runtime::Kernel;
using runtime::Queue;
using runtime::ThreadPool;

// A device of its own, with a kernel.
struct OneDevice {
  std::shared_ptr<FakeDriver> fake;
  std::shared_ptr<Device> device;
  ThreadPool threads{1};

  explicit OneDevice(uint32_t seed = 1)
      : fake(FakeDriver::New({.seed = seed})) {
    auto made = NewPlanDevice(fake->driver(), 0, "cuda");
    ENCORE_CHECK_OK(made.status());
    device = *std::move(made);
  }

  std::unique_ptr<Kernel> Load(const std::string& entry, uint32_t reads) {
    runtime::KernelBinary binary;
    binary.entry = entry;
    binary.reads = reads;
    binary.writes = 1;
    const runtime::LoadRequest request{&binary, {}};
    auto kernels = device->Load({&request, 1}, &threads);
    ENCORE_CHECK_OK(kernels.status());
    return std::move((*kernels)[0]);
  }
  float* Allocate(int64_t bytes) {
    auto data = device->Allocate(bytes);
    ENCORE_CHECK_OK(data.status());
    return static_cast<float*>(*data);
  }
  Status Launch(const Kernel& kernel, std::vector<void*> buffers, Queue* queue,
                uint32_t* origin = nullptr) {
    const std::vector<int64_t> sizes(buffers.size(), 64);
    runtime::LaunchContext context;
    context.buffers = buffers.data();
    context.sizes = sizes.data();
    context.threads = &threads;
    context.queue = queue;
    context.failed_origin = origin;
    return kernel.Launch(context);
  }
};

bool Says(const Status& status, std::string_view text) {
  return Message(status).find(text) != std::string_view::npos;
}

class CudaFaults : public testing::Test {
 protected:
  // Of 64 bytes, of which element 5 is `value`.
  float* Input(float value) {
    std::vector<float> values(16, 1);
    values[5] = value;
    float* const data = one_.Allocate(64);
    ENCORE_CHECK_OK(
        one_.device->CopyFromHost(data, values.data(), 64, nullptr));
    return data;
  }

  OneDevice one_;
};

TEST_F(CudaFaults, ReportedChecksAreOfTheirQueue) {
  const auto checked = one_.Load("checked", 1);
  float* const good = Input(3);
  float* const bad = Input(-2);
  float* const out = one_.Allocate(64);
  const auto faulty = *one_.device->NewQueue();
  const auto waiting = *one_.device->NewQueue();
  const auto other = *one_.device->NewQueue();
  const auto before = *one_.device->NewEvent();
  const auto behind = *one_.device->NewEvent();
  faulty->set_tag(300);
  ASSERT_TRUE(one_.Launch(*checked, {good, out}, faulty.get()).ok());
  ASSERT_TRUE(faulty->Record(*before).ok());
  EXPECT_TRUE(before->Synchronize().ok());
  EXPECT_TRUE(faulty->Synchronize().ok());
  EXPECT_FALSE(faulty->fault().has_value());
  faulty->set_tag(301);
  ASSERT_TRUE(one_.Launch(*checked, {bad, out}, faulty.get()).ok());
  ASSERT_TRUE(faulty->Record(*behind).ok());
  ASSERT_TRUE(waiting->Wait(*behind).ok());
  ASSERT_TRUE(one_.Launch(*checked, {good, out}, other.get()).ok());
  const Status status = waiting->Synchronize();
  EXPECT_EQ(status.code(), StatusCode::kOutOfRange) << status;
  EXPECT_TRUE(Says(status, "index -2 at position 5")) << status;
  EXPECT_FALSE(waiting->fault().has_value());
  EXPECT_EQ(behind->Synchronize(), status);
  EXPECT_EQ(faulty->Synchronize(), status);
  EXPECT_EQ(faulty->Synchronize(), status);
  ASSERT_TRUE(faulty->fault().has_value());
  EXPECT_EQ(faulty->fault()->tag, 301u);
  EXPECT_EQ(faulty->fault()->origin, 7u);
  EXPECT_TRUE(other->Synchronize().ok());
  for (float* data : {good, bad, out}) one_.device->Deallocate(data, 64);
}

TEST_F(CudaFaults, LaunchesWithoutAQueueReportAtOnce) {
  const auto checked = one_.Load("checked", 1);
  float* const out = one_.Allocate(64);
  float* const good = Input(3);
  float* const bad = Input(-2);
  for (int round = 0; round < 3; ++round) {
    uint32_t origin = 0;
    EXPECT_EQ(one_.Launch(*checked, {bad, out}, nullptr, &origin).code(),
              StatusCode::kOutOfRange);
    EXPECT_EQ(origin, 7u);
    const Status status = one_.Launch(*checked, {good, out}, nullptr);
    EXPECT_TRUE(status.ok()) << status;
  }
  for (float* data : {good, bad, out}) one_.device->Deallocate(data, 64);
}

// As the emulator saw it.
TEST_F(CudaFaults, KernelsThatLeaveTheirBuffersLoseTheDevice) {
  const auto overrun = one_.Load("overrun", 0);
  float* const out = one_.Allocate(64);
  const auto queue = *one_.device->NewQueue();
  ASSERT_TRUE(one_.Launch(*overrun, {out}, queue.get()).ok());
  const Status status = queue->Synchronize();
  EXPECT_TRUE(Says(status, "CUDA_ERROR_ILLEGAL_ADDRESS (700)")) << status;
  EXPECT_TRUE(Says(status, "overrun")) << status;
  EXPECT_TRUE(Says(status, "the device is lost to this process")) << status;
  EXPECT_TRUE(Says(one_.device->Allocate(64).status(), "(700)"));
  EXPECT_TRUE(Says(one_.device->NewQueue().status(), "(700)"));
  one_.device->Deallocate(out, 64);
}

TEST_F(CudaFaults, TheHostCannotTouchDeviceMemory) {
  float* const data = one_.Allocate(64);
  EXPECT_DEATH(data[0] = 1, "");
  one_.device->Deallocate(data, 64);
}

TEST_F(CudaFaults, MemoryRunsOut) {
  const Status status = one_.device->Allocate(int64_t{1} << 40).status();
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_TRUE(Says(status, "1099511627776 bytes")) << status;
  EXPECT_EQ(one_.device->AllocatePinned(int64_t{1} << 40).status().code(),
            StatusCode::kResourceExhausted);
}

TEST_F(CudaFaults, ModulesAreChecked) {
  const auto device = *NewDevice(one_.fake->driver(), 0, "cuda");
  runtime::KernelBinary binary;
  KernelParams params;
  params.launches.push_back({.entry = "main"});
  binary.params = Encode(params);
  const auto load = [&](std::string_view code, ModuleImage::Kind kind,
                        Architecture architecture, uint32_t version) {
    const ModuleImage image{kind, architecture, version,
                            std::as_bytes(std::span(code))};
    const std::vector<std::byte> file = EncodeModule({&image, 1});
    const runtime::LoadRequest request{&binary, file};
    return device->Load({&request, 1}, &one_.threads).status();
  };
  constexpr auto kPtx = ModuleImage::Kind::kPtx;
  const std::string code =
      ".version 9.0\n.target sm_80\n.address_size 64\n"
      ".visible .entry main() { ret; }\n";
  EXPECT_TRUE(load(code, kPtx, {8, 0, false}, 13000).ok());
  binary.requirements = {"cudnn=9"};
  EXPECT_TRUE(Says(load(code, kPtx, {8, 0, false}, 13000), "needs cudnn=9"));
  binary.requirements = {"sm_100"};
  EXPECT_TRUE(Says(load(code, kPtx, {8, 0, false}, 13000),
                   "needs sm_100, the device is sm_90"));
  binary.requirements = {"sm_80"};
  const Status newer = load(code, kPtx, {10, 0, false}, 13000);
  EXPECT_EQ(newer.code(), StatusCode::kFailedPrecondition);
  EXPECT_TRUE(Says(newer, "the device is sm_90 under a driver of CUDA 13.0"))
      << newer;
  EXPECT_TRUE(Says(newer, "PTX for sm_100")) << newer;
  EXPECT_EQ(load(code, kPtx, {8, 0, false}, 13010).code(),
            StatusCode::kFailedPrecondition);
  const Status cubin =
      load("\177ELF", ModuleImage::Kind::kCubin, {9, 0, false}, 13000);
  EXPECT_EQ(cubin.code(), StatusCode::kFailedPrecondition);
  EXPECT_TRUE(Says(cubin, "CUDA_ERROR_NO_BINARY_FOR_GPU")) << cubin;
  const Status wrong = load("nonsense", kPtx, {8, 0, false}, 13000);
  EXPECT_TRUE(Says(wrong, "CUDA_ERROR_INVALID_PTX")) << wrong;
  params.launches[0].entry = "other";
  binary.params = Encode(params);
  EXPECT_EQ(load(code, kPtx, {8, 0, false}, 13000).code(),
            StatusCode::kDataLoss);
  params.launches[0] = {.entry = "main", .shared_bytes = 300000};
  binary.params = Encode(params);
  const Status large = load(code, kPtx, {8, 0, false}, 13000);
  EXPECT_EQ(large.code(), StatusCode::kFailedPrecondition);
  EXPECT_TRUE(Says(large, "needs 300000 bytes of shared memory")) << large;
  binary.params = {};
  EXPECT_EQ(load(code, kPtx, {8, 0, false}, 13000).code(),
            StatusCode::kDataLoss);
  const runtime::LoadRequest nothing{&binary, {}};
  EXPECT_EQ(device->Load({&nothing, 1}, &one_.threads).status().code(),
            StatusCode::kDataLoss);
}

TEST(CudaAbsent, IsSaid) {
  setenv("ENCORE_CUDA_DRIVER", "/nowhere/libcuda.so.1", 1);
  const Status status = NewDevice(0).status();
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_TRUE(Says(status, "/nowhere/libcuda.so.1")) << status;
  const auto fake = FakeDriver::New({.devices = 2});
  EXPECT_EQ(Message(NewDevice(fake->driver(), 2, "cuda").status()),
            "no device cuda:2; there are cuda:0 to cuda:1");
}

// Before a module is looked at: what it needs, and what is there.
TEST(CudaAbsent, OldDriversAreNamed) {
  const auto fake = FakeDriver::New({.driver = 12090});
  const auto device = *NewDevice(fake->driver(), 0, "cuda");
  ThreadPool threads(1);
  runtime::KernelBinary binary;
  binary.requirements = {"sm_80", "driver=13.0"};
  const runtime::LoadRequest request{&binary, {}};
  const Status status = device->Load({&request, 1}, &threads).status();
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_TRUE(Says(status,
                   "needs a driver of CUDA 13.0, this machine's is of CUDA "
                   "12.9"))
      << status;
}

TEST(CudaAbsent, OldDevicesAreRefused) {
  const auto fake = FakeDriver::New({.capability = 75});
  const Status status = NewDevice(fake->driver(), 0, "cuda").status();
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_TRUE(Says(status, "is sm_75; sm_80 or later")) << status;
}

}  // namespace
}  // namespace encore::backends::cuda
