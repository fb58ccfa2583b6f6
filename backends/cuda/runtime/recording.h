// CudaRecording: a stretch of work as an executable graph of the driver, whose
// nodes can be changed one by one.
#ifndef ENCORE_BACKENDS_CUDA_RUNTIME_RECORDING_H_
#define ENCORE_BACKENDS_CUDA_RUNTIME_RECORDING_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "encore/backends/cuda/driver/types.h"
#include "encore/backends/cuda/runtime/context.h"
#include "encore/backends/cuda/runtime/queue.h"
#include "encore/ir/support/status.h"
#include "encore/runtime/device/device.h"

namespace encore::backends::cuda {

class CudaRecording : public runtime::Recording {
 public:
  // Ends what `queue` began. The executable graph of `replaced`, which may be
  // null, is updated where the two have the same nodes and edges.
  static StatusOr<std::unique_ptr<runtime::Recording>> End(
      CudaQueue& queue, std::unique_ptr<runtime::Recording> replaced);
  ~CudaRecording() override;

  Status Run(runtime::Queue& queue) override;
  runtime::Queue& Replace(uint32_t number) override;

 private:
  explicit CudaRecording(std::shared_ptr<const Context> context)
      : context_(std::move(context)) {}

  Status Instantiate(CudaRecording* replaced);

  const std::shared_ptr<const Context> context_;
  // The graph that the executable one was made of, which alone its nodes are
  // known by.
  CUgraph graph_ = nullptr;
  CUgraphExec executable_ = nullptr;
  std::vector<Recorder::Operation> operations_;
  std::vector<CUgraphNode> nodes_;
  RecordsList records_;
  bool decides_ = false;
  std::unique_ptr<CudaQueue> changes_;
};

}  // namespace encore::backends::cuda

#endif  // ENCORE_BACKENDS_CUDA_RUNTIME_RECORDING_H_
