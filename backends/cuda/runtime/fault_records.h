// FaultRecords: where kernels of one queue report checks that did not hold, a
// record for each tag of the queue.
//
// The records lie in pinned memory that the device writes to and the host reads
// when the work is done: a launch without a fault costs neither a copy nor a
// wait. Slots are made when a tag is first used and stay. One thread adds and
// looks at a time.
#ifndef ENCORE_BACKENDS_CUDA_RUNTIME_FAULT_RECORDS_H_
#define ENCORE_BACKENDS_CUDA_RUNTIME_FAULT_RECORDS_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "encore/backends/cuda/kernel_params.h"
#include "encore/backends/cuda/runtime/context.h"
#include "encore/ir/support/status.h"
#include "encore/runtime/device/device.h"

namespace encore::backends::cuda {

class FaultRecords {
 public:
  explicit FaultRecords(std::shared_ptr<const Context> context)
      : context_(std::move(context)) {}
  ~FaultRecords();
  FaultRecords(const FaultRecords&) = delete;
  FaultRecords& operator=(const FaultRecords&) = delete;

  // The record of launches with that tag. What it reports to is of `params`.
  // Neither allocates nor locks but at a tag's first use with `params`.
  StatusOr<FaultRecord*> RecordOf(
      uint32_t tag, const std::shared_ptr<const KernelParams>& params);

  // The fault of the lowest tag that has one, and where that was. Work that is
  // not done yet may be seen or not. Thread-safe.
  Status Find(std::optional<runtime::Queue::Fault>* at) const;
  // Whether there is any record.
  bool empty() const { return used_ == 0; }
  // As if nothing had been reported. REQUIRES that no work uses a record.
  void Clear();

 private:
  static constexpr uint32_t kBlock = 256;
  struct Block {
    FaultRecord* records = nullptr;
    std::vector<std::shared_ptr<const KernelParams>> params;
  };

  const std::shared_ptr<const Context> context_;
  mutable std::mutex mutex_;   // of what follows
  std::vector<Block> blocks_;  // of kBlock tags each
  std::atomic<uint32_t> used_ = 0;
};

}  // namespace encore::backends::cuda

#endif  // ENCORE_BACKENDS_CUDA_RUNTIME_FAULT_RECORDS_H_
