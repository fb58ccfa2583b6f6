#include "encore/runtime/replay/queue_planner.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <iterator>
#include <utility>
#include <vector>

#include "encore/runtime/plan/hazards.h"
#include "encore/runtime/replay/op_access.h"
#include "encore/runtime/replay/operation_order.h"
#include "encore/runtime/replay/wait_planner.h"

namespace encore::runtime {
namespace {

using Code = ReplayOp::Code;

constexpr uint32_t kNone = UINT32_MAX;

bool IsLeaderBehind(Code code) {
  return code == Code::kSelect || code == Code::kJumpIfFalse ||
         code == Code::kJump || code == Code::kLoopTest ||
         code == Code::kLoopNext;
}

// Queues of one device, as numbers of ReplayCode::queues.
struct DeviceQueues {
  std::vector<uint16_t> compute;
  uint16_t in = 0, out = 0;
};

using Block = WaitProblem::Block;

class QueuePlanner {
 public:
  QueuePlanner(const CompiledGraph& graph,
               std::span<const std::shared_ptr<Device>> devices,
               std::span<const DeviceId> op_devices, ReplayCode* code)
      : graph_(graph),
        devices_(devices),
        op_devices_(op_devices.begin(), op_devices.end()),
        code_(code),
        places_(graph),
        history_(graph.slots.size() + code->staging.size()) {}

  void Run() {
    MakeQueues();
    if (code_->queues.size() == 1) return;
    FindAccesses();
    FindBlocks();
    for (const Block& block : blocks_) Reorder(block);
    FindAccesses();
    FindInFlight();
    queue_load_.resize(code_->queues.size());
    for (const Block& block : blocks_) AssignQueues(block);
    event_of_.assign(code_->ops.size(), kNone);
    FindWaits();
    InsertWaits();
  }

 private:
  void FindAccesses() {
    accesses_.clear();
    for (uint32_t i = 0; i < code_->ops.size(); ++i) {
      accesses_.push_back(AccessesOf(graph_, *code_, places_, i));
      code_->host_works |= !IsQueued(i) && !accesses_.back().empty();
    }
    // What nobody writes, weights above all, puts nothing in order.
    std::vector<bool> written(graph_.slots.size() + code_->staging.size());
    for (const std::vector<Access>& accesses : accesses_) {
      for (const Access& access : accesses) {
        if (access.is_write) written[access.place.storage] = true;
      }
    }
    for (std::vector<Access>& accesses : accesses_) {
      std::erase_if(accesses, [&](const Access& access) {
        return !written[access.place.storage];
      });
    }
  }

  bool IsQueued(uint32_t op) const {
    return op_devices_[op].valid() &&
           devices_[op_devices_[op].value()]->queue_count() > 0;
  }
  uint16_t QueueOf(uint32_t op) const { return code_->ops[op].queue; }
  const Device& DeviceOfQueue(uint16_t queue) const {
    return *devices_[code_->queues[queue].value()];
  }

  void MakeQueues() {
    code_->queues.emplace_back();
    std::vector<bool> used(devices_.size());
    for (uint32_t i = 0; i < code_->ops.size(); ++i) {
      if (IsQueued(i)) used[op_devices_[i].value()] = true;
    }
    queues_of_.resize(devices_.size());
    for (uint32_t d = 0; d < devices_.size(); ++d) {
      if (!used[d]) continue;
      const auto first = static_cast<uint16_t>(code_->queues.size());
      const auto count = static_cast<uint16_t>(devices_[d]->queue_count());
      code_->queues.insert(code_->queues.end(), count, DeviceId(d));
      const int compute = std::max(count - 2, 1);
      for (int q = 0; q < compute; ++q) {
        queues_of_[d].compute.push_back(static_cast<uint16_t>(first + q));
      }
      queues_of_[d].out = static_cast<uint16_t>(first + count - 1);
      queues_of_[d].in = static_cast<uint16_t>(count > 2 ? first + count - 2
                                                         : first + count - 1);
    }
  }

  void FindBlocks() {
    const std::vector<ReplayOp>& ops = code_->ops;
    std::vector<bool> leads(ops.size() + 1);
    leads[0] = true;
    for (uint32_t i = 0; i < ops.size(); ++i) {
      if (!IsLeaderBehind(ops[i].code)) continue;
      leads[i + 1] = true;
      for (const uint32_t target : TargetsOf(ops[i])) leads[target] = true;
    }
    std::vector<uint32_t> block_of(ops.size());
    for (uint32_t i = 0; i < ops.size(); ++i) {
      if (leads[i]) blocks_.emplace_back().begin = i;
      blocks_.back().end = i + 1;
      block_of[i] = static_cast<uint32_t>(blocks_.size() - 1);
    }
    for (Block& block : blocks_) {
      const ReplayOp& last = ops[block.end - 1];
      if (IsLeaderBehind(last.code)) {
        for (const uint32_t target : TargetsOf(last)) {
          block.next.push_back(block_of[target]);
        }
      }
      const bool goes_on =
          last.code != Code::kJump && last.code != Code::kLoopNext &&
          last.code != Code::kSelect && last.code != Code::kEnd;
      if (goes_on) block.next.push_back(block_of[block.end]);
    }
  }

