#include "encore/runtime/replay/replay_code.h"

#include <algorithm>
#include <utility>

#include "encore/ir/support/check.h"
#include "encore/ir/types/dim_symbols.h"
#include "encore/runtime/plan/sizes.h"

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
    FillSlots();
    FillDependents();
    return std::move(code_);
  }

 private:
  uint32_t Emit(ReplayOp op) {
    op.step = step_;
    code_.ops.push_back(op);
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
  uint32_t SelectorEntry(const Invoke& invoke, DType* type) {
    *type = graph_.slot(invoke.selector).type.dtype;
    return Entry(invoke.selector);
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
          .device = static_cast<uint16_t>(launch.device.value()),
          .a = first,
          .b = first_arg,
          .kernel = kernels_[launch.binary.value()].get()});
    for (const SlotId slot : launch.writes) ReadSymbolsOf(slot);
  }

  void Add(const Copy& copy) {
    const Slot& src = graph_.slot(copy.src);
    const Slot& dst = graph_.slot(copy.dst);
    const DeviceId from = graph_.pools[src.pool.value()].device;
    const DeviceId to = graph_.pools[dst.pool.value()].device;
    ReplayOp op;
    op.a = Entry(copy.dst);
    Entry(copy.src);
    if (src.is_host_object()) {
      op.code = Code::kCopyObject;
    } else if (!from.valid() && !to.valid()) {
      op.code = Code::kCopyHost;
    } else {
      const DeviceId device = to.valid() ? to : from;
      op.code = !from.valid() ? Code::kCopyIn
                : !to.valid() ? Code::kCopyOut
                              : Code::kCopyWithin;
      op.device = static_cast<uint16_t>(device.value());
      op.copier = devices_[device.value()].get();
    }
    Emit(op);
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

  void AddIf(const Invoke& invoke) {
    ReplayOp op{.code = Code::kSelect};
    op.a = SelectorEntry(invoke, &op.selector_type);
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
    ReplayOp op{.code = Code::kJumpIfFalse};
    op.a = SelectorEntry(invoke, &op.selector_type);
    const uint32_t test = Emit(op);
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
      last_read_[symbol] =
          Emit({.code = Code::kReadSymbol, .a = symbol, .b = Entry(slot)});
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
