#include "encore/runtime/testing/device_plans.h"

#include <random>
#include <utility>

#include "encore/ir/support/check.h"
#include "encore/ir/types/dim.h"
#include "encore/ir/types/dtype.h"
#include "encore/runtime/plan/assign_memory.h"
#include "encore/runtime/plan/sizes.h"

namespace encore::runtime {
namespace {

class PlanWriter {
 public:
  PlanWriter(uint32_t seed, const DevicePlanOptions& options)
      : random_(seed), options_(options) {
    for (uint32_t d = 0; d < kPlanDevices.size(); ++d) {
      graph_.devices.push_back({kPlanDevices[d], 0, PoolId(d)});
      if (d > 0) graph_.pools.push_back({DeviceId(d)});
    }
    graph_.run = AddPlan(&graph_, {});
    plan_ = graph_.run;
    values_ = {Tensor(SlotRole::kInput, {16}), Tensor(SlotRole::kInput, {16})};
    limit_ = Tensor(SlotRole::kInput, {1}, DType::kI64);
  }

  CompiledGraph Write() {
    if (options_.only > 0) {
      for (SlotId& value : values_) value = InPool(value, PoolId(Drawn()));
    }
    Straight();
    if (options_.control_flow) {
      If();
      Straight();
      While();
      Straight();
      RunTimeSizes();
      Scan();
      Straight();
    }
    SlotId sum = values_.back();
    for (size_t i = 0; i + 1 < values_.size(); ++i) {
      sum = Compute("add", {values_[i], sum});
    }
    Add(Copy{InPool(sum, PoolId(Drawn())), Tensor(SlotRole::kOutput, {16})});
    ENCORE_CHECK_OK(AssignMemory(&graph_, options_.memory).status());
    return std::move(graph_);
  }

 private:
  uint32_t Below(uint32_t limit) { return random_() % limit; }
  // A device, or its pool.
  uint32_t Drawn() {
    const uint32_t drawn = Below(3);
    return options_.only > 0 ? options_.only : drawn;
  }
  SlotId Any() { return values_[Below(values_.size())]; }
  PoolId PoolOf(SlotId slot) const { return graph_.slot(slot).pool; }
  void Add(decltype(Step::op) op) {
    graph_.plans[plan_.value()].steps.push_back({std::move(op), {}});
  }

  SlotId Tensor(SlotRole role, Shape shape, DType dtype = DType::kF32,
                PoolId pool = kHostPool) {
    Slot slot;
    slot.role = role;
    slot.type = {dtype, std::move(shape), ValueKind::kTensor};
    slot.bytes = DenseBytes(slot.type);
    slot.pool = pool;
    const SlotId id = AddSlot(&graph_, slot);
    if (role == SlotRole::kInput) graph_.inputs.push_back(id);
    if (role == SlotRole::kOutput) graph_.outputs.push_back(id);
    return id;
  }
  SlotId Temp(PoolId pool, Shape shape, DType dtype = DType::kF32) {
    return Tensor(SlotRole::kTemporary, std::move(shape), dtype, pool);
  }
  SlotId Like(SlotId slot, PoolId pool) {
    const TensorType type = graph_.slot(slot).type;
    return Temp(pool, type.shape, type.dtype);
  }
  SlotId View(SlotId whole, Shape shape, int64_t offset) {
    const SlotId view = Temp(PoolOf(whole), std::move(shape));
    graph_.slots[view.value()].base = whole;
    graph_.slots[view.value()].offset = offset;
    return view;
  }

  // The value in a slot of `pool`.
  SlotId InPool(SlotId value, PoolId pool) {
    if (PoolOf(value) == pool) return value;
    const SlotId there = Like(value, pool);
    Add(Copy{value, there});
    return there;
  }

  void Launched(uint32_t device, const std::string& entry,
                std::vector<SlotId> reads, std::vector<SlotId> writes,
                std::vector<Dim> args = {},
                std::vector<Launch::InPlace> in_place = {}) {
    Launch launch;
    launch.device = DeviceId(device);
    launch.binary = Binary(device, entry, reads.size(), writes.size(),
                           static_cast<uint32_t>(args.size()));
    launch.reads = std::move(reads);
    launch.writes = std::move(writes);
    launch.args = std::move(args);
    launch.in_place = std::move(in_place);
    Add(std::move(launch));
  }

  KernelBinaryId Binary(uint32_t device, const std::string& entry, size_t reads,
                        size_t writes, uint32_t args) {
    for (uint32_t b = 0; b < graph_.kernel_binaries.size(); ++b) {
      const KernelBinary& known = graph_.kernel_binaries[b];
      if (known.entry == entry && known.backend == kPlanDevices[device]) {
        return KernelBinaryId(b);
      }
    }
    KernelBinary binary;
    binary.backend = kPlanDevices[device];
    binary.entry = entry;
    binary.reads = static_cast<uint32_t>(reads);
    binary.writes = static_cast<uint32_t>(writes);
    binary.args = args;
    return AddKernelBinary(&graph_, std::move(binary));
  }

  // f32[16] of values of that type, on any device.
  SlotId Compute(const std::string& entry, std::vector<SlotId> reads) {
    const uint32_t device = Drawn();
    for (SlotId& read : reads) read = InPool(read, PoolId(device));
    const SlotId out = Temp(PoolId(device), {16});
    std::vector<Launch::InPlace> in_place;
    if (reads.size() == 1 && Below(2) == 0) in_place = {{0, 0}};
    Launched(device, entry, std::move(reads), {out}, {}, std::move(in_place));
    return out;
  }

