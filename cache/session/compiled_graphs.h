// CompiledGraphs: what a session has compiled: found in memory, then on disk,
// and compiled where it is in neither.
//
// Compiles of one key are single-flight, across threads and processes; who
// waits for another process says so, and compiles for itself after `max_wait`.
// An entry that is damaged, or was made for something else, is compiled again.
// One that is sound and cannot be loaded now (no memory, a library that does
// not load) is left as it is.
//
// Measurements. A compile chooses kernels by those that the disk store has
// (backends/measurement.h), and an entry says which it had. With tune_seconds
// in the options, what was compiled with gaps in them is compiled again on a
// hit, gaps are measured for so long, and the entry is replaced; without, what
// is there is recalled.
#ifndef ENCORE_CACHE_SESSION_COMPILED_GRAPHS_H_
#define ENCORE_CACHE_SESSION_COMPILED_GRAPHS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "encore/cache/key/key.h"
#include "encore/cache/package/loaded.h"
#include "encore/cache/session/plan_maker.h"
#include "encore/cache/session/prefetcher.h"
#include "encore/cache/session/prepared_weights.h"
#include "encore/cache/session/session_options.h"
#include "encore/cache/session/session_request.h"
#include "encore/cache/session/write_behind.h"
#include "encore/cache/store/measurement_table.h"
#include "encore/cache/store/memory_store.h"
#include "encore/ir/support/sha256.h"
#include "encore/ir/support/status.h"

namespace encore::cache {

// Whether a load that ends so may be of a plan for another machine than this
// one: its devices are not here, or are not what its code needs.
bool MayBeForElsewhere(const Status& status);

// Thread-safe.
class CompiledGraphs {
 public:
  // All outlive this and what comes from it, but `writes`, which ends before
  // this: entries are written by it.
  CompiledGraphs(const SessionOptions* options, const PlanMaker* maker,
                 Prefetcher* prefetcher, WriteBehind* writes);
  ~CompiledGraphs();

  // `source`: what the prefetcher was given for this graph; empty: nothing.
  StatusOr<CompiledPtr> GetOrCompile(const SessionRequest& request,
                                     const std::string& source = {});

  // Null where memory does not have it.
  CompiledPtr FromMemory(const SessionRequest& request);
  void ToMemory(const SessionRequest& request, const CompiledPtr& compiled);

  // The plan, also where it does not run on this machine. The last such one is
  // held until there is another, so that it is compiled once.
  StatusOr<MeasuredPlan> PlanOf(const SessionRequest& request);

  // Compiles again, with the measurements that `compiled` had: Internal where
  // the bytes differ.
  Status Check(const SessionRequest& request, const Compiled& compiled) const;

  SessionStatistics statistics() const;
  void Count(int64_t SessionStatistics::* counter);
  void Count(const PreparedWeights& prepared);
  void AddLoadTime(double ms);

 private:
  // A compile under way; whoever comes meanwhile waits for it.
  struct Flight;

  // What the disk has: an entry that can be used; else whether there is one
  // that is sound, and so is to stay.
  struct Found {
    CompiledPtr compiled;
    bool keep = false;
  };

  StatusOr<CompiledPtr> GetOrCompileUnshared(const SessionRequest& request,
                                             const std::string& source);
  StatusOr<CompiledPtr> Compile(const SessionRequest& request,
                                MeasuredPlan* plan);
  // Compiled before and for another machine; nothing where it is not held.
  std::optional<MeasuredPlan> FromElsewhere(const SessionRequest& request);
  Found FromDisk(const SessionRequest& request, const std::string& source);
  // In place of an entry that was not compiled with more measurements.
  void ToDisk(const KeyIngredients& ingredients, const Digest& key,
              const MeasuredPlan& plan) const;

  const SessionOptions* options_;
  const PlanMaker* maker_;
  Prefetcher* prefetcher_;
  WriteBehind* writes_;
  MemoryStore memory_;
  mutable std::mutex mutex_;
  std::map<Digest, std::shared_ptr<Flight>> flights_;
  std::pair<Digest, std::optional<MeasuredPlan>> elsewhere_;
  SessionStatistics statistics_;
};

}  // namespace encore::cache

#endif  // ENCORE_CACHE_SESSION_COMPILED_GRAPHS_H_
