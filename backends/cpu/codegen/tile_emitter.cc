#include "encore/backends/cpu/codegen/tile_emitter.h"

#include <algorithm>
#include <utility>

#include "encore/backends/cpu/codegen/reduction.h"
#include "encore/backends/cpu/codegen/scalar_ops.h"
#include "encore/backends/cpu/codegen/staging.h"
#include "encore/backends/cpu/codegen/transpose.h"
#include "encore/backends/cpu/machine.h"
#include "encore/ir/ops/functions.h"
#include "encore/ir/support/integers.h"
#include "encore/ir/support/strings.h"

namespace encore::backends::cpu {
namespace {

// Tiles of fewer rows have little code.
constexpr int kLeastRows = 3;

// Operations behind a sum from which on they are a loop over the rows of the
// tile: in place of a copy of them for each of up to forty points, which takes
// LLVM as long as all else, there is one for each vector of a row. A point then
// costs a store and a load more.
constexpr int kLongPoint = 6;

// How many reduced points ahead of its use a panel is prefetched.
constexpr int64_t kPrefetchedPoints = 48;

// Ops that are many instructions each: polynomials, calls.
bool IsLong(Op op) {
  return op == Op::kLogistic || FindFunction(op) != nullptr;
}

}  // namespace

TileEmitter::TileEmitter(RegionEmitter& e, const FlatRegion& flat,
                         const TileSchedule& schedule)
    : flat_(flat),
      region_(*flat.region),
      s_(schedule),
      e_(e),
      b_(e.builder()) {}

void TileEmitter::PlaceVector(const Tile& tile, int u) {
  e_.SetVariable(s_.vector_variable, tile.column, int64_t{u} * s_.lanes);
  const bool partial = u == tile.vectors - 1 && tile.last_lanes < s_.lanes;
  e_.SetLanes(
      static_cast<int>(s_.vector_variable),
      partial ? IrBuilder::PrefixMask(s_.lanes, tile.last_lanes) : Value());
}

void TileEmitter::Place(const Tile& tile, int r, int u) {
  if (has_rows()) e_.SetVariable(s_.row_variable, tile.row, r);
  PlaceVector(tile, u);
  for (size_t s = 0; s < results_.size(); ++s) {
    if (!results_[s].empty()) {
      e_.SetResult(s, 0, results_[s][r * tile.vectors + u]);
    }
  }
}

void TileEmitter::AddValues(const Tile& tile, size_t stage,
                            const std::vector<Value>& sums) {
  const Stage& info = region_.stages[stage];
  const Expr& value = region_.expr(info.value);
  const IrType type{ComputeElem(info.accumulate), s_.lanes};
  const bool product = value.op == Op::kMul && IsFloat(value.dtype);
  std::vector<ExprId> terms = {info.value};
  if (product) terms = {value.operands[0], value.operands[1]};
  // A term that does not change along the rows or the columns of the tile is
  // computed once for each of the others.
  std::vector<std::vector<Value>> known(terms.size());
  std::vector<int> row_step, vector_step;
  for (size_t t = 0; t < terms.size(); ++t) {
    const bool in_rows =
        has_rows() && DependsOn(flat_, terms[t], s_.row_variable);
    const bool in_vectors = DependsOn(flat_, terms[t], s_.vector_variable);
    row_step.push_back(in_rows ? tile.vectors : 0);
    vector_step.push_back(in_vectors ? 1 : 0);
    known[t].resize(size_t(tile.rows) * tile.vectors);
  }
  for (int r = 0; r < tile.rows; ++r) {
    for (int u = 0; u < tile.vectors; ++u) {
      Place(tile, r, u);
      std::vector<Value> operands;
      for (size_t t = 0; t < terms.size(); ++t) {
        Value& term = known[t][r * row_step[t] + u * vector_step[t]];
        if (!term.valid()) {
          term = ConvertDType(b_, region_.expr(terms[t]).dtype, info.accumulate,
                              e_.EvalLanes(terms[t]));
        }
        operands.push_back(term);
      }
      const Value& sum = sums[r * tile.vectors + u];
      const Value before = b_.Get(sum, type);
      b_.Set(sum, product ? b_.Fma(operands[0], operands[1], before)
                          : b_.Binary("fadd", before, operands[0]));
    }
  }
}

void TileEmitter::PrefetchPanels(const Tile& tile) {
  Place(tile, 0, 0);
  for (uint32_t a = 0; a < region_.accesses.size(); ++a) {
    const Access& access = region_.accesses[a];
    if (access.source != Access::Source::kInput) continue;
    for (const TileSchedule::Panel& panel : s_.panels) {
      if (panel.input != access.number) continue;
      const Value first = e_.FirstElement(a);
      const int64_t bytes =
          panel.block * BitWidth(region_.inputs[panel.input].dtype) / 8;
      for (int64_t at = 0; at < bytes; at += kLineBytes) {
        b_.Prefetch(b_.Gep(first, Elem::kI8,
                           IrBuilder::I64(kPrefetchedPoints * bytes + at)));
      }
    }
  }
}

void TileEmitter::PrefetchRows(const Tile& tile, uint32_t innermost) {
  if (!has_rows()) return;
  Place(tile, 0, 0);
  for (uint32_t a = 0; a < region_.accesses.size(); ++a) {
    const Access& access = region_.accesses[a];
    const FlatAccess& load = flat_.loads[a];
    if (access.source != Access::Source::kInput || access.checked ||
        load.panel != FlatAccess::kNoPanel || !load.dynamic.empty() ||
        !(load.address.Coefficient(s_.row_variable) == 1) ||
        !(load.address.Coefficient(s_.vector_variable) == 0)) {
      continue;
    }
    const int64_t bytes = BitWidth(region_.inputs[access.number].dtype) / 8;
    const int64_t step = load.address.Coefficient(innermost);
    if (std::abs(step) * bytes < kLineBytes) continue;
    b_.Prefetch(
        b_.Gep(e_.FirstElement(a), Elem::kI8, IrBuilder::I64(kLineBytes)),
        IrBuilder::CacheLevel::kSecond);
  }
}

void TileEmitter::Reduce(const std::vector<uint32_t>& reduced, size_t first,
                         size_t unrolled, const std::function<void()>& body) {
  if (first == reduced.size()) return body();
  const uint32_t variable = reduced[first];
  const auto point = [&](const Value& i) {
    e_.SetVariable(variable, i);
    Reduce(reduced, first + 1, unrolled, body);
  };
  if (first < unrolled) {
    return b_.Loop(IrBuilder::I64(0), IrBuilder::I64(flat_.extents[variable]),
                   1, point);
  }
  for (int64_t i = 0; i < flat_.extents[variable]; ++i) {
    point(IrBuilder::I64(i));
  }
}

// Taps that neighbouring rows share one after the other, so that what is loaded
// is used again soon: what moves a window by the smallest steps outermost.
std::vector<uint32_t> TileEmitter::SharingOrder(size_t stage) const {
  const auto step = [this](uint32_t variable) {
    int64_t most = 0;
    for (const FlatAccess& load : flat_.loads) {
      if (load.address.Coefficient(s_.row_variable) == 0) continue;
      most = std::max<int64_t>(most, load.address.Coefficient(variable));
    }
    return std::pair(most, variable);
  };
  std::vector<uint32_t> order = flat_.reduced[stage];
  std::ranges::sort(order, {}, step);
  return order;
}

size_t TileEmitter::FirstUnrolled(const Tile& tile,
                                  const std::vector<uint32_t>& reduced) const {
  const bool copied = s_.plane_rows > 0;
  const int64_t most = copied ? kMaxUnrolledTaps : kMaxUnrolledPoints;
  int64_t points = int64_t{tile.rows} * tile.vectors;
  size_t first = reduced.size();
  while (first > 0 && points * flat_.extents[reduced[first - 1]] <= most) {
    points *= flat_.extents[reduced[--first]];
  }
  return copied || first == 0 ? first : reduced.size();
}

void TileEmitter::EmitSum(const Tile& tile, size_t stage) {
  const Stage& info = region_.stages[stage];
  const IrType type{ComputeElem(info.accumulate), s_.lanes};
  std::vector<Value> sums;
  for (int i = 0; i < tile.rows * tile.vectors; ++i) {
    sums.push_back(b_.NewVariable(type));
    b_.Set(sums.back(), IrBuilder::Zero(type));
  }
  e_.SetLanes(kNoVariable, {});
  const std::vector<uint32_t> reduced =
      s_.in_place ? SharingOrder(stage) : ReductionOrder(flat_, stage);
  const size_t unrolled = FirstUnrolled(tile, reduced);
  Reduce(reduced, 0, unrolled, [&] {
    AddValues(tile, stage, sums);
    if (unrolled != reduced.size()) return;
    PrefetchPanels(tile);
    if (!reduced.empty()) PrefetchRows(tile, reduced.back());
  });
  for (const Value& sum : sums) {
    results_[stage].push_back(
        ConvertDType(b_, info.accumulate, info.dtype, b_.Get(sum, type)));
  }
}

void TileEmitter::EmitMap(const Tile& tile, size_t stage) {
  const Stage& info = region_.stages[stage];
  std::vector<Value> values;
  for (int r = 0; r < tile.rows; ++r) {
    for (int u = 0; u < tile.vectors; ++u) {
      Place(tile, r, u);
      Value value = EmitPoint(stage);
      if (info.value.valid()) values.push_back(std::move(value));
    }
  }
  results_[stage] = std::move(values);
}

Value TileEmitter::EmitPoint(size_t stage) {
  const Stage& info = region_.stages[stage];
  Value value;
  if (info.value.valid()) {
    value = e_.EvalLanes(info.value);
    e_.SetResult(stage, 0, value);
  }
  for (const Store& store : info.stores) e_.Eval(store.value);
  for (size_t i = 0; i < info.stores.size(); ++i) e_.EmitStore(stage, i);
  return value;
}

bool TileEmitter::WantsRows(const Tile& tile, size_t first) const {
  if (!has_rows() || tile.rows < kLeastRows) return false;
  std::vector<ExprId> roots;
  for (size_t s = first; s < region_.stages.size(); ++s) {
    roots.push_back(region_.stages[s].value);
    for (const Store& store : region_.stages[s].stores) {
      roots.push_back(store.value);
    }
  }
  const std::vector<bool> needed = Reachable(region_, roots);
  int operations = 0;
  for (size_t e = 0; e < needed.size(); ++e) {
    const Expr& expr = region_.exprs[e];
    if (!needed[e]) continue;
    if (expr.kind == Expr::Kind::kOp) {
      operations += IsLong(expr.op) ? kLongPoint : 1;
    }
    // The place in a panel is a constant.
    if (expr.kind == Expr::Kind::kLoad &&
        flat_.loads[expr.number].panel == s_.row_variable) {
      return false;
    }
  }
  return operations >= kLongPoint;
}

void TileEmitter::EmitMapsByRows(const Tile& tile, size_t first) {
  std::vector<Value> kept(first);  // results of the stages before, by point
  const auto at = [&](size_t stage, const Value& point) {
    return b_.Gep(kept[stage], results_[stage][0].type.elem,
                  b_.Mul(point, s_.lanes));
  };
  for (size_t s = 0; s < first; ++s) {
    if (results_[s].empty()) continue;
    const IrType type = results_[s][0].type;
    kept[s] = b_.NewArray({type.elem, 1},
                          static_cast<int64_t>(results_[s].size()) * s_.lanes);
    for (size_t i = 0; i < results_[s].size(); ++i) {
      b_.Store(results_[s][i], at(s, IrBuilder::I64(static_cast<int64_t>(i))),
               ElemBytes(type.elem));
    }
  }
  b_.Loop(IrBuilder::I64(0), IrBuilder::I64(tile.rows), 1, [&](const Value& r) {
    e_.SetVariable(s_.row_variable, b_.Add(tile.row, r));
    for (int u = 0; u < tile.vectors; ++u) {
      PlaceVector(tile, u);
      const Value point = b_.Add(b_.Mul(r, tile.vectors), IrBuilder::I64(u));
      for (size_t s = 0; s < first; ++s) {
        if (results_[s].empty()) continue;
        const IrType type = results_[s][0].type;
        e_.SetResult(s, 0, b_.Load(type, at(s, point), ElemBytes(type.elem)));
      }
      for (size_t s = first; s < region_.stages.size(); ++s) EmitPoint(s);
    }
  });
}

// Whole squares of lanes x lanes: what lies beyond the tile is not mapped. In a
// loop over the vectors, since shuffles take LLVM long.
Value TileEmitter::EmitTurned(const Tile& tile, size_t stage) {
  const int lanes = s_.lanes, squares = CeilDiv(tile.rows, lanes);
  const IrType type = results_[stage][0].type;
  const int align = ElemBytes(type.elem);
  const auto array = [&](int64_t vectors) {
    return b_.NewArray({type.elem, 1}, vectors * lanes);
  };
  const auto at = [&](const Value& kept, const Value& vector) {
    return b_.Gep(kept, type.elem, b_.Mul(vector, lanes));
  };
  const Value sums = array(int64_t{tile.rows} * tile.vectors);
  const Value turned = array(int64_t{tile.vectors} * squares * lanes);
  for (size_t i = 0; i < results_[stage].size(); ++i) {
    b_.Store(results_[stage][i],
             at(sums, IrBuilder::I64(static_cast<int64_t>(i))), align);
  }
  b_.Loop(
      IrBuilder::I64(0), IrBuilder::I64(tile.vectors), 1, [&](const Value& u) {
        const Value column = b_.Mul(u, int64_t{lanes} * squares);
        for (int q = 0; q < squares; ++q) {
          std::vector<Value> rows(lanes, IrBuilder::Zero(type));
          for (int i = 0; i < std::min(tile.rows - q * lanes, lanes); ++i) {
            const int64_t row = int64_t{q} * lanes + i;
            rows[i] =
                b_.Load(type, at(sums, b_.Add(u, row * tile.vectors)), align);
          }
          rows = Transpose(b_, std::move(rows));
          for (int c = 0; c < lanes; ++c) {
            const int64_t place = int64_t{c} * squares + q;
            b_.Store(rows[c], at(turned, b_.Add(column, place)), align);
          }
        }
      });
  return turned;
}

void TileEmitter::EmitTurnedMaps(const Tile& tile, size_t first) {
  const int lanes = s_.lanes, squares = CeilDiv(tile.rows, lanes);
  std::vector<Value> kept(first);
  for (size_t s = 0; s < first; ++s) kept[s] = EmitTurned(tile, s);
  const int64_t columns = int64_t{tile.vectors - 1} * lanes + tile.last_lanes;
  b_.Loop(IrBuilder::I64(0), IrBuilder::I64(columns), 1, [&](const Value& c) {
    e_.SetVariable(s_.vector_variable, b_.Add(tile.column, c));
    for (int q = 0; q < squares; ++q) {
      const int rows = std::min(tile.rows - q * lanes, lanes);
      e_.SetVariable(s_.row_variable, tile.row, int64_t{q} * lanes);
      e_.SetLanes(static_cast<int>(s_.row_variable),
                  rows < lanes ? IrBuilder::PrefixMask(lanes, rows) : Value());
      const Value place =
          b_.Mul(b_.Add(b_.Mul(c, squares), IrBuilder::I64(q)), lanes);
      for (size_t s = 0; s < first; ++s) {
        const IrType type = results_[s][0].type;
        e_.SetResult(s, 0,
                     b_.Load(type, b_.Gep(kept[s], type.elem, place),
                             ElemBytes(type.elem)));
      }
      for (size_t s = first; s < region_.stages.size(); ++s) EmitPoint(s);
    }
  });
}

void TileEmitter::Emit(const Tile& tile) {
  results_.assign(region_.stages.size(), {});
  size_t maps = region_.stages.size();  // where the last ones begin
  while (maps > 0 && region_.stages[maps - 1].kind == Stage::Kind::kMap) --maps;
  for (size_t s = 0; s < maps; ++s) {
    if (region_.stages[s].kind == Stage::Kind::kReduce) {
      EmitSum(tile, s);
    } else {
      EmitMap(tile, s);
    }
  }
  EmitMapsFrom(tile, maps);
}

void TileEmitter::EmitMaps(const Tile& tile, std::vector<Value> sums) {
  results_.assign(region_.stages.size(), {});
  results_[0] = std::move(sums);
  EmitMapsFrom(tile, 1);
}

void TileEmitter::EmitMapsFrom(const Tile& tile, size_t first) {
  if (TurnsResults(flat_, s_.vector_variable, s_.row_variable)) {
    return EmitTurnedMaps(tile, first);
  }
  if (WantsRows(tile, first)) return EmitMapsByRows(tile, first);
  for (size_t s = first; s < region_.stages.size(); ++s) EmitMap(tile, s);
}

std::vector<Value> Digits(IrBuilder& b, const Value& unit,
                          const std::vector<int64_t>& extents) {
  std::vector<Value> digits(extents.size(), IrBuilder::I64(0));
  Value rest = unit;
  for (size_t i = extents.size(); i-- > 0;) {
    if (extents[i] == 1) continue;
    if (const auto constant = ParseInt64(rest.name)) {
      digits[i] = IrBuilder::I64(*constant % extents[i]);
      rest = IrBuilder::I64(*constant / extents[i]);
      continue;
    }
    const Value extent = IrBuilder::I64(extents[i]);
    digits[i] = b.Binary("urem", rest, extent);
    rest = b.Binary("udiv", rest, extent);
  }
  return digits;
}

std::vector<Value> UnitDigits(IrBuilder& b, const Value& unit,
                              const FlatRegion& flat,
                              const TileSchedule& schedule,
                              std::initializer_list<int64_t> inner) {
  std::vector<int64_t> extents;
  for (const uint32_t o : schedule.others) extents.push_back(flat.extents[o]);
  extents.insert(extents.end(), inner);
  return Digits(b, unit, extents);
}

void SetOriginal(RegionEmitter& e, const FlatRegion& original,
                 const FlatRegion& merged, uint32_t variable,
                 const Value& value) {
  const std::vector<uint32_t> parts =
      OriginalVariables(original, merged, variable);
  std::vector<int64_t> extents;
  for (const uint32_t v : parts) extents.push_back(original.extents[v]);
  const std::vector<Value> digits = Digits(e.builder(), value, extents);
  for (size_t i = 0; i < parts.size(); ++i) e.SetVariable(parts[i], digits[i]);
}

Value PartitionMemory(IrBuilder& b, const Region& region, int64_t bytes,
                      int64_t partitions, int64_t* scratch_bytes) {
  *scratch_bytes = 0;
  if (bytes <= kMaxStackBytes) return b.NewArray({Elem::kI8, 1}, bytes);
  *scratch_bytes = bytes * partitions;
  const size_t slot = region.inputs.size() + region.outputs.size();
  const Value buffers = IrBuilder::Parameter("buffers", Elem::kPtr);
  const Value base = b.Load(
      {Elem::kPtr, 1},
      b.Gep(buffers, Elem::kPtr, IrBuilder::I64(static_cast<int64_t>(slot))),
      8);
  const Value partition = IrBuilder::Parameter("partition", Elem::kI64);
  return b.Gep(base, Elem::kI8,
               partitions > 1 ? b.Mul(partition, bytes) : IrBuilder::I64(0));
}

void PartitionLoop(IrBuilder& b, int64_t units, int64_t partitions,
                   const std::function<void(const Value&)>& body) {
  Value begin = IrBuilder::I64(0), end = IrBuilder::I64(units);
  if (partitions > 1) {
    const Value partition = IrBuilder::Parameter("partition", Elem::kI64);
    const Value parts = IrBuilder::I64(partitions);
    begin = b.Binary("udiv", b.Mul(partition, units), parts);
    end = b.Binary("udiv", b.Mul(b.Add(partition, 1), units), parts);
  }
  b.Loop(begin, end, 1, body);
}

}  // namespace encore::backends::cpu
