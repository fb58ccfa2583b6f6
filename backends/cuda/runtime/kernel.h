// CudaKernel: a program of kernel_params.h, loaded.
#ifndef ENCORE_BACKENDS_CUDA_RUNTIME_KERNEL_H_
#define ENCORE_BACKENDS_CUDA_RUNTIME_KERNEL_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "encore/backends/cuda/driver/types.h"
#include "encore/backends/cuda/kernel_params.h"
#include "encore/backends/cuda/module_file.h"
#include "encore/backends/cuda/runtime/context.h"
#include "encore/backends/cuda/runtime/queue.h"
#include "encore/ir/support/status.h"
#include "encore/ir/support/status_macros.h"
#include "encore/runtime/device/device.h"

namespace encore::backends::cuda {

// What kernels are loaded for.
struct DeviceLimits {
  Architecture architecture;
  int shared_bytes = 0;  // of a block, at most
};

// A module of the driver.
class LoadedModule {
 public:
  // Of the image of `file` that fits the device best and that the driver takes.
  // DataLoss where it is no module file; FailedPrecondition where no image
  // fits, with what the device is and what there is.
  static StatusOr<std::shared_ptr<const LoadedModule>> Load(
      std::shared_ptr<const Context> context, const DeviceLimits& limits,
      std::span<const std::byte> file);
  ~LoadedModule();
  LoadedModule(const LoadedModule&) = delete;
  LoadedModule& operator=(const LoadedModule&) = delete;

  // DataLoss where there is no such function.
  StatusOr<CUfunction> Find(const std::string& name) const;
  const std::shared_ptr<const Context>& context() const { return context_; }

 private:
  explicit LoadedModule(std::shared_ptr<const Context> context)
      : context_(std::move(context)) {}
  Result LoadImage(const ModuleImage& image, std::string* log);

  const std::shared_ptr<const Context> context_;
  CUmodule module_ = nullptr;
};

// What launches and copies without a queue go through, one at a time.
class DirectQueue {
 public:
  explicit DirectQueue(std::shared_ptr<const Context> context)
      : context_(std::move(context)) {}

  // Calls enqueue(CudaQueue&) and waits. A fault is this call's alone; where a
  // kernel said so, *failed_origin, unless that is null, is what failed.
  template <typename Enqueue>
  Status Run(const Enqueue& enqueue, uint32_t* failed_origin = nullptr) {
    const std::lock_guard lock(mutex_);
    if (queue_ == nullptr) {
      ENCORE_ASSIGN_OR_RETURN(queue_, CudaQueue::New(context_));
    }
    Status status = enqueue(*queue_);
    const Status done = queue_->Synchronize();
    if (status.ok()) status = done;
    if (queue_->fault() && failed_origin != nullptr) {
      *failed_origin = queue_->fault()->origin;
    }
    if (!done.ok()) queue_ = nullptr;
    return status;
  }

 private:
  const std::shared_ptr<const Context> context_;
  std::mutex mutex_;
  std::unique_ptr<CudaQueue> queue_;  // made at the first use
};

// A kernel of `binary`, in `module`.
StatusOr<std::unique_ptr<runtime::Kernel>> NewKernel(
    const runtime::KernelBinary& binary,
    std::shared_ptr<const LoadedModule> module, const DeviceLimits& limits,
    std::shared_ptr<DirectQueue> direct);

}  // namespace encore::backends::cuda

#endif  // ENCORE_BACKENDS_CUDA_RUNTIME_KERNEL_H_
