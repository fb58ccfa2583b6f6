#include "encore/backends/cpu/checked_call.h"

#include "encore/ir/ops/op.h"

namespace encore::backends::cpu {

CheckedCall::CheckedCall() : table_{Helpers(), &faults_} {
  table_.fault = &OnFault;
}

void CheckedCall::OnFault(const HelperTable* self, int64_t site, int64_t lanes,
                          const int64_t* bad, const int64_t* indices,
                          const int64_t* positions, int64_t count,
                          int64_t extent) {
  Faults& faults = *static_cast<const Table*>(self)->faults;
  const CheckSite check = DecodeSite(site);
  // Only a launch that fails comes here, so waiting costs nobody else.
  while (faults.busy.test_and_set(std::memory_order_acquire)) {
  }
  for (int64_t i = 0; i < lanes; ++i) {
    if (bad[i] == 0) continue;
    faults.first.Add({{check.axis, indices[i], positions[i], count, extent},
                      check.node,
                      check.component,
                      check.scatter ? Op::kScatter : Op::kGather});
  }
  faults.busy.clear(std::memory_order_release);
}

}  // namespace encore::backends::cpu
