#include "encore/runtime/replay/flatten_plan.h"

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include "encore/ir/support/check.h"
#include "encore/ir/support/overloaded.h"
#include "encore/ir/types/dim_symbols.h"
#include "encore/runtime/device/decider.h"
#include "encore/runtime/plan/sizes.h"
#include "encore/runtime/replay/queue_planner.h"
#include "encore/runtime/replay/stretch_planner.h"

namespace encore::runtime {
namespace {

using Code = ReplayOp::Code;

class Flattener {
 public:
  Flattener(const CompiledGraph& graph,
            std::span<const std::unique_ptr<Kernel>> kernels,
            std::span<const std::shared_ptr<Device>> devices)
      : graph_(graph), kernels_(kernels), devices_(devices) {
    symbols_of_slot_.resize(graph.slots.size());
    last_read_.resize(graph.symbols.size());
    for (uint32_t s = 0; s < graph.symbols.size(); ++s) {
      const SymbolInfo& info = graph.symbols[s];
      if (info.source != SymbolInfo::Source::kSlot) continue;
      symbols_of_slot_[info.index].push_back(s);
    }
  }

  ReplayCode Run(PlanId plan) {
    AddPlan(plan);
    Emit({.code = Code::kEnd});
    PlanQueues(graph_, devices_, op_devices_, &code_);
    PlanStretches(graph_, devices_, &code_);
    FillSlots();
    FillDependents();
    return std::move(code_);
  }

 private:
  // `device`: whose queues it goes through, if it has any.
  uint32_t Emit(ReplayOp op, DeviceId device = {}) {
    op.step = step_;
    code_.ops.push_back(op);
    op_devices_.push_back(device);
    return static_cast<uint32_t>(code_.ops.size() - 1);
  }
  uint32_t Here() const { return static_cast<uint32_t>(code_.ops.size()); }
  uint32_t Entry(SlotId slot) {
    code_.entries.push_back(slot);
    return static_cast<uint32_t>(code_.entries.size() - 1);
  }
  uint32_t Arg(const Dim& dim) {
    code_.args.push_back(dim);
    return static_cast<uint32_t>(code_.args.size() - 1);
  }
  Device* DeviceOf(DeviceId id) const { return devices_[id.value()].get(); }
  DeviceId DeviceOf(SlotId slot) const {
    return graph_.pools[graph_.slot(slot).pool.value()].device;
  }
  uint32_t Staging(DeviceId device, SlotId slot) {
    code_.staging.push_back({device, slot});
    return static_cast<uint32_t>(code_.staging.size());
  }
  // Makes `op` read `slot` on the host: entry in `*entry`.
  void ReadOnHost(SlotId slot, ReplayOp* op, uint32_t* entry) {
    *entry = Entry(slot);
    const DeviceId device = DeviceOf(slot);
    if (!device.valid()) return;
    op->staging = Staging(device, slot);
    ReplayOp copy{.code = Code::kCopyOut};
    copy.a = Entry(slot);
    Entry(slot);
    copy.staging = op->staging;
    copy.copier = DeviceOf(device);
    Emit(copy, device);
  }
  ReplayOp SelectorOp(Code code, const Invoke& invoke) {
    ReplayOp op{.code = code};
    op.selector_type = graph_.slot(invoke.selector).type.dtype;
    ReadOnHost(invoke.selector, &op, &op.a);
    return op;
  }

  // Nesting is bounded by the plan verifier.
  void AddPlan(PlanId plan) {
    const uint32_t surrounding = step_;
    const std::vector<Step>& steps = graph_.plan(plan).steps;
    for (uint32_t i = 0; i < steps.size(); ++i) {
      step_ = static_cast<uint32_t>(code_.steps.size());
      code_.steps.push_back({plan, i});
      std::visit([this](const auto& op) { Add(op); }, steps[i].op);
    }
    step_ = surrounding;
  }

  void Add(const Launch& launch) {
    const auto first = static_cast<uint32_t>(code_.entries.size());
    for (const SlotId slot : launch.reads) Entry(slot);
    for (const SlotId slot : launch.writes) Entry(slot);
    const auto first_arg = static_cast<uint32_t>(code_.args.size());
    for (const Dim& arg : launch.args) Arg(arg);
    Emit({.code = Code::kLaunch,
          .a = first,
          .b = first_arg,
          .kernel = kernels_[launch.binary.value()].get()},
         launch.device);
    for (const SlotId slot : launch.writes) ReadSymbolsOf(slot);
  }

