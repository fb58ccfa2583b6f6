#include "encore/runtime/testing/order_checker.h"

#include <algorithm>
#include <map>
#include <random>
#include <utility>
#include <variant>

#include "encore/ir/support/strings.h"

namespace encore::runtime {
namespace {

using Code = ReplayOp::Code;
using Clock = std::vector<int64_t>;

constexpr int kMostTrips = 3;

void Raise(Clock* clock, const Clock& to) {
  for (size_t i = 0; i < clock->size(); ++i) {
    (*clock)[i] = std::max((*clock)[i], to[i]);
  }
}

// Bytes [begin, end) of a memory; those of staging buffers are behind those of
// the slots.
struct Bytes {
  size_t memory = 0;
  int64_t begin = 0, end = 0;
};

// What was done to some bytes, as the time-th work of a line (the host or a
// queue).
struct Touch {
  Bytes bytes;
  size_t line = 0;
  int64_t time = 0;
  bool is_write = false;
  uint32_t op = 0;
};

class Run {
 public:
  Run(const CompiledGraph& graph, const ReplayCode& code,
      std::span<const int64_t> symbols, uint32_t seed)
      : graph_(graph), code_(code), symbols_(symbols), random_(seed) {
    const size_t lines = std::max<size_t>(code.queues.size(), 1);
    clocks_.assign(lines, Clock(lines));
    events_.assign(code.events.size(), Clock(lines));
    trips_.resize(code.loops.size());
    touched_.resize(graph.slots.size() + code.staging.size());
    report_.runs.resize(code.ops.size());
    for (const Plan& plan : graph.plans) {
      for (const Step& step : plan.steps) {
        const auto* invoke = std::get_if<Invoke>(&step.op);
        if (invoke == nullptr) continue;
        for (const auto& scan : invoke->scanned) scans_[scan.slice] = scan;
      }
    }
  }

  OrderReport Follow() {
    uint32_t at = 0;
    while (report_.race.empty() && code_.ops[at].code != Code::kEnd) {
      ++report_.runs[at];
      at = Do(at);
    }
    return std::move(report_);
  }

 private:
  // Returns the next operation.
  uint32_t Do(uint32_t at) {
    const ReplayOp& op = code_.ops[at];
    switch (op.code) {
      case Code::kRecord:
        Raise(&clocks_[op.queue], clocks_[0]);
        events_[op.a] = clocks_[op.queue];
        return at + 1;
      case Code::kWait:
        Raise(&clocks_[op.queue], clocks_[0]);
        Raise(&clocks_[op.queue], events_[op.a]);
        return at + 1;
      case Code::kHostWait:
        Raise(&clocks_[0], events_[op.a]);
        return at + 1;
      case Code::kStretch:
        return at + 1;
      case Code::kJump:
        return op.b;
      case Code::kLoopStart:
        trips_[op.a] = {0, static_cast<int>(random_() % (kMostTrips + 1))};
        return at + 1;
      case Code::kLoopTest: {
        const auto [done, all] = trips_[op.a];
        return done < all ? at + 1 : op.b;
      }
      case Code::kLoopNext:
        ++trips_[op.a].first;
        return op.b;
      case Code::kSelect:
        TouchAll(at);
        return code_.targets[op.b + random_() % op.c];
      case Code::kJumpIfFalse: {
        TouchAll(at);
        const bool leave = report_.runs[at] > kMostTrips || random_() % 3 == 0;
        return leave ? op.b : at + 1;
      }
      default:
        TouchAll(at);
        return at + 1;
    }
  }

  void TouchAll(uint32_t at) {
    const ReplayOp& op = code_.ops[at];
    Clock& clock = clocks_[op.queue];
    Raise(&clock, clocks_[0]);
    time_ = ++clock[op.queue];
    switch (op.code) {
      case Code::kLaunch: {
        const ReplayCode::StepRef& ref = code_.steps[op.step];
        const Step& step = graph_.plan(ref.plan).steps[ref.step];
        const Launch& launch = std::get<Launch>(step.op);
        for (const SlotId slot : launch.reads) Check(at, Of(slot), false);
        for (const SlotId slot : launch.writes) Check(at, Of(slot), true);
        return;
      }
      case Code::kDecide:
        TouchBodies(at, code_.decisions[op.c]);
        return;
      case Code::kAllocate:
      case Code::kDeallocate:
        Check(at, Of(SlotId(op.a)), true);
        return;
      case Code::kReadSymbol:
        Check(at, op.staging != 0 ? Staged(op) : Of(code_.entries[op.b]),
              false);
        return;
      case Code::kSelect:
      case Code::kJumpIfFalse:
        Check(at, op.staging != 0 ? Staged(op) : Of(code_.entries[op.a]),
              false);
        return;
      default:
        break;
    }
    const bool from_staging = op.staging != 0 && op.code == Code::kCopyIn;
    const bool to_staging = op.staging != 0 && op.code == Code::kCopyOut;
    Check(at, from_staging ? Staged(op) : Of(code_.entries[op.a + 1]),
          op.code == Code::kMoveObject);
    Check(at, to_staging ? Staged(op) : Of(code_.entries[op.a]), true);
  }

