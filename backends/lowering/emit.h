// From scopes and compiled kernels to slots and steps, without memory.
#ifndef ENCORE_BACKENDS_LOWERING_EMIT_H_
#define ENCORE_BACKENDS_LOWERING_EMIT_H_

#include "encore/backends/lowering/kernels.h"
#include "encore/backends/lowering/placement.h"
#include "encore/backends/lowering/scope.h"
#include "encore/backends/options.h"
#include "encore/ir/support/status.h"
#include "encore/runtime/plan/compiled_graph.h"

namespace encore::backends {

// Adds devices, pools, symbols, slots and plans to `graph`, which has the
// programs of `table` already; AssignMemory comes next. Inputs and outputs lie
// where `ports` says. InvalidArgument for
// what has no steps: symbols that no input's shape says, parameters of strings,
// ops that are neither a kernel nor a form of control flow that plans have.
Status EmitSteps(const Scope& scope, const Placement& placement, Ports ports,
                 const KernelTable& table, runtime::CompiledGraph* graph);

}  // namespace encore::backends

#endif  // ENCORE_BACKENDS_LOWERING_EMIT_H_
