// Compile: a graph becomes a compiled graph.
//
// canonical graph -> placement -> passes (opt/passes/pipeline.h: those after
// the key) -> fusion -> kernels -> prepare and run plans -> memory plan. The
// result has passed runtime's plan verifier.
//
// Weights. What depends on parameters and constants only is computed by the
// prepare plan and kept in derived slots; so are weights in the form that a
// kernel wants. The compiled graph holds constants, but no parameter's data.
//
// Symbols are those of the canonical graph (ir/graph/stencil.h) as it was
// lowered: their numbers are not the caller's. Where a backend takes no
// symbolic sizes the graph must be specialized first
// (ir/transform/specialize.h).
//
// Origins of steps are node numbers of the stencil.
#ifndef ENCORE_BACKENDS_COMPILE_H_
#define ENCORE_BACKENDS_COMPILE_H_

#include <span>

#include "encore/backends/artifact_store.h"
#include "encore/backends/backend.h"
#include "encore/backends/lowering/lowering_report.h"
#include "encore/backends/options.h"
#include "encore/ir/graph/graph.h"
#include "encore/ir/support/status.h"
#include "encore/opt/passes/pipeline.h"
#include "encore/opt/tensor/improve.h"
#include "encore/runtime/plan/compiled_graph.h"

namespace encore::backends {

// Nodes go to the backend that options.target names, but for those that
// options.placement puts elsewhere; Copy steps join them. Deterministic, given
// the measurements that are in `store` (measurement.h), where no tune_seconds
// are spent on others. `store` and `passes`, which is told of each pass, with a
// report of what rewriting did (PassOptions::rewrite), may be null.
// InvalidArgument names the node, where an op has no kernel, a dtype is not
// computed by its backend, or sizes are symbolic where they may not be; the
// entry of a placement that is of another form or whose name the graph does not
// have; why a graph has no stencil (a custom op without digest). NotFound names
// the backends where one is not there. Rules of the user's are parsed
// (opt/tensor/user_rules.h); that somebody has tried them, as a session does
// (cache/session/checked_rules.h), is the caller's business.
StatusOr<runtime::CompiledGraph> Compile(
    const Graph& graph, const CompileOptions& options,
    std::span<const Backend* const> backends, ArtifactStore* store = nullptr,
    opt::PassObserver* passes = nullptr);

// What a Compile of the graph chooses: how it is cut into kernels and in which
// layouts they work. No kernel is made, and no measurement looked at. In
// `report` the caller says what is to be told; names are those of the graph's
// origins. Errors as of Compile.
Status ReportLowering(const Graph& graph, const CompileOptions& options,
                      std::span<const Backend* const> backends,
                      LoweringReport* report);

// The rules that the option allows.
opt::RewriteLevel RewriteLevelOf(Rewrites rewrites);

}  // namespace encore::backends

#endif  // ENCORE_BACKENDS_COMPILE_H_