  // All that any body may touch.
  void TouchBodies(uint32_t at, const ReplayCode::Decision& decision) {
    Check(at, Of(code_.entries[decision.selector]), false);
    for (const std::vector<ReplayOp>& body : decision.bodies) {
      for (const ReplayOp& op : body) {
        if (op.code == Code::kDecide) {
          TouchBodies(at, code_.decisions[op.c]);
          continue;
        }
        const ReplayCode::StepRef& ref = code_.steps[op.step];
        const Step& step = graph_.plan(ref.plan).steps[ref.step];
        const auto* const launch = std::get_if<Launch>(&step.op);
        if (launch == nullptr) {
          Check(at, Of(code_.entries[op.a + 1]), false);
          Check(at, Of(code_.entries[op.a]), true);
          continue;
        }
        for (const SlotId slot : launch->reads) Check(at, Of(slot), false);
        for (const SlotId slot : launch->writes) Check(at, Of(slot), true);
      }
    }
  }

  Bytes Staged(const ReplayOp& op) const {
    return {graph_.slots.size() + op.staging - 1, 0, 1};
  }

  Bytes Of(SlotId id) const {
    Bytes bytes;
    bytes.end = graph_.slot(id).is_host_object() ? 1 : Value(id, true);
    int64_t begin = 0;
    SlotId at = id;
    for (; graph_.slot(at).base.valid(); at = graph_.slot(at).base) {
      begin += Value(at, false);
      const auto scan = scans_.find(at);
      if (scan != scans_.end()) begin += Value(at, true) * TripOf(scan->second);
    }
    bytes.memory = at.value();
    bytes.begin = begin;
    bytes.end += begin;
    return bytes;
  }

  // The part that is being worked on, in as many as this run has.
  int64_t TripOf(const Invoke::StackedOperand& scan) const {
    for (size_t l = 0; l < code_.loops.size(); ++l) {
      for (const auto& other : code_.loops[l].scanned) {
        if (other.slice != scan.slice) continue;
        const auto [done, all] = trips_[l];
        return scan.reversed ? all - 1 - done : done;
      }
    }
    return 0;
  }

  int64_t Value(SlotId slot, bool size) const {
    const Dim& dim = size ? graph_.slot(slot).bytes : graph_.slot(slot).offset;
    return dim.Evaluate(symbols_).value_or(0);
  }

  void Check(uint32_t at, const Bytes& bytes, bool is_write) {
    const ReplayOp& op = code_.ops[at];
    const Clock& now = clocks_[op.queue];
    std::vector<Touch>& all = touched_[bytes.memory];
    for (const Touch& touch : all) {
      if (touch.op == at && touch.time == time_ && touch.line == op.queue) {
        continue;
      }
      if (touch.bytes.end <= bytes.begin || bytes.end <= touch.bytes.begin ||
          !(touch.is_write || is_write) || now[touch.line] >= touch.time) {
        continue;
      }
      report_.race =
          StrCat("operation ", at, " (step ", op.step, ") does not wait for ",
                 touch.op, " (step ", code_.ops[touch.op].step,
                 "), which touches the same bytes of slot ", bytes.memory);
      return;
    }
    all.push_back({bytes, op.queue, time_, is_write, at});
  }

  const CompiledGraph& graph_;
  const ReplayCode& code_;
  const std::span<const int64_t> symbols_;
  std::mt19937 random_;
  std::vector<Clock> clocks_, events_;
  std::vector<std::pair<int, int>> trips_;  // by loop: done, all
  std::map<SlotId, Invoke::StackedOperand> scans_;
  std::vector<std::vector<Touch>> touched_;  // by memory
  int64_t time_ = 0;
  OrderReport report_;
};

}  // namespace

OrderReport CheckOrder(const CompiledGraph& graph, const ReplayCode& code,
                       std::span<const int64_t> symbols, uint32_t seed) {
  return Run(graph, code, symbols, seed).Follow();
}

std::vector<uint32_t> WaitsOf(const ReplayCode& code) {
  std::vector<uint32_t> waits;
  for (uint32_t i = 0; i < code.ops.size(); ++i) {
    const Code what = code.ops[i].code;
    if (what == Code::kWait || what == Code::kHostWait) waits.push_back(i);
  }
  return waits;
}

ReplayCode Without(const ReplayCode& code, uint32_t op) {
  ReplayCode without = code;
  without.ops[op] = {
      .code = Code::kJump, .step = code.ops[op].step, .b = op + 1};
  return without;
}

}  // namespace encore::runtime
