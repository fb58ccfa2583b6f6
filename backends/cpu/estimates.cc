#include "encore/backends/cpu/estimates.h"

#include <algorithm>

#include "encore/backends/cpu/codegen/schedule.h"
#include "encore/backends/cpu/machine.h"
#include "encore/backends/cpu/profile/costs.h"
#include "encore/backends/cpu/vendor/efficiency.h"
#include "encore/backends/region/layout.h"
#include "encore/ir/ops/op.h"

namespace encore::backends::cpu {
namespace {

bool SumsProducts(const Region& region) {
  return std::ranges::any_of(region.stages, [&](const Stage& stage) {
    if (stage.kind != Stage::Kind::kReduce ||
        stage.combiner != RegionCombiner::kSum) {
      return false;
    }
    const Expr& value = region.expr(stage.value);
    return value.kind == Expr::Kind::kOp && value.op == Op::kMul;
  });
}

Template TemplateOf(const TileSchedule& schedule, bool products) {
  if (schedule.in_place) return Template::kWindowTiles;
  if (!products) return Template::kReductionTiles;
  if (schedule.plane_rows > 0) return Template::kPlaneTiles;
  if (schedule.staging) return Template::kStagedTiles;
  return schedule.panels.empty() ? Template::kTiles : Template::kPackedTiles;
}

Template TemplateOf(const Schedule& schedule, bool products) {
  if (schedule.vector_variable == kNoVariable) {
    return products ? Template::kInnerProductLoops : Template::kInnerLoops;
  }
  return products ? Template::kProductLoops : Template::kLoops;
}

// Where something of so many bytes lies: it stays in the last level of cache
// where two more of that size, read or written before it is used again, do.
MemoryLevel LevelOf(double bytes, const MachineProfile& machine) {
  const auto fits = [&](MemoryLevel level) {
    return 3 * bytes <= static_cast<double>(machine.cache(level));
  };
  if (fits(MemoryLevel::kL2)) return MemoryLevel::kL2;
  return fits(MemoryLevel::kL3) ? MemoryLevel::kL3 : MemoryLevel::kMemory;
}

double BytesOf(const Operand& operand) {
  return static_cast<double>(
      MemoryBytes(operand.dtype, operand.dims, operand.layout).constant());
}

}  // namespace

Estimates::Estimates(const Region& region, const MachineProfile& machine,
                     int threads)
    : region_(region),
      machine_(machine),
      threads_(threads),
      products_(SumsProducts(region)) {}

double Estimates::MovedSeconds(int threads) const {
  if (region_.symbols > 0) return 0;
  double seconds = 0;
  for (const auto* operands : {&region_.inputs, &region_.outputs}) {
    for (const Operand& operand : *operands) {
      const double bytes = BytesOf(operand);
      seconds +=
          bytes / machine_.BytesPerSecond(LevelOf(bytes, machine_), threads);
    }
  }
  return seconds;
}

double Estimates::Launch(double seconds, int64_t partitions) const {
  const auto parallel =
      static_cast<int>(std::clamp<int64_t>(partitions, 1, threads_));
  return machine_.dispatch_seconds +
         (parallel > 1 ? machine_.wake_seconds : 0) +
         std::max(seconds / parallel, MovedSeconds(parallel));
}

double Estimates::Loops(const LoopPlan& plan) const {
  double seconds = 0;
  for (const LoopNest& nest : plan) {
    seconds += nest.schedule.compute_cycles *
               CycleSeconds(TemplateOf(nest.schedule, products_), machine_);
  }
  return Launch(seconds, plan[0].schedule.partitions);
}

double Estimates::Tiles(const TileSchedule& schedule) const {
  return Launch(schedule.compute_cycles *
                    CycleSeconds(TemplateOf(schedule, products_), machine_),
                schedule.partitions);
}

double Estimates::Winograd(const WindowedSum& sum,
                           const WinogradSchedule& schedule) const {
  const double weights = static_cast<double>(schedule.weights_bytes(sum));
  const auto parallel = static_cast<int>(
      std::min<int64_t>(schedule.partitions, schedule.threads));
  const double moved =
      weights / machine_.BytesPerSecond(LevelOf(weights, machine_), parallel);
  const double computed =
      schedule.cycles() * CycleSeconds(Template::kWinograd, machine_);
  return Launch(parallel * std::max(computed, moved), parallel);
}

double Estimates::Attention(const AttentionSchedule& schedule) const {
  const auto parallel = static_cast<int>(
      std::min<int64_t>(schedule.partitions, schedule.threads));
  const double unit =
      schedule.product_cycles * CycleSeconds(Template::kPackedTiles, machine_) +
      schedule.vector_cycles * CycleSeconds(Template::kLoops, machine_);
  return Launch(unit * static_cast<double>(schedule.rounds()) * parallel,
                parallel);
}

double Estimates::Vendor(const VendorProgram& program, bool pack) const {
  return Launch(VendorSeconds(machine_, program, pack), program.pieces());
}

double Estimates::Interpreted(double flops) const {
  return machine_.dispatch_seconds + kInterpretedSeconds * flops;
}

}  // namespace encore::backends::cpu
