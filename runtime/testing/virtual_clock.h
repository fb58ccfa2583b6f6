// What a flattened plan without loops and branches would take on devices with
// engines: each device computes one kernel and makes one copy each way at a
// time, beside the host.
#ifndef ENCORE_RUNTIME_TESTING_VIRTUAL_CLOCK_H_
#define ENCORE_RUNTIME_TESTING_VIRTUAL_CLOCK_H_

#include <cstdint>
#include <vector>

#include "encore/runtime/plan/compiled_graph.h"
#include "encore/runtime/replay/replay_code.h"

namespace encore::runtime {

struct VirtualTimes {
  int64_t makespan = 0;
  // Of operations that must follow one another, whatever runs them.
  int64_t critical_path = 0;
  // The most work that the host or one engine has.
  int64_t busiest = 0;
  // Pairs of operations on different lines (queues and the host) that nothing
  // else puts in order: what a transitive reduction has; and waits in the code.
  int64_t needed_waits = 0, waits = 0;
};

// `durations`: by operation; waits, records and jumps take none. An engine
// takes what was enqueued first of all that is ready. REQUIRES code that goes
// straight on.
VirtualTimes RunOnVirtualClock(const CompiledGraph& graph,
                               const ReplayCode& code,
                               const std::vector<int64_t>& durations);

}  // namespace encore::runtime

#endif  // ENCORE_RUNTIME_TESTING_VIRTUAL_CLOCK_H_
