// PlanMaker: a compiled graph made by the compiler, or read from an entry, and
// put on its devices.
//
// What is compiled is the request's canonical graph over copies of its
// constants, compared with the stencil's digests: nothing that the key leaves
// out reaches it, and nobody can change it under the compiler.
#ifndef ENCORE_CACHE_SESSION_PLAN_MAKER_H_
#define ENCORE_CACHE_SESSION_PLAN_MAKER_H_

#include <memory>

#include "encore/backends/artifact_store.h"
#include "encore/backends/options.h"
#include "encore/cache/package/loaded.h"
#include "encore/cache/session/session_options.h"
#include "encore/cache/session/session_request.h"
#include "encore/cache/store/container.h"
#include "encore/cache/store/measurement_table.h"
#include "encore/ir/support/status.h"
#include "encore/opt/passes/pipeline.h"
#include "encore/runtime/device/thread_pool.h"
#include "encore/runtime/plan/compiled_graph.h"
#include "encore/runtime/replay/executable.h"

namespace encore::cache {

// A compiled graph and the measurements that it was compiled with.
struct MeasuredPlan {
  std::shared_ptr<const runtime::CompiledGraph> graph;
  MeasurementTable measurements;
  ArtifactCounts kernels = {}, rewrites = {};  // of its compile
  bool cut_short = false;  // by the clock, so that it is not to be kept
};

// An entry, read and on its devices.
struct RecalledPlan {
  std::shared_ptr<const Container> container;
  MeasuredPlan plan;
  std::shared_ptr<const runtime::Executable> executable;
};

// Thread-safe.
class PlanMaker {
 public:
  // Both outlive the maker and what comes from it.
  PlanMaker(const SessionOptions* options, runtime::ThreadPool* threads);

  // Compiles with the measurements that are kept, and makes others where the
  // options give time for that.
  StatusOr<MeasuredPlan> Compile(const SessionRequest& request) const;
  // Compiles with these measurements and nothing else that is kept.
  StatusOr<MeasuredPlan> CompileRecorded(
      const SessionRequest& request,
      const MeasurementTable& measurements) const;

  // Reads an entry and puts it on its devices, for Use. DataLoss for a damaged
  // one; other codes, where it is sound and cannot be used now, are those of
  // the devices.
  StatusOr<RecalledPlan> Recall(
      std::shared_ptr<const Container> container) const;

  // The plan on its devices, as what `request` asks for; with `Use`.
  StatusOr<CompiledPtr> Load(const MeasuredPlan& plan,
                             const SessionRequest& request,
                             FoundIn found_in) const;

  // `plan`, which is on its devices as `executable`, as what `request` asks
  // for. Logs what a person should know of how it was loaded: of a plan that is
  // not used nobody need know that.
  CompiledPtr Use(const SessionRequest& request, const MeasuredPlan& plan,
                  std::shared_ptr<const runtime::Executable> executable,
                  FoundIn found_in, CodeOrigin origin = CodeOrigin::kOwn) const;

 private:
  StatusOr<MeasuredPlan> CompileWith(const SessionRequest& request,
                                     const backends::CompileOptions& options,
                                     backends::ArtifactStore* store,
                                     opt::PassObserver* passes) const;
  StatusOr<std::shared_ptr<const runtime::Executable>> OnDevices(
      const MeasuredPlan& plan) const;

  const SessionOptions* options_;
  runtime::ThreadPool* threads_;
  std::unique_ptr<backends::ArtifactStore> artifacts_;  // null: no disk store
};

}  // namespace encore::cache

#endif  // ENCORE_CACHE_SESSION_PLAN_MAKER_H_
