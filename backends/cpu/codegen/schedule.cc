#include "encore/backends/cpu/codegen/schedule.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <span>
#include <utility>

#include "encore/backends/cpu/codegen/lane_memory.h"
#include "encore/backends/cpu/codegen/staging.h"
#include "encore/backends/cpu/loops/blocks.h"
#include "encore/backends/cpu/machine.h"
#include "encore/backends/cpu/profile/strided_reads.h"
#include "encore/ir/ops/functions.h"
#include "encore/ir/support/integers.h"

namespace encore::backends::cpu {
namespace {

constexpr int64_t kMaxPartitions = 32;
// The block that an index is in, and the place there.
constexpr double kBlockCycles = 2;
constexpr int kLeastLanes = 4;
// Ways of a first-level cache that one access may fill, and what a line that is
// not there takes.
constexpr double kSharedWays = 4;
constexpr double kMissCycles = 20;
// What a row takes beside its vectors: its place and its addresses.
constexpr double kRowCycles = 4;
// A quotient or a root.
constexpr double kDivideCycles = 6;
// A shuffle of two vectors.
constexpr double kShuffleCycles = 0.6;

int64_t Product(const FlatRegion& flat, const std::vector<uint32_t>& list) {
  int64_t product = 1;
  for (const uint32_t v : list) product *= flat.extents[v].typical();
  return product;
}

class Coster {
 public:
  Coster(const FlatRegion& flat, int lanes) : flat_(flat), lanes_(lanes) {
    for (size_t s = 0; s < flat.region->stages.size(); ++s) {
      needed_.push_back(
          Reachable(*flat.region, RootsOf(flat.region->stages[s])));
      moving_.push_back(MovingIn(flat, s));
    }
  }

  // Whether the stage evaluates the expression.
  bool Needs(size_t s, ExprId id) const { return needed_[s][id.value()]; }

  // Cycles of one evaluation of a stage's body with `v` along the lanes, where
  // `known` are there already.
  double Body(size_t s, int v, std::span<const ExprId> known = {}) const {
    const Region& region = *flat_.region;
    double cycles = 1 + Evaluations(s, v, /*moving=*/true, known);
    for (size_t i = 0; i < flat_.stores[s].size(); ++i) {
      const DType dtype =
          region.outputs[region.stages[s].stores[i].output].dtype;
      cycles += 2 * Access(flat_.stores[s][i], BitWidth(dtype), v);
    }
    return cycles;
  }

  // What a stage evaluates once for all points of its loops.
  double Fixed(size_t s, int v) const {
    return Evaluations(s, v, /*moving=*/false, {});
  }

  // Whether the stage may run with its inner variable `v` along the lanes.
  bool CanVectorize(size_t s, uint32_t v) const {
    const Stage& stage = flat_.region->stages[s];
    if (stage.kind == Stage::Kind::kScan) return false;
    for (size_t i = 0; i < stage.stores.size(); ++i) {
      const FlatAccess& store = flat_.stores[s][i];
      // Several lanes might write one element.
      if (stage.stores[i].update != Update::kSet || !Moves(store, v)) {
        return false;
      }
      for (const DynamicIndex& dynamic : store.dynamic) {
        if (dynamic.indirect.valid()) return false;
      }
    }
    return true;
  }

  // Whether lanes along `v` have different addresses.
  static bool Moves(const FlatAccess& access, uint32_t v) {
    return access.address.Coefficient(v) != 0 ||
           std::ranges::any_of(access.dynamic, [v](const DynamicIndex& d) {
             return d.block > 1 && d.index.Coefficient(v) != 0;
           });
  }

  int64_t Points(size_t s) const {
    return Product(flat_, flat_.loops[s]) * Product(flat_, flat_.reduced[s]);
  }

