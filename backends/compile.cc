#include "encore/backends/compile.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "encore/backends/lowering/emit.h"
#include "encore/backends/lowering/graph_costs.h"
#include "encore/backends/lowering/kernels.h"
#include "encore/backends/lowering/placement.h"
#include "encore/backends/lowering/scope.h"
#include "encore/backends/plan_choice.h"
#include "encore/backends/plan_forms.h"
#include "encore/ir/graph/stencil.h"
#include "encore/ir/support/status_macros.h"
#include "encore/opt/passes/pipeline.h"
#include "encore/opt/tensor/deadline.h"
#include "encore/opt/tensor/improve_options.h"
#include "encore/opt/tensor/kept/choice_store.h"
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

namespace {

// A canonical graph after its passes.
struct LoweredGraph {
  Graph graph;
  bool cut_short = false;  // by the clock
};

// The part of a compile's store that rewriting sees.
class RewriteStore : public opt::ChoiceStore {
 public:
  explicit RewriteStore(ArtifactStore* store) : store_(*store) {}
  std::optional<std::vector<std::byte>> Get(std::string_view key) override {
    return store_.Get(kRewriteKind, key);
  }
  void Put(std::string_view key, std::span<const std::byte> bytes) override {
    store_.Put(kRewriteKind, key, bytes);
  }

 private:
  ArtifactStore& store_;
};

// What is compiled depends on the stencil alone, and every node's origin is its
// stencil number.
StatusOr<LoweredGraph> RunPassesOn(const Stencil& stencil,
                                   const Placement& placement,
                                   const CompileOptions& options,
                                   opt::RewriteLevel level,
                                   ArtifactStore* store,
                                   opt::PassObserver* passes) {
  ENCORE_ASSIGN_OR_RETURN(const Graph read,
                          ReadStencil(stencil.bytes, stencil.constants));
  opt::PassOptions pass_options;
  pass_options.rewrite.level = level;
  ENCORE_ASSIGN_OR_RETURN(const std::vector<opt::TextRule> user_rules,
                          opt::ParseUserRules(options.user_rules));
  pass_options.rewrite.user_rules = user_rules;
  std::optional<opt::Deadline> deadline;
  if (options.max_seconds > 0) deadline.emplace(options.max_seconds);
  pass_options.rewrite.deadline = deadline ? &*deadline : nullptr;
  const GraphCosts costs(placement, options);
  pass_options.rewrite.costs = &costs;
  opt::ImproveReport report;  // for `passes`
  pass_options.rewrite.report = &report;
  pass_options.rewrite.report_costs = false;
  std::optional<RewriteStore> kept;
  if (store != nullptr) pass_options.rewrite.kept = &kept.emplace(store);
  ENCORE_ASSIGN_OR_RETURN(
      Graph lowered,
      opt::RunPasses(opt::PassesAfterKey(), read, pass_options, passes));
  return LoweredGraph{std::move(lowered), deadline && deadline->cut_short()};
}

// Where the nodes of a graph with a stencil go.
StatusOr<Placement> PlacementOf(const Graph& graph, const Stencil& stencil,
                                const CompileOptions& options,
                                std::span<const Backend* const> backends) {
  if (stencil.unkeyable.has_value()) {
    return InvalidArgumentError(*stencil.unkeyable);
  }
  return ResolvePlacement(graph, stencil, options, backends);
}

// The compiled graph of a lowered one.
StatusOr<MadePlan> LowerAs(const PlanForm& form, const Graph& lowered,
                           const Placement& placement,
                           const CompileOptions& options,
                           ArtifactStore* store) {
  KernelTable table(placement, options, lowered.symbols());
  ENCORE_ASSIGN_OR_RETURN(
      const Scope scope,
      MakeScope(lowered, {}, placement, options, &table, /*report=*/nullptr,
                {.least_gain = form.least_gain}));
  MadePlan made;
  made.kernels_measured = table.Choose(store);
  runtime::CompiledGraph& compiled = made.graph;
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
  return made;
}

// What the caller's graph calls a node of the canonical one.
std::string NameOf(const Stencil& stencil, std::string_view origin) {
  const std::optional<uint32_t> number = StencilNumber(origin);
  if (!number || *number >= stencil.places.size()) return std::string(origin);
  const Stencil::Place& place = stencil.places[*number];
  const std::string& name = place.graph->origin(place.node);
  return name.empty() ? std::string(origin) : name;
}

}  // namespace

Status ReportLowering(const Graph& graph, const CompileOptions& options,
                      std::span<const Backend* const> backends,
                      LoweringReport* report) {
  using Clock = std::chrono::steady_clock;
  const Stencil stencil = MakeStencil(graph);
  ENCORE_ASSIGN_OR_RETURN(const Placement placement,
                          PlacementOf(graph, stencil, options, backends));
  ENCORE_ASSIGN_OR_RETURN(
      const LoweredGraph lowered,
      RunPassesOn(stencil, placement, options, RewriteLevelOf(options.rewrites),
                  /*store=*/nullptr, /*passes=*/nullptr));
  const auto lower = [&](LoweringReport* told) {
    KernelTable table(placement, options, lowered.graph.symbols());
    return MakeScope(lowered.graph, {}, placement, options, &table, told)
        .status();
  };
  const Clock::time_point begin = Clock::now();
  ENCORE_RETURN_IF_ERROR(lower(nullptr));
  report->seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  const auto name = report->name;
  report->name = [&](std::string_view origin) {
    return name(NameOf(stencil, origin));
  };
  const Status status = lower(report);
  report->name = name;
  return status;
}

StatusOr<runtime::CompiledGraph> Compile(
    const Graph& graph, const CompileOptions& options,
    std::span<const Backend* const> backends, ArtifactStore* store,
    opt::PassObserver* passes) {
  const Stencil stencil = MakeStencil(graph);
  ENCORE_ASSIGN_OR_RETURN(const Placement placement,
                          PlacementOf(graph, stencil, options, backends));
  bool cut_short = false;
  const MakePlan make = [&](const PlanForm& form,
                            double tune_seconds) -> StatusOr<MadePlan> {
    CompileOptions own = options;
    own.tune_seconds = tune_seconds;
    if (form.optimizer != options.optimizer) own.optimizer = form.optimizer;
    ENCORE_ASSIGN_OR_RETURN(
        const LoweredGraph lowered,
        RunPassesOn(
            stencil, placement, options,
            RewriteLevelOf(form.rewritten ? options.rewrites : Rewrites::kNone),
            store, std::exchange(passes, nullptr)));
    cut_short |= lowered.cut_short;
    return LowerAs(form, lowered.graph, placement, own, store);
  };
  auto made = HasPlanForms(graph, options, placement.backends)
                  ? ChoosePlan(graph, stencil.bytes, placement.backends,
                               options, make, store)
                  : make({.optimizer = options.optimizer,
                          .least_gain = PlanForms()[0].least_gain},
                         options.tune_seconds);
  if (cut_short && store != nullptr) store->CutShort();
  if (!made.ok()) return made.status();
  return std::move(made->graph);
}

}  // namespace encore::backends
