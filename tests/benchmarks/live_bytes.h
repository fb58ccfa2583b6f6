// What an arena has to hold at least: the most bytes of planned slots that live
// at one step, in the order that the plan has.
#ifndef ENCORE_TESTS_BENCHMARKS_LIVE_BYTES_H_
#define ENCORE_TESTS_BENCHMARKS_LIVE_BYTES_H_

#include <cstdint>

#include "encore/runtime/plan/compiled_graph.h"

namespace encore {

// Over the steps of the run plan: sizes, rounded up to kAlignment, of the slots
// in arenas between their first and last use, scratch included; where a step
// works in place, both slots count once. Slots of run-time size count nothing.
int64_t MostLiveBytes(const runtime::CompiledGraph& graph);

}  // namespace encore

#endif  // ENCORE_TESTS_BENCHMARKS_LIVE_BYTES_H_