  // The best variable for a stage on its own and its cycles per outer point.
  double BestStage(size_t s, int* variable) const {
    *variable = kNoVariable;
    const double fixed = Fixed(s, kNoVariable);
    double best = static_cast<double>(Points(s)) * Body(s, kNoVariable) + fixed;
    const auto consider = [&](uint32_t v, double extra) {
      if (!CanVectorize(s, v)) return;
      const int64_t extent = flat_.extents[v].typical();
      const double cycles =
          static_cast<double>(Points(s) / std::max<int64_t>(extent, 1) *
                              CeilDiv<int64_t>(extent, lanes_)) *
              Body(s, v) +
          fixed + extra;
      if (cycles < best) {
        best = cycles;
        *variable = static_cast<int>(v);
      }
    };
    const auto points = static_cast<double>(Product(flat_, flat_.loops[s]));
    if (!flat_.loops[s].empty()) consider(flat_.loops[s].back(), 0);
    if (!flat_.reduced[s].empty()) {
      consider(flat_.reduced[s].back(), 15 * points);
    }
    return best;
  }

 private:
  double Evaluations(size_t s, int v, bool moving,
                     std::span<const ExprId> known) const {
    double cycles = 0;
    for (uint32_t e = 0; e < needed_[s].size(); ++e) {
      if (needed_[s][e] && moving_[s][e] == moving &&
          std::ranges::count(known, ExprId(e)) == 0) {
        cycles += Evaluation(flat_.region->exprs[e], v);
      }
    }
    return cycles;
  }

  double Evaluation(const Expr& expr, int v) const {
    switch (expr.kind) {
      case Expr::Kind::kChecked:
        return 1;
      case Expr::Kind::kOp:
        return OpCycles(expr.op, v == kNoVariable ? 1 : lanes_);
      case Expr::Kind::kLoad:
        return Access(flat_.loads[expr.number], BitWidth(expr.dtype), v);
      default:
        return 0;
    }
  }

  double Access(const FlatAccess& access, int bits, int v) const {
    double cycles = access.checked ? 1.0 + access.dynamic.size() : 0.0;
    if (v == kNoVariable) return cycles + 1;
    const auto variable = static_cast<uint32_t>(v);
    int64_t coefficient = access.address.Coefficient(variable).typical();
    bool indirect = false;
    for (const DynamicIndex& dynamic : access.dynamic) {
      if (dynamic.block == 1) {
        indirect |= !(dynamic.stride == 0) && StepsUnevenly(dynamic, variable);
        continue;
      }
      cycles += kBlockCycles;
      if (dynamic.index.Coefficient(variable) == 0) {
        indirect |= dynamic.indirect.valid();
      } else if (dynamic.InOneBlock(variable, lanes_)) {
        coefficient += dynamic.stride.typical();
      } else {
        indirect = true;
      }
    }
    if (indirect) return cycles + 1.5 * lanes_;
    if (const auto* repeat = access.RepeatOf(static_cast<uint32_t>(v))) {
      return cycles + Repeated(*repeat);
    }
    if (coefficient == 0) return cycles + 0.5;
    if (coefficient == 1) return cycles + 1;
    if (coefficient == -1) return cycles + 3;
    if (IsShuffledStride(coefficient, lanes_)) {
      // Vectors, and what joins them.
      return cycles + 2.0 * static_cast<double>(coefficient) - 1;
    }
    if (Collide(coefficient * bits / 8)) return cycles + kMissCycles * lanes_;
    return cycles + (bits < 32 ? 3.0 : 1.2) * lanes_;
  }

  // Whether lanes along `v` have other data-dependent parts or quotients, where
  // otherwise they are as far apart as the address says.
  bool StepsUnevenly(const DynamicIndex& dynamic, uint32_t v) const {
    return (dynamic.divisor > 1 && !(dynamic.index.Coefficient(v) == 0)) ||
           (dynamic.indirect.valid() && DependsOn(flat_, dynamic.indirect, v));
  }

  // A load of a few neighbours, each for several lanes.
  double Repeated(const FlatAccess::Repeat& repeat) const {
    const double gather = 1.5 * lanes_;
    const auto& [variable, divisor, coefficient, step] = repeat;
    if (coefficient != 1) return gather;
    if (step == 1 && std::has_single_bit(uint64_t(divisor))) return 2.5;
    if (!IsShuffledRepeat(divisor, step, lanes_)) return gather;
    return 1.5 + 2.0 * static_cast<double>(PhasesOf(divisor, step, lanes_));
  }

