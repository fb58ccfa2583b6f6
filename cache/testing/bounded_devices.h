// Devices for programs that nobody vouches for: those of `ref` and `host`,
// whose kernels are data that an interpreter runs, with a bound on what they do
// in all. Machine code is refused.
#ifndef ENCORE_CACHE_TESTING_BOUNDED_DEVICES_H_
#define ENCORE_CACHE_TESTING_BOUNDED_DEVICES_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "encore/ir/support/status.h"
#include "encore/runtime/device/device.h"
#include "encore/runtime/plan/compiled_graph.h"

namespace encore::cache {

// What kernels may still do: points of their loops, times what they compute at
// each. Thread-safe.
struct WorkBudget {
  std::atomic<int64_t> left = 0;
};

// A device for each of graph.devices. A launch that `budget` is too small for
// is ResourceExhausted, and so is an allocation of 64 MiB. FailedPrecondition
// for a graph with other devices than ref and host.
StatusOr<std::vector<std::shared_ptr<runtime::Device>>> BoundedDevices(
    const runtime::CompiledGraph& graph, std::shared_ptr<WorkBudget> budget);

}  // namespace encore::cache

#endif  // ENCORE_CACHE_TESTING_BOUNDED_DEVICES_H_
