// Whether the waits of a flattened plan suffice: for tests, sharing nothing
// with what puts them there.
//
// A run of the plan is followed operation by operation along one path of its
// jumps, with a vector clock for each queue, event and the host, and every
// access of memory, by bytes, is compared with all earlier ones that it
// conflicts with: those must have happened before. Run-time sizes have the
// values given. What is proved holds for this path and these sizes.
#ifndef ENCORE_RUNTIME_TESTING_ORDER_CHECKER_H_
#define ENCORE_RUNTIME_TESTING_ORDER_CHECKER_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "encore/runtime/plan/compiled_graph.h"
#include "encore/runtime/replay/replay_code.h"

namespace encore::runtime {

struct OrderReport {
  // Empty where all is in order; else the first pair of operations that is not.
  std::string race;
  // By operation: how often it ran on this path.
  std::vector<int> runs;
};

// `symbols`: a value for each. Branches are taken and loops run, at most 3
// times each, as `seed` says.
OrderReport CheckOrder(const CompiledGraph& graph, const ReplayCode& code,
                       std::span<const int64_t> symbols, uint32_t seed);

// The waits among the operations.
std::vector<uint32_t> WaitsOf(const ReplayCode& code);
// The same code where operation `op` does nothing.
ReplayCode Without(const ReplayCode& code, uint32_t op);

}  // namespace encore::runtime

#endif  // ENCORE_RUNTIME_TESTING_ORDER_CHECKER_H_
