#include "encore/backends/cpu/codegen/tile_coster.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <utility>

#include "encore/backends/cpu/codegen/schedule.h"
#include "encore/backends/cpu/machine.h"
#include "encore/backends/region/layout.h"
#include "encore/ir/ops/op.h"
#include "encore/ir/support/integers.h"
#include "encore/ir/types/dim.h"

namespace encore::backends::cpu {
namespace {

// Vectors of a tile at most, but for wide ones.
constexpr int kUsualVectors = 4;
// Lines of a set that one input may fill, of the first and second level of
// cache.
constexpr double kFirstWays = kFirstCacheBytes / kFirstWayBytes;
constexpr double kSecondWays = kSecondCacheBytes / kSecondWayBytes;
// Elements between neighbours that are read as vectors.
constexpr int64_t kMostDenseStep = 2;
// Inputs up to this size are read from the third level at most, larger ones
// from memory.
constexpr int64_t kThirdCacheBytes = 8 << 20;
// Cycles until a run of lines has come from each level, where no prefetcher
// foresees it, since a step of the sum leads to another page, or from memory to
// half of one, which two show no stride of; other lines come in time.
// kLostMemory: from memory, where the lines that come beside it are pushed out
// before they are used.
enum Level : uint8_t { kFirst, kSecond, kThird, kMemory, kLostMemory };
constexpr double kRunCycles[] = {0, 4, 15, 50, 180};
// Of each line but one that the rows of a tile read at a point of the sum, from
// beyond the first level.
constexpr double kRowLineCycles = 4;

// Of a lane, where each is loaded or stored by itself: beside multiply-adds,
// which run meanwhile, beside additions alone, and on a page of its own.
constexpr double kLaneCycles = 1.2, kAddedLaneCycles = 2, kPageLaneCycles = 4;

// Where the operand is read from.
Level LevelOf(const Operand& operand) {
  const int64_t bytes =
      MemoryBytes(operand.dtype, operand.dims, operand.layout).constant();
  if (bytes <= kSecondCacheBytes) return kSecond;
  return bytes <= kThirdCacheBytes ? kThird : kMemory;
}

// A masked load without any lane where nothing is mapped: the processor meets a
// fault, and then that no lane has it.
constexpr double kUnmappedCycles = 1000;

// The share of the points along `v` that range checks leave out, over a page
// away from what is there.
double FarOutside(const FlatRegion& flat, const FlatAccess& access,
                  uint32_t v) {
  constexpr int64_t kMargin = 2 * kPageBytes / int64_t{sizeof(float)};
  double inside = 1;
  for (const DynamicIndex& dynamic : access.dynamic) {
    const int64_t step = std::abs(int64_t{dynamic.index.Coefficient(v)});
    if (!dynamic.checked || step == 0) continue;
    const auto near = static_cast<double>(dynamic.extent + kMargin);
    inside =
        std::min(inside, near / static_cast<double>(step * flat.extents[v]));
  }
  return 1 - inside;
}

// Of a vector of sums that is transposed with as many others as it has lanes:
// its shuffles, and its way through memory. And of a point behind that, which
// is part of a loop.
constexpr double kTurnCycles = 8;
constexpr double kTurnedPointCycles = 4;

int ComputeBits(DType dtype) { return dtype == DType::kF64 ? 64 : 32; }

// The dim of an input that `v` alone indexes, so that it can be packed along
// it; -1 where there is none.
int PanelDim(const Region& region, uint32_t input, uint32_t v) {
  int dim = -1;
  for (const Access& access : region.accesses) {
    if (access.source != Access::Source::kInput || access.number != input) {
      continue;
    }
    if (access.checked) return -1;
    int found = -1;
    for (size_t d = 0; d < access.indices.size(); ++d) {
      const Index& index = access.indices[d];
      if (index.indirect.valid() || index.divisor != 1) return -1;
      bool uses = false;
      for (const Index::Term& term : index.terms) uses |= term.variable == v;
      if (!uses) continue;
      if (found >= 0 || index.terms.size() != 1 ||
          index.terms[0].stride != Dim(1) || index.offset != Dim(0)) {
        return -1;
      }
      found = static_cast<int>(d);
    }
    if (found < 0 || (dim >= 0 && dim != found)) return -1;
    dim = found;
  }
  return dim;
}

// The inputs that a map stage reads: each element once, outside of the sums'
// loops.
std::vector<bool> ReadByMaps(const Region& region) {
  std::vector<ExprId> roots;
  for (const Stage& stage : region.stages) {
    if (stage.kind == Stage::Kind::kReduce) continue;
    roots.push_back(stage.value);
    for (const Store& store : stage.stores) roots.push_back(store.value);
  }
  const std::vector<bool> needed = Reachable(region, roots);
  std::vector<bool> read(region.inputs.size());
  for (size_t i = 0; i < needed.size(); ++i) {
    if (!needed[i] || region.exprs[i].kind != Expr::Kind::kLoad) continue;
    const Access& access = region.accesses[region.exprs[i].number];
    if (access.source == Access::Source::kInput) read[access.number] = true;
  }
  return read;
}

}  // namespace

bool IsSum(const Region& region, const Stage& stage) {
  const DType dtype = stage.accumulate;
  if (stage.kind != Stage::Kind::kReduce || !stage.loops.empty() ||
      stage.combiner != RegionCombiner::kSum || !IsFloat(dtype)) {
    return false;
  }
  // Not of what another stage gives alone.
  const Expr& value = region.expr(stage.value);
  return value.kind == Expr::Kind::kOp ||
         (value.kind == Expr::Kind::kLoad &&
          region.accesses[value.number].source == Access::Source::kInput);
}

TileCoster::TileCoster(const FlatRegion& flat, const std::vector<bool>& weights,
                       Isa isa, std::optional<uint32_t> staged)
    : flat_(flat),
      region_(*flat.region),
      weights_(weights),
      read_by_maps_(ReadByMaps(*flat.region)),
      isa_(isa),
      staged_(staged),
      lanes_(VectorBits(isa) / 32) {
  for (const Stage& stage : region_.stages) {
    if (!IsSum(region_, stage)) continue;
    if (ComputeBits(stage.accumulate) == 64) lanes_ = VectorBits(isa) / 64;
    multiplies_ |= region_.expr(stage.value).op == Op::kMul;
  }
}

TileSchedule TileCoster::Plan(uint32_t v, uint32_t m) const {
  TileSchedule plan;
  plan.lanes = lanes_;
  plan.vector_variable = v;
  plan.row_variable = m;
  const int64_t vectors =
      CeilDiv<int64_t>(std::max<int64_t>(flat_.extents[v], 1), lanes_);
  const int64_t rows = v == m ? 1 : std::max<int64_t>(flat_.extents[m], 1);
  double best = -1;
  std::pair<int, int> chosen = {1, 1};
  // Four registers stay free, or a row of vectors and one value of a column:
  // with one too few, sums go through memory in the inner loop.
  const int registers = isa_ == Isa::kAvx512 ? 32 : 16;
  // Of what is neither packed nor shared by rows a wide tile reads more of each
  // page that it visits.
  const int widest = v == m && !PacksAlong(v) ? registers - 4 : kUsualVectors;
  for (int u = 1; u <= std::min<int64_t>(vectors, widest); ++u) {
    const int fitting = std::min((registers - 4) / u, (registers - 1) / u - 1);
    const int most =
        static_cast<int>(std::min<int64_t>(rows, std::min(fitting, 14)));
    for (int r = std::max(1, most - 5); r <= most; ++r) {
      plan.rows = r;
      plan.vectors = u;
      const double cycles = Cost(plan);
      if (best < 0 || cycles < best) {
        best = cycles;
        chosen = {r, u};
      }
    }
  }
  plan.rows = chosen.first;
  plan.vectors = chosen.second;
  plan.cycles = Cost(plan);
  Panels(&plan);
  return plan;
}

void TileCoster::Panels(TileSchedule* plan) const {
  for (uint32_t i = 0; i < region_.inputs.size(); ++i) {
    auto panel = PanelOf(i, plan->vector_variable, plan->block());
    if (!panel && plan->rows > 1) {
      panel = PanelOf(i, plan->row_variable, plan->rows);
    }
    if (panel) plan->panels.push_back(*std::move(panel));
  }
}

std::vector<int> TileCoster::Order(uint32_t input, int dim) const {
  std::vector<int> order = {dim};
  const int rank = static_cast<int>(region_.inputs[input].dims.size());
  const std::vector<uint32_t> reduced = LoopOrder();
  const auto first_variable = [&](int d) {
    for (const auto& access : region_.accesses) {
      if (access.source != Access::Source::kInput || access.number != input ||
          access.indices[d].terms.empty()) {
        continue;
      }
      return std::find(reduced.begin(), reduced.end(),
                       access.indices[d].terms[0].variable) -
             reduced.begin();
    }
    return std::ptrdiff_t{-1};
  };
  for (int d = 0; d < rank; ++d) {
    if (d != dim) order.push_back(d);
  }
  std::sort(order.begin() + 1, order.end(), [&](int a, int b) {
    return std::pair(first_variable(a), a) < std::pair(first_variable(b), b);
  });
  return order;
}

std::vector<uint32_t> TileCoster::LoopOrder() const {
  std::vector<uint32_t> order;
  for (size_t s = 0; s < region_.stages.size(); ++s) {
    const std::vector<uint32_t>& all = region_.stages[s].reduced;
    for (const uint32_t v : ReductionOrder(flat_, s)) {
      const auto at = std::find(all.begin(), all.end(), v);
      auto first = at;
      while (first != all.begin() &&
             std::find(flat_.reduced[s].begin(), flat_.reduced[s].end(),
                       *(first - 1)) == flat_.reduced[s].end()) {
        --first;
      }
      order.insert(order.end(), first, at + 1);
    }
  }
  return order;
}

// Only what the sums read is worth packing.
int TileCoster::CanPack(uint32_t input, uint32_t v) const {
  // A variable with others merged into it stands for several dims.
  if (!weights_[input] || read_by_maps_[input] ||
      !region_.inputs[input].layout.is_row_major() ||
      region_.inputs[input].dims.size() < 2 ||
      region_.extents[v] != Dim(flat_.extents[v])) {
    return -1;
  }
  return PanelDim(region_, input, v);
}

bool TileCoster::IsPacked(const Access& load, uint32_t v) const {
  return load.source == Access::Source::kInput && CanPack(load.number, v) >= 0;
}

bool TileCoster::PacksAlong(uint32_t v) const {
  for (uint32_t i = 0; i < region_.inputs.size(); ++i) {
    if (CanPack(i, v) >= 0) return true;
  }
  return false;
}

double TileCoster::AccessCycles(const FlatAccess& access, const Access* load,
                                uint32_t v, bool along) const {
  // Most range checks leave the inner loop.
  double cycles = access.checked ? 0.2 * access.dynamic.size() : 0.0;
  for (const DynamicIndex& dynamic : access.dynamic) {
    if (dynamic.divisor > 1) cycles += 10;
  }
  if (!along) return (access.checked ? 3 : kRowLoadCycles) + cycles;
  if (access.DynamicIn(v)) {
    cycles += 1.5 + kUnmappedCycles * FarOutside(flat_, access, v);
  }
  const int64_t step = access.address.Coefficient(v);
  if (load != nullptr && IsPacked(*load, v)) {
    return cycles + kVectorLoadCycles;
  }
  if (step == 1) return cycles + kVectorLoadCycles;
  if (step == 2 || step == 0) return cycles + 3;
  // Element by element, each on a page of its own where the steps are long.
  const bool pages = std::abs(step) * int64_t{sizeof(float)} >= kPageBytes;
  return cycles + lanes_ * (pages         ? kPageLaneCycles
                            : multiplies_ ? kLaneCycles
                                          : kAddedLaneCycles);
}

double TileCoster::FarCycles(size_t stage, const FlatAccess& access,
                             const Access& load, uint32_t along, int64_t width,
                             StridedReads::Step rows, int64_t passes) const {
  if (load.source != Access::Source::kInput || load.number == staged_ ||
      access.padded || IsPacked(load, along)) {
    return 0;
  }
  const Operand& input = region_.inputs[load.number];
  const int64_t bytes = std::max(BitWidth(input.dtype) / 8, 1);
  const int64_t step = std::abs(access.address.Coefficient(along)) * bytes;
  std::vector<StridedReads::Step> steps = {{rows.bytes * bytes, rows.extent}};
  double points = 1;
  Level at = LevelOf(input);
  const int64_t foreseen_bytes = at == kMemory ? kPageBytes / 2 : kPageBytes;
  bool foreseen = true;
  for (const uint32_t r : flat_.reduced[stage]) {
    const int64_t apart = access.address.Coefficient(r) * bytes;
    foreseen &= std::abs(apart) < foreseen_bytes || flat_.extents[r] == 1;
    steps.push_back({apart, flat_.extents[r]});
    points *= static_cast<double>(flat_.extents[r]);
  }
  points = std::max(points, 1.0);  // of none, nothing is read
  if (foreseen) return 0;
  steps.push_back({step, width});
  const double runs = StridedReads(steps, bytes).runs();
  // What passes before a tile reads the lines again: of a core's share of the
  // columns.
  steps.back().extent = std::clamp<int64_t>(
      kSecondCacheBytes / 4 / (static_cast<int64_t>(points) * bytes), width,
      std::max<int64_t>(flat_.extents[along], width));
  const StridedReads between(steps, bytes);
  const bool first = between.LinesPerSet(kFirstWayBytes) <= kFirstWays;
  const bool second = between.LinesPerSet(kSecondWayBytes) <= kSecondWays;
  if (at == kMemory && !second) at = kLostMemory;
  const Level again = first ? kFirst : second ? kSecond : std::min(at, kThird);
  // Of the first pass, what the neighbouring tile has not read.
  const double fresh =
      std::min(1.0, static_cast<double>(step * width) / kLineBytes);
  return runs *
         (fresh * kRunCycles[at] +
          (static_cast<double>(passes) - fresh) * kRunCycles[again]) /
         (static_cast<double>(passes) * points);
}

double TileCoster::FarCycles(const TileSchedule& plan, size_t stage,
                             const FlatAccess& access,
                             const Access& load) const {
  const uint32_t v = plan.vector_variable, m = plan.row_variable;
  const auto step = [&](uint32_t x) { return access.address.Coefficient(x); };
  const auto tiles = [&](uint32_t x, int64_t size) {
    return CeilDiv<int64_t>(std::max<int64_t>(flat_.extents[x], 1), size);
  };
  if (step(v) == 0) {
    if (v == m || step(m) == 0) return 0;
    // Columns are cut into pieces that stay in the second level (Partition).
    double tile_bytes = sizeof(float) * static_cast<double>(plan.block());
    for (const uint32_t r : flat_.reduced[stage]) {
      tile_bytes *= static_cast<double>(flat_.extents[r]);
    }
    int64_t passes = tiles(v, plan.block());
    if (static_cast<double>(passes) * tile_bytes > kSecondCacheBytes) {
      passes = static_cast<int64_t>(
          std::max(kSecondCacheBytes / 4 / tile_bytes, 1.0));
    }
    return RowLineCycles(plan, stage, access, load) +
           FarCycles(stage, access, load, m, plan.rows, {0, 1}, passes);
  }
  // Others are read element by element.
  if (std::abs(step(v)) > kMostDenseStep) return 0;
  const bool in_rows = v != m && (step(m) != 0 || access.DynamicIn(m));
  return FarCycles(stage, access, load, v, plan.block(),
                   {step(m), in_rows ? plan.rows : 1},
                   in_rows || v == m ? 1 : tiles(m, plan.rows));
}

double TileCoster::RowLineCycles(const TileSchedule& plan, size_t stage,
                                 const FlatAccess& access,
                                 const Access& load) const {
  if (load.source != Access::Source::kInput || load.number == staged_ ||
      access.padded || IsPacked(load, plan.row_variable)) {
    return 0;
  }
  const int64_t bytes =
      std::max(BitWidth(region_.inputs[load.number].dtype) / 8, 1);
  for (const uint32_t r : flat_.reduced[stage]) {
    const int64_t apart = access.address.Coefficient(r) * bytes;
    // Neighbouring points share the lines.
    if (std::abs(apart) < kLineBytes && flat_.extents[r] > 1) return 0;
  }
  const int64_t step = access.address.Coefficient(plan.row_variable) * bytes;
  const double lines = StridedReads({{step, plan.rows}}, bytes).lines();
  return (lines - 1) * kRowLineCycles;
}

double TileCoster::Body(const TileSchedule& plan, size_t stage) const {
  const Stage& info = region_.stages[stage];
  std::vector<ExprId> roots = {info.value};
  for (const Store& store : info.stores) roots.push_back(store.value);
  const std::vector<bool> needed = Reachable(region_, roots);
  const uint32_t v = plan.vector_variable, m = plan.row_variable;
  double cycles = 0;
  for (size_t e = 0; e < needed.size(); ++e) {
    if (!needed[e]) continue;
    const Expr& expr = region_.exprs[e];
    if (expr.kind == Expr::Kind::kOp) {
      cycles += plan.rows * plan.vectors * OpCycles(expr.op, lanes_);
    } else if (expr.kind == Expr::Kind::kLoad) {
      const FlatAccess& access = flat_.loads[expr.number];
      const Access& load = region_.accesses[expr.number];
      const auto uses = [&access](uint32_t x) {
        return access.address.Coefficient(x) != 0 || access.DynamicIn(x);
      };
      const bool in_rows = uses(m) && v != m;
      const double count =
          (uses(v) ? plan.vectors : 1) * (in_rows ? plan.rows : 1);
      cycles += count * AccessCycles(access, &load, v, uses(v));
      cycles += FarCycles(plan, stage, access, load);
    }
  }
  return cycles;
}

double TileCoster::Cost(const TileSchedule& plan) const {
  const uint32_t v = plan.vector_variable, m = plan.row_variable;
  double tiles = static_cast<double>(CeilDiv<int64_t>(
      CeilDiv<int64_t>(flat_.extents[v], lanes_), plan.vectors));
  if (v != m) {
    tiles *= static_cast<double>(flat_.extents[m]) / plan.rows;
  }
  for (const uint32_t o : flat_.outer) {
    if (o != v && o != m) tiles *= static_cast<double>(flat_.extents[o]);
  }
  double cycles = kTileCycles + MapCycles(plan);
  for (size_t s = 0; s < region_.stages.size(); ++s) {
    if (region_.stages[s].kind != Stage::Kind::kReduce) continue;
    double points = 1;
    for (const uint32_t r : flat_.reduced[s]) {
      points *= static_cast<double>(flat_.extents[r]);
    }
    const double body = std::max(Body(plan, s), kLeastPointCycles);
    cycles += points * (body + kLoopCycles);
  }
  return tiles * cycles;
}

double TileCoster::MapCycles(const TileSchedule& plan) const {
  const bool turns =
      TurnsResults(flat_, plan.vector_variable, plan.row_variable);
  const TileSchedule maps = turns ? Turned(plan) : plan;
  double cycles = 0;
  if (turns) {
    cycles += maps.rows * maps.vectors * (kTurnCycles + kTurnedPointCycles);
  }
  for (size_t s = 0; s < region_.stages.size(); ++s) {
    if (region_.stages[s].kind == Stage::Kind::kReduce) continue;
    cycles += Body(maps, s) + kLoopCycles;
    for (const FlatAccess& store : flat_.stores[s]) {
      cycles += maps.rows * maps.vectors *
                (AccessCycles(store, nullptr, maps.vector_variable, true) + 1);
    }
  }
  return cycles;
}

double TileCoster::FarRowCycles(const TileSchedule& plan) const {
  double cycles = 0;
  const auto add = [&](const FlatAccess& access, const Operand& operand) {
    const int64_t step = access.address.Coefficient(plan.row_variable);
    const bool pages =
        std::abs(step) * BitWidth(operand.dtype) / 8 >= kPageBytes;
    if (pages && LevelOf(operand) == kMemory) {
      cycles += plan.rows * kRunCycles[kMemory];
    }
  };
  for (size_t a = 0; a < region_.accesses.size(); ++a) {
    const Access& access = region_.accesses[a];
    if (access.source == Access::Source::kInput &&
        read_by_maps_[access.number]) {
      add(flat_.loads[a], region_.inputs[access.number]);
    }
  }
  for (size_t s = 0; s < region_.stages.size(); ++s) {
    for (size_t i = 0; i < flat_.stores[s].size(); ++i) {
      add(flat_.stores[s][i],
          region_.outputs[region_.stages[s].stores[i].output]);
    }
  }
  return cycles;
}

std::optional<TileSchedule::Panel> TileCoster::PanelOf(uint32_t input,
                                                       uint32_t v,
                                                       int64_t block) const {
  const int dim = CanPack(input, v);
  if (dim < 0) return std::nullopt;
  return TileSchedule::Panel{input, dim, block, Order(input, dim)};
}

TileSchedule TileCoster::Turned(const TileSchedule& plan) const {
  TileSchedule turned = plan;
  std::swap(turned.vector_variable, turned.row_variable);
  turned.rows = plan.vectors * lanes_;
  turned.vectors = CeilDiv(plan.rows, lanes_);
  return turned;
}

double TileCoster::StageCycles(size_t stage, ExprId value, uint32_t v,
                               int64_t block) const {
  const std::vector<bool> needed = Reachable(region_, {value});
  const auto vectors = static_cast<double>(CeilDiv<int64_t>(block, lanes_));
  double cycles = 1.5;
  for (size_t e = 0; e < needed.size(); ++e) {
    if (!needed[e]) continue;
    const Expr& expr = region_.exprs[e];
    if (expr.kind == Expr::Kind::kOp) cycles += OpCycles(expr.op, lanes_);
    if (expr.kind != Expr::Kind::kLoad) continue;
    const FlatAccess& access = flat_.loads[expr.number];
    const bool along =
        access.address.Coefficient(v) != 0 || access.DynamicIn(v);
    cycles += AccessCycles(access, nullptr, v, along);
    if (std::abs(access.address.Coefficient(v)) > kMostDenseStep) continue;
    cycles += FarCycles(stage, access, region_.accesses[expr.number], v, block,
                        {0, 1}, /*passes=*/1) /
              vectors;
  }
  return cycles;
}

}  // namespace encore::backends::cpu
