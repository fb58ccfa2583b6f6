#include "encore/backends/cpu/codegen/staged_codegen.h"

#include <algorithm>
#include <utility>

#include "encore/backends/cpu/codegen/reduction.h"
#include "encore/backends/cpu/codegen/scalar_ops.h"
#include "encore/backends/cpu/codegen/tile_emitter.h"
#include "encore/backends/cpu/machine.h"
#include "encore/ir/support/integers.h"

namespace encore::backends::cpu {
namespace {

// Checked variables of windows up to this size are unrolled, so that their
// checks leave the loops over the others.
constexpr int64_t kMaxUnrolledWindow = 32;

// `staged` with the staged input as panels of `pitch` elements a reduced point:
// of the block that lies in scratch only.
FlatRegion WithStagedPanel(FlatRegion staged, const TileSchedule& schedule) {
  const Staging& staging = *schedule.staging;
  const size_t input = staging.region.inputs.size() - 1;
  for (size_t a = 0; a < staged.loads.size(); ++a) {
    const Access& access = staging.region.accesses[a];
    if (access.source != Access::Source::kInput || access.number != input) {
      continue;
    }
    FlatAccess& load = staged.loads[a];
    load.panel = staging.vector_variable;
    for (auto& [variable, coefficient] : load.address.terms) {
      const bool outer = variable < staging.region.outer;
      coefficient =
          outer ? 0 : coefficient / staging.points * schedule.stage_pitch;
    }
  }
  return staged;
}

class StagedGenerator {
 public:
  StagedGenerator(const FlatRegion& flat, const FlatRegion& staged,
                  const TileSchedule& schedule)
      : flat_(flat),
        staged_(WithStagedPanel(staged, schedule)),
        s_(schedule),
        staging_(*schedule.staging),
        original_(flat, schedule.lanes, b_),
        e_(staged_, schedule.lanes, b_, 1),
        tile_(e_, staged_, schedule),
        points_(OriginalVariables(flat, staged_, staging_.vector_variable)) {}

  GeneratedKernel Generate(std::string_view name, int vector_bits);

 private:
  int64_t points() const { return staging_.points; }
  int64_t full_points() const { return points() / s_.block() * s_.block(); }
  bool IsChecked(uint32_t variable) const {
    return std::any_of(flat_.loads.begin(), flat_.loads.end(),
                       [variable](const FlatAccess& load) {
                         return load.DynamicIn(variable);
                       });
  }
  void MakeScratch();
  void EmitUnit(const Value& unit);
  // A block of `count` points from `first` on.
  void EmitBlock(const Value& first, int64_t count, const Value& chunk);
  void EmitRows(const Value& first, int64_t count, const Value& chunk);
  // Sets a variable of the staged region and what the original has for it.
  void SetOther(uint32_t variable, const Value& value);
  // Computes the staged value for the block.
  void Stage(const Value& first, int64_t count);
  // … for `vectors` vectors of points from `at` of the block on; `active` of
  // the last.
  void StagePiece(const Value& first, const Value& at, int vectors,
                  const Value& active);
  void StageReduced(const std::vector<uint32_t>& reduced, size_t next,
                    const Value& at, int vectors, const Value& active);
  void StageValue(const Value& at, int vectors, const Value& active);

