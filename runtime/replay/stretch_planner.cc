#include "encore/runtime/replay/stretch_planner.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <variant>
#include <vector>

namespace encore::runtime {
namespace {

using Code = ReplayOp::Code;
using Stretch = ReplayCode::Stretch;

constexpr uint32_t kNone = UINT32_MAX;

bool Jumps(Code code) {
  return code == Code::kJumpIfFalse || code == Code::kJump ||
         code == Code::kLoopTest || code == Code::kLoopNext;
}

bool IsWork(Code code) {
  return code == Code::kLaunch || code == Code::kCopyIn ||
         code == Code::kCopyOut || code == Code::kCopyWithin ||
         code == Code::kDecide;
}

class StretchPlanner {
 public:
  StretchPlanner(const CompiledGraph& graph,
                 std::span<const std::shared_ptr<Device>> devices,
                 ReplayCode* code)
      : graph_(graph), devices_(devices), code_(code) {}

  void Run() {
    FindBarred();
    for (uint32_t i = 0; i < code_->ops.size();) {
      const uint32_t end = EndOfRun(i);
      if (end > i) Add(i, end);
      i = std::max(end, i + 1);
    }
    if (code_->stretches.empty()) return;
    FindEvents();
    FindJoined();
    Insert();
  }

 private:
  // Operations that jumps go to, and those of loops over parts of a value.
  void FindBarred() {
    leads_.resize(code_->ops.size() + 1);
    scans_.resize(code_->ops.size() + 1);
    for (const uint32_t target : code_->targets) leads_[target] = true;
    for (uint32_t i = 0; i < code_->ops.size(); ++i) {
      const ReplayOp& op = code_->ops[i];
      if (!Jumps(op.code)) continue;
      leads_[op.b] = true;
      if (op.code == Code::kLoopTest && !code_->loops[op.a].scanned.empty()) {
        std::fill(scans_.begin() + i, scans_.begin() + op.b, true);
      }
    }
  }

  // The device that may record the operation; invalid: none.
  DeviceId Recorder(uint32_t i) const {
    const ReplayOp& op = code_->ops[i];
    const bool fits =
        IsWork(op.code) || op.code == Code::kRecord || op.code == Code::kWait;
    if (!fits || op.queue == 0 || scans_[i]) return {};
    const DeviceId device = code_->queues[op.queue];
    return devices_[device.value()]->records() ? device : DeviceId();
  }

  uint32_t EndOfRun(uint32_t begin) const {
    const DeviceId device = Recorder(begin);
    if (!device.valid()) return begin;
    uint32_t end = begin + 1;
    while (end < code_->ops.size() && !leads_[end] && Recorder(end) == device) {
      ++end;
    }
    return end;
  }

  void Add(uint32_t begin, uint32_t end) {
    Stretch stretch;
    stretch.begin = begin;
    stretch.end = end;
    stretch.device = code_->queues[code_->ops[begin].queue];
    std::vector<uint32_t> load(code_->queues.size());
    std::vector<bool> used(code_->queues.size());
    for (uint32_t i = begin; i < end; ++i) {
      const ReplayOp& op = code_->ops[i];
      used[op.queue] = true;
      if (!IsWork(op.code)) continue;
      ++load[op.queue];
      stretch.works.push_back(WorkOf(i));
    }
    // One launch or copy is one call as it is.
    if (stretch.works.empty() ||
        (stretch.works.size() == 1 &&
         code_->ops[stretch.works[0].op].code != Code::kDecide)) {
      return;
    }
    stretch.origin =
        static_cast<uint16_t>(std::ranges::max_element(load) - load.begin());
    for (uint16_t q = 1; q < used.size(); ++q) {
      if (used[q] && q != stretch.origin) stretch.others.push_back(q);
    }
    code_->stretches.push_back(std::move(stretch));
  }

