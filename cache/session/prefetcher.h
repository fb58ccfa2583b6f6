// Prefetcher: recalls, while a model is read, the entry that its last load
// used.
//
// A start in parallel. Reading a model takes about as long as recalling its
// entry, whose key is known only then. So the disk store keeps, under a model's
// path, the key of its last load; what is recalled under it is used only where
// the graph, once read, has that key.
#ifndef ENCORE_CACHE_SESSION_PREFETCHER_H_
#define ENCORE_CACHE_SESSION_PREFETCHER_H_

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "encore/cache/session/plan_maker.h"
#include "encore/cache/session/session_options.h"
#include "encore/cache/session/session_request.h"
#include "encore/cache/session/write_behind.h"

namespace encore::cache {

// Thread-safe.
class Prefetcher {
 public:
  // Both outlive the prefetcher. Does nothing without a disk store.
  Prefetcher(const SessionOptions* options, const PlanMaker* maker);
  // Waits for what is under way.
  ~Prefetcher();

  // Starts to recall what the last graph from `source` (a model's path) was, on
  // a thread of its own.
  void Start(const std::string& source);

  // What Start recalled for `source`, once, where its key is the request's;
  // waits for it where it is under way.
  std::optional<RecalledPlan> Take(const std::string& source,
                                   const SessionRequest& request);

  // Makes the request's key what Start recalls next time for `source`. What
  // `writes` does of it is done before the prefetcher ends.
  void Remember(const std::string& source, const SessionRequest& request,
                WriteBehind* writes);

 private:
  struct Prefetch;

  std::shared_ptr<Prefetch> Find(const std::string& source) const;

  const SessionOptions* options_;
  const PlanMaker* maker_;
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Prefetch>> prefetches_;  // by source
};

}  // namespace encore::cache

#endif  // ENCORE_CACHE_SESSION_PREFETCHER_H_