  void Add(const Copy& copy) {
    const DeviceId from = DeviceOf(copy.src), to = DeviceOf(copy.dst);
    ReplayOp op;
    op.a = Entry(copy.dst);
    Entry(copy.src);
    const DeviceId device = to.valid() ? to : from;
    if (device.valid()) op.copier = DeviceOf(device);
    if (graph_.slot(copy.src).is_host_object()) {
      op.code = Code::kCopyObject;
    } else if (!device.valid()) {
      op.code = Code::kCopyHost;
    } else if (!from.valid() || !to.valid()) {
      op.code = to.valid() ? Code::kCopyIn : Code::kCopyOut;
    } else if (from == to) {
      op.code = Code::kCopyWithin;
    } else if (op.copier->CopiesFrom(*DeviceOf(from))) {
      op.code = Code::kCopyPeer;
      op.c = static_cast<uint32_t>(code_.peers.size());
      code_.peers.push_back(DeviceOf(from));
    } else {
      op.staging = Staging(from, copy.src);
      op.code = Code::kCopyOut;
      op.copier = DeviceOf(from);
      Emit(op, from);
      op.code = Code::kCopyIn;
      op.copier = DeviceOf(to);
    }
    Emit(op, device);
    ReadSymbolsOf(copy.dst);
  }

  void Add(const Allocate& allocate) {
    if (!IsRunTimeSized(graph_, allocate.bytes)) {
      if (std::ranges::find(code_.owned, allocate.slot) == code_.owned.end()) {
        code_.owned.push_back(allocate.slot);
      }
      return;
    }
    Emit({.code = Code::kAllocate,
          .a = allocate.slot.value(),
          .b = allocate.pool.value(),
          .c = Arg(allocate.bytes)});
  }

  void Add(const Deallocate& deallocate) {
    const Slot& slot = graph_.slot(deallocate.slot);
    if (!IsRunTimeSized(graph_, slot.bytes)) return;
    Emit({.code = Code::kDeallocate,
          .a = deallocate.slot.value(),
          .b = deallocate.pool.value()});
  }

  void Add(const Invoke& invoke) {
    if (const DeviceId device = DeciderOf(invoke); device.valid()) {
      AddDecision(invoke, device);
      return;
    }
    switch (invoke.kind) {
      case InvokeKind::kIf:
        AddIf(invoke);
        break;
      case InvokeKind::kWhile:
        AddWhile(invoke);
        break;
      case InvokeKind::kScan:
        AddScan(invoke);
        break;
    }
  }

  // The device that does all of it and can decide; invalid: the host does.
  DeviceId DeciderOf(const Invoke& invoke) const {
    // A branch that is not there is the host's fault to find.
    if (invoke.kind == InvokeKind::kScan || invoke.plans.size() != 2 ||
        graph_.slot(invoke.selector).type.dtype != DType::kBool) {
      return {};
    }
    const DeviceId device = DeviceOf(invoke.selector);
    if (!device.valid() || !DeviceOf(device)->records()) return {};
    const auto* const decider = dynamic_cast<Decider*>(DeviceOf(device));
    const auto kind = invoke.kind == InvokeKind::kWhile ? Decider::Kind::kWhile
                                                        : Decider::Kind::kIf;
    if (decider == nullptr || !decider->decides(kind)) return {};
    const auto is_there = [&](SlotId slot) {
      return DeviceOf(slot) == device && symbols_of_slot_[slot.value()].empty();
    };
    for (const Invoke::Carried& carried : invoke.carried) {
      if (!is_there(carried.state) || !is_there(carried.next)) return {};
    }
    for (const PlanId plan : invoke.plans) {
      for (const Step& step : graph_.plan(plan).steps) {
        if (!IsDoneBy(device, step, is_there)) return {};
      }
    }
    return device;
  }

  template <typename IsThere>
  bool IsDoneBy(DeviceId device, const Step& step,
                const IsThere& is_there) const {
    return std::visit(
        Overloaded{[&](const Launch& op) {
                     return op.device == device &&
                            std::ranges::all_of(op.writes, is_there);
                   },
                   [&](const Copy& op) {
                     return is_there(op.src) && is_there(op.dst);
                   },
                   [&](const Invoke& op) { return DeciderOf(op) == device; },
                   [&](const Allocate& op) {
                     return !IsRunTimeSized(graph_, op.bytes);
                   },
                   [&](const Deallocate& op) {
                     return !IsRunTimeSized(graph_, graph_.slot(op.slot).bytes);
                   }},
        step.op);
  }

