// Session: give it a graph; it compiles or recalls, and replays.
//
//   Session session(StandardSessionOptions({}, "/home/me/cache"), &threads);
//   ENCORE_ASSIGN_OR_RETURN(auto loaded, session.Load(graph));
//   ENCORE_ASSIGN_OR_RETURN(auto outputs, loaded->Run(inputs));
//
// A compiled graph is found in memory, then on disk, and is compiled where it
// is in neither. What is compiled is the graph's canonical form
// (ir/graph/stencil.h), so that nothing that the key leaves out can reach the
// result: two models that differ in names and weights share it. Compiles of one
// key are single-flight, across threads and processes; who waits for another
// process says so, and compiles for itself after `max_wait`. An entry that is
// damaged, or was made for something else, is compiled again. One that is sound
// and cannot be loaded now (no memory, a library that does not load) is left as
// it is.
//
// What is kept is what the key names: constants are copied and compared with
// the stencil's digests before they are compiled in, and weights that changed
// while they were prepared are not kept.
//
// Foreign code (trust.h) enters a session by LoadPlan alone, stays in its
// memory, and nothing that it computed enters a store.
//
// Sizes. Where `symbolic_sizes` is off, a graph with symbols is compiled once
// per binding of them (exact specialization); the key is that of the
// specialized graph.
//
// A start in parallel. Reading a model takes about as long as recalling its
// entry, whose key is known only then. Anticipate guesses it.
//
// Weights are prepared once per compiled graph and set of values
// (prepared_weights.h).
//
// Measurements. A compile chooses kernels by those that the disk store has
// (backends/measurement.h), and an entry says which it had. With tune_seconds
// in the options, what was compiled with gaps in them is compiled again on a
// hit, gaps are measured for so long, and the entry is replaced; without, what
// is there is recalled. Check mode compiles with the measurements that the
// entry had.
//
// A session is thread-safe. What it gives out lives on its own.
#ifndef ENCORE_CACHE_SESSION_SESSION_H_
#define ENCORE_CACHE_SESSION_SESSION_H_

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "encore/backends/artifact_store.h"
#include "encore/backends/options.h"
#include "encore/cache/key/key.h"
#include "encore/cache/package/loaded.h"
#include "encore/cache/package/package.h"
#include "encore/cache/session/prepared_weights.h"
#include "encore/cache/session/session_options.h"
#include "encore/cache/store/measurement_table.h"
#include "encore/cache/store/memory_store.h"
#include "encore/cache/store/trust.h"
#include "encore/ir/graph/graph.h"
#include "encore/ir/support/status.h"
#include "encore/runtime/device/thread_pool.h"
#include "encore/runtime/plan/compiled_graph.h"

namespace encore::cache {

class Session {
 public:
  // `threads` outlives the session and all that comes from it.
  Session(SessionOptions options, runtime::ThreadPool* threads);

  // The graph, ready to replay. InvalidArgument where a parameter has no data
  // or a symbol no value, and whatever the compiler says.
  StatusOr<std::shared_ptr<const Loaded>> Load(const Graph& graph,
                                               const LoadOptions& options = {});

  // Starts to recall, on a thread of its own, what the last graph from `source`
  // (a model's path) was, for a caller who has yet to read the graph. The next
  // Load with the same source takes it where the graph's key is that entry's;
  // otherwise it is dropped, and what was loaded is the prefetch of the next
  // time. It never changes what Load gives. Nothing happens without a disk
  // store.
  void Anticipate(const std::string& source);

  // Loads for the inputs' sizes and runs once.
  StatusOr<std::vector<Literal>> Run(const Graph& graph,
                                     std::span<const Literal> inputs);

  // A compiled graph under a name of the caller's own. Put gives the key that
  // it has; Get the key under that name, or nothing; the graph itself is then
  // recalled by Load. Contains says whether Load would find it on disk.
  StatusOr<Digest> Put(std::string_view name, const Graph& graph,
                       const LoadOptions& options = {});
  std::optional<Digest> Get(std::string_view name);
  bool Contains(std::string_view name);

  // Writes the graph's plan to a file of its own. LoadPlan makes this session's
  // Load find it in memory: false, with a log line, where the file is not there
  // or was made for another graph or target; DataLoss for a damaged one. With
  // CodeTrust::kRun the file's plan and code are loaded, as foreign code;
  // otherwise the graph is compiled, or recalled, with the kernels that the
  // file's measurements chose, and nothing else of the file is used.
  Status SavePlan(const std::string& path, const Graph& graph,
                  const LoadOptions& options = {});
  StatusOr<bool> LoadPlan(const std::string& path, const Graph& graph,
                          CodeTrust trust, const LoadOptions& options = {});

