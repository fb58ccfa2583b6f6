#include "encore/backends/cuda/runtime/fault_records.h"

#include <cstring>

#include "encore/ir/support/status_macros.h"

namespace encore::backends::cuda {
namespace {

// A whole record: who writes one holds its lock meanwhile.
FaultRecord Read(const FaultRecord& record) {
  FaultRecord copy;
  do {
    std::atomic_thread_fence(std::memory_order_acquire);
    std::memcpy(static_cast<void*>(&copy), &record, sizeof(copy));
  } while (copy.lock != 0);
  return copy;
}

}  // namespace

FaultRecords::~FaultRecords() {
  const Context::Scope scope(*context_);
  for (const Block& block : blocks_) {
    if (block.records != nullptr) {
      (void)context_->api().cuMemFreeHost(block.records);
    }
  }
}

StatusOr<FaultRecord*> FaultRecords::RecordOf(
    uint32_t tag, const std::shared_ptr<const KernelParams>& params) {
  const uint32_t number = tag / kBlock, at = tag % kBlock;
  // Only this thread changes them.
  if (number < blocks_.size() && blocks_[number].records != nullptr &&
      blocks_[number].params[at] == params) {
    return &blocks_[number].records[at];
  }
  const std::lock_guard lock(mutex_);
  if (number >= blocks_.size()) blocks_.resize(number + 1);
  Block& block = blocks_[number];
  if (block.records == nullptr) {
    void* data = nullptr;
    const Result result = context_->api().cuMemHostAlloc(
        &data, kBlock * sizeof(FaultRecord),
        kHostAllocPortable | kHostAllocDeviceMap);
    ENCORE_RETURN_IF_ERROR(context_->ToStatus(result, "cuMemHostAlloc"));
    block.records = static_cast<FaultRecord*>(data);
    std::memset(data, 0, kBlock * sizeof(FaultRecord));
    block.params.resize(kBlock);
  }
  if (block.params[at] != params) {
    if (block.params[at] == nullptr) ++used_;
    block.params[at] = params;
  }
  return &block.records[at];
}

Status FaultRecords::Find(std::optional<runtime::Queue::Fault>* at) const {
  if (empty()) return OkStatus();
  const std::lock_guard lock(mutex_);
  for (uint32_t b = 0; b < blocks_.size(); ++b) {
    const Block& block = blocks_[b];
    for (uint32_t i = 0; i < block.params.size(); ++i) {
      if (block.params[i] == nullptr) continue;
      const auto& found = block.records[i].found;
      if (*const_cast<const volatile uint32_t*>(&found) == 0) continue;
      runtime::Queue::Fault fault;
      fault.tag = b * kBlock + i;
      const Status status =
          ReportFault(Read(block.records[i]), *block.params[i], &fault.origin);
      if (at != nullptr) *at = fault;
      return status;
    }
  }
  return OkStatus();
}

void FaultRecords::Clear() {
  const std::lock_guard lock(mutex_);
  for (const Block& block : blocks_) {
    if (block.records == nullptr) continue;
    std::memset(static_cast<void*>(block.records), 0,
                kBlock * sizeof(FaultRecord));
  }
}

}  // namespace encore::backends::cuda
