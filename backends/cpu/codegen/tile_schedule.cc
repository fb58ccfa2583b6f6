#include <algorithm>

#include "encore/backends/cpu/codegen/tile.h"

namespace encore::backends::cpu {
namespace {

constexpr double kGrainCycles = 30000;
constexpr int64_t kMaxPartitions = 64;

int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

bool IsSum(const Region& region, const Stage& stage) {
  const DType dtype = stage.accumulate;
  return stage.kind == Stage::Kind::kReduce && stage.loops.empty() &&
         stage.combiner == RegionCombiner::kSum && IsFloat(dtype) &&
         region.expr(stage.value).kind == Expr::Kind::kOp;
}

// The shape that tiles can compute: sums and maps without loops of their own.
bool Fits(const FlatRegion& flat) {
  bool sums = false;
  for (const Stage& stage : flat.region->stages) {
    if (IsSum(*flat.region, stage)) {
      sums = true;
    } else if (stage.kind != Stage::Kind::kMap || !stage.loops.empty()) {
      return false;
    }
    for (const Store& store : stage.stores) {
      if (store.update != Update::kSet) return false;
    }
  }
  for (size_t a = 0; a < flat.loads.size(); ++a) {
    if (flat.region->accesses[a].source == Access::Source::kStage &&
        !flat.region->accesses[a].indices.empty()) {
      return false;
    }
  }
  return sums && flat.outer.size() >= 1;
}

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

class TileCoster {
 public:
  TileCoster(const FlatRegion& flat, const std::vector<bool>& weights, Isa isa)
      : flat_(flat),
        region_(*flat.region),
        weights_(weights),
        read_by_maps_(ReadByMaps(*flat.region)),
        isa_(isa),
        lanes_(VectorBits(isa) / 32) {
    for (const Stage& stage : region_.stages) {
      if (IsSum(region_, stage) && ComputeBits(stage.accumulate) == 64) {
        lanes_ = VectorBits(isa) / 64;
      }
    }
  }

  int lanes() const { return lanes_; }

  // Chooses the tile's shape for these variables and fills in its cost.
  TileSchedule Plan(uint32_t v, uint32_t m) const {
    TileSchedule plan;
    plan.lanes = lanes_;
    plan.vector_variable = v;
    plan.row_variable = m;
    const int64_t vectors =
        CeilDiv(std::max<int64_t>(flat_.extents[v], 1), lanes_);
    const int64_t rows = v == m ? 1 : std::max<int64_t>(flat_.extents[m], 1);
    double best = -1;
    const int registers = isa_ == Isa::kAvx512 ? 28 : 12;
    for (int u = 1; u <= std::min<int64_t>(vectors, 4); ++u) {
      const int most = static_cast<int>(
          std::min<int64_t>(rows, std::min(registers / u, 14)));
      for (int r = std::max(1, most - 5); r <= most; ++r) {
        plan.rows = r;
        plan.vectors = u;
        const double cycles = Cost(plan);
        if (best < 0 || cycles < best) {
          best = cycles;
          chosen_ = {r, u};
        }
      }
    }
    plan.rows = chosen_.first;
    plan.vectors = chosen_.second;
    plan.cycles = Cost(plan);
    Panels(&plan);
    return plan;
  }

 private:
  static int ComputeBits(DType dtype) { return dtype == DType::kF64 ? 64 : 32; }

  void Panels(TileSchedule* plan) const {
    for (uint32_t i = 0; i < region_.inputs.size(); ++i) {
      int dim = CanPack(i, plan->vector_variable);
      int64_t block = plan->block();
      if (dim < 0 && plan->rows > 1) {
        dim = CanPack(i, plan->row_variable);
        block = plan->rows;
      }
      if (dim >= 0) plan->panels.push_back({i, dim, block, Order(i, dim)});
    }
  }

