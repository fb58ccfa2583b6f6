// Compiled graphs as text, for people: slots, programs and the steps of every
// plan. There is no way back; compiled_graph_io.h keeps them. Names, which may
// be any bytes, are quoted, so that the text is lines of printable ASCII.
#ifndef ENCORE_RUNTIME_PLAN_COMPILED_GRAPH_TEXT_H_
#define ENCORE_RUNTIME_PLAN_COMPILED_GRAPH_TEXT_H_

#include <cstdint>
#include <functional>
#include <string>

#include "encore/runtime/plan/compiled_graph.h"

namespace encore::runtime {

// The name of a stencil node, or an empty string.
using OriginName = std::function<std::string(uint32_t)>;

// REQUIRES a graph that VerifyPlan accepts. Deterministic; a step is a line:
//
//   plan 1 (run)
//     0  allocate %4 at pool 0, 1024 bytes
//     1  launch cpu:k0 #0 (%0, %2) -> (%1) @"fc1/relu"
std::string CompiledGraphText(const CompiledGraph& graph,
                              const OriginName& origin_name = {});

// One step of `graph` in that form, without its number.
std::string StepText(const CompiledGraph& graph, const Step& step,
                     const OriginName& origin_name = {});

}  // namespace encore::runtime

#endif  // ENCORE_RUNTIME_PLAN_COMPILED_GRAPH_TEXT_H_