  Stretch::Work WorkOf(uint32_t i) const {
    const ReplayOp& op = code_->ops[i];
    if (op.code == Code::kDecide) {
      const ReplayCode::Decision& decision = code_->decisions[op.c];
      return {i, decision.entries, decision.args};
    }
    if (op.code != Code::kLaunch) return {i, 2, 0};
    const ReplayCode::StepRef& at = code_->steps[op.step];
    const auto& launch =
        std::get<Launch>(graph_.plan(at.plan).steps[at.step].op);
    return {i,
            static_cast<uint32_t>(launch.reads.size() + launch.writes.size()),
            static_cast<uint32_t>(launch.args.size())};
  }

  // The stretch that each operation is in.
  std::vector<uint32_t> StretchOf() const {
    std::vector<uint32_t> of(code_->ops.size(), kNone);
    for (uint32_t s = 0; s < code_->stretches.size(); ++s) {
      const Stretch& stretch = code_->stretches[s];
      std::fill(of.begin() + stretch.begin, of.begin() + stretch.end, s);
    }
    return of;
  }

  void FindEvents() {
    const std::vector<uint32_t> stretch_of = StretchOf();
    std::vector<uint32_t> recorder(code_->events.size(), kNone);
    for (uint32_t i = 0; i < code_->ops.size(); ++i) {
      const ReplayOp& op = code_->ops[i];
      if (op.code != Code::kRecord || stretch_of[i] == kNone) continue;
      recorder[op.a] = stretch_of[i];
      code_->stretches[stretch_of[i]].recorded.push_back(op.a);
    }
    const auto add = [](std::vector<uint32_t>* events, uint32_t event) {
      if (std::ranges::find(*events, event) == events->end()) {
        events->push_back(event);
      }
    };
    for (uint32_t i = 0; i < code_->ops.size(); ++i) {
      const ReplayOp& op = code_->ops[i];
      if (op.code != Code::kWait && op.code != Code::kHostWait) continue;
      const uint32_t from = recorder[op.a], to = stretch_of[i];
      if (from == to) continue;
      if (from != kNone) add(&code_->stretches[from].behind, op.a);
      if (to != kNone) add(&code_->stretches[to].before, op.a);
    }
  }

  void FindJoined() {
    std::vector<uint32_t> uses(code_->queues.size());
    for (const ReplayOp& op : code_->ops) ++uses[op.queue];
    for (Stretch& stretch : code_->stretches) {
      std::vector<uint32_t> here(code_->queues.size());
      for (uint32_t i = stretch.begin; i < stretch.end; ++i) {
        ++here[code_->ops[i].queue];
      }
      for (const uint16_t queue : stretch.others) {
        if (uses[queue] > here[queue]) stretch.joined.push_back(queue);
      }
      // All but kEnd.
      stretch.whole = stretch.end - stretch.begin + 1 == code_->ops.size();
    }
  }

  void Insert() {
    std::vector<ReplayOp> ops;
    std::vector<uint32_t> moved_to;
    uint32_t s = 0;
    for (uint32_t i = 0; i < code_->ops.size(); ++i) {
      moved_to.push_back(static_cast<uint32_t>(ops.size()));
      if (s < code_->stretches.size() && code_->stretches[s].begin == i) {
        ops.push_back({.code = Code::kStretch,
                       .step = code_->ops[i].step,
                       .a = s,
                       .b = code_->stretches[s].end});
        ++s;
      }
      ops.push_back(code_->ops[i]);
    }
    for (uint32_t& target : code_->targets) target = moved_to[target];
    for (ReplayOp& op : ops) {
      if (Jumps(op.code) || op.code == Code::kStretch) op.b = moved_to[op.b];
    }
    for (Stretch& stretch : code_->stretches) {
      const uint32_t shift = moved_to[stretch.begin] + 1 - stretch.begin;
      for (Stretch::Work& work : stretch.works) work.op += shift;
      stretch.begin += shift;
      stretch.end += shift;
    }
    code_->ops = std::move(ops);
  }

  const CompiledGraph& graph_;
  const std::span<const std::shared_ptr<Device>> devices_;
  ReplayCode* const code_;
  std::vector<bool> leads_, scans_;  // by operation
};

}  // namespace

void PlanStretches(const CompiledGraph& graph,
                   std::span<const std::shared_ptr<Device>> devices,
                   ReplayCode* code) {
  StretchPlanner(graph, devices, code).Run();
}

}  // namespace encore::runtime
