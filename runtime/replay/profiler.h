// Profiler: what each step of some replays took.
//
// Handed to Replayer::Replay; without one, replaying measures nothing. Records
// go to memory reserved beforehand, so that profiling does not allocate either;
// what comes after the reserved memory is full is counted and dropped. Belongs
// to one thread at a time.
#ifndef ENCORE_RUNTIME_REPLAY_PROFILER_H_
#define ENCORE_RUNTIME_REPLAY_PROFILER_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "encore/runtime/plan/compiled_graph.h"

namespace encore::runtime {

class Profiler {
 public:
  // A step, or the wait before it for what it needs.
  struct Work {
    PlanId plan;
    uint32_t step = 0;   // in that plan
    uint32_t queue = 0;  // that it went through; 0: none
    bool is_wait = false;
  };
  struct Record : Work {
    uint32_t replay = 0;               // counts the replays under this profiler
    int64_t begin_ns = 0, end_ns = 0;  // since the profiler was made
    int64_t device_ns = -1;            // by the device's clock; -1: it has none
  };
  // All executions of one step, without waits.
  struct StepTotal {
    PlanId plan;
    uint32_t step = 0;
    int64_t runs = 0, total_ns = 0, min_ns = 0, max_ns = 0;
    // Of the runs that a device timed, and how many these are.
    int64_t device_runs = 0, device_ns = 0;

    // Nanoseconds of a run; by the device's clock nothing where it timed none.
    double mean_ns() const {
      return static_cast<double>(total_ns) / static_cast<double>(runs);
    }
    std::optional<double> device_mean_ns() const {
      if (device_runs == 0) return std::nullopt;
      return static_cast<double>(device_ns) / static_cast<double>(device_runs);
    }
  };

  explicit Profiler(size_t most_records = size_t{1} << 16);

  // For the replay loop.
  int64_t Now() const {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::steady_clock::now() - start_)
        .count();
  }
  void StartReplay() { ++replays_; }
  void Add(const Work& work, int64_t begin_ns, int64_t end_ns,
           int64_t device_ns = -1) {
    if (records_.size() == records_.capacity()) {
      ++dropped_;
      return;
    }
    records_.push_back({work, replays_ - 1, begin_ns, end_ns, device_ns});
  }

  std::span<const Record> records() const { return records_; }
  int64_t dropped() const { return dropped_; }
  uint32_t replays() const { return replays_; }

  // Longest total first; ties in the order of plans and steps.
  std::vector<StepTotal> Totals() const;

  // The name of a stencil node, or an empty string.
  using OriginName = std::function<std::string(uint32_t)>;

  // What went on beside the replays, in a row of its own.
  struct Event {
    std::string_view name;
    std::chrono::steady_clock::time_point begin, end;
  };

  // The records in the Trace Event Format (JSON), which Perfetto and
  // chrome://tracing open, with a row for each queue, from the first of
  // `others` or the profiler's own beginning on. `graph` is the one that was
  // replayed.
  std::string ChromeTrace(const CompiledGraph& graph,
                          const OriginName& origin_name = {},
                          std::span<const Event> others = {}) const;

 private:
  std::chrono::steady_clock::time_point start_;
  std::vector<Record> records_;
  uint32_t replays_ = 0;
  int64_t dropped_ = 0;
};

// "launch cpu:matmul", "copy", …: what a step is, in a few words.
std::string StepName(const CompiledGraph& graph, const Step& step);

}  // namespace encore::runtime

#endif  // ENCORE_RUNTIME_REPLAY_PROFILER_H_