  void AddDecision(const Invoke& invoke, DeviceId device) {
    ReplayOp op{.code = Code::kDecide};
    op.a = static_cast<uint32_t>(code_.entries.size());
    op.b = static_cast<uint32_t>(code_.args.size());
    op.c = static_cast<uint32_t>(code_.decisions.size());
    code_.decisions.emplace_back();
    ReplayCode::Decision decision;
    decision.kind = invoke.kind;
    decision.decider = dynamic_cast<Decider*>(DeviceOf(device));
    decision.selector = Entry(invoke.selector);
    decision.staging = Staging(device, invoke.selector);
    std::vector<ReplayOp> ops;
    std::vector<DeviceId> devices;
    ops.swap(code_.ops);
    devices.swap(op_devices_);
    for (size_t i = 0; i < invoke.plans.size(); ++i) {
      AddPlan(invoke.plans[i]);
      if (invoke.kind == InvokeKind::kWhile && i == 1) Carry(invoke);
      decision.bodies.push_back(std::move(code_.ops));
      code_.ops.clear();
      op_devices_.clear();
    }
    ops.swap(code_.ops);
    devices.swap(op_devices_);
    decision.entries = static_cast<uint32_t>(code_.entries.size()) - op.a;
    decision.args = static_cast<uint32_t>(code_.args.size()) - op.b;
    op.copier = DeviceOf(device);
    code_.decisions[op.c] = std::move(decision);
    Emit(op, device);
  }

  void AddIf(const Invoke& invoke) {
    ReplayOp op = SelectorOp(Code::kSelect, invoke);
    op.b = static_cast<uint32_t>(code_.targets.size());
    op.c = static_cast<uint32_t>(invoke.plans.size());
    code_.targets.resize(op.b + op.c);
    Emit(op);
    std::vector<uint32_t> jumps;
    for (uint32_t i = 0; i < invoke.plans.size(); ++i) {
      code_.targets[op.b + i] = Here();
      AddPlan(invoke.plans[i]);
      jumps.push_back(Emit({.code = Code::kJump}));
    }
    for (const uint32_t jump : jumps) code_.ops[jump].b = Here();
  }

  void AddWhile(const Invoke& invoke) {
    const uint32_t start = Here();
    AddPlan(invoke.plans[0]);
    const uint32_t test = Emit(SelectorOp(Code::kJumpIfFalse, invoke));
    AddPlan(invoke.plans[1]);
    Carry(invoke);
    Emit({.code = Code::kJump, .b = start});
    code_.ops[test].b = Here();
  }

  void AddScan(const Invoke& invoke) {
    const auto loop = static_cast<uint32_t>(code_.loops.size());
    code_.loops.push_back({Arg(invoke.trips), invoke.scanned});
    for (const Invoke::StackedOperand& scanned : invoke.scanned) {
      scan_slots_.push_back(scanned.stacked);
      scan_slots_.push_back(scanned.slice);
    }
    Emit({.code = Code::kLoopStart, .a = loop});
    const uint32_t test = Emit({.code = Code::kLoopTest, .a = loop});
    AddPlan(invoke.plans[0]);
    Carry(invoke);
    Emit({.code = Code::kLoopNext, .a = loop, .b = test});
    code_.ops[test].b = Here();
  }

  void Carry(const Invoke& invoke) {
    for (const Invoke::Carried& carried : invoke.carried) {
      Add(Copy{.src = carried.next, .dst = carried.state});
      ReplayOp& copy = code_.ops.back();
      if (copy.code != Code::kCopyObject) continue;
      copy.code = Code::kMoveObject;
      copy.c = static_cast<uint32_t>(code_.moved.size());
      code_.moved.push_back(carried.next);
    }
  }

  void ReadSymbolsOf(SlotId slot) {
    for (const uint32_t symbol : symbols_of_slot_[slot.value()]) {
      ReplayOp op{.code = Code::kReadSymbol, .a = symbol};
      ReadOnHost(slot, &op, &op.b);
      last_read_[symbol] = Emit(op);
    }
  }

