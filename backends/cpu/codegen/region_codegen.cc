#include "encore/backends/cpu/codegen/region_codegen.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "encore/backends/cpu/codegen/crossed_codegen.h"
#include "encore/backends/cpu/codegen/padding.h"
#include "encore/backends/cpu/codegen/reduction.h"
#include "encore/backends/cpu/codegen/region_emitter.h"
#include "encore/backends/cpu/codegen/scalar_ops.h"
#include "encore/backends/cpu/codegen/units.h"
#include "encore/backends/cpu/helpers.h"
#include "encore/backends/cpu/machine.h"
#include "encore/ir/support/integers.h"

namespace encore::backends::cpu {
namespace {

// Of regions of data-dependent sizes: elements of a chunk, a multiple of any
// number of lanes, and partitions of a launch; fewer where each has buffers.
constexpr int64_t kSymbolicChunk = 2048;
constexpr int64_t kMostPartitions = 32, kMostWithScratch = 8;

// The least multiple of 64 that is not below `bytes`.
Size WholeLines(const Size& bytes) {
  const int64_t typical = RoundUp(bytes.typical(), 64);
  if (bytes.is_constant()) return Size(typical);
  return Size(FloorDiv(bytes.dim() + Dim(63), Dim(64)) * Dim(64), typical);
}

// Where a component of a stage's result is kept for the stages behind it.
struct ResultBuffer {
  size_t stage = 0;
  int component = 0;
  Elem elem = Elem::kF32;
  int64_t count = 1;  // elements, at the typical sizes; of a block, all points'
  bool on_stack = false;
  Size offset = 0;  // from the beginning of a partition's scratch memory
};
struct ResultBuffers {
  int shared = 1;  // points that lie in each element's place: lanes, or one
  std::vector<ResultBuffer> list;
  // Bytes of a partition: in scratch memory, and with what is on the stack.
  Size scratch = 0, kept = 0;
};

ResultBuffers BuffersOf(const FlatRegion& flat, const Schedule& schedule) {
  const Region& region = *flat.region;
  ResultBuffers buffers;
  int64_t stack = 0;
  if (schedule.vector_variable != kNoVariable) buffers.shared = schedule.lanes;
  for (size_t s = 0; s < region.stages.size(); ++s) {
    const Stage& stage = region.stages[s];
    if (!stage.value.valid()) continue;
    // A block has several points' scalars at once.
    if (stage.loops.empty() && schedule.blocks.points == 1) continue;
    ResultBuffer buffer;
    buffer.stage = s;
    buffer.elem =
        stage.dtype == DType::kBool ? Elem::kI8 : ComputeElem(stage.dtype);
    const int components =
        stage.kind == Stage::Kind::kReduce ? ComponentCount(stage.combiner) : 1;
    const Size& points = flat.result_sizes[s];
    buffer.count = std::max<int64_t>(points.typical(), 1) * buffers.shared *
                   schedule.blocks.points;
    const Size bytes = WholeLines(
        (points.is_constant() ? Size(buffer.count) : points * buffers.shared) *
        (ElemBits(buffer.elem) / 8));
    for (int c = 0; c < components; ++c) {
      buffer.component = c;
      buffer.on_stack = bytes.is_constant() && stack + bytes <= kMaxStackBytes;
      buffer.offset = buffers.scratch;
      if (buffer.on_stack) {
        stack += bytes;
      } else {
        buffers.scratch += bytes;
      }
      buffers.list.push_back(buffer);
    }
  }
  buffers.kept = buffers.scratch + Size(stack);
  return buffers;
}

// Calls of a launch; the most, where the caller chooses.
int64_t PartitionsOf(const FlatRegion& flat, const Schedule& schedule,
                     const ResultBuffers& buffers) {
  if (!flat.is_symbolic()) return schedule.partitions;
  return buffers.scratch == 0 ? kMostPartitions : kMostWithScratch;
}

class RegionGenerator {
 public:
  RegionGenerator(const RegionNest& nest, IrBuilder& b)
      : flat_(*nest.flat),
        region_(*flat_.region),
        schedule_(*nest.schedule),
        b_(b),
        e_(flat_, schedule_.lanes, b_),
        buffers_(BuffersOf(flat_, schedule_)) {}

