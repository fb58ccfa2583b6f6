#include "encore/backends/cuda/device.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "encore/backends/absent.h"
#include "encore/backends/cuda/driver/types.h"
#include "encore/backends/cuda/library/cublaslt.h"
#include "encore/backends/cuda/library/library_kernel.h"
#include "encore/backends/cuda/library/recipe.h"
#include "encore/backends/cuda/module_file.h"
#include "encore/backends/cuda/profiling/cupti.h"
#include "encore/backends/cuda/requirements.h"
#include "encore/backends/cuda/runtime/context.h"
#include "encore/backends/cuda/runtime/decision_kernel.h"
#include "encore/backends/cuda/runtime/kernel.h"
#include "encore/backends/cuda/runtime/queue.h"
#include "encore/backends/cuda/runtime/recording.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/runtime/device/decider.h"
#include "encore/runtime/plan/compiled_graph.h"

namespace encore::backends::cuda {
namespace {

constexpr uint32_t kLeastArchitecture = 80;

using runtime::Queue;

DevicePointer Address(const void* data) {
  return reinterpret_cast<DevicePointer>(data);
}

class CudaDevice : public runtime::Device, public runtime::Decider {
 public:
  CudaDevice(std::shared_ptr<const Context> context, const DeviceLimits& limits,
             std::string backend, DeviceOptions options)
      : context_(std::move(context)),
        limits_(limits),
        backend_(std::move(backend)),
        options_(std::move(options)),
        direct_(std::make_shared<DirectQueue>(context_)) {}

  std::string_view backend() const override { return backend_; }
  bool runs_on_host() const override { return false; }
  StatusOr<void*> Allocate(int64_t bytes) override;
  void Deallocate(void* data, int64_t bytes) override;
  Status CopyFromHost(void* dst, const void* src, int64_t bytes,
                      Queue* queue) override;
  Status CopyToHost(void* dst, const void* src, int64_t bytes,
                    Queue* queue) override;
  Status CopyWithin(void* dst, const void* src, int64_t bytes,
                    Queue* queue) override;
  StatusOr<std::vector<std::unique_ptr<runtime::Kernel>>> Load(
      std::span<const runtime::LoadRequest> requests,
      runtime::ThreadPool* threads) override;
  int queue_count() const override { return 4; }
  StatusOr<std::unique_ptr<Queue>> NewQueue() override {
    return CudaQueue::New(context_);
  }
  StatusOr<std::unique_ptr<runtime::Event>> NewEvent() override {
    return CudaEvent::New(context_);
  }
  bool records() const override { return true; }
  Status BeginRecording(Queue& queue) override {
    return static_cast<CudaQueue&>(queue).BeginRecording();
  }
  StatusOr<std::unique_ptr<runtime::Recording>> EndRecording(
      Queue& queue, std::unique_ptr<runtime::Recording> replaced) override {
    return CudaRecording::End(static_cast<CudaQueue&>(queue),
                              std::move(replaced));
  }
  bool decides(Kind kind) const override;
  Status StartDecision(Queue& queue) override {
    return static_cast<CudaQueue&>(queue).StartDecision();
  }
  Status BeginBody(Queue& queue, Kind kind, const void* selector) override;
  Status NextBody(Queue& queue) override {
    return static_cast<CudaQueue&>(queue).NextBody();
  }
  Status EndDecision(Queue& queue) override {
    return static_cast<CudaQueue&>(queue).EndDecision();
  }
  bool WaitsFor(const Device& other) const override;
  bool CopiesFrom(const Device& other) const override {
    return &other != this && WaitsFor(other);
  }
  Status CopyFromPeer(void* dst, Device& from, const void* src, int64_t bytes,
                      Queue* queue) override;
  const std::shared_ptr<const Context>& context() const { return context_; }
  StatusOr<void*> AllocatePinned(int64_t bytes) override;
  void DeallocatePinned(void* data, int64_t bytes) override;

 private:
  StatusOr<void*> AllocateByCaller(int64_t bytes);
  // In `queue`, or in one of the device's own and done on return.
  Status Copy(const MemoryCopy& copy, Queue* queue);
  // The handle of the library, made at the first use.
  StatusOr<std::shared_ptr<const CublasLtHandle>> CublasLtOf();
  StatusOr<std::unique_ptr<runtime::Kernel>> LoadWithRecipe(
      const runtime::KernelBinary& binary,
      std::shared_ptr<const LoadedModule> module);

