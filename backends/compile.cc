#include "encore/backends/compile.h"

#include <optional>
#include <vector>

#include "encore/backends/lowering/emit.h"
#include "encore/backends/lowering/graph_costs.h"
#include "encore/backends/lowering/kernels.h"
#include "encore/backends/lowering/placement.h"
#include "encore/backends/lowering/scope.h"
#include "encore/ir/graph/stencil.h"
#include "encore/ir/support/status_macros.h"
#include "encore/opt/passes/pipeline.h"
#include "encore/opt/tensor/deadline.h"
#include "encore/opt/tensor/user_rules.h"
#include "encore/runtime/plan/assign_memory.h"
#include "encore/runtime/plan/plan_verifier.h"

namespace encore::backends {

opt::RewriteLevel RewriteLevelOf(Rewrites rewrites) {
  switch (rewrites) {
    case Rewrites::kNone:
      return opt::RewriteLevel::kNone;
    case Rewrites::kExact:
      return opt::RewriteLevel::kExact;
    case Rewrites::kReassociate:
      return opt::RewriteLevel::kReassociate;
    case Rewrites::kFast:
      return opt::RewriteLevel::kFast;
  }
  return opt::RewriteLevel::kNone;
}

StatusOr<runtime::CompiledGraph> Compile(
    const Graph& graph, const CompileOptions& options,
    std::span<const Backend* const> backends, ArtifactStore* store,
    opt::PassObserver* passes) {
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
  opt::PassOptions pass_options;
  pass_options.rewrite.level = RewriteLevelOf(options.rewrites);
  ENCORE_ASSIGN_OR_RETURN(const std::vector<opt::TextRule> user_rules,
                          opt::ParseUserRules(options.user_rules));
  pass_options.rewrite.user_rules = user_rules;
  std::optional<opt::Deadline> deadline;
  if (options.max_seconds > 0) deadline.emplace(options.max_seconds);
  pass_options.rewrite.deadline = deadline ? &*deadline : nullptr;
  const GraphCosts costs(placement, options);
  pass_options.rewrite.costs = &costs;
  ENCORE_ASSIGN_OR_RETURN(
      const Graph lowered,
      opt::RunPasses(opt::PassesAfterKey(), read, pass_options, passes));
  if (deadline && deadline->cut_short() && store != nullptr) {
    store->CutShort();
  }
  KernelTable table(placement, options, lowered.symbols());
  ENCORE_ASSIGN_OR_RETURN(const Scope scope,
                          MakeScope(lowered, {}, placement, options, &table));
  table.Choose(store);
  runtime::CompiledGraph compiled;
  ENCORE_RETURN_IF_ERROR(table.Compile(store, &compiled));
  ENCORE_RETURN_IF_ERROR(
      EmitSteps(scope, placement, options.ports, table, &compiled));
  runtime::MemoryOptions memory;
  for (const Backend* backend : placement.backends) {  // as compiled.devices
    memory.queued.push_back(backend->has_queues());
  }
  ENCORE_RETURN_IF_ERROR(runtime::AssignMemory(&compiled, memory).status());
  if (const Status status = runtime::VerifyPlan(compiled); !status.ok()) {
    return InternalError(
        Message(status));  // lowering's fault, not the caller's
  }
  return compiled;
}

}  // namespace encore::backends