  // All points of this call's partition.
  void Emit();
  // The kernel of the regions of `b`, of which this is the last one.
  GeneratedKernel Finish(std::string_view name, int vector_bits);

 private:
  bool along_outer() const { return schedule_.vector_variable != kNoVariable; }
  // Whether a row may be of several chunks.
  bool chunked() const {
    return along_outer() && (flat_.is_symbolic() || schedule_.chunks > 1);
  }
  bool in_blocks() const { return schedule_.blocks.points > 1; }
  void Begin();
  void MakeBuffers();
  // Results are those of point `number` of a block.
  void PlaceBuffers(const Value& number);
  void EmitUnits();
  void EmitRow(const Value& chunk);
  // The block of points that has that number in its row.
  void EmitPoints(const Value& number);
  // The blocks of vectors from `begin` on, one chunk.
  void EmitVectors(const Value& begin);
  // The stages of a block, of which `each` is the loop over its points.
  using EachPoint = std::function<void(const Reduction::AtPoint&)>;
  void EmitBlock(const EachPoint& each);
  void KeepChecked();
  void EmitStages() { EmitStages(0, region_.stages.size()); }
  void EmitStages(size_t begin, size_t end);
  // Whether the map stage is computed in the loop of the next one.
  bool IsAlongNext(size_t s) const;
  void EmitStage(size_t s);
  void EmitMap(size_t s);
  void EmitReduce(size_t s);
  void EmitScan(size_t s);