  // The graph as a package; with calls, a recording. A call without outputs
  // gets those of a replay. Record writes it. Where the plan is for another
  // machine than this one, a package is without derived slots; a recording is
  // then an error (FailedPrecondition).
  StatusOr<Package> Export(const Graph& graph,
                           std::span<const Package::Call> calls,
                           const LoadOptions& options = {});
  Status Record(const std::string& path, const Graph& graph,
                std::span<const Package::Call> calls,
                const LoadOptions& options = {});

  // Why `graph` would not be found on disk: the entry on disk that shares most
  // ingredients with it, and what differs first. Nothing where it is there or
  // there is no entry.
  StatusOr<std::optional<std::string>> ExplainMiss(
      const Graph& graph, const LoadOptions& options = {});

  SessionStatistics statistics() const;
  const SessionOptions& options() const { return options_; }
  runtime::ThreadPool* threads() const { return threads_; }

 private:
  // A compile under way; whoever comes meanwhile waits for it.
  struct Flight;
  // What Anticipate guessed (session_recall.cc).
  struct Prefetch;
  // What is asked for.
  struct SessionRequest {
    backends::CompileOptions options;
    KeyIngredients ingredients;
    Digest key;
    Loaded::Names names;
    std::vector<std::string> parameter_names;
    // Per parameter; the status says which has none.
    std::vector<Literal> parameters;
    Status parameters_status;
    std::shared_ptr<Prefetch> prefetch;  // null: nothing was prefetched

    // Whether `compiled` is of this, not merely of the same key.
    bool IsMetBy(const Compiled& compiled) const {
      return compiled.ingredients.parts == ingredients.parts &&
             compiled.ingredients.stencil == ingredients.stencil;
    }
  };

  StatusOr<SessionRequest> Request(const Graph& graph,
                                   const LoadOptions& options) const;
  StatusOr<SessionRequest> RequestAsItIs(const Graph& graph) const;
  // A compiled graph and the measurements that it was compiled with.
  struct Plan {
    std::shared_ptr<const runtime::CompiledGraph> graph;
    MeasurementTable measurements;
  };

  // An entry, read and on its devices.
  struct Recalled {
    std::shared_ptr<const Container> container;
    Plan plan;
    std::shared_ptr<const runtime::Executable> executable;
  };

  // What the disk has: an entry that can be used; else whether there is one
  // that is sound, and so is to stay.
  struct Found {
    CompiledPtr compiled;
    bool keep = false;
  };

  StatusOr<CompiledPtr> GetOrCompile(const SessionRequest& request);
  StatusOr<CompiledPtr> GetOrCompileUnshared(const SessionRequest& request);
  CompiledPtr FromMemory(const SessionRequest& request);
  void ToMemory(const SessionRequest& request, const CompiledPtr& compiled);
  StatusOr<Plan> PlanOf(const SessionRequest& request);
  Found FromDisk(const SessionRequest& request);
  StatusOr<Recalled> Recall(std::shared_ptr<const Container> container) const;
  // What the prefetch recalled, where it is what is request; once.
  std::optional<Recalled> Prefetched(const SessionRequest& request) const;
  std::shared_ptr<Prefetch> FindPrefetch(const LoadOptions& options) const;
  // Makes `request` the prefetch of the next time.
  void RememberKey(const SessionRequest& request);
  void ToDisk(const SessionRequest& request, const Plan& plan);
  StatusOr<CompiledPtr> Compile(const SessionRequest& request, Plan* plan);
  static StatusOr<Graph> CanonicalGraph(const SessionRequest& request);
  // Compiles with the measurements that are kept, and makes others.
  StatusOr<Plan> CompileGraph(const SessionRequest& request);
  StatusOr<Plan> CompileGraph(const SessionRequest& request,
                              const backends::CompileOptions& options,
                              backends::ArtifactStore* store) const;
  // Compiles with these measurements and no others.
  StatusOr<Plan> CompileRecorded(const SessionRequest& request,
                                 const MeasurementTable& measurements) const;
  StatusOr<std::shared_ptr<const runtime::Executable>> OnDevices(
      const Plan& plan) const;
  StatusOr<CompiledPtr> MakeLoadable(const Plan& plan,
                                     const SessionRequest& request,
                                     FoundIn found_in) const;
  static CompiledPtr Loadable(
      const SessionRequest& request, const Plan& plan,
      std::shared_ptr<const runtime::Executable> executable, FoundIn found_in,
      CodeOrigin origin = CodeOrigin::kOwn);
  Status Check(const SessionRequest& request, const Compiled& compiled);
  void Count(int64_t SessionStatistics::* counter);

  const SessionOptions options_;
  runtime::ThreadPool* const threads_;
  MemoryStore memory_;
  std::unique_ptr<backends::ArtifactStore> artifacts_;
  mutable std::mutex mutex_;
  std::map<Digest, std::shared_ptr<Flight>> flights_;
  SessionStatistics statistics_;
  // By source. Last: what is under way uses the members above.
  std::map<std::string, std::shared_ptr<Prefetch>> prefetches_;
};

}  // namespace encore::cache

#endif  // ENCORE_CACHE_SESSION_SESSION_H_
