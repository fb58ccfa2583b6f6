#include "encore/backends/cuda/testing/plan_device.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "encore/backends/cuda/kernel_params.h"
#include "encore/backends/cuda/module_file.h"
#include "encore/ir/ops/op.h"
#include "encore/ir/support/check.h"
#include "encore/ir/support/status_macros.h"
#include "encore/runtime/device/decider.h"

namespace encore::backends::cuda {
namespace {

using runtime::Queue;

std::vector<std::byte> ReadModule() {
  std::ifstream in("backends/cuda/testing/testdata/plan_kernels.ptx",
                   std::ios::binary);
  ENCORE_CHECK(in.good()) << "no PTX of the plans' kernels";
  const std::string text{std::istreambuf_iterator<char>(in),
                         std::istreambuf_iterator<char>()};
  const ModuleImage image{ModuleImage::Kind::kPtx,
                          {8, 0, false},
                          13000,
                          std::as_bytes(std::span(text))};
  return EncodeModule({&image, 1});
}

// Appends the sizes of its buffers to a launch's args.
class SizedKernel : public runtime::Kernel {
 public:
  SizedKernel(std::unique_ptr<runtime::Kernel> kernel,
              const runtime::KernelBinary& binary)
      : kernel_(std::move(kernel)),
        buffers_(binary.reads + binary.writes),
        args_(binary.args) {}

  Status Launch(const runtime::LaunchContext& context) const override {
    std::array<int64_t, 16> args;
    ENCORE_CHECK_LE(buffers_ + args_, args.size());
    std::copy_n(context.args, args_, args.begin());
    std::copy_n(context.sizes, buffers_, args.begin() + args_);
    runtime::LaunchContext sized = context;
    sized.args = args.data();
    return kernel_->Launch(sized);
  }

 private:
  const std::unique_ptr<runtime::Kernel> kernel_;
  const size_t buffers_, args_;
};

class PlanDevice : public runtime::Device, public runtime::Decider {
 public:
  explicit PlanDevice(std::unique_ptr<Device> device)
      : device_(std::move(device)), module_(ReadModule()) {}

  std::string_view backend() const override { return device_->backend(); }
  bool runs_on_host() const override { return device_->runs_on_host(); }
  StatusOr<void*> Allocate(int64_t bytes) override {
    return device_->Allocate(bytes);
  }
  void Deallocate(void* data, int64_t bytes) override {
    device_->Deallocate(data, bytes);
  }
  Status CopyFromHost(void* dst, const void* src, int64_t bytes,
                      Queue* queue) override {
    return device_->CopyFromHost(dst, src, bytes, queue);
  }
  Status CopyToHost(void* dst, const void* src, int64_t bytes,
                    Queue* queue) override {
    return device_->CopyToHost(dst, src, bytes, queue);
  }
  Status CopyWithin(void* dst, const void* src, int64_t bytes,
                    Queue* queue) override {
    return device_->CopyWithin(dst, src, bytes, queue);
  }
  StatusOr<std::vector<std::unique_ptr<runtime::Kernel>>> Load(
      std::span<const runtime::LoadRequest> requests,
      runtime::ThreadPool* threads) override;
  int queue_count() const override { return device_->queue_count(); }
  StatusOr<std::unique_ptr<Queue>> NewQueue() override {
    return device_->NewQueue();
  }
  StatusOr<std::unique_ptr<runtime::Event>> NewEvent() override {
    return device_->NewEvent();
  }
  bool records() const override { return device_->records(); }
  Status BeginRecording(Queue& queue) override {
    return device_->BeginRecording(queue);
  }
  StatusOr<std::unique_ptr<runtime::Recording>> EndRecording(
      Queue& queue, std::unique_ptr<runtime::Recording> replaced) override {
    return device_->EndRecording(queue, std::move(replaced));
  }
  bool decides(Kind kind) const override { return decider().decides(kind); }
  Status StartDecision(Queue& queue) override {
    return decider().StartDecision(queue);
  }
  Status BeginBody(Queue& queue, Kind kind, const void* selector) override {
    return decider().BeginBody(queue, kind, selector);
  }
  Status NextBody(Queue& queue) override { return decider().NextBody(queue); }
  Status EndDecision(Queue& queue) override {
    return decider().EndDecision(queue);
  }
  bool WaitsFor(const Device& other) const override {
    const auto* const plan = dynamic_cast<const PlanDevice*>(&other);
    return plan != nullptr && device_->WaitsFor(*plan->device_);
  }
  bool CopiesFrom(const Device& other) const override {
    const auto* const plan = dynamic_cast<const PlanDevice*>(&other);
    return plan != nullptr && device_->CopiesFrom(*plan->device_);
  }
  Status CopyFromPeer(void* dst, Device& from, const void* src, int64_t bytes,
                      Queue* queue) override {
    return device_->CopyFromPeer(dst, *static_cast<PlanDevice&>(from).device_,
                                 src, bytes, queue);
  }
  StatusOr<void*> AllocatePinned(int64_t bytes) override {
    return device_->AllocatePinned(bytes);
  }
  void DeallocatePinned(void* data, int64_t bytes) override {
    device_->DeallocatePinned(data, bytes);
  }

 private:
  runtime::Decider& decider() const {
    return dynamic_cast<runtime::Decider&>(*device_);
  }

  const std::unique_ptr<Device> device_;
  const std::vector<std::byte> module_;
};

StatusOr<std::vector<std::unique_ptr<runtime::Kernel>>> PlanDevice::Load(
    std::span<const runtime::LoadRequest> requests,
    runtime::ThreadPool* threads) {
  std::vector<runtime::KernelBinary> binaries;
  for (const runtime::LoadRequest& request : requests) {
    runtime::KernelBinary binary = *request.binary;
    KernelParams params;
    params.launches.push_back({.entry = binary.entry, .block = {32, 1, 1}});
    if (binary.entry == "checked") {
      params.checks.push_back({.node = 7, .op = Op::kGather});
    }
    binary.args += binary.reads + binary.writes;
    binary.params = Encode(params);
    binaries.push_back(std::move(binary));
  }
  std::vector<runtime::LoadRequest> sized;
  for (const runtime::KernelBinary& binary : binaries) {
    sized.push_back({&binary, module_});
  }
  ENCORE_ASSIGN_OR_RETURN(auto kernels, device_->Load(sized, threads));
  for (size_t i = 0; i < kernels.size(); ++i) {
    kernels[i] = std::make_unique<SizedKernel>(std::move(kernels[i]),
                                               *requests[i].binary);
  }
  return kernels;
}

}  // namespace

StatusOr<std::unique_ptr<runtime::Device>> NewPlanDevice(
    std::shared_ptr<const Driver> driver, uint32_t ordinal,
    const std::string& backend, DeviceOptions options) {
  ENCORE_ASSIGN_OR_RETURN(auto device, NewDevice(std::move(driver), ordinal,
                                                 backend, std::move(options)));
  return std::make_unique<PlanDevice>(std::move(device));
}

}  // namespace encore::backends::cuda