  const FlatRegion& flat_;
  const FlatRegion staged_;
  const TileSchedule& s_;
  const Staging& staging_;
  IrBuilder b_;
  RegionEmitter original_, e_;
  TileEmitter tile_;
  std::vector<uint32_t> points_;  // of the original, outermost first
  Affine reduced_point_;          // its number, over the original's variables
  std::vector<Value> reduced_values_;
  Value scratch_, lane_base_;
  int64_t scratch_bytes_ = 0;  // of a launch, beyond the stack
};

void StagedGenerator::MakeScratch() {
  scratch_ = PartitionMemory(b_, *flat_.region, s_.stage_bytes, s_.partitions,
                             &scratch_bytes_);
  e_.SetInput(staging_.region.inputs.size() - 1, scratch_);
}

void StagedGenerator::SetOther(uint32_t variable, const Value& value) {
  e_.SetVariable(variable, value);
  SetOriginal(original_, flat_, staged_, variable, value);
}

void StagedGenerator::EmitUnit(const Value& unit) {
  const std::vector<Value> digits =
      UnitDigits(b_, unit, staged_, s_, {s_.chunks, s_.row_chunks});
  for (size_t i = 0; i < s_.others.size(); ++i) {
    SetOther(s_.others[i], digits[i]);
  }
  const Value& block = digits[digits.size() - 2];
  const Value& chunk = digits.back();
  const Value first = b_.Mul(block, s_.block());
  const int64_t full = full_points();
  const auto whole = [&] { EmitBlock(first, s_.block(), chunk); };
  if (full == points()) return whole();
  const auto rest = [&] {
    EmitBlock(IrBuilder::I64(full), points() - full, chunk);
  };
  if (full == 0) return rest();
  b_.If(b_.Compare("eq", block, IrBuilder::I64(s_.chunks - 1)), rest, whole);
}

void StagedGenerator::EmitBlock(const Value& first, int64_t count,
                                const Value& chunk) {
  Stage(first, count);
  EmitRows(first, count, chunk);
}

void StagedGenerator::EmitRows(const Value& first, int64_t count,
                               const Value& chunk) {
  const auto vectors = static_cast<int>(CeilDiv(count, s_.lanes));
  const int64_t last = count - int64_t{vectors - 1} * s_.lanes;
  const int64_t extent = staged_.extents[s_.row_variable];
  const int64_t full = extent / s_.rows * s_.rows;
  const int64_t chunk_rows = s_.chunk_tiles * s_.rows;
  const Value begin = b_.Mul(chunk, chunk_rows);
  Value end = IrBuilder::I64(full);
  if (s_.row_chunks > 1) {
    end = b_.Intrinsic("smin", {b_.Add(begin, chunk_rows), end});
  }
  b_.Loop(begin, end, s_.rows, [&](const Value& row) {
    tile_.Emit({row, first, s_.rows, vectors, last});
  });
  if (full == extent) return;
  const auto rest = [&] {
    tile_.Emit({IrBuilder::I64(full), first, static_cast<int>(extent - full),
                vectors, last});
  };
  if (s_.row_chunks == 1) return rest();
  b_.If(b_.Compare("eq", chunk, IrBuilder::I64(s_.row_chunks - 1)), rest);
}

void StagedGenerator::Stage(const Value& first, int64_t count) {
  const int64_t inner = flat_.extents[points_.back()];
  const int lanes = s_.lanes;
  const auto active = [&](const Value& valid) {
    const IrType type{Elem::kI64, lanes};
    return b_.Compare("slt", IrBuilder::Steps(type, 1), b_.Splat(valid, lanes));
  };
  if (points_.size() == 1) {
    const auto vectors = static_cast<int>(CeilDiv(count, lanes));
    const int64_t last = count - int64_t{vectors - 1} * lanes;
    StagePiece(first, IrBuilder::I64(0), vectors,
               last < lanes ? IrBuilder::PrefixMask(lanes, last) : Value());
    return;
  }
  // Pieces that end where a row of the innermost variable does.
  const Value at = b_.NewVariable({Elem::kI64, 1});
  b_.Set(at, IrBuilder::I64(0));
  b_.While(
      [&] {
        return b_.Compare("slt", b_.Get(at, {Elem::kI64, 1}),
                          IrBuilder::I64(count));
      },
      [&] {
        const Value begin = b_.Get(at, {Elem::kI64, 1});
        const Value column =
            b_.Binary("urem", b_.Add(begin, first), IrBuilder::I64(inner));
        const Value left =
            b_.Intrinsic("smin", {b_.Sub(IrBuilder::I64(inner), column),
                                  b_.Sub(IrBuilder::I64(count), begin)});
        const auto part = [&] { StagePiece(first, begin, 1, active(left)); };
        const auto whole = [&] { StagePiece(first, begin, 1, {}); };
        if (inner < lanes) {
          part();
        } else {
          b_.If(b_.Compare("slt", left, IrBuilder::I64(lanes)), part, whole);
        }
        b_.Set(at, b_.Add(begin,
                          b_.Intrinsic("smin", {left, IrBuilder::I64(lanes)})));
      });
}

void StagedGenerator::StagePiece(const Value& first, const Value& at,
                                 int vectors, const Value& active) {
  std::vector<int64_t> extents;
  for (const uint32_t v : points_) extents.push_back(flat_.extents[v]);
  const std::vector<Value> digits =
      points_.size() == 1 ? std::vector<Value>{b_.Add(first, at)}
                          : Digits(b_, b_.Add(first, at), extents);
  for (size_t i = 0; i < points_.size(); ++i) {
    original_.SetVariable(points_[i], digits[i]);
  }
  lane_base_ = digits.back();
  // What range checks look at is innermost.
  std::vector<uint32_t> reduced;
  for (const bool checked : {false, true}) {
    for (const uint32_t v : flat_.reduced[staging_.stage]) {
      if (IsChecked(v) == checked) reduced.push_back(v);
    }
  }
  reduced_values_.assign(flat_.extents.size(), IrBuilder::I64(0));
  StageReduced(reduced, 0, at, vectors, active);
}

void StagedGenerator::StageReduced(const std::vector<uint32_t>& reduced,
                                   size_t next, const Value& at, int vectors,
                                   const Value& active) {
  if (next == reduced.size()) return StageValue(at, vectors, active);
  const uint32_t variable = reduced[next];
  const auto point = [&](const Value& i) {
    original_.SetVariable(variable, i);
    reduced_values_[variable] = i;
    StageReduced(reduced, next + 1, at, vectors, active);
  };
  int64_t left = 1;
  bool checked = true;
  for (size_t i = next; i < reduced.size(); ++i) {
    left *= flat_.extents[reduced[i]];
    checked &= IsChecked(reduced[i]);
  }
  const int64_t extent = flat_.extents[variable];
  if (!checked || left > kMaxUnrolledWindow) {
    return b_.Loop(IrBuilder::I64(0), IrBuilder::I64(extent), 1, point);
  }
  for (int64_t i = 0; i < extent; ++i) point(IrBuilder::I64(i));
}

void StagedGenerator::StageValue(const Value& at, int vectors,
                                 const Value& active) {
  Value number = IrBuilder::I64(0);
  for (const auto& [variable, coefficient] : reduced_point_.terms) {
    number = b_.Add(number, b_.Mul(reduced_values_[variable], coefficient));
  }
  const Value position = b_.Add(b_.Mul(number, s_.stage_pitch), at);
  const auto lane = static_cast<int>(points_.back());
  for (int u = 0; u < vectors; ++u) {
    original_.SetVariable(points_.back(), lane_base_, int64_t{u} * s_.lanes);
    original_.SetLanes(lane, u == vectors - 1 ? active : Value());
    const Value value = original_.EvalLanes(staging_.value);
    const Elem elem = value.type.elem;
    const Value pointer = b_.Gep(b_.Gep(scratch_, elem, position), elem,
                                 IrBuilder::I64(int64_t{u} * s_.lanes));
    b_.Store(value, pointer, ElemBits(elem) / 8);
  }
}

GeneratedKernel StagedGenerator::Generate(std::string_view name,
                                          int vector_bits) {
  int64_t stride = 1;
  const std::vector<uint32_t>& reduced = flat_.reduced[staging_.stage];
  for (size_t i = reduced.size(); i-- > 0;) {
    reduced_point_.AddTerm(reduced[i], stride);
    stride *= flat_.extents[reduced[i]];
  }
  MakeScratch();
  PartitionLoop(b_, s_.other_points * s_.chunks * s_.row_chunks, s_.partitions,
                [&](const Value& unit) { EmitUnit(unit); });
  GeneratedKernel kernel = FinishKernel(b_, name, s_.partitions, vector_bits);
  kernel.scratch_bytes = scratch_bytes_;
  return kernel;
}

}  // namespace

GeneratedKernel GenerateStagedTiles(const FlatRegion& flat,
                                    const FlatRegion& staged,
                                    const TileSchedule& schedule,
                                    std::string_view name, int vector_bits) {
  return StagedGenerator(flat, staged, schedule).Generate(name, vector_bits);
}

}  // namespace encore::backends::cpu
