// What an operation of a flattened plan reads and writes.
#ifndef ENCORE_RUNTIME_REPLAY_OP_ACCESS_H_
#define ENCORE_RUNTIME_REPLAY_OP_ACCESS_H_

#include <cstdint>
#include <vector>

#include "encore/runtime/plan/compiled_graph.h"
#include "encore/runtime/plan/hazards.h"
#include "encore/runtime/replay/replay_code.h"

namespace encore::runtime {

// Of operation `number` of `code`; staging buffers are storages behind those of
// the slots.
std::vector<Access> AccessesOf(const CompiledGraph& graph,
                               const ReplayCode& code, const Places& places,
                               uint32_t number);

}  // namespace encore::runtime

#endif  // ENCORE_RUNTIME_REPLAY_OP_ACCESS_H_
