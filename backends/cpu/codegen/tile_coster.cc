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
// Of a lane, where each is loaded or stored by itself: beside multiply-adds,
// which run meanwhile, beside additions alone, and on a page of its own.
constexpr double kLaneCycles = 1.2, kAddedLaneCycles = 2, kPageLaneCycles = 4;

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