  // The blocked dim, then the others as the reduction walks through them.
  std::vector<int> Order(uint32_t input, int dim) const {
    std::vector<int> order = {dim};
    const int rank = static_cast<int>(region_.inputs[input].dims.size());
    std::vector<uint32_t> reduced;
    for (size_t s = 0; s < region_.stages.size(); ++s) {
      for (const uint32_t v : ReductionOrder(flat_, s)) reduced.push_back(v);
    }
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

  // Only what the sums read is worth packing.
  int CanPack(uint32_t input, uint32_t v) const {
    if (!weights_[input] || read_by_maps_[input] ||
        !region_.inputs[input].layout.is_row_major() ||
        region_.inputs[input].dims.size() < 2) {
      return -1;
    }
    return PanelDim(region_, input, v);
  }

  double AccessCycles(const FlatAccess& access, const Access* load, uint32_t v,
                      bool along) const {
    // Most range checks leave the inner loop.
    double cycles = access.checked ? 0.2 * access.dynamic.size() : 0.0;
    if (!along) return (access.checked ? 1.5 : 0.4) + cycles;
    if (access.DynamicIn(v)) cycles += 0.5;
    const int64_t step = access.address.Coefficient(v);
    if (load != nullptr && load->source == Access::Source::kInput &&
        CanPack(load->number, v) >= 0) {
      return cycles + 0.6;
    }
    if (step == 1) return cycles + 0.6;
    if (step == 2 || step == 0) return cycles + 3;
    return cycles + 1.2 * lanes_;
  }

  double Body(const TileSchedule& plan, const std::vector<bool>& needed) const {
    const uint32_t v = plan.vector_variable, m = plan.row_variable;
    double cycles = 0;
    for (size_t e = 0; e < needed.size(); ++e) {
      if (!needed[e]) continue;
      const Expr& expr = region_.exprs[e];
      if (expr.kind == Expr::Kind::kOp) {
        cycles += plan.rows * plan.vectors;
      } else if (expr.kind == Expr::Kind::kLoad) {
        const FlatAccess& access = flat_.loads[expr.number];
        const auto uses = [&access](uint32_t x) {
          return access.address.Coefficient(x) != 0 || access.DynamicIn(x);
        };
        const double count =
            (uses(v) ? plan.vectors : 1) * (uses(m) && v != m ? plan.rows : 1);
        cycles += count * AccessCycles(access, &region_.accesses[expr.number],
                                       v, uses(v));
      }
    }
    return cycles;
  }

  double Cost(const TileSchedule& plan) const {
    const uint32_t v = plan.vector_variable, m = plan.row_variable;
    double tiles = static_cast<double>(
        CeilDiv(CeilDiv(flat_.extents[v], lanes_), plan.vectors));
    if (v != m) {
      tiles *= static_cast<double>(flat_.extents[m]) / plan.rows;
    }
    for (const uint32_t o : flat_.outer) {
      if (o != v && o != m) tiles *= static_cast<double>(flat_.extents[o]);
    }
    // Four sums at least hide the latency of one.
    double cycles = 30;
    for (size_t s = 0; s < region_.stages.size(); ++s) {
      double points = 1;
      for (const uint32_t r : flat_.reduced[s]) {
        points *= static_cast<double>(flat_.extents[r]);
      }
      const Stage& stage = region_.stages[s];
      std::vector<ExprId> roots = {stage.value};
      for (const Store& store : stage.stores) roots.push_back(store.value);
      double body = Body(plan, Reachable(region_, roots));
      if (stage.kind == Stage::Kind::kReduce) body = std::max(body, 4.0);
      cycles += points * (body + 1);
      for (const FlatAccess& store : flat_.stores[s]) {
        cycles += plan.rows * plan.vectors *
                  (AccessCycles(store, nullptr, v, true) + 1);
      }
    }
    return tiles * cycles;
  }

  const FlatRegion& flat_;
  const Region& region_;
  const std::vector<bool>& weights_;
  const std::vector<bool> read_by_maps_;
  Isa isa_;
  int lanes_;
  mutable std::pair<int, int> chosen_ = {1, 1};
};

void Partition(const FlatRegion& flat, TileSchedule* plan) {
  for (const uint32_t o : flat.outer) {
    if (o == plan->vector_variable || o == plan->row_variable) continue;
    plan->others.push_back(o);
    plan->other_points *= flat.extents[o];
  }
  const int64_t extent = flat.extents[plan->vector_variable];
  if (plan->row_variable != plan->vector_variable) {
    plan->row_tiles = CeilDiv(flat.extents[plan->row_variable], plan->rows);
  }
  const int64_t wanted = std::clamp<int64_t>(
      static_cast<int64_t>(plan->cycles / kGrainCycles), 1, kMaxPartitions);
  const int64_t units =
      std::max<int64_t>(plan->row_tiles * plan->other_points, 1);
  plan->chunk_extent =
      std::max<int64_t>(CeilDiv(extent, plan->block()), 1) * plan->block();
  if (wanted > 1 && units < 2 * wanted) {
    const int64_t pieces =
        std::min(CeilDiv(2 * wanted, units), CeilDiv(extent, plan->block()));
    plan->chunk_extent =
        CeilDiv(CeilDiv(extent, plan->block()), std::max<int64_t>(pieces, 1)) *
        plan->block();
    plan->chunks = std::max<int64_t>(CeilDiv(extent, plan->chunk_extent), 1);
  }
  plan->partitions =
      std::max<int64_t>(std::min(wanted, units * plan->chunks), 1);
}

}  // namespace

std::vector<uint32_t> ReductionOrder(const FlatRegion& flat, size_t stage) {
  std::vector<uint32_t> order, unchecked;
  for (const uint32_t v : flat.reduced[stage]) {
    const bool checked =
        std::any_of(flat.loads.begin(), flat.loads.end(),
                    [v](const FlatAccess& load) { return load.DynamicIn(v); });
    (checked ? order : unchecked).push_back(v);
  }
  order.insert(order.end(), unchecked.begin(), unchecked.end());
  return order;
}

std::optional<TileSchedule> MakeTileSchedule(const FlatRegion& flat,
                                             const std::vector<bool>& weights,
                                             Isa isa) {
  if (!Fits(flat)) return std::nullopt;
  const TileCoster coster(flat, weights, isa);
  std::optional<TileSchedule> best;
  for (const uint32_t v : flat.outer) {
    for (const uint32_t m : flat.outer) {
      if (v == m && flat.outer.size() > 1) continue;
      TileSchedule plan = coster.Plan(v, m);
      if (!best || plan.cycles < best->cycles) best = std::move(plan);
    }
  }
  Partition(flat, &*best);
  return best;
}

Region WithPanels(const Region& region, const TileSchedule& schedule) {
  Region packed = region;
  for (const TileSchedule::Panel& panel : schedule.panels) {
    Layout& layout = packed.inputs[panel.input].layout;
    layout.order = panel.order;
    layout.block_dim = panel.dim;
    layout.block = panel.block;
  }
  return packed;
}

Region PackRegion(const Region& region, const TileSchedule::Panel& panel,
                  int64_t* bytes) {
  const Operand& input = region.inputs[panel.input];
  const int64_t block = panel.block;
  const int64_t blocks = CeilDiv(input.dims[panel.dim].constant(), block);
  Region pack;
  pack.inputs = {input};
  pack.extents = {blocks};
  Access access;
  access.checked = true;
  access.indices.resize(input.dims.size());
  for (const int d : panel.order) {
    if (d == panel.dim) continue;
    access.indices[d].terms = {{static_cast<uint32_t>(pack.extents.size()), 1}};
    pack.extents.push_back(input.dims[d]);
  }
  const auto last = static_cast<uint32_t>(pack.extents.size());
  access.indices[panel.dim].terms = {{0, block}, {last, 1}};
  pack.extents.push_back(block);
  pack.outer = last + 1;
  pack.outputs = {{input.dtype, pack.extents, {}}};
  Expr load;
  load.kind = Expr::Kind::kLoad;
  load.dtype = input.dtype;
  load.number = AddAccess(&pack, std::move(access));
  Store store;
  store.value = AddExpr(&pack, load);
  *bytes = BitWidth(input.dtype) / 8;
  for (uint32_t v = 0; v < pack.outer; ++v) {
    Index index;
    index.terms = {{v, 1}};
    store.indices.push_back(std::move(index));
    *bytes *= pack.extents[v].constant();
  }
  Stage stage;
  stage.stores = {std::move(store)};
  stage.dtype = stage.accumulate = input.dtype;
  pack.stages = {std::move(stage)};
  return pack;
}

}  // namespace encore::backends::cpu
