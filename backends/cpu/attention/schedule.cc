#include "encore/backends/cpu/attention/schedule.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <vector>

#include "encore/backends/cpu/codegen/schedule.h"
#include "encore/backends/cpu/codegen/tile_schedule.h"
#include "encore/backends/cpu/machine.h"
#include "encore/ir/support/integers.h"
#include "encore/ir/support/strings.h"

namespace encore::backends::cpu {
namespace {

constexpr std::string_view kPrefix = "attention/";
// Each partition has scratch memory of its own: a few for each thread, so that
// one that is late leaves work to others.
constexpr int64_t kPartitionsPerThread = 4;
// What keys and values of a block take at most, in bytes: they are read again
// for each tile of rows.
constexpr int64_t kBlockBytes = kSecondCacheBytes / 4;
// What a cycle of other vectors takes, in multiply-adds, where schedules are
// compared; machines differ (profile/costs.def).
constexpr double kVectorCycle = 1.5;
// Of a vector of scores: their powers, the largest and the sum.
constexpr double kSoftmaxCycles = 8;
// Of a vector of elements that lie apart, for each.
constexpr double kGatherCycles = 1.2;

// Of a vector among as many as there are lanes, with a shuffle for each
// halving.
double TransposeCycles(int lanes) {
  return std::bit_width(static_cast<unsigned>(lanes));
}

double Count(int64_t extent) { return static_cast<double>(extent); }

// Sets the register tiles, which both products share the rows of.
void ChooseTiles(Isa isa, AttentionSchedule* s) {
  const int registers = isa == Isa::kAvx512 ? 32 : 16;
  const auto fitting = [&](int vectors) {
    return (registers - vectors - 1) / vectors;
  };
  const auto vectors = [&](int64_t extent, int most) {
    return static_cast<int>(
        std::clamp<int64_t>(CeilDiv<int64_t>(extent, s->lanes), 1, most));
  };
  const int most = isa == Isa::kAvx512 ? 4 : 2;
  s->key_vectors = vectors(s->keys, most);
  s->column_vectors = vectors(s->columns, most);
  const int rows =
      std::min(fitting(s->key_vectors), fitting(s->column_vectors));
  s->rows =
      static_cast<int>(std::min<int64_t>(std::min(rows, 12), s->all_rows));
}

// Of one unit with all of its rows.
void CountCycles(const AttentionRegion& a, AttentionSchedule* schedule) {
  const AttentionSchedule& s = *schedule;
  const FlatRegion& flat = a.flat();
  const auto cost = [&](ExprId value, int along, int across) {
    return 1 + (IsTransposed(flat, value, along, across, s.lanes)
                    ? VectorCycles(flat, value, across, s.lanes) +
                          TransposeCycles(s.lanes)
                    : VectorCycles(flat, value, along, s.lanes));
  };
  const auto keys = static_cast<int>(a.key_variable());
  const auto columns = static_cast<int>(a.column_variable());
  const auto vectors = [&](int64_t extent) {
    return Count(CeilDiv<int64_t>(extent, s.lanes));
  };
  const double key_vectors = vectors(s.keys),
               column_vectors = vectors(s.columns);
  const double rows = Count(s.chunk_rows);
  schedule->product_cycles =
      Count(s.depth) * PointCycles(s.chunk_rows,
                                   CeilDiv<int64_t>(s.keys, s.lanes), s.rows,
                                   s.key_vectors) +
      Count(s.keys) * PointCycles(s.chunk_rows,
                                  CeilDiv<int64_t>(s.columns, s.lanes), s.rows,
                                  s.column_vectors);
  const double scores =
      rows * key_vectors *
      (VectorCycles(flat, a.score(), keys, s.lanes) + kSoftmaxCycles);
  const double packing =
      key_vectors * Count(s.depth) * cost(a.key(), keys, a.depth_variable()) +
      Count(s.keys) * column_vectors * cost(a.value(), columns, keys) +
      rows * vectors(s.depth) * cost(a.query(), a.depth_variable(), -1);
  // A row of a block: folds, and what is scaled; the end of a row.
  const double blocks = Count(CeilDiv<int64_t>(s.keys, s.block_keys));
  const double ends =
      rows * (blocks * (30 + 2 * column_vectors) + (20 + 8 * column_vectors));
  schedule->vector_cycles = scores + packing + ends;
}

// Of a launch.
double Cycles(const AttentionSchedule& s) {
  return (s.product_cycles + kVectorCycle * s.vector_cycles) *
         Count(s.rounds());
}

}  // namespace

double VectorCycles(const FlatRegion& flat, ExprId value, int variable,
                    int lanes) {
  const Region& region = *flat.region;
  const std::vector<bool> needed = Reachable(region, {value});
  double cycles = 1;
  for (size_t e = 0; e < needed.size(); ++e) {
    if (!needed[e]) continue;
    const Expr& expr = region.exprs[e];
    if (expr.kind == Expr::Kind::kOp) cycles += OpCycles(expr.op, lanes);
    if (expr.kind != Expr::Kind::kLoad || variable < 0) continue;
    const FlatAccess& load = flat.loads[expr.number];
    const auto v = static_cast<uint32_t>(variable);
    const int64_t stride = load.address.Coefficient(v);
    const bool apart = (stride != 0 && stride != 1) || load.DynamicIn(v);
    cycles += apart ? kGatherCycles * lanes : 1;
  }
  return cycles;
}

bool IsTransposed(const FlatRegion& flat, ExprId value, int along, int across,
                  int lanes) {
  return across >= 0 &&
         VectorCycles(flat, value, across, lanes) + TransposeCycles(lanes) <
             VectorCycles(flat, value, along, lanes);
}

std::string AttentionName::ToString() const { return StrCat(kPrefix, threads); }

std::optional<AttentionName> AttentionName::Parse(std::string_view name) {
  if (!name.starts_with(kPrefix)) return std::nullopt;
  const auto threads = ParseInt64(name.substr(kPrefix.size()));
  if (!threads || *threads < 1 || *threads > std::numeric_limits<int>::max()) {
    return std::nullopt;
  }
  return AttentionName{static_cast<int>(*threads)};
}

int64_t AttentionSchedule::padded_keys() const {
  return RoundUp<int64_t>(std::min(block_keys, keys), lanes);
}
int64_t AttentionSchedule::padded_columns() const {
  return RoundUp<int64_t>(columns, lanes);
}
int64_t AttentionSchedule::padded_depth() const {
  return RoundUp<int64_t>(depth, lanes);
}

int64_t AttentionSchedule::rounds() const {
  return CeilDiv<int64_t>(units(), std::min<int64_t>(partitions, threads));
}

AttentionSchedule MakeAttentionSchedule(const AttentionRegion& attention,
                                        const AttentionName& name, Isa isa) {
  AttentionSchedule s;
  s.threads = name.threads;
  s.lanes = VectorBits(isa) / 32;
  s.heads = attention.head_count();
  s.all_rows = attention.row_count();
  s.keys = attention.keys();
  s.depth = attention.depth();
  s.columns = attention.columns();
  ChooseTiles(isa, &s);
  const int64_t panel = int64_t{s.key_vectors} * s.lanes;
  // Of a key and its value; of a row's query and result.
  const int64_t row_bytes =
      (s.padded_depth() + s.padded_columns()) * int64_t{sizeof(float)};
  s.block_keys = std::max<int64_t>(kBlockBytes / row_bytes / panel, 1) * panel;
  s.block_keys = std::min(s.block_keys, s.keys);
  std::optional<AttentionSchedule> best;
  const int64_t tiles = CeilDiv<int64_t>(s.all_rows, s.rows);
  for (int64_t chunks = 1; chunks <= tiles; ++chunks) {
    AttentionSchedule cut = s;
    const int64_t chunk_tiles = CeilDiv<int64_t>(tiles, chunks);
    cut.chunks = CeilDiv<int64_t>(tiles, chunk_tiles);
    if (cut.chunks < chunks) continue;
    cut.chunk_rows = std::min(chunk_tiles * s.rows, s.all_rows);
    cut.partitions = std::min(
        cut.units(), std::max<int64_t>(kPartitionsPerThread * s.threads, 1));
    CountCycles(attention, &cut);
    const int64_t state = cut.state_rows() * row_bytes;
    const bool fits = state <= kSecondCacheBytes / 2 || chunks == tiles;
    if (fits && (!best || Cycles(cut) < Cycles(*best))) best = cut;
    // Finer cuts only pack more often.
    if (best && cut.units() > 8 * int64_t{s.threads} && cut.chunk_rows < 512)
      break;
  }
  return *best;
}

}  // namespace encore::backends::cpu