  // Where a jump may go; REQUIRES one.
  std::span<const uint32_t> TargetsOf(const ReplayOp& op) const {
    if (op.code != Code::kSelect) return {&op.b, 1};
    return std::span(code_->targets).subspan(op.b, op.c);
  }

  // Kernels and copies between which nothing else stands.
  void Reorder(const Block& block) {
    uint32_t begin = block.begin;
    for (uint32_t i = block.begin; i < block.end; ++i) {
      const Code what = code_->ops[i].code;
      if (what >= Code::kLaunch && what <= Code::kCopyPeer) continue;
      ReorderRange(begin, i);
      begin = i + 1;
    }
    ReorderRange(begin, block.end);
  }

  void ReorderRange(uint32_t begin, uint32_t end) {
    OperationGraph order;
    StartHistory({});
    for (uint32_t i = begin; i < end; ++i) {
      order.engine.push_back(EngineOf(i));
      order.after.emplace_back();
      for (const Access& access : accesses_[i]) {
        history_.Add(access, true, [&](uint32_t by) {
          order.after.back().push_back(by - begin);
        });
      }
    }
    std::vector<ReplayOp> ops;
    std::vector<DeviceId> devices;
    for (const uint32_t i : OrderOperations(order)) {
      ops.push_back(code_->ops[begin + i]);
      devices.push_back(op_devices_[begin + i]);
    }
    std::ranges::copy(ops, code_->ops.begin() + begin);
    std::ranges::copy(devices, op_devices_.begin() + begin);
  }

  // Of each device one that computes and one that copies each way.
  uint32_t EngineOf(uint32_t i) const {
    if (!IsQueued(i)) return 0;
    const Code what = code_->ops[i].code;
    const uint32_t kind = what == Code::kCopyOut ? 2
                          : what == Code::kCopyIn || what == Code::kCopyPeer
                              ? 1
                              : 0;
    return 1 + op_devices_[i].value() * 3 + kind;
  }

  // What is in flight where each block begins: the accesses of queued
  // operations on every path. What the host has done is done.
  void FindInFlight() {
    std::deque<uint32_t> work;
    std::vector<bool> waiting(blocks_.size());
    in_flight_.resize(blocks_.size());
    for (uint32_t b = 0; b < blocks_.size(); ++b) {
      work.push_back(b);
      waiting[b] = true;
    }
    while (!work.empty()) {
      const uint32_t b = work.front();
      work.pop_front();
      waiting[b] = false;
      const std::vector<Access> left = InFlightBehind(b);
      for (const uint32_t next : blocks_[b].next) {
        if (!AddInFlight(left, &in_flight_[next]) || waiting[next]) continue;
        work.push_back(next);
        waiting[next] = true;
      }
    }
  }

  std::vector<Access> InFlightBehind(uint32_t b) {
    const Block& block = blocks_[b];
    StartHistory(in_flight_[b]);
    for (uint32_t i = block.begin; i < block.end; ++i) {
      for (const Access& access : accesses_[i]) {
        history_.Add(access, IsQueued(i), [](uint32_t) {});
      }
    }
    return history_.Kept();
  }

  void StartHistory(std::span<const Access> in_flight) {
    history_.Clear();
    for (const Access& access : in_flight) history_.Keep(access);
  }
  // The operations that operation `i` conflicts with, ascending.
  std::vector<uint32_t> ConflictsOf(uint32_t i) {
    std::vector<uint32_t> conflicts;
    for (const Access& access : accesses_[i]) {
      history_.Add(access, IsQueued(i),
                   [&](uint32_t by) { conflicts.push_back(by); });
    }
    std::ranges::sort(conflicts);
    const auto rest = std::ranges::unique(conflicts);
    conflicts.erase(rest.begin(), rest.end());
    return conflicts;
  }

  // Whether there was anything new among `accesses`.
  static bool AddInFlight(const std::vector<Access>& accesses,
                          std::vector<Access>* in_flight) {
    const size_t before = in_flight->size();
    std::vector<Access> all;
    std::ranges::set_union(*in_flight, accesses, std::back_inserter(all));
    *in_flight = std::move(all);
    return in_flight->size() > before;
  }

