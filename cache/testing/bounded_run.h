// Runs of compiled graphs that nobody vouches for: within small limits of work,
// memory and time.
#ifndef ENCORE_CACHE_TESTING_BOUNDED_RUN_H_
#define ENCORE_CACHE_TESTING_BOUNDED_RUN_H_

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "encore/ir/support/status.h"
#include "encore/ir/types/literal.h"
#include "encore/runtime/device/thread_pool.h"
#include "encore/runtime/plan/compiled_graph.h"
#include "encore/runtime/replay/executable.h"
#include "encore/runtime/replay/weights.h"

namespace encore::cache {

// Zeros (empty texts, absent optionals) for slots, with the smallest sizes that
// the graph's symbols allow; nothing where these are large. REQUIRES a graph
// that was verified.
std::optional<std::vector<Literal>> SmallValues(
    const runtime::CompiledGraph& graph,
    std::span<const runtime::SlotId> slots);

// Whether the steps of the prepare plan end after few trips, which nothing can
// make them. REQUIRES a graph that was verified.
bool PrepareEndsSoon(const runtime::CompiledGraph& graph);

// Replays twice with `inputs` and copies the outputs; what takes long is
// cancelled. The first error.
Status RunBriefly(std::shared_ptr<const runtime::Executable> executable,
                  std::shared_ptr<const runtime::Weights> weights,
                  std::span<const Literal> inputs,
                  runtime::ThreadPool* threads);

}  // namespace encore::cache

#endif  // ENCORE_CACHE_TESTING_BOUNDED_RUN_H_
