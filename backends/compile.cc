#include "encore/backends/compile.h"

#include <utility>

#include "encore/backends/lowering/emit.h"
#include "encore/backends/lowering/kernels.h"
#include "encore/backends/lowering/placement.h"
#include "encore/backends/lowering/scope.h"
#include "encore/ir/graph/stencil.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/transform/decompose.h"
#include "encore/opt/passes/loops.h"
#include "encore/opt/passes/size_assertions.h"
#include "encore/opt/passes/strings.h"
#include "encore/opt/passes/subpixel.h"
#include "encore/runtime/plan/assign_memory.h"
#include "encore/runtime/plan/plan_verifier.h"

namespace encore::backends {

StatusOr<Graph> Optimize(const Graph& graph, const CompileOptions& options) {
  ENCORE_ASSIGN_OR_RETURN(const Graph primitives, DecomposeAll(graph));
  return opt::SubpixelConvolutions(primitives);
}

StatusOr<runtime::CompiledGraph> Compile(
    const Graph& graph, const CompileOptions& options,
    std::span<const Backend* const> backends, ArtifactStore* store) {
  // The canonical graph: what is compiled depends on the stencil alone, and
  // every node's origin is its stencil number.
  const Stencil stencil = MakeStencil(graph);
  if (stencil.unkeyable.has_value()) {
    return InvalidArgumentError(*stencil.unkeyable);
  }
  ENCORE_ASSIGN_OR_RETURN(const Placement placement,
                          ResolvePlacement(graph, stencil, options, backends));
  ENCORE_ASSIGN_OR_RETURN(const Graph read,
                          ReadStencil(stencil.bytes, stencil.constants));
  ENCORE_ASSIGN_OR_RETURN(Graph optimized, Optimize(read, options));
  ENCORE_ASSIGN_OR_RETURN(Graph looped, opt::LowerLoops(std::move(optimized)));
  ENCORE_ASSIGN_OR_RETURN(Graph numbered, opt::LowerStrings(std::move(looped)));
  ENCORE_ASSIGN_OR_RETURN(const Graph canonical,
                          opt::AddSizeAssertions(std::move(numbered)));
  KernelTable table(placement, options, canonical.symbols());
  ENCORE_ASSIGN_OR_RETURN(const Scope scope,
                          MakeScope(canonical, {}, placement, options, &table));
  table.Choose(store);
  runtime::CompiledGraph compiled;
  ENCORE_RETURN_IF_ERROR(table.Compile(store, &compiled));
  ENCORE_RETURN_IF_ERROR(EmitSteps(scope, placement, table, &compiled));
  ENCORE_RETURN_IF_ERROR(runtime::AssignMemory(&compiled).status());
  if (const Status status = runtime::VerifyPlan(compiled); !status.ok()) {
    return InternalError(
        Message(status));  // lowering's fault, not the caller's
  }
  return compiled;
}

}  // namespace encore::backends
