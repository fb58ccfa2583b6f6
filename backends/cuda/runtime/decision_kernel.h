// DecisionKernel: the kernel that tells a conditional node of a graph what a
// bool in device memory is. Driver-linked PTX, which every device compiles for
// itself; loaded where a plan has something to decide.
//
// Source: NVIDIA's documentation, "CUDA Graphs", conditional graph nodes.
#ifndef ENCORE_BACKENDS_CUDA_RUNTIME_DECISION_KERNEL_H_
#define ENCORE_BACKENDS_CUDA_RUNTIME_DECISION_KERNEL_H_

#include <memory>
#include <utility>

#include "encore/backends/cuda/driver/types.h"
#include "encore/backends/cuda/runtime/context.h"
#include "encore/ir/support/status.h"

namespace encore::backends::cuda {

// Immutable, thread-safe.
class DecisionKernel {
 public:
  static StatusOr<std::shared_ptr<const DecisionKernel>> Load(
      std::shared_ptr<const Context> context);
  ~DecisionKernel();
  DecisionKernel(const DecisionKernel&) = delete;
  DecisionKernel& operator=(const DecisionKernel&) = delete;

  // One thread; parameters: the condition's handle, the bool's address.
  CUfunction function() const { return function_; }

 private:
  explicit DecisionKernel(std::shared_ptr<const Context> context)
      : context_(std::move(context)) {}

  const std::shared_ptr<const Context> context_;
  CUmodule module_ = nullptr;
  CUfunction function_ = nullptr;
};

}  // namespace encore::backends::cuda

#endif  // ENCORE_BACKENDS_CUDA_RUNTIME_DECISION_KERNEL_H_