  // Whether lanes so many bytes apart push each other's lines out of the
  // first-level cache before their neighbours are used.
  bool Collide(int64_t bytes) const {
    const StridedReads reads({{bytes, lanes_}}, /*width=*/1);
    return reads.LinesPerSet(kFirstWayBytes) > kSharedWays;
  }

  const FlatRegion& flat_;
  int lanes_;
  std::vector<std::vector<bool>> needed_, moving_;  // by stage and expression
};

// A map in blocks of the points of two outer variables, for all choices of the
// two. REQUIRES a coster of the region.
class CrossingPlanner {
 public:
  CrossingPlanner(const FlatRegion& flat, const Coster& coster, int lanes)
      : flat_(flat), coster_(coster), lanes_(lanes) {}

  // Where that takes less than `schedule`, in its place.
  void Improve(Schedule* schedule) const {
    if (!Fits()) return;
    for (const uint32_t v : flat_.outer) {
      if (!coster_.CanVectorize(0, v)) continue;
      for (const uint32_t w : flat_.outer) {
        if (v == w) continue;
        std::vector<ExprId> loads = Crossed(v, w);
        if (loads.empty()) continue;
        const double cycles = Cost(v, w, loads);
        if (cycles >= schedule->cycles) continue;
        schedule->cycles = cycles;
        schedule->vector_variable = static_cast<int>(v);
        schedule->crossing = Crossing{w, std::move(loads), Loops(v, w)};
      }
    }
  }

 private:
  double Extent(uint32_t v) const {
    return static_cast<double>(int64_t{flat_.extents[v]});
  }
  double Vectors(uint32_t v) const {
    return static_cast<double>(CeilDiv<int64_t>(flat_.extents[v], lanes_));
  }

  bool Fits() const {
    const Region& region = *flat_.region;
    return !flat_.is_symbolic() && region.checks.empty() && lanes_ > 1 &&
           region.stages.size() == 1 &&
           region.stages[0].kind == Stage::Kind::kMap &&
           region.stages[0].loops.empty() && !region.stages[0].value.valid() &&
           std::ranges::none_of(flat_.extents,
                                [](const Size& e) { return e == 0; });
  }

  // The loads that have neighbours along `w`, and neither those nor the same
  // element along `v`.
  std::vector<ExprId> Crossed(uint32_t v, uint32_t w) const {
    std::vector<ExprId> loads;
    const std::vector<Expr>& exprs = flat_.region->exprs;
    for (uint32_t e = 0; e < exprs.size(); ++e) {
      if (exprs[e].kind != Expr::Kind::kLoad || IsPacked(exprs[e].dtype) ||
          exprs[e].dtype == DType::kBool || !coster_.Needs(0, ExprId(e))) {
        continue;
      }
      const FlatAccess& load = flat_.loads[exprs[e].number];
      const Size step = load.address.Coefficient(v);
      if (load.dynamic.empty() && load.repeats.empty() &&
          load.address.Coefficient(w) == 1 && !(step == 0) && !(step == 1)) {
        loads.push_back(ExprId(e));
      }
    }
    return loads;
  }

  // A load for each point along `v`, the rounds of shuffles of each block, and
  // all else for each point along `w`.
  double Cost(uint32_t v, uint32_t w, const std::vector<ExprId>& loads) const {
    const double share = std::min(1.0, Extent(v) / lanes_);
    const double shuffles = kShuffleCycles * share * lanes_ *
                            (std::bit_width(static_cast<unsigned>(lanes_)) - 1);
    const double crossed =
        static_cast<double>(loads.size()) *
        (Extent(v) * Vectors(w) + Vectors(v) * Vectors(w) * shuffles);
    const double points =
        Extent(w) * Vectors(v) * coster_.Body(0, static_cast<int>(v), loads);
    const double others = static_cast<double>(Product(flat_, flat_.outer)) /
                          Extent(v) / Extent(w);
    return others * (crossed + points);
  }

