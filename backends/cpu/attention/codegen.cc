#include "encore/backends/cpu/attention/codegen.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

#include "encore/backends/cpu/attention/pack.h"
#include "encore/backends/cpu/attention/product.h"
#include "encore/backends/cpu/attention/softmax.h"
#include "encore/backends/cpu/attention/unit.h"
#include "encore/backends/cpu/codegen/builder/ir_builder.h"
#include "encore/backends/cpu/codegen/reduction.h"
#include "encore/backends/cpu/codegen/region_emitter.h"
#include "encore/backends/cpu/codegen/tile_emitter.h"
#include "encore/backends/region/region.h"
#include "encore/ir/support/integers.h"

namespace encore::backends::cpu {
namespace {

class AttentionGenerator {
 public:
  AttentionGenerator(const AttentionRegion& attention,
                     const AttentionSchedule& schedule)
      : a_(attention),
        s_(schedule),
        layout_(MakeScratch(schedule)),
        e_(attention.flat(), schedule.lanes, b_),
        c_{b_, e_, attention, schedule, layout_, ScratchOfPartition()} {}

  GeneratedKernel Generate(std::string_view name, int vector_bits);

 private:
  Value ScratchOfPartition();
  void EmitUnit(const Value& unit);
  // Rows [first, end) of the current head.
  void EmitOnline(const Value& first, const Value& end);
  void EmitAtOnce(const Value& first, const Value& end);
  void Pack(const Value& first_key, int64_t keys);
  // `body(row, rows)` for the first row of each tile, and how many it has.
  void ForTiles(const Value& first, const Value& end,
                const std::function<void(const Value&, int)>& body);
  void Start(const Value& row, const Value& place);
  // `rows` rows from `row` on, the first of which is number `place` of the
  // state, with `keys` keys from `first_key` on, which are packed.
  void EmitTile(const Value& row, const Value& place, int rows,
                const Value& first_key, int64_t keys);
  void Finish(const Value& row, const Value& place);

