// Session: give it a graph; it compiles or recalls, and replays.
//
//   Session session(StandardSessionOptions({}, "/home/me/cache"), &threads);
//   ENCORE_ASSIGN_OR_RETURN(auto loaded, session.Load(graph));
//   ENCORE_ASSIGN_OR_RETURN(auto outputs, loaded->Run(inputs));
//
// A compiled graph is found in memory, then on disk, and is compiled where it
// is in neither (compiled_graphs.h). What is compiled is the graph's canonical
// form (ir/graph/stencil.h), so that nothing that the key leaves out can reach
// the result: two models that differ in names and weights share it.
//
// What is kept is what the key names: constants are copied and compared with
// the stencil's digests before they are compiled in (plan_maker.h), and weights
// that changed while they were prepared are not kept. Weights are prepared once
// per compiled graph and set of values (prepared_weights.h).
//
// Foreign code (store/trust.h) enters a session by LoadPlan (plan_file.h)
// alone, stays in its memory, and nothing that it computed enters a store.
//
// Sizes. Where `symbolic_sizes` is off, a graph with symbols is compiled once
// per binding of them (exact specialization); the key is that of the
// specialized graph.
//
// Beside it: plans in files (plan_file.h), packages and recordings (export.h),
// compiled graphs by name (named_entries.h), why one is not found
// (explain_miss.h).
//
// A session is thread-safe. What it gives out lives on its own.
#ifndef ENCORE_CACHE_SESSION_SESSION_H_
#define ENCORE_CACHE_SESSION_SESSION_H_

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "encore/cache/package/loaded.h"
#include "encore/cache/session/compiled_graphs.h"
#include "encore/cache/session/plan_maker.h"
#include "encore/cache/session/prefetcher.h"
#include "encore/cache/session/session_options.h"
#include "encore/cache/session/write_behind.h"
#include "encore/ir/graph/graph.h"
#include "encore/ir/support/status.h"
#include "encore/ir/types/literal.h"
#include "encore/runtime/device/thread_pool.h"

namespace encore::cache {

class Session {
 public:
  // `threads` outlives the session and all that comes from it.
  Session(SessionOptions options, runtime::ThreadPool* threads);

  // The graph, ready to replay. InvalidArgument where a parameter has no data
  // or a symbol no value, and whatever the compiler says. In check mode what is
  // found is compiled again and compared.
  StatusOr<std::shared_ptr<const Loaded>> Load(const Graph& graph,
                                               const LoadOptions& options = {});

  // Starts to recall, on a thread of its own, what the last graph from `source`
  // (a model's path) was, for a caller who has yet to read the graph
  // (prefetcher.h). The next Load with the same source takes it where the
  // graph's key is that entry's; otherwise it is dropped. It never changes what
  // Load gives. Nothing happens without a disk store.
  void Anticipate(const std::string& source);

  // Loads for the inputs' sizes and runs once.
  StatusOr<std::vector<Literal>> Run(const Graph& graph,
                                     std::span<const Literal> inputs);

  // Waits for what is still being written (SessionOptions::write_behind).
  void Flush() { writes_.Wait(); }

  SessionStatistics statistics() const { return graphs_.statistics(); }
  const SessionOptions& options() const { return options_; }
  runtime::ThreadPool* threads() const { return threads_; }

  // For what stands beside a session.
  const PlanMaker& maker() const { return maker_; }
  CompiledGraphs& graphs() { return graphs_; }

 private:
  const SessionOptions options_;
  runtime::ThreadPool* const threads_;
  const PlanMaker maker_;
  Prefetcher prefetcher_;
  CompiledGraphs graphs_;
  WriteBehind writes_;  // ends first: what it does uses all of these
};

}  // namespace encore::cache

#endif  // ENCORE_CACHE_SESSION_SESSION_H_
