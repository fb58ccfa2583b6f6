#include "encore/runtime/testing/virtual_clock.h"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "encore/runtime/plan/hazards.h"
#include "encore/runtime/replay/op_access.h"

namespace encore::runtime {
namespace {

using Code = ReplayOp::Code;

bool IsWait(Code code) {
  return code == Code::kWait || code == Code::kHostWait;
}

class VirtualClock {
 public:
  VirtualClock(const CompiledGraph& graph, const ReplayCode& code,
               const std::vector<int64_t>& durations)
      : code_(code), durations_(durations) {
    const size_t count = code.ops.size();
    end_.assign(count, -1);
    Places places(graph);
    AccessHistory history(graph.slots.size() + code.staging.size());
    before_.resize(count);
    for (uint32_t i = 0; i < count; ++i) {
      for (const Access& access : AccessesOf(graph, code, places, i)) {
        history.Add(access, true, [&](uint32_t by) {
          if (by != i) before_[i].push_back(by);
        });
      }
    }
  }

  VirtualTimes Run() {
    VirtualTimes times;
    times.makespan = Makespan();
    times.critical_path = CriticalPath();
    times.busiest = Busiest();
    times.needed_waits = NeededWaits();
    for (const ReplayOp& op : code_.ops) times.waits += IsWait(op.code);
    return times;
  }

 private:
  // 0 is the host; of device d those that compute, copy in and copy out.
  size_t EngineOf(const ReplayOp& op) const {
    if (op.queue == 0) return 0;
    const size_t kind = op.code == Code::kCopyIn || op.code == Code::kCopyPeer
                            ? 1
                        : op.code == Code::kCopyOut ? 2
                                                    : 0;
    return 1 + code_.queues[op.queue].value() * 3 + kind;
  }

  // Steps through time: at each moment the host goes on until it has to wait,
  // and free engines start what is ready.
  int64_t Makespan() {
    std::vector<std::vector<uint32_t>> queued(code_.queues.size());
    std::vector<size_t> head(code_.queues.size());
    std::vector<uint32_t> recorder(code_.events.size(), 0);  // 1 + operation
    std::vector<uint32_t> last(code_.queues.size(), 0);      // 1 + operation
    // By wait operation: what it waits for, 1 + operation.
    std::map<uint32_t, uint32_t> waits_for;
    std::map<size_t, int64_t> free_at;
    uint32_t next = 0;
    int64_t now = 0, host_free = 0, most = 0;
    const auto done = [&](uint32_t one_more) {
      return one_more == 0 ||
             (end_[one_more - 1] >= 0 && end_[one_more - 1] <= now);
    };
    for (;;) {
      bool changed = true;
      while (changed) {
        changed = false;
        while (next < code_.ops.size() && host_free <= now) {
          const ReplayOp& op = code_.ops[next];
          if (op.code == Code::kHostWait) {
            if (!done(recorder[op.a])) break;
          } else if (op.code == Code::kRecord) {
            recorder[op.a] = last[op.queue];
          } else if (op.queue == 0) {
            host_free = now + durations_[next];
            end_[next] = host_free;
          } else {
            if (op.code == Code::kWait) {
              waits_for[next] = recorder[op.a];
            } else {
              last[op.queue] = next + 1;
            }
            queued[op.queue].push_back(next);
          }
          ++next;
          changed = true;
        }
        changed |= StartReady(now, done, queued, waits_for, &head, &free_at);
      }
      int64_t soonest = INT64_MAX;
      for (const int64_t end : end_) {
        if (end > now) soonest = std::min(soonest, end);
        most = std::max(most, end);
      }
      if (soonest == INT64_MAX) return most;
      now = soonest;
    }
  }

  // The first enqueued of what is ready, for each free engine.
  template <typename Done>
  bool StartReady(int64_t now, const Done& done,
                  const std::vector<std::vector<uint32_t>>& queued,
                  std::map<uint32_t, uint32_t>& waits_for,
                  std::vector<size_t>* head,
                  std::map<size_t, int64_t>* free_at) {
    std::vector<std::pair<uint32_t, size_t>> ready;  // operation, queue
    for (size_t q = 1; q < queued.size(); ++q) {
      size_t& at = (*head)[q];
      while (at < queued[q].size() && IsWait(code_.ops[queued[q][at]].code) &&
             done(waits_for[queued[q][at]])) {
        ++at;
      }
      if (at == queued[q].size() || IsWait(code_.ops[queued[q][at]].code)) {
        continue;
      }
      // In order: what came before it in the queue is done.
      const bool in_order = running_[q] == 0 || done(running_[q]);
      if (in_order) ready.emplace_back(queued[q][at], q);
    }
    std::ranges::sort(ready);
    bool started = false;
    for (const auto& [op, q] : ready) {
      int64_t& free = (*free_at)[EngineOf(code_.ops[op])];
      if (free > now) continue;
      free = now + durations_[op];
      end_[op] = free;
      running_[q] = op + 1;
      ++(*head)[q];
      started = true;
    }
    return started;
  }

  int64_t CriticalPath() const {
    std::vector<int64_t> path(code_.ops.size());
    for (uint32_t i = 0; i < path.size(); ++i) {
      for (const uint32_t earlier : before_[i]) {
        path[i] = std::max(path[i], path[earlier]);
      }
      path[i] += durations_[i];
    }
    return *std::ranges::max_element(path);
  }

  int64_t Busiest() const {
    std::map<size_t, int64_t> work;
    for (uint32_t i = 0; i < code_.ops.size(); ++i) {
      work[EngineOf(code_.ops[i])] += durations_[i];
    }
    int64_t most = 0;
    for (const auto& [engine, time] : work) most = std::max(most, time);
    return most;
  }

  // Edges of the order by conflicts, by queues, and from the host to what it
  // enqueues later, that no longer path stands for and that lead from a queue
  // to another line.
  int64_t NeededWaits() const {
    const size_t count = code_.ops.size();
    std::vector<std::vector<bool>> reaches(count, std::vector<bool>(count));
    std::vector<uint32_t> last(code_.queues.size(), UINT32_MAX);
    int64_t needed = 0;
    for (uint32_t i = 0; i < count; ++i) {
      const ReplayOp& op = code_.ops[i];
      if (IsWait(op.code) || op.code == Code::kRecord) continue;
      std::vector<uint32_t> edges = before_[i];
      if (last[0] != UINT32_MAX) edges.push_back(last[0]);
      if (last[op.queue] != UINT32_MAX) edges.push_back(last[op.queue]);
      last[op.queue] = i;
      std::ranges::sort(edges, std::greater<>());
      for (const uint32_t from : edges) {
        if (reaches[i][from]) continue;
        const uint16_t line = code_.ops[from].queue;
        needed += line != 0 && line != op.queue;
        reaches[i][from] = true;
        for (uint32_t k = 0; k < from; ++k) {
          if (reaches[from][k]) reaches[i][k] = true;
        }
      }
    }
    return needed;
  }

  const ReplayCode& code_;
  const std::vector<int64_t>& durations_;
  std::vector<std::vector<uint32_t>> before_;  // by operation: its conflicts
  std::vector<int64_t> end_;                   // by operation; -1: not begun
  std::map<size_t, uint32_t> running_;         // by queue: 1 + the latest
};

}  // namespace

VirtualTimes RunOnVirtualClock(const CompiledGraph& graph,
                               const ReplayCode& code,
                               const std::vector<int64_t>& durations) {
  return VirtualClock(graph, code, durations).Run();
}

}  // namespace encore::runtime
