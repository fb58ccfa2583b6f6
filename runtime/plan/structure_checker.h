// CheckStructure: the invariants P1 to P11 of plan_verifier.h.
#ifndef ENCORE_RUNTIME_PLAN_STRUCTURE_CHECKER_H_
#define ENCORE_RUNTIME_PLAN_STRUCTURE_CHECKER_H_

#include <cstdint>
#include <span>

#include "encore/ir/support/status.h"
#include "encore/runtime/plan/compiled_graph.h"

namespace encore::runtime {

inline constexpr int kMostNestedPlans = 8;
inline constexpr int kMostOperands = 4096;

// `blob_sizes`: of each blob, in bytes.
Status CheckStructure(const CompiledGraph& graph,
                      std::span<const int64_t> blob_sizes);

}  // namespace encore::runtime

#endif  // ENCORE_RUNTIME_PLAN_STRUCTURE_CHECKER_H_
