#include "encore/runtime/plan/compiled_graph.h"

#include <cstring>
#include <new>
#include <utility>

namespace encore::runtime {
namespace {

template <typename Id, typename T>
Id Append(std::vector<T>* list, T value) {
  list->push_back(std::move(value));
  return Id(static_cast<uint32_t>(list->size() - 1));
}

}  // namespace

Blob Blob::Copy(std::span<const std::byte> bytes, bool executable) {
  constexpr std::align_val_t kAlign{kAlignment};
  auto* data = static_cast<std::byte*>(::operator new(bytes.size(), kAlign));
  if (!bytes.empty()) std::memcpy(data, bytes.data(), bytes.size());
  return Blob{{data, bytes.size()},
              std::shared_ptr<const void>(
                  data, [](void* p) { ::operator delete(p, kAlign); }),
              executable};
}

SlotId AddSlot(CompiledGraph* graph, Slot slot) {
  return Append<SlotId>(&graph->slots, std::move(slot));
}
KernelBinaryId AddKernelBinary(CompiledGraph* graph, KernelBinary binary) {
  return Append<KernelBinaryId>(&graph->kernel_binaries, std::move(binary));
}
PlanId AddPlan(CompiledGraph* graph, Plan plan) {
  return Append<PlanId>(&graph->plans, std::move(plan));
}
BlobId AddBlob(CompiledGraph* graph, Blob blob) {
  return Append<BlobId>(&graph->blobs, std::move(blob));
}

}  // namespace encore::runtime