  const AttentionRegion& a_;
  const AttentionSchedule& s_;
  const AttentionScratch layout_;
  IrBuilder b_;
  RegionEmitter e_;
  const AttentionCode c_;
};

Value AttentionGenerator::ScratchOfPartition() {
  const Value buffers = IrBuilder::Parameter("buffers", Elem::kPtr);
  const size_t slot = a_.region().inputs.size() + a_.region().outputs.size();
  const Value scratch = b_.Load(
      {Elem::kPtr, 1},
      b_.Gep(buffers, Elem::kPtr, IrBuilder::I64(static_cast<int64_t>(slot))),
      8);
  return b_.Gep(
      scratch, Elem::kI8,
      b_.Mul(IrBuilder::Parameter("partition", Elem::kI64), layout_.bytes));
}

void AttentionGenerator::EmitUnit(const Value& unit) {
  const FlatRegion& flat = a_.flat();
  std::vector<int64_t> extents;
  for (const uint32_t v : a_.heads()) extents.push_back(flat.extents[v]);
  extents.push_back(s_.chunks);
  const std::vector<Value> digits = Digits(b_, unit, extents);
  for (size_t i = 0; i < a_.heads().size(); ++i) {
    e_.SetVariable(a_.heads()[i], digits[i]);
  }
  const Value first = b_.Mul(digits.back(), s_.chunk_rows);
  const Value end = b_.Intrinsic(
      "smin", {b_.Add(first, s_.chunk_rows), IrBuilder::I64(s_.all_rows)});
  if (s_.is_online()) {
    EmitOnline(first, end);
  } else {
    EmitAtOnce(first, end);
  }
}

void AttentionGenerator::EmitOnline(const Value& first, const Value& end) {
  b_.Loop(first, end, 1,
          [&](const Value& row) { Start(row, b_.Sub(row, first)); });
  const auto block = [&](const Value& first_key, int64_t keys) {
    Pack(first_key, keys);
    ForTiles(first, end, [&](const Value& row, int rows) {
      EmitTile(row, b_.Sub(row, first), rows, first_key, keys);
    });
  };
  const int64_t whole = s_.whole_blocks() * s_.block_keys;
  b_.Loop(IrBuilder::I64(0), IrBuilder::I64(whole), s_.block_keys,
          [&](const Value& key) { block(key, s_.block_keys); });
  if (s_.last_keys() > 0) block(IrBuilder::I64(whole), s_.last_keys());
  b_.Loop(first, end, 1,
          [&](const Value& row) { Finish(row, b_.Sub(row, first)); });
}

void AttentionGenerator::EmitAtOnce(const Value& first, const Value& end) {
  const Value key = IrBuilder::I64(0);
  Pack(key, s_.keys);
  ForTiles(first, end, [&](const Value& row, int rows) {
    const auto each = [&](const auto& body) {
      b_.Loop(IrBuilder::I64(0), IrBuilder::I64(rows), 1,
              [&](const Value& r) { body(b_.Add(row, r), r); });
    };
    each([&](const Value& r, const Value& place) { PackQuery(c_, r, place); });
    EmitTile(row, IrBuilder::I64(0), rows, key, s_.keys);
    each([&](const Value& r, const Value& place) { Finish(r, place); });
  });
}

void AttentionGenerator::Pack(const Value& first_key, int64_t keys) {
  PackKeys(c_, first_key, keys);
  PackValues(c_, first_key, keys);
}

void AttentionGenerator::ForTiles(
    const Value& first, const Value& end,
    const std::function<void(const Value&, int)>& body) {
  // Only the last chunk has rows that are no whole tile.
  const int64_t whole = s_.all_rows / s_.rows * s_.rows;
  const auto left = static_cast<int>(s_.all_rows - whole);
  const Value last =
      left == 0 ? end : b_.Intrinsic("smin", {end, IrBuilder::I64(whole)});
  b_.Loop(first, last, s_.rows, [&](const Value& row) { body(row, s_.rows); });
  if (left == 0) return;
  b_.If(b_.Compare("sgt", end, IrBuilder::I64(whole)),
        [&] { body(IrBuilder::I64(whole), left); });
}

// Nothing was added yet.
void AttentionGenerator::Start(const Value& row, const Value& place) {
  PackQuery(c_, row, place);
  const IrType type = c_.vector();
  b_.Store(IrBuilder::Float({Elem::kF32, 1}, -INFINITY),
           c_.Scratch(layout_.maxima, place), 4);
  b_.Store(IrBuilder::Zero(type),
           c_.Scratch(layout_.sums, b_.Mul(place, s_.lanes)), 4);
  const Value results =
      c_.Scratch(layout_.results, b_.Mul(place, s_.padded_columns()));
  for (int64_t at = 0; at < s_.padded_columns(); at += s_.lanes) {
    b_.Store(IrBuilder::Zero(type), c_.At(results, at), 4);
  }
}

void AttentionGenerator::EmitTile(const Value& row, const Value& place,
                                  int rows, const Value& first_key,
                                  int64_t keys) {
  const Value zero = IrBuilder::I64(0);
  RegisterTile tile;
  tile.rows = rows;
  tile.lanes = s_.lanes;
  tile.depth = s_.depth;
  tile.a = c_.Scratch(layout_.queries, b_.Mul(place, s_.padded_depth()));
  tile.a_pitch = s_.padded_depth();
  tile.panel = c_.Scratch(layout_.keys, zero);
  tile.c = c_.Scratch(layout_.scores, zero);
  tile.c_pitch = s_.padded_keys();
  EmitPanels(b_, tile, CeilDiv<int64_t>(keys, s_.lanes), s_.key_vectors,
             s_.depth);
  EmitSoftmax(c_, row, place, rows, first_key, keys);
  tile.depth = keys;
  tile.a = tile.c;
  tile.a_pitch = tile.c_pitch;
  tile.panel = c_.Scratch(layout_.values, zero);
  tile.c = c_.Scratch(layout_.results, b_.Mul(place, s_.padded_columns()));
  tile.c_pitch = s_.padded_columns();
  if (s_.is_online()) tile.scales = c_.Scratch(layout_.scales, zero);
  EmitPanels(b_, tile, s_.padded_columns() / s_.lanes, s_.column_vectors, keys);
}

// The results of a row, through the epilogue to where they belong.
void AttentionGenerator::Finish(const Value& row, const Value& place) {
  c_.SetRow(row);
  const Value sums = b_.Load(
      c_.vector(), c_.Scratch(layout_.sums, b_.Mul(place, s_.lanes)), 4);
  const Value sum =
      b_.Splat(Fold(b_, RegionCombiner::kSum, DType::kF32, sums), s_.lanes);
  const Value results = b_.Mul(place, s_.padded_columns());
  ForVectors(
      c_, static_cast<int>(a_.column_variable()), IrBuilder::I64(0), s_.columns,
      [&](const Value& element, const Value&) {
        const Value at = c_.Scratch(layout_.results, b_.Add(results, element));
        e_.SetResult(a_.results(), 0,
                     b_.Binary("fdiv", b_.Load(c_.vector(), at, 4), sum));
        const std::vector<Stage>& stages = a_.region().stages;
        for (size_t s = a_.results() + 1; s < stages.size(); ++s) {
          // Every load comes before every store.
          for (const Store& store : stages[s].stores) {
            e_.Eval(store.value);
          }
          for (size_t i = 0; i < stages[s].stores.size(); ++i) {
            e_.EmitStore(s, i);
          }
        }
      });
}

GeneratedKernel AttentionGenerator::Generate(std::string_view name,
                                             int vector_bits) {
  PartitionLoop(b_, s_.units(), s_.partitions,
                [&](const Value& unit) { EmitUnit(unit); });
  GeneratedKernel kernel = FinishKernel(b_, name, s_.partitions, vector_bits);
  kernel.scratch_bytes = Dim(layout_.bytes * s_.partitions);
  return kernel;
}

}  // namespace

GeneratedKernel GenerateAttention(const AttentionRegion& attention,
                                  const AttentionSchedule& schedule,
                                  std::string_view name, int vector_bits) {
  return AttentionGenerator(attention, schedule).Generate(name, vector_bits);
}

}  // namespace encore::backends::cpu