  // Those that move least are innermost: a line of the cache, and then a page,
  // is used by blocks that follow one another.
  std::vector<Crossing::Loop> Loops(uint32_t v, uint32_t w) const {
    std::vector<Crossing::Loop> loops;
    for (const uint32_t u : flat_.outer) {
      const int64_t step = u == v   ? lanes_
                           : u == w ? int64_t{Crossing::kBlocks} * lanes_
                                    : 1;
      if (flat_.extents[u] > step) loops.push_back({u, step});
    }
    std::ranges::sort(loops, std::greater(), [&](const Crossing::Loop& loop) {
      return std::pair(Moved(loop), -int64_t{loop.variable});
    });
    return loops;
  }

  // The least that an iteration moves any access that it moves, in elements.
  int64_t Moved(const Crossing::Loop& loop) const {
    int64_t least = INT64_MAX;
    const auto visit = [&](const FlatAccess& access) {
      const int64_t step = access.address.Coefficient(loop.variable);
      if (step != 0) least = std::min(least, std::abs(step) * loop.step);
    };
    std::ranges::for_each(flat_.loads, visit);
    std::ranges::for_each(flat_.stores[0], visit);
    return least;
  }

  const FlatRegion& flat_;
  const Coster& coster_;
  int lanes_;
};

// Whether an outer variable may run along the lanes of every stage: what stages
// read of each other must not depend on it.
bool CanRunAlongLanes(const FlatRegion& flat, uint32_t v) {
  const Region& region = *flat.region;
  for (size_t a = 0; a < region.accesses.size(); ++a) {
    if (region.accesses[a].source != Access::Source::kStage) continue;
    if (flat.loads[a].address.Coefficient(v) != 0 ||
        !flat.loads[a].dynamic.empty()) {
      return false;
    }
  }
  return true;
}

int Lanes(const Region& region, Isa isa) {
  int bits = 32;
  for (const Operand& operand : region.inputs) {
    if (IsFloat(operand.dtype)) bits = std::max(bits, BitWidth(operand.dtype));
  }
  for (const Operand& operand : region.outputs) {
    bits = std::max(bits, BitWidth(operand.dtype));
  }
  int lanes = VectorBits(isa) / bits;
  // Blocks narrower than a vector would be gathered.
  for (const auto* operands : {&region.inputs, &region.outputs}) {
    for (const Operand& operand : *operands) {
      if (operand.layout.blocks.empty()) continue;
      const int64_t block = operand.layout.blocks.back().size;
      if (block % kLeastLanes != 0) continue;
      while (block % lanes != 0) lanes /= 2;
    }
  }
  return lanes;
}

// No more lanes than so many points fill, but for functions, which are made of
// what only whole vectors have.
int NarrowLanes(const Region& region, int64_t points, int lanes) {
  const bool functions = std::ranges::any_of(region.exprs, [](const Expr& e) {
    return e.kind == Expr::Kind::kOp && OpCycles(e.op, 1) > kDivideCycles;
  });
  if (functions) return lanes;
  while (lanes > kLeastLanes && points <= lanes / 2) lanes /= 2;
  return lanes;
}

// Lanes and blocks of a schedule with variables and rows, of so many cycles a
// point; and how many rows there are.
void SetRows(const FlatRegion& flat, double cycles, Schedule* schedule) {
  const bool along_outer = schedule->vector_variable != kNoVariable;
  if (along_outer && !schedule->crossing) {
    const Size& extent = flat.extents[schedule->vector_variable];
    if (extent.is_constant()) {
      schedule->lanes = NarrowLanes(*flat.region, extent, schedule->lanes);
    }
    schedule->blocks =
        FindVectorBlocks(flat, static_cast<uint32_t>(schedule->vector_variable),
                         schedule->lanes);
  } else if (!along_outer && !schedule->rows.empty()) {
    schedule->blocks = FindBlocks(flat, schedule->stage_variables,
                                  schedule->rows.back(), cycles);
  }
  for (const uint32_t v : schedule->rows) {
    const bool in_blocks = !along_outer && v == schedule->rows.back();
    schedule->row_count *= CeilDiv<int64_t>(
        flat.extents[v].typical(), in_blocks ? schedule->blocks.points : 1);
  }
}

void Partition(const FlatRegion& flat, Schedule* schedule) {
  const int64_t wanted = LoopPartitions(schedule->cycles);
  if (schedule->crossing) {
    schedule->row_count = 1;
    for (const auto& [variable, step] : schedule->crossing->loops) {
      schedule->row_count *= CeilDiv<int64_t>(flat.extents[variable], step);
    }
  } else if (schedule->vector_variable != kNoVariable) {
    const int64_t extent = flat.extents[schedule->vector_variable].typical();
    const int64_t lanes = schedule->lanes;
    schedule->chunk_extent = extent;
    if (wanted > 1 && schedule->row_count < 4 * wanted) {
      // Of four vectors at least, or a fourth of a block.
      const int64_t least =
          lanes * std::max<int64_t>(4, schedule->blocks.points / 4);
      const int64_t pieces =
          std::min(CeilDiv<int64_t>(4 * wanted, schedule->row_count),
                   std::max<int64_t>(extent / least, 1));
      schedule->chunk_extent =
          CeilDiv<int64_t>(CeilDiv<int64_t>(extent, lanes), pieces) * lanes;
      schedule->chunks = std::max<int64_t>(
          CeilDiv<int64_t>(extent, schedule->chunk_extent), 1);
    }
  }
  schedule->partitions = std::max<int64_t>(
      std::min(wanted, schedule->row_count * schedule->chunks), 1);
}

}  // namespace

double OpCycles(Op op, int lanes) {
  if (op == Op::kPow && lanes > 1) return 60;  // in f64
  if (const FunctionInfo* function = FindFunction(op)) {
    return function->code == FunctionCode::kVector ? 12 : 25.0 * lanes;
  }
  switch (op) {
    case Op::kLogistic:
      return 12;
    case Op::kDiv:
    case Op::kSqrt:
    case Op::kRsqrt:
    case Op::kReciprocal:
      return kDivideCycles;
    default:
      return 1;
  }
}

int64_t LoopPartitions(double cycles) {
  return std::clamp<int64_t>(static_cast<int64_t>(cycles / kGrainCycles), 1,
                             kMaxPartitions);
}

Schedule MakeSchedule(const FlatRegion& flat, Isa isa) {
  const Region& region = *flat.region;
  const int lanes = Lanes(region, isa);
  const Coster coster(flat, lanes);
  const auto outer = static_cast<double>(Product(flat, flat.outer));
  Schedule schedule;
  schedule.lanes = lanes;
  schedule.stage_variables.resize(region.stages.size(), kNoVariable);
  schedule.cycles = 0;
  for (size_t s = 0; s < region.stages.size(); ++s) {
    schedule.cycles +=
        outer * coster.BestStage(s, &schedule.stage_variables[s]);
  }
  schedule.cycles += 10 * outer;
  for (const uint32_t v : flat.outer) {
    if (!CanRunAlongLanes(flat, v)) continue;
    const int64_t extent = flat.extents[v].typical();
    const double instances =
        outer / std::max(static_cast<double>(extent), 1.0) *
        static_cast<double>(CeilDiv<int64_t>(extent, lanes));
    double cycles =
        kRowCycles * outer / std::max(static_cast<double>(extent), 1.0);
    for (size_t s = 0; s < region.stages.size(); ++s) {
      const int lane = static_cast<int>(v);
      cycles += instances *
                (static_cast<double>(coster.Points(s)) * coster.Body(s, lane) +
                 coster.Fixed(s, lane));
    }
    if (cycles < schedule.cycles) {
      schedule.cycles = cycles;
      schedule.vector_variable = static_cast<int>(v);
    }
  }
  CrossingPlanner(flat, coster, lanes).Improve(&schedule);
  for (const uint32_t v : flat.outer) {
    if (static_cast<int>(v) == schedule.vector_variable) continue;
    schedule.rows.push_back(v);
  }
  SetRows(flat, schedule.cycles / std::max(outer, 1.0), &schedule);
  schedule.compute_cycles = schedule.cycles;
  schedule.cycles =
      std::max(schedule.cycles, flat.moved_bytes / kBytesPerCycle);
  Partition(flat, &schedule);
  return schedule;
}

}  // namespace encore::backends::cpu