  const std::shared_ptr<const Context> context_;
  const DeviceLimits limits_;
  const std::string backend_;
  const DeviceOptions options_;
  const std::shared_ptr<DirectQueue> direct_;
  mutable std::mutex mutex_;
  // While a kernel has it.
  std::weak_ptr<const CublasLtHandle> cublaslt_;
  // Of the first question whether the device decides; null: it does not.
  mutable bool asked_to_decide_ = false;
  mutable std::shared_ptr<const DecisionKernel> decision_kernel_;
};

StatusOr<void*> CudaDevice::Allocate(int64_t bytes) {
  const Context::Scope scope(*context_);
  if (options_.allocate) return AllocateByCaller(std::max<int64_t>(bytes, 1));
  DevicePointer data = 0;
  const Result result = context_->api().cuMemAlloc(
      &data, static_cast<size_t>(std::max<int64_t>(bytes, 1)));
  ENCORE_RETURN_IF_ERROR(
      context_->ToStatus(result, StrCat("allocating ", bytes, " bytes")));
  return reinterpret_cast<void*>(data);
}

StatusOr<void*> CudaDevice::AllocateByCaller(int64_t bytes) {
  ENCORE_ASSIGN_OR_RETURN(void* const data, options_.allocate(bytes));
  if (Address(data) % runtime::kAlignment == 0) return data;
  options_.deallocate(data, bytes);
  return InvalidArgumentError(StrCat("the allocator of device ", backend_,
                                     " gave memory that is not aligned to ",
                                     runtime::kAlignment));
}

void CudaDevice::Deallocate(void* data, int64_t bytes) {
  const Context::Scope scope(*context_);
  if (options_.deallocate) {
    options_.deallocate(data, std::max<int64_t>(bytes, 1));
    return;
  }
  (void)context_->api().cuMemFree(Address(data));
}

StatusOr<void*> CudaDevice::AllocatePinned(int64_t bytes) {
  const Context::Scope scope(*context_);
  void* data = nullptr;
  const Result result = context_->api().cuMemHostAlloc(
      &data, static_cast<size_t>(std::max<int64_t>(bytes, 1)),
      kHostAllocPortable);
  ENCORE_RETURN_IF_ERROR(context_->ToStatus(
      result, StrCat("allocating ", bytes, " bytes of pinned memory")));
  return data;
}

void CudaDevice::DeallocatePinned(void* data, int64_t bytes) {
  const Context::Scope scope(*context_);
  (void)context_->api().cuMemFreeHost(data);
}

Status CudaDevice::Copy(const MemoryCopy& copy, Queue* queue) {
  if (queue != nullptr) return static_cast<CudaQueue*>(queue)->Copy(copy);
  return direct_->Run([&](CudaQueue& own) { return own.Copy(copy); });
}

Status CudaDevice::CopyFromHost(void* dst, const void* src, int64_t bytes,
                                Queue* queue) {
  return Copy({MemoryCopy::Kind::kFromHost, dst, src, bytes}, queue);
}

Status CudaDevice::CopyToHost(void* dst, const void* src, int64_t bytes,
                              Queue* queue) {
  return Copy({MemoryCopy::Kind::kToHost, dst, src, bytes}, queue);
}

Status CudaDevice::CopyWithin(void* dst, const void* src, int64_t bytes,
                              Queue* queue) {
  return Copy({MemoryCopy::Kind::kWithin, dst, src, bytes}, queue);
}

Status CudaDevice::CopyFromPeer(void* dst, Device& from, const void* src,
                                int64_t bytes, Queue* queue) {
  const Context& other = *static_cast<CudaDevice&>(from).context_;
  return Copy({MemoryCopy::Kind::kWithin, dst, src, bytes, &other}, queue);
}

bool CudaDevice::decides(Kind kind) const {
  const Decides least =
      kind == Kind::kWhile ? Decides::kLoops : Decides::kBranches;
  if (options_.decides < least) return false;
  const std::lock_guard lock(mutex_);
  if (!asked_to_decide_) {
    asked_to_decide_ = true;
    auto kernel = DecisionKernel::Load(context_);
    if (kernel.ok()) decision_kernel_ = *std::move(kernel);
  }
  return decision_kernel_ != nullptr;
}

Status CudaDevice::BeginBody(Queue& queue, Kind kind, const void* selector) {
  return static_cast<CudaQueue&>(queue).BeginBody(kind, selector,
                                                  decision_kernel_->function());
}

bool CudaDevice::WaitsFor(const Device& other) const {
  const auto* const device = dynamic_cast<const CudaDevice*>(&other);
  return device != nullptr &&
         &device->context_->driver() == &context_->driver();
}

StatusOr<std::vector<std::unique_ptr<runtime::Kernel>>> CudaDevice::Load(
    std::span<const runtime::LoadRequest> requests,
    runtime::ThreadPool* threads) {
  const auto driver = static_cast<uint32_t>(context_->driver().version());
  for (const runtime::LoadRequest& request : requests) {
    ENCORE_RETURN_IF_ERROR(CheckRequirements(request.binary->requirements,
                                             limits_.architecture, driver));
  }
  std::map<const std::byte*, std::shared_ptr<const LoadedModule>> modules;
  std::vector<std::unique_ptr<runtime::Kernel>> kernels;
  kernels.reserve(requests.size());
  for (const runtime::LoadRequest& request : requests) {
    auto& module = modules[request.artifact.data()];
    if (module == nullptr) {
      ENCORE_ASSIGN_OR_RETURN(
          module, LoadedModule::Load(context_, limits_, request.artifact));
    }
    const runtime::KernelBinary& binary = *request.binary;
    auto kernel = HasRecipe(binary.params)
                      ? LoadWithRecipe(binary, module)
                      : NewKernel(binary, module, limits_, direct_);
    if (!kernel.ok()) return kernel.status();
    kernels.push_back(*std::move(kernel));
  }
  return kernels;
}

StatusOr<std::shared_ptr<const CublasLtHandle>> CudaDevice::CublasLtOf() {
  if (options_.cublaslt.empty()) {
    return FailedPreconditionError(
        StrCat("device ", backend_, " has no libraries"));
  }
  const std::lock_guard lock(mutex_);
  std::shared_ptr<const CublasLtHandle> handle = cublaslt_.lock();
  if (handle != nullptr) return handle;
  ENCORE_ASSIGN_OR_RETURN(handle,
                          CublasLtHandle::New(context_, options_.cublaslt));
  cublaslt_ = handle;
  return handle;
}

StatusOr<std::unique_ptr<runtime::Kernel>> CudaDevice::LoadWithRecipe(
    const runtime::KernelBinary& binary,
    std::shared_ptr<const LoadedModule> module) {
  ENCORE_ASSIGN_OR_RETURN(
      LibraryParams params,
      DecodeLibraryParams(binary.params, binary.reads, binary.writes));
  runtime::KernelBinary generated = binary;
  generated.params = params.params;
  generated.writes = params.generated_writes;
  ENCORE_ASSIGN_OR_RETURN(
      auto kernel, NewKernel(generated, std::move(module), limits_, direct_));
  return NewLibraryKernel(std::move(params), binary, std::move(kernel),
                          {CublasLtOf(), limits_.architecture, direct_});
}

StatusOr<int> Attribute(const Driver& driver, DeviceAttribute attribute,
                        DeviceHandle device) {
  int value = 0;
  ENCORE_RETURN_IF_ERROR(driver.ToStatus(
      driver.api.cuDeviceGetAttribute(&value, attribute, device),
      "cuDeviceGetAttribute"));
  return value;
}

}  // namespace

StatusOr<std::unique_ptr<runtime::Device>> NewDevice(uint32_t ordinal) {
  ENCORE_ASSIGN_OR_RETURN(auto driver, Driver::Load(DriverLibrary()));
  return NewDevice(std::move(driver), ordinal, "cuda",
                   {.cublaslt = CublasLtLibrary(), .cupti = CuptiLibrary()});
}

StatusOr<std::unique_ptr<runtime::Device>> NewDevice(
    std::shared_ptr<const Driver> driver, uint32_t ordinal, std::string backend,
    DeviceOptions options) {
  if ((options.allocate == nullptr) != (options.deallocate == nullptr)) {
    return InvalidArgumentError(
        "an allocator needs both halves: allocate and deallocate");
  }
  const auto count = static_cast<uint32_t>(driver->device_count());
  if (ordinal >= count) return NoDevice(backend, ordinal, count);
  DeviceHandle device = 0;
  ENCORE_RETURN_IF_ERROR(driver->ToStatus(
      driver->api.cuDeviceGet(&device, static_cast<int>(ordinal)),
      "cuDeviceGet"));
  DeviceLimits limits;
  ENCORE_ASSIGN_OR_RETURN(
      limits.architecture.major,
      Attribute(*driver, DeviceAttribute::kComputeCapabilityMajor, device));
  ENCORE_ASSIGN_OR_RETURN(
      limits.architecture.minor,
      Attribute(*driver, DeviceAttribute::kComputeCapabilityMinor, device));
  ENCORE_ASSIGN_OR_RETURN(
      limits.shared_bytes,
      Attribute(*driver, DeviceAttribute::kMaxSharedMemoryPerBlockOptin,
                device));
  if (limits.architecture.number() < kLeastArchitecture) {
    return FailedPreconditionError(StrCat(
        "device ", backend, ":", ordinal, " is ", Name(limits.architecture),
        "; sm_", kLeastArchitecture, " or later is needed"));
  }
  ENCORE_ASSIGN_OR_RETURN(
      auto context, Context::New(std::move(driver), static_cast<int>(ordinal),
                                 options.context, options.cupti));
  return std::make_unique<CudaDevice>(std::move(context), limits,
                                      std::move(backend), std::move(options));
}

StatusOr<std::unique_ptr<runtime::Queue>> QueueOf(runtime::Device& device,
                                                  CUstream stream) {
  auto* const cuda = dynamic_cast<CudaDevice*>(&device);
  if (cuda == nullptr) {
    return InvalidArgumentError(
        StrCat("a stream is no queue of device ", device.backend()));
  }
  return std::make_unique<CudaQueue>(cuda->context(), stream);
}

}  // namespace encore::backends::cuda