  const FlatRegion& flat_;
  const Region& region_;
  const Schedule& schedule_;
  IrBuilder& b_;
  RegionEmitter e_;
  const ResultBuffers buffers_;
  std::vector<Value> places_;  // of buffers_.list
  // How many units of work there are, and chunks in a row.
  Value units_, chunks_;
  // Of symbolic regions: which partition this is, and of how many.
  Value partition_, partitions_;
};

void RegionGenerator::MakeBuffers() {
  Value base;
  if (!(buffers_.scratch == 0)) {
    const Value all = IrBuilder::Parameter("buffers", Elem::kPtr);
    const int64_t slot = region_.inputs.size() + region_.outputs.size();
    base = b_.Load({Elem::kPtr, 1},
                   b_.Gep(all, Elem::kPtr, IrBuilder::I64(slot)), 8);
  }
  for (const ResultBuffer& buffer : buffers_.list) {
    Value place;
    if (buffer.on_stack) {
      place = b_.NewArray({buffer.elem, 1}, buffer.count);
    } else {
      const Value own = b_.Mul(partition_, e_.SizeValue(buffers_.scratch));
      const Value offset = b_.Add(own, e_.SizeValue(buffer.offset));
      place = b_.Gep(base, Elem::kI8, offset);
    }
    places_.push_back(std::move(place));
  }
  PlaceBuffers(IrBuilder::I64(0));
}

void RegionGenerator::PlaceBuffers(const Value& number) {
  for (size_t i = 0; i < places_.size(); ++i) {
    const ResultBuffer& buffer = buffers_.list[i];
    const Value first = b_.Mul(number, buffer.count / schedule_.blocks.points);
    e_.SetResultBuffer(buffer.stage, buffer.component,
                       b_.Gep(places_[i], buffer.elem, first), buffers_.shared);
  }
}

// Who this call is, and what there is to do.
void RegionGenerator::Begin() {
  partition_ = IrBuilder::Parameter("partition", Elem::kI64);
  chunks_ = IrBuilder::I64(schedule_.chunks);
  units_ = IrBuilder::I64(schedule_.row_count * schedule_.chunks);
  partitions_ = IrBuilder::I64(schedule_.partitions);
  if (!flat_.is_symbolic()) return;
  const Value both = partition_;
  partition_ = b_.Binary("and", both, IrBuilder::I64(UINT32_MAX));
  partitions_ = b_.Binary("lshr", both, IrBuilder::I64(32));
  if (along_outer()) {
    const Value extent = e_.SizeValue(flat_.extents[schedule_.vector_variable]);
    chunks_ = b_.Binary("udiv", b_.Add(extent, kSymbolicChunk - 1),
                        IrBuilder::I64(kSymbolicChunk));
  }
  units_ = chunks_;
  for (const uint32_t v : schedule_.rows) {
    units_ = b_.Mul(units_, e_.SizeValue(flat_.extents[v]));
  }
}

void RegionGenerator::EmitUnits() {
  Value begin = IrBuilder::I64(0), end = units_;
  if (flat_.is_symbolic() || schedule_.partitions > 1) {
    std::tie(begin, end) = UnitsOf(b_, units_, partition_, partitions_);
  }
  if (schedule_.crossing) {
    return ForEachUnit(b_, begin, end, CrossedExtents(flat_, schedule_),
                       [&](const std::vector<Value>& digits) {
                         EmitCrossed(e_, flat_, schedule_, digits,
                                     [this] { EmitStages(); });
                       });
  }
  std::vector<Value> extents;
  for (const uint32_t v : schedule_.rows) {
    extents.push_back(e_.SizeValue(flat_.extents[v]));
  }
  if (in_blocks() && !along_outer()) {
    const int64_t points = flat_.extents[schedule_.rows.back()];
    extents.back() = IrBuilder::I64(CeilDiv(points, schedule_.blocks.points));
  }
  if (chunked()) extents.push_back(chunks_);
  ForEachUnit(b_, begin, end, extents, [&](const std::vector<Value>& digits) {
    for (size_t i = 0; i < schedule_.rows.size(); ++i) {
      e_.SetVariable(schedule_.rows[i], digits[i]);
    }
    if (in_blocks() && !along_outer()) return EmitPoints(digits.back());
    EmitRow(chunked() ? digits.back() : IrBuilder::I64(0));
  });
}

// What is checked once a row, where each row has every point.
void RegionGenerator::KeepChecked() {
  if (region_.checks.empty() || flat_.is_symbolic()) return;
  std::vector<uint32_t> moving;
  for (uint32_t v = 0; v < flat_.extents.size(); ++v) {
    if (flat_.extents[v] == 0) return;
    if (std::ranges::find(schedule_.rows, v) == schedule_.rows.end()) {
      moving.push_back(v);
    }
  }
  e_.KeepChecked(moving);
}

void RegionGenerator::EmitRow(const Value& chunk) {
  e_.SetLanes(kNoVariable, {});
  KeepChecked();
  if (!along_outer()) {
    EmitStages();
    return;
  }
  const auto variable = static_cast<uint32_t>(schedule_.vector_variable);
  const Size& extent = flat_.extents[variable];
  const int64_t chunk_extent =
      flat_.is_symbolic() ? kSymbolicChunk : schedule_.chunk_extent;
  const Value begin = b_.Mul(chunk, chunk_extent);
  if (in_blocks()) return EmitVectors(begin);
  const Value full = WholeSteps(e_, extent, schedule_.lanes);
  Value end = full;
  if (chunked()) {
    end = b_.Intrinsic("smin", {b_.Add(begin, chunk_extent), end});
  }
  b_.Loop(begin, end, schedule_.lanes, [&](const Value& i) {
    e_.SetVariable(variable, i);
    e_.SetLanes(schedule_.vector_variable, {});
    EmitStages();
  });
  if (extent.is_constant() && extent % schedule_.lanes == 0) return;
  const auto tail = [&] {
    WithTail(e_, extent, schedule_.lanes, [&](const Value& active) {
      e_.SetVariable(variable, full);
      e_.SetLanes(schedule_.vector_variable, active);
      EmitStages();
    });
  };
  if (chunked()) {
    b_.If(b_.Compare("eq", chunk, b_.Sub(chunks_, IrBuilder::I64(1))), tail);
  } else {
    tail();
  }
}

void RegionGenerator::EmitPoints(const Value& number) {
  const uint32_t variable = schedule_.rows.back();
  const int64_t extent = flat_.extents[variable];
  const int64_t points = schedule_.blocks.points;
  const Value first = b_.Mul(number, points);
  Value last = b_.Add(first, points);
  if (extent % points != 0) {
    last = b_.Intrinsic("smin", {last, IrBuilder::I64(extent)});
  }
  EmitBlock([&](const Reduction::AtPoint& body) {
    b_.Loop(first, last, 1, [&](const Value& point) {
      e_.SetVariable(variable, point);
      e_.SetLanes(kNoVariable, {});
      const Value own = b_.Sub(point, first);
      PlaceBuffers(own);
      body(own);
    });
  });
}

void RegionGenerator::EmitVectors(const Value& begin) {
  const int variable = schedule_.vector_variable, lanes = schedule_.lanes;
  const int64_t extent = flat_.extents[variable];
  const Value full = IrBuilder::I64(extent / lanes * lanes);
  const Value end = b_.Intrinsic(
      "smin", {b_.Add(begin, schedule_.chunk_extent), IrBuilder::I64(extent)});
  const int64_t step = schedule_.blocks.points * lanes;
  b_.Loop(begin, end, step, [&](const Value& first) {
    const Value last = b_.Intrinsic("smin", {b_.Add(first, step), end});
    const auto at = [&](const Value& point, const Value& active,
                        const Reduction::AtPoint& body) {
      e_.SetVariable(static_cast<uint32_t>(variable), point);
      e_.SetLanes(variable, active);
      const Value own =
          b_.Binary("udiv", b_.Sub(point, first), IrBuilder::I64(lanes));
      PlaceBuffers(own);
      body(own);
    };
    EmitBlock([&](const Reduction::AtPoint& body) {
      b_.Loop(first, b_.Intrinsic("smin", {last, full}), lanes,
              [&](const Value& point) { at(point, {}, body); });
      if (extent % lanes == 0) return;
      b_.If(b_.Compare("sgt", last, full), [&] {
        at(full, IrBuilder::PrefixMask(lanes, extent % lanes), body);
      });
    });
  });
}

// For all points, the stages up to a reduction and with it; then those up to
// the next one.
void RegionGenerator::EmitBlock(const EachPoint& each) {
  const size_t stages = region_.stages.size();
  const Blocks& blocks = schedule_.blocks;
  for (size_t begin = 0, end = 0; begin < stages; begin = end) {
    end = begin + 1;
    if (blocks.IsTogether(begin)) {
      Reduction reduction(
          e_, flat_, begin,
          along_outer() ? kNoVariable : schedule_.stage_variables[begin],
          schedule_.lanes);
      reduction.EmitTogether(blocks.points, each, [&](const Value& result) {
        e_.StoreResult(begin, 0, result);
      });
      continue;
    }
    while (end < stages && !blocks.IsTogether(end) &&
           region_.stages[end - 1].kind != Stage::Kind::kReduce) {
      ++end;
    }
    each([&](const Value&) { EmitStages(begin, end); });
  }
}

void RegionGenerator::EmitStages(size_t begin, size_t end) {
  for (size_t s = begin; s < end; ++s) {
    if (IsAlongNext(s)) continue;
    const std::vector<ExprId> fixed = KeepFixed(e_, flat_, s);
    EmitStage(s);
    for (const ExprId id : fixed) e_.Keep(id, {});
  }
}

bool RegionGenerator::IsAlongNext(size_t s) const {
  return ComputesAlong(flat_, s) &&
         (along_outer() ||
          schedule_.stage_variables[s] == schedule_.stage_variables[s + 1]);
}

void RegionGenerator::EmitStage(size_t s) {
  switch (region_.stages[s].kind) {
    case Stage::Kind::kMap:
      return EmitMap(s);
    case Stage::Kind::kReduce:
      return EmitReduce(s);
    case Stage::Kind::kScan:
      return EmitScan(s);
  }
}

void RegionGenerator::EmitMap(size_t s) {
  const Stage& stage = region_.stages[s];
  Loops(e_, flat_, flat_.loops[s],
        along_outer() ? kNoVariable : schedule_.stage_variables[s],
        schedule_.lanes, [&] {
          if (stage.value.valid()) {
            e_.StoreResult(s, 0, e_.EvalLanes(stage.value));
          }
          // Every load comes before every store, so that an output may lie
          // where an input did.
          for (const Store& store : stage.stores) e_.Eval(store.value);
          for (size_t i = 0; i < stage.stores.size(); ++i) e_.EmitStore(s, i);
        });
}

void RegionGenerator::EmitReduce(size_t s) {
  const int variable =
      along_outer() ? kNoVariable : schedule_.stage_variables[s];
  const std::vector<uint32_t>& loops = flat_.loops[s];
  const bool along_loop = variable != kNoVariable && !loops.empty() &&
                          static_cast<int>(loops.back()) == variable;
  Loops(e_, flat_, loops, along_loop ? variable : kNoVariable, schedule_.lanes,
        [&] {
          std::optional<size_t> along;
          if (s > 0 && IsAlongNext(s - 1)) along = s - 1;
          Reduction reduction(e_, flat_, s, along_loop ? kNoVariable : variable,
                              schedule_.lanes, along);
          const std::vector<Value> results = reduction.Emit();
          for (size_t c = 0; c < results.size(); ++c) {
            e_.StoreResult(s, static_cast<int>(c), results[c]);
          }
        });
}

void RegionGenerator::EmitScan(size_t s) {
  const Stage& stage = region_.stages[s];
  const IrType type{ComputeElem(stage.accumulate), e_.lanes()};
  const Value sum = b_.NewVariable(type);
  b_.Set(sum, Identity(stage.combiner, stage.accumulate, type.lanes));
  Loops(e_, flat_, flat_.loops[s], kNoVariable, schedule_.lanes, [&] {
    const Value value =
        ConvertDType(b_, region_.expr(stage.value).dtype, stage.accumulate,
                     e_.EvalLanes(stage.value));
    const Value before = b_.Get(sum, type);
    const Value after =
        Combine(b_, stage.combiner, stage.accumulate, before, value);
    b_.Set(sum, after);
    e_.StoreResult(
        s, 0, FromAccumulated(b_, stage, stage.exclusive ? before : after));
  });
}

void RegionGenerator::Emit() {
  Begin();
  MakeBuffers();
  EmitUnits();
}

GeneratedKernel RegionGenerator::Finish(std::string_view name,
                                        int vector_bits) {
  EmitPadding(e_, region_, schedule_.lanes, partition_, partitions_);
  const int64_t partitions = PartitionsOf(flat_, schedule_, buffers_);
  GeneratedKernel kernel = FinishKernel(b_, name, partitions, vector_bits);
  if (!region_.checks.empty()) kernel.helper_version = kCheckHelperVersion;
  kernel.any_partitions = flat_.is_symbolic();
  kernel.scratch_bytes = (buffers_.scratch * partitions).dim();
  return kernel;
}

}  // namespace

NestMemory MemoryOf(const RegionNest& nest) {
  const ResultBuffers buffers = BuffersOf(*nest.flat, *nest.schedule);
  const int64_t partitions = PartitionsOf(*nest.flat, *nest.schedule, buffers);
  return {.kept_bytes = buffers.kept.typical(),
          .scratch_bytes = buffers.scratch.typical() * partitions};
}

GeneratedKernel FinishKernel(IrBuilder& b, std::string_view name,
                             int64_t partitions, int vector_bits) {
  GeneratedKernel kernel;
  kernel.ir =
      b.Finish(name, "ptr %buffers, ptr %args, i64 %partition, ptr %helpers",
               vector_bits);
  kernel.partitions = partitions;
  return kernel;
}

GeneratedKernel GenerateRegion(std::span<const RegionNest> nests,
                               std::string_view name, int vector_bits) {
  IrBuilder b;
  for (const RegionNest& nest : nests.first(nests.size() - 1)) {
    RegionGenerator(nest, b).Emit();
  }
  RegionGenerator last(nests.back(), b);
  last.Emit();
  return last.Finish(name, vector_bits);
}

}  // namespace encore::backends::cpu
