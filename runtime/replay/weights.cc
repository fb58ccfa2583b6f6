#include "encore/runtime/replay/weights.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include "encore/ir/support/check.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/types/dtype.h"
#include "encore/runtime/device/warm_pool.h"
#include "encore/runtime/plan/derived_identity.h"
#include "encore/runtime/replay/frame.h"

namespace encore::runtime {
namespace {

bool IsAligned(const void* data, int64_t alignment) {
  return reinterpret_cast<uintptr_t>(data) % alignment == 0;
}

void* Address(const Blob& blob) {
  return const_cast<std::byte*>(blob.bytes.data());  // weights are only read
}

Status CheckSize(std::string_view what, size_t i, const Blob& blob,
                 int64_t bytes) {
  if (static_cast<int64_t>(blob.bytes.size()) == bytes) return OkStatus();
  return InvalidArgumentError(StrCat(what, " ", i, " takes ", bytes,
                                     " bytes, given are ", blob.bytes.size()));
}

}  // namespace

bool Weights::IsUsedInPlace(const Executable& executable, size_t i,
                            const Blob& parameter) {
  const CompiledGraph& graph = executable.graph();
  const DType dtype = graph.slot(graph.parameters[i]).type.dtype;
  return IsAligned(parameter.bytes.data(), std::max(1, BitWidth(dtype) / 8));
}

Status Weights::BindParameters(std::span<const Blob> parameters,
                               bool for_prepare) {
  const CompiledGraph& graph = executable_->graph();
  if (parameters.size() != graph.parameters.size()) {
    return InvalidArgumentError(
        StrCat("the graph has ", graph.parameters.size(),
               " parameters, given are ", parameters.size()));
  }
  for (size_t i = 0; i < parameters.size(); ++i) {
    const Slot& slot = graph.slot(graph.parameters[i]);
    ENCORE_RETURN_IF_ERROR(
        CheckSize("parameter", i, parameters[i], slot.bytes.constant()));
    if (!for_prepare && !executable_->replay_reads(i)) {
      parameters_.push_back(nullptr);
      continue;
    }
    kept_.push_back(IsUsedInPlace(*executable_, i, parameters[i])
                        ? parameters[i]
                        : Blob::Copy(parameters[i].bytes));
    parameters_.push_back(Address(kept_.back()));
  }
  return OkStatus();
}

void Weights::ForgetUnread() {
  for (size_t i = 0; i < parameters_.size(); ++i) {
    if (executable_->replay_reads(i)) continue;
    kept_[i] = {};
    parameters_[i] = nullptr;
  }
}

Status Weights::AllocateDerived(size_t i) {
  const Slot& slot = executable_->graph().slot(executable_->derived()[i]);
  Device* const device = executable_->pool_device(slot.pool);
  const int64_t size = slot.bytes.constant();
  ENCORE_ASSIGN_OR_RETURN(void* data, AllocateOn(device, size));
  // What is packed may have padding, which is kept in packages as it is.
  if (device == nullptr && size > 0) std::memset(data, 0, size);
  derived_.push_back(data);
  owns_derived_.push_back(true);
  return OkStatus();
}

Status Weights::PlaceDerived(size_t i, const Blob& bytes) {
  const Slot& slot = executable_->graph().slot(executable_->derived()[i]);
  const int64_t size = slot.bytes.constant();
  ENCORE_RETURN_IF_ERROR(CheckSize("derived slot", i, bytes, size));
  if (Device* device = executable_->pool_device(slot.pool); device != nullptr) {
    ENCORE_RETURN_IF_ERROR(AllocateDerived(i));
    return device->CopyFromHost(derived_[i], bytes.bytes.data(), size, nullptr);
  }
  kept_.push_back(IsAligned(bytes.bytes.data(), kAlignment)
                      ? bytes
                      : Blob::Copy(bytes.bytes));
  derived_.push_back(Address(kept_.back()));
  owns_derived_.push_back(false);
  return OkStatus();
}

Status Weights::RunOnce(const CompiledGraph& graph, const ReplayCode& prepare,
                        ThreadPool* threads) {
  Frame frame(graph, prepare, executable_->devices(), threads);
  ENCORE_RETURN_IF_ERROR(frame.Init());
  ENCORE_RETURN_IF_ERROR(frame.Resize());
  for (size_t i = 0; i < executable_->constants().size(); ++i) {
    frame.SetAddress(executable_->constants()[i],
                     executable_->constant_address(i));
  }
  for (size_t i = 0; i < parameters_.size(); ++i) {
    frame.SetAddress(graph.parameters[i], parameters_[i]);
  }
  for (size_t i = 0; i < derived_.size(); ++i) {
    frame.SetAddress(executable_->derived()[i], derived_[i]);
  }
  return frame.Run(nullptr);
}

Status Weights::RunPrepare(const CompiledGraph& graph,
                           const ReplayCode& prepare,
                           const std::vector<bool>& wanted,
                           ThreadPool* threads) {
  const Status status = RunOnce(graph, prepare, threads);
  if (status.code() != StatusCode::kResourceExhausted) return status;
  const auto smaller = executable_->smaller();
  if (!smaller.ok()) return status;
  const CompiledGraph& all = (*smaller)->graph;
  if (wanted.empty()) return RunOnce(all, *(*smaller)->prepare, threads);
  std::vector<bool> made = wanted;
  const CompiledGraph part = WithPartOfPrepare(all, &made);
  return RunOnce(part, executable_->PrepareOf(part), threads);
}

StatusOr<std::shared_ptr<const Weights>> Weights::Prepare(
    std::shared_ptr<const Executable> executable,
    std::span<const Blob> parameters, ThreadPool* threads) {
  std::shared_ptr<Weights> weights(new Weights(std::move(executable)));
  const Executable& loaded = *weights->executable_;
  ENCORE_RETURN_IF_ERROR(weights->BindParameters(parameters, true));
  for (size_t i = 0; i < loaded.derived().size(); ++i) {
    ENCORE_RETURN_IF_ERROR(weights->AllocateDerived(i));
  }
  if (loaded.prepare() != nullptr) {
    ENCORE_RETURN_IF_ERROR(
        weights->RunPrepare(loaded.graph(), *loaded.prepare(), {}, threads));
  }
  weights->ForgetUnread();
  return std::shared_ptr<const Weights>(std::move(weights));
}

StatusOr<std::shared_ptr<const Weights>> Weights::PrepareRest(
    std::shared_ptr<const Executable> executable,
    std::span<const Blob> parameters, std::span<Blob> known,
    ThreadPool* threads) {
  std::shared_ptr<Weights> weights(new Weights(std::move(executable)));
  const Executable& loaded = *weights->executable_;
  ENCORE_CHECK_EQ(known.size(), loaded.derived().size());
  ENCORE_RETURN_IF_ERROR(weights->BindParameters(parameters, true));
  std::vector<bool> wanted;
  for (const Blob& blob : known) wanted.push_back(blob.bytes.empty());
  const CompiledGraph part = WithPartOfPrepare(loaded.graph(), &wanted);
  for (size_t i = 0; i < known.size(); ++i) {
    if (wanted[i]) known[i] = {};
    ENCORE_RETURN_IF_ERROR(wanted[i] ? weights->AllocateDerived(i)
                                     : weights->PlaceDerived(i, known[i]));
  }
  if (loaded.prepare() != nullptr) {
    ENCORE_RETURN_IF_ERROR(
        weights->RunPrepare(part, loaded.PrepareOf(part), wanted, threads));
  }
  weights->ForgetUnread();
  return std::shared_ptr<const Weights>(std::move(weights));
}

StatusOr<std::shared_ptr<const Weights>> Weights::Restore(
    std::shared_ptr<const Executable> executable,
    std::span<const Blob> parameters, std::span<const Blob> derived) {
  std::shared_ptr<Weights> weights(new Weights(std::move(executable)));
  const Executable& loaded = *weights->executable_;
  ENCORE_RETURN_IF_ERROR(weights->BindParameters(parameters, false));
  if (derived.size() != loaded.derived().size()) {
    return InvalidArgumentError(StrCat("the graph derives ",
                                       loaded.derived().size(),
                                       " slots, given are ", derived.size()));
  }
  for (size_t i = 0; i < derived.size(); ++i) {
    ENCORE_RETURN_IF_ERROR(weights->PlaceDerived(i, derived[i]));
  }
  return std::shared_ptr<const Weights>(std::move(weights));
}

Weights::~Weights() {
  for (size_t i = 0; i < derived_.size(); ++i) {
    if (!owns_derived_[i]) continue;
    const Slot& slot = executable_->graph().slot(executable_->derived()[i]);
    DeallocateOn(executable_->pool_device(slot.pool), derived_[i],
                 slot.bytes.constant());
  }
}

StatusOr<Blob> Weights::DerivedBytes(size_t i) const {
  const Slot& slot = executable_->graph().slot(executable_->derived()[i]);
  const int64_t bytes = slot.bytes.constant();
  const auto* data = static_cast<const std::byte*>(derived_[i]);
  Device* device = executable_->pool_device(slot.pool);
  if (device == nullptr) {
    return Blob{{data, static_cast<size_t>(bytes)}, nullptr, false};
  }
  std::vector<std::byte> host(bytes);
  ENCORE_RETURN_IF_ERROR(device->CopyToHost(host.data(), data, bytes, nullptr));
  return Blob::Copy(host);
}

}  // namespace encore::runtime