  // A kernel counts as one unit of its queue's time.
  void AssignQueues(const Block& block) {
    StartHistory({});
    std::vector<uint32_t> last(code_->queues.size(), kNone);  // by queue
    for (uint32_t i = block.begin; i < block.end; ++i) {
      const std::vector<uint32_t> after = ConflictsOf(i);
      ReplayOp& op = code_->ops[i];
      if (!IsQueued(i)) continue;
      const DeviceQueues& queues = queues_of_[op_devices_[i].value()];
      switch (op.code) {
        case Code::kCopyIn:
          op.queue = queues.in;
          break;
        case Code::kCopyOut:
          op.queue = queues.out;
          break;
        case Code::kCopyPeer:
          op.queue = queues.in;
          break;
        default:
          op.queue = ComputeQueue(queues, after, last);
          ++queue_load_[op.queue];
      }
      last[op.queue] = i;
    }
  }

  uint16_t ComputeQueue(const DeviceQueues& queues,
                        std::span<const uint32_t> after,
                        std::span<const uint32_t> last) const {
    uint32_t latest = kNone;
    uint16_t best = queues.compute[0];
    for (const uint16_t queue : queues.compute) {
      const bool follows = last[queue] != kNone &&
                           std::ranges::find(after, last[queue]) != after.end();
      if (follows && (latest == kNone || last[queue] > latest)) {
        latest = last[queue];
        best = queue;
      }
      if (latest == kNone && queue_load_[queue] < queue_load_[best]) {
        best = queue;
      }
    }
    return best;
  }

  void FindWaits() {
    WaitProblem problem;
    problem.blocks = blocks_;
    problem.queues = static_cast<uint16_t>(code_->queues.size());
    problem.can_wait = [this](uint16_t waiter, uint16_t other) {
      return DeviceOfQueue(waiter).WaitsFor(DeviceOfQueue(other));
    };
    for (const ReplayOp& op : code_->ops) problem.queue.push_back(op.queue);
    problem.conflicts.resize(code_->ops.size());
    for (uint32_t b = 0; b < blocks_.size(); ++b) {
      StartHistory(in_flight_[b]);
      for (uint32_t i = blocks_[b].begin; i < blocks_[b].end; ++i) {
        problem.conflicts[i] = ConflictsOf(i);
      }
    }
    waits_ = PlanWaits(problem);
    for (const std::vector<WaitFor>& waits : waits_) {
      for (const WaitFor& wait : waits) {
        uint32_t& event = event_of_[wait.op];
        if (event != kNone) continue;
        event = static_cast<uint32_t>(code_->events.size());
        code_->events.push_back(code_->queues[code_->ops[wait.op].queue]);
      }
    }
  }

  // Waits stand before their operation, where jumps to it go; records behind
  // theirs.
  void InsertWaits() {
    std::vector<ReplayOp> ops;
    std::vector<uint32_t> moved_to;
    for (uint32_t i = 0; i < code_->ops.size(); ++i) {
      const ReplayOp& op = code_->ops[i];
      moved_to.push_back(static_cast<uint32_t>(ops.size()));
      for (const auto& [waited_for, by_host] : waits_[i]) {
        ops.push_back({.code = by_host ? Code::kHostWait : Code::kWait,
                       .queue = by_host ? uint16_t{0} : op.queue,
                       .step = op.step,
                       .a = event_of_[waited_for]});
      }
      ops.push_back(op);
      if (event_of_[i] == kNone) continue;
      ops.push_back({.code = Code::kRecord,
                     .queue = op.queue,
                     .step = op.step,
                     .a = event_of_[i]});
    }
    for (uint32_t& target : code_->targets) target = moved_to[target];
    for (ReplayOp& op : ops) {
      if (IsLeaderBehind(op.code) && op.code != Code::kSelect) {
        op.b = moved_to[op.b];
      }
    }
    code_->ops = std::move(ops);
  }

  const CompiledGraph& graph_;
  const std::span<const std::shared_ptr<Device>> devices_;
  std::vector<DeviceId> op_devices_;  // by operation
  ReplayCode* const code_;
  const Places places_;
  AccessHistory history_;
  std::vector<DeviceQueues> queues_of_;        // by device
  std::vector<std::vector<Access>> accesses_;  // by operation
  std::vector<Block> blocks_;
  std::vector<std::vector<Access>> in_flight_;  // by block, when it begins
  std::vector<int64_t> queue_load_;
  std::vector<uint32_t> event_of_;  // by operation
  std::vector<std::vector<WaitFor>> waits_;
};

}  // namespace

void PlanQueues(const CompiledGraph& graph,
                std::span<const std::shared_ptr<Device>> devices,
                std::span<const DeviceId> op_devices, ReplayCode* code) {
  QueuePlanner(graph, devices, op_devices, code).Run();
}

}  // namespace encore::runtime
