#include "encore/runtime/replay/operation_order.h"

#include <algorithm>
#include <queue>
#include <tuple>
#include <utility>

namespace encore::runtime {
namespace {

class ListScheduler {
 public:
  explicit ListScheduler(const OperationGraph& graph)
      : graph_(graph),
        count_(static_cast<uint32_t>(graph.engine.size())),
        before_(count_),
        path_(count_, 1),
        missing_(count_),
        start_(count_) {
    uint32_t engines = 1;
    for (const uint32_t engine : graph.engine) {
      engines = std::max(engines, engine + 1);
    }
    ready_.resize(engines);
    busy_.resize(engines);
    for (uint32_t i = 0; i < count_; ++i) {
      for (const uint32_t earlier : graph.after[i]) {
        before_[earlier].push_back(i);
      }
      missing_[i] = graph.after[i].size();
    }
    for (uint32_t i = count_; i-- > 0;) {
      for (const uint32_t later : before_[i]) {
        path_[i] = std::max(path_[i], path_[later] + 1);
      }
    }
  }

  std::vector<uint32_t> Run() {
    std::vector<uint32_t> running;
    for (uint32_t i = 0; i < count_; ++i) {
      if (missing_[i] == 0) Ready(i);
    }
    for (uint32_t now = 0; order_.size() < count_; ++now) {
      for (const uint32_t done : std::exchange(running, {})) {
        busy_[graph_.engine[done]] = false;
        for (const uint32_t later : before_[done]) {
          if (--missing_[later] == 0) Ready(later);
        }
      }
      for (size_t engine = 0; engine < ready_.size(); ++engine) {
        if (busy_[engine] || ready_[engine].empty()) continue;
        const uint32_t next = ~ready_[engine].top().second;
        ready_[engine].pop();
        busy_[engine] = true;
        start_[next] = now;
        running.push_back(next);
        order_.push_back(next);
      }
    }
    EnqueueEarly();
    return std::move(order_);
  }

 private:
  // The longest path first, of equal ones the first.
  void Ready(uint32_t i) { ready_[graph_.engine[i]].push({path_[i], ~i}); }

  // Moves what the host enqueues in front of its own operations, but not in
  // front of what its engine begins earlier.
  void EnqueueEarly() {
    // By operation: how many of the host's must have come before.
    std::vector<uint32_t> host(count_), least(ready_.size());
    uint32_t hosts = 0;
    for (const uint32_t i : order_) {
      for (const uint32_t earlier : graph_.after[i]) {
        const bool is_host = graph_.engine[earlier] == 0;
        host[i] = std::max(host[i], host[earlier] + (is_host ? 1 : 0));
      }
      if (graph_.engine[i] == 0) {
        host[i] = hosts++;
        continue;
      }
      uint32_t& engine = least[graph_.engine[i]];
      host[i] = engine = std::max(engine, host[i]);
    }
    const auto key = [&](uint32_t i) {
      return std::tuple(host[i], graph_.engine[i] == 0, start_[i], i);
    };
    std::ranges::sort(order_, {}, key);
  }

  const OperationGraph& graph_;
  const uint32_t count_;
  std::vector<std::vector<uint32_t>> before_;
  std::vector<uint32_t> path_;  // operations on the longest path from it on
  std::vector<size_t> missing_;
  std::vector<uint32_t> start_;
  std::vector<std::priority_queue<std::pair<uint32_t, uint32_t>>> ready_;
  std::vector<bool> busy_;  // by engine
  std::vector<uint32_t> order_;
};

}  // namespace

std::vector<uint32_t> OrderOperations(const OperationGraph& graph) {
  return ListScheduler(graph).Run();
}

}  // namespace encore::runtime
