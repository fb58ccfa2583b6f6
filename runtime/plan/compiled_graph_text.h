// Compiled graphs as text: lines of printable ASCII that say everything, which
// compiled_graph_text_parser.h reads back; the grammar is there.
//
// Blobs of more than 64 bytes are given by their SHA-256. What is not in the
// graph (names of origins), or elsewhere in it (names of kernels), is said in
// comments. A step is a line:
//
//   plan 1 {  // run
//     0 allocate %4 bytes 1024
//     1 launch 0 on 0 (%0, %2) -> (%1) origins [7]  // cpu:k0 "fc1/relu"
//   }
#ifndef ENCORE_RUNTIME_PLAN_COMPILED_GRAPH_TEXT_H_
#define ENCORE_RUNTIME_PLAN_COMPILED_GRAPH_TEXT_H_

#include <cstdint>
#include <functional>
#include <string>

#include "encore/runtime/plan/compiled_graph.h"

namespace encore::runtime {

// The name of a stencil node, or an empty string.
using OriginName = std::function<std::string(uint32_t)>;

// REQUIRES valid dims; any ids are safe. Deterministic. Cost: linear, with one
// pass over the blobs' bytes for their digests.
std::string CompiledGraphText(const CompiledGraph& graph,
                              const OriginName& origin_name = {});

// One step of `graph` in that form, without its number.
std::string StepText(const CompiledGraph& graph, const Step& step,
                     const OriginName& origin_name = {});

}  // namespace encore::runtime

#endif  // ENCORE_RUNTIME_PLAN_COMPILED_GRAPH_TEXT_H_