  void Straight() {
    for (int i = 0; i < options_.kernels; ++i) {
      switch (Below(6)) {
        case 0:
          values_.push_back(Compute("neg", {Any()}));
          break;
        case 1: {
          // y += x, where y is a copy.
          const uint32_t device = Drawn();
          const SlotId y = Temp(PoolId(device), {16});
          Add(Copy{InPool(Any(), PoolId(device)), y});
          Launched(device, "update", {InPool(Any(), PoolId(device)), y}, {y});
          values_.push_back(y);
          break;
        }
        case 2:
          values_.push_back(InPool(Any(), PoolId(Drawn())));
          break;
        default:
          values_.push_back(Compute("add", {Any(), Any()}));
      }
    }
  }

  // Whether fewer elements of some value are not 0 than the limit.
  SlotId Condition(uint32_t device) {
    const PoolId pool(device);
    const SlotId count = Temp(pool, {1}, DType::kI64);
    Launched(device, "count", {InPool(Any(), pool)}, {count});
    const SlotId condition = Temp(pool, {}, DType::kBool);
    Launched(device, "less", {count, InPool(limit_, pool)}, {condition});
    return condition;
  }

  void If() {
    Invoke branch;
    branch.selector = Condition(Drawn());
    const SlotId chosen = Temp(PoolId(Drawn()), {16});
    branch.writes = {chosen};
    branch.reads = {branch.selector};
    const PlanId outer = plan_;
    for (int b = 0; b < 2; ++b) {
      plan_ = AddPlan(&graph_, {});
      branch.plans.push_back(plan_);
      const SlotId in = Any(), other = Any();
      branch.reads.push_back(in);
      branch.reads.push_back(other);
      SlotId inner = Compute("neg", {in});
      if (b == 1) inner = Compute("add", {inner, other});
      if (options_.only == 0) {
        inner =
            InPool(inner, PoolOf(chosen) == kHostPool ? PoolId(1) : kHostPool);
      }
      Add(Copy{inner, chosen});
    }
    plan_ = outer;
    Add(std::move(branch));
    values_.push_back(chosen);
  }

  // Adds something to a state until a counter is at the limit.
  void While() {
    const uint32_t device = Drawn();
    const PoolId pool(device), state_pool(Drawn());
    Invoke loop;
    loop.kind = InvokeKind::kWhile;
    const SlotId state = Temp(state_pool, {16}), fixed = Any();
    const SlotId counter = Temp(pool, {1}, DType::kI64);
    const SlotId zeros = Temp(pool, {2});
    const SlotId more = Temp(pool, {}, DType::kBool);
    const SlotId limit = InPool(limit_, pool);
    Add(Copy{InPool(Any(), state_pool), state});
    // Two f32 zeros count as none.
    Launched(device, "fill", {}, {zeros}, {Dim(0)});
    Launched(device, "count", {zeros}, {counter});
    loop.selector = more;
    loop.reads = {state, fixed, counter, limit};
    loop.writes = {state, counter};
    const PlanId outer = plan_;
    plan_ = AddPlan(&graph_, {});
    loop.plans.push_back(plan_);
    Launched(device, "less", {counter, limit}, {more});
    plan_ = AddPlan(&graph_, {});
    loop.plans.push_back(plan_);
    Launched(device, "increment", {counter}, {counter});
    const SlotId next = Compute("add", {state, fixed});
    loop.carried = {{state, Below(2) == 0 ? next : Compute("neg", {next})}};
    plan_ = outer;
    Add(std::move(loop));
    values_.push_back(state);
  }

  // As many elements of a value as are not 0, wherever that is found out.
  void RunTimeSizes() {
    const uint32_t counter = Drawn(), device = Drawn();
    const SlotId count = Temp(PoolId(counter), {1}, DType::kI64);
    const auto symbol = static_cast<uint32_t>(graph_.symbols.size());
    graph_.symbols.push_back({.lower = 0,
                              .upper = Below(2) == 0 ? 16 : INT64_MAX,
                              .source = SymbolInfo::Source::kSlot,
                              .index = count.value()});
    const Dim n = Dim::OfSymbol(symbol);
    const SlotId value = Any();
    Launched(counter, "count", {InPool(value, PoolId(counter))}, {count});
    const PoolId pool(device);
    const SlotId found = Temp(pool, {n}), twice = Temp(pool, {n});
    Launched(device, "compact", {InPool(value, pool)}, {found}, {n});
    Launched(device, "neg", {found}, {twice});
    Add(Copy{twice, Tensor(SlotRole::kOutput, {n})});
  }

  // The quarters of a value, one after the other.
  void Scan() {
    const uint32_t device = Drawn();
    const PoolId pool(device);
    const SlotId whole = InPool(Any(), pool);
    const SlotId gathered = Temp(PoolId(Drawn()), {16});
    const SlotId part = View(whole, {4}, 0), result = View(gathered, {4}, 0);
    Invoke scan;
    scan.kind = InvokeKind::kScan;
    scan.trips = 4;
    scan.scanned = {{whole, part, false}, {gathered, result, true}};
    scan.reads = {whole};
    scan.writes = {gathered};
    const PlanId outer = plan_;
    plan_ = AddPlan(&graph_, {});
    scan.plans = {plan_};
    const SlotId inner = Temp(pool, {4});
    Launched(device, "neg", {part}, {inner});
    Add(Copy{inner, result});
    plan_ = outer;
    Add(std::move(scan));
    values_.push_back(gathered);
  }

  CompiledGraph graph_;
  std::mt19937 random_;
  const DevicePlanOptions& options_;
  PlanId plan_;
  std::vector<SlotId> values_;  // f32[16], whole in the plan being written
  SlotId limit_;
};

}  // namespace

CompiledGraph RandomDevicePlan(uint32_t seed,
                               const DevicePlanOptions& options) {
  return PlanWriter(seed, options).Write();
}

}  // namespace encore::runtime
