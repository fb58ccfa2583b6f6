// Compiled graphs as bytes and back. README.md describes every byte.
//
// The format is little-endian and deterministic: equal graphs give equal bytes.
// Blobs lie at the end, aligned to kAlignment from the start, so that a mapped
// file's constants and code are used in place.
#ifndef ENCORE_RUNTIME_PLAN_COMPILED_GRAPH_IO_H_
#define ENCORE_RUNTIME_PLAN_COMPILED_GRAPH_IO_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "encore/ir/support/status.h"
#include "encore/runtime/plan/compiled_graph.h"

namespace encore::runtime {

inline constexpr uint32_t kCompiledGraphVersion = 4;

std::vector<std::byte> SerializeCompiledGraph(const CompiledGraph& graph);

// DataLoss where `bytes` are no such graph; no byte sequence makes it read out
// of bounds or take memory out of proportion to `bytes`. Ids are not checked:
// VerifyPlan does that. `owner` keeps `bytes` alive; blobs point into them
// where they are aligned, and are copied elsewhere.
StatusOr<CompiledGraph> ParseCompiledGraph(std::span<const std::byte> bytes,
                                           std::shared_ptr<const void> owner);

}  // namespace encore::runtime

#endif  // ENCORE_RUNTIME_PLAN_COMPILED_GRAPH_IO_H_