  // Lists the slots in use, their uses and the members of their storage.
  void FillSlots() {
    const size_t count = graph_.slots.size();
    std::vector<bool> used(count);
    const auto use = [&](SlotId slot) {
      used[slot.value()] = true;
      if (const SlotId base = graph_.slot(slot).base; base.valid()) {
        used[base.value()] = true;
        used[StorageOf(graph_, slot).value()] = true;
      }
    };
    for (const SlotId slot : code_.entries) use(slot);
    for (const SlotId slot : code_.owned) use(slot);
    for (const SlotId slot : scan_slots_) use(slot);
    for (const ReplayOp& op : code_.ops) {
      if (op.code == Code::kAllocate) use(SlotId(op.a));
    }
    std::vector<bool> is_element(count);
    for (const ReplayCode::Loop& loop : code_.loops) {
      for (const Invoke::StackedOperand& scanned : loop.scanned) {
        is_element[scanned.slice.value()] = true;
      }
    }
    std::vector<std::vector<uint32_t>> uses(count), members(count);
    for (uint32_t e = 0; e < code_.entries.size(); ++e) {
      uses[code_.entries[e].value()].push_back(e);
    }
    for (uint32_t s = 0; s < count; ++s) {
      if (!used[s]) continue;
      code_.slots.push_back(SlotId(s));
      if (is_element[s]) continue;
      members[StorageOf(graph_, SlotId(s)).value()].push_back(s);
    }
    code_.uses = Flat(uses);
    code_.members = Flat(members);
  }

  static ReplayCode::PerSlot Flat(
      const std::vector<std::vector<uint32_t>>& lists) {
    ReplayCode::PerSlot flat;
    flat.begin.push_back(0);
    for (const std::vector<uint32_t>& list : lists) {
      flat.items.insert(flat.items.end(), list.begin(), list.end());
      flat.begin.push_back(static_cast<uint32_t>(flat.items.size()));
    }
    return flat;
  }

  // `id`, computed from `dims`, among the dependents of their run-time symbols.
  template <typename Id>
  void Depend(
      Id id, std::initializer_list<const Dim*> dims,
      std::vector<ReplayCode::Dependent<Id>> ReplayCode::Dependents::* list) {
    std::vector<uint32_t> symbols;
    for (const Dim* dim : dims) {
      ForEachSymbol(*dim, [&](uint32_t symbol) {
        const bool found =
            graph_.symbols[symbol].source == SymbolInfo::Source::kSlot;
        if (found && std::ranges::find(symbols, symbol) == symbols.end()) {
          symbols.push_back(symbol);
        }
      });
    }
    if (symbols.empty()) return;
    const uint32_t last = *std::ranges::max_element(
        symbols, {}, [&](uint32_t symbol) { return last_read_[symbol]; });
    for (const uint32_t symbol : symbols) {
      (code_.dependents[symbol].*list).push_back({id, symbol == last});
    }
  }

  void FillDependents() {
    code_.dependents.resize(graph_.symbols.size());
    for (const SlotId id : code_.slots) {
      const Slot& slot = graph_.slot(id);
      Depend(id, {&slot.bytes, &slot.offset}, &ReplayCode::Dependents::slots);
    }
    for (uint32_t arg = 0; arg < code_.args.size(); ++arg) {
      Depend(arg, {&code_.args[arg]}, &ReplayCode::Dependents::args);
    }
  }

  const CompiledGraph& graph_;
  std::span<const std::unique_ptr<Kernel>> kernels_;
  std::span<const std::shared_ptr<Device>> devices_;
  std::vector<std::vector<uint32_t>> symbols_of_slot_;
  std::vector<uint32_t> last_read_;  // by symbol
  std::vector<SlotId> scan_slots_;
  std::vector<DeviceId> op_devices_;
  ReplayCode code_;
  uint32_t step_ = 0;
};

}  // namespace

SlotId StorageOf(const CompiledGraph& graph, SlotId slot) {
  while (graph.slot(slot).base.valid()) slot = graph.slot(slot).base;
  return slot;
}

ReplayCode FlattenPlan(const CompiledGraph& graph, PlanId plan,
                       std::span<const std::unique_ptr<Kernel>> kernels,
                       std::span<const std::shared_ptr<Device>> devices) {
  ENCORE_CHECK_EQ(kernels.size(), graph.kernel_binaries.size());
  ENCORE_CHECK_EQ(devices.size(), graph.devices.size());
  return Flattener(graph, kernels, devices).Run(plan);
}

}  // namespace encore::runtime
