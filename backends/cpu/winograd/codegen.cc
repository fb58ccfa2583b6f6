#include "encore/backends/cpu/winograd/codegen.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "encore/backends/cpu/codegen/builder/ir_builder.h"
#include "encore/backends/cpu/codegen/region_emitter.h"
#include "encore/backends/cpu/codegen/tile_emitter.h"
#include "encore/backends/cpu/vendor/epilogue.h"
#include "encore/backends/cpu/winograd/data_stage.h"
#include "encore/backends/cpu/winograd/product_stage.h"
#include "encore/backends/cpu/winograd/result_stage.h"
#include "encore/backends/cpu/winograd/scratch.h"
#include "encore/backends/cpu/winograd/unit.h"
#include "encore/backends/region/flat/flat_region.h"
#include "encore/backends/region/region.h"
#include "encore/ir/support/check.h"

namespace encore::backends::cpu {
namespace {

// The epilogue on sums that lie along the columns of a line.
Region LineEpilogue(const SumRegion& sum, const WindowedSum& windows) {
  Affine along;
  along.AddTerm(static_cast<uint32_t>(windows.column_variable), 1);
  return EpilogueOf(sum, along, windows.result_width);
}

class WinogradGenerator {
 public:
  WinogradGenerator(const SumRegion& sum, const WindowedSum& windows,
                    const WinogradSchedule& schedule)
      : sum_(sum),
        windows_(windows),
        s_(schedule),
        layout_(MakeScratch(windows, schedule)),
        epilogue_(LineEpilogue(sum, windows)) {}

  GeneratedKernel Generate(std::string_view name, int vector_bits);

 private:
  WinogradCode Begin();
  WinogradSpan MakeSpan(const Value& number);
  void EmitUnit(const WinogradCode& code, const Value& unit,
                ResultStage* results);

  const SumRegion& sum_;
  const WindowedSum& windows_;
  const WinogradSchedule& s_;
  const WinogradScratch layout_;
  const Region epilogue_;
  IrBuilder b_;
};

WinogradCode WinogradGenerator::Begin() {
  const Value buffers = IrBuilder::Parameter("buffers", Elem::kPtr);
  const auto load = [&](size_t i) {
    const Value slot =
        b_.Gep(buffers, Elem::kPtr, IrBuilder::I64(static_cast<int64_t>(i)));
    return b_.Load({Elem::kPtr, 1}, slot, 8);
  };
  const Region& region = sum_.region();
  const Value partition = IrBuilder::Parameter("partition", Elem::kI64);
  const Value scratch =
      b_.Gep(load(region.inputs.size() + region.outputs.size()), Elem::kI8,
             b_.Mul(partition, layout_.bytes));
  const WinogradCode code{b_,
                          windows_,
                          s_,
                          layout_,
                          load(windows_.source),
                          load(windows_.weights),
                          scratch};
  const Value zeros = code.Scratch(layout_.zeros);
  b_.Loop(IrBuilder::I64(0), IrBuilder::I64(layout_.zero_elements), s_.lanes,
          [&](const Value& x) {
            b_.Store(IrBuilder::Zero(code.vector()),
                     b_.Gep(zeros, Elem::kF32, x), 4);
          });
  return code;
}

WinogradSpan WinogradGenerator::MakeSpan(const Value& number) {
  const auto part = [&](const Value& i) {
    if (s_.spans == 1) return b_.Mul(i, s_.vectors);
    return b_.Binary("udiv", b_.Mul(i, s_.vectors), IrBuilder::I64(s_.spans));
  };
  const int64_t tiles = windows_.images() * s_.tile_lines * s_.tile_columns;
  const Value columns = IrBuilder::I64(s_.tile_columns);
  const Value first = part(number), end = part(b_.Add(number, 1));
  WinogradSpan span;
  span.vectors = b_.Sub(end, first);
  span.first_tile = b_.Mul(first, s_.lanes);
  span.end_tile =
      b_.Intrinsic("smin", {b_.Mul(end, s_.lanes), IrBuilder::I64(tiles)});
  span.first_line = b_.Binary("udiv", span.first_tile, columns);
  span.end_line =
      b_.Binary("udiv", b_.Add(span.end_tile, s_.tile_columns - 1), columns);
  return span;
}

void WinogradGenerator::EmitUnit(const WinogradCode& code, const Value& unit,
                                 ResultStage* results) {
  const std::vector<Value> digits = Digits(b_, unit, {s_.spans, s_.splits});
  const WinogradSpan span = MakeSpan(digits[0]);
  EmitData(code, span);
  const auto part = [&](const Value& i) {
    return b_.Binary("udiv", b_.Mul(i, s_.groups), IrBuilder::I64(s_.splits));
  };
  const Value last = part(b_.Add(digits[1], 1));
  b_.Loop(part(digits[1]), last, s_.chunk_groups, [&](const Value& group) {
    const Value end =
        b_.Intrinsic("smin", {b_.Add(group, s_.chunk_groups), last});
    EmitProducts(code, span, group, end);
    const Value end_row = b_.Intrinsic(
        "smin", {b_.Mul(end, s_.rows), IrBuilder::I64(windows_.rows)});
    results->Emit(span, b_.Mul(group, s_.rows), end_row);
  });
}

GeneratedKernel WinogradGenerator::Generate(std::string_view name,
                                            int vector_bits) {
  const std::optional<FlatRegion> flat = Flatten(epilogue_);
  ENCORE_CHECK(flat.has_value());
  RegionEmitter emitter(*flat, s_.lanes, b_, 1);
  const WinogradCode code = Begin();
  ResultStage results(code, sum_, *flat, emitter);
  PartitionLoop(b_, s_.spans * s_.splits, s_.partitions,
                [&](const Value& unit) { EmitUnit(code, unit, &results); });
  GeneratedKernel kernel = FinishKernel(b_, name, s_.partitions, vector_bits);
  kernel.scratch_bytes = Dim(layout_.bytes * s_.partitions);
  return kernel;
}

}  // namespace

GeneratedKernel GenerateWinograd(const SumRegion& sum,
                                 const WindowedSum& windows,
                                 const WinogradSchedule& schedule,
                                 std::string_view name, int vector_bits) {
  return WinogradGenerator(sum, windows, schedule).Generate(name, vector_bits);
}

}  // namespace encore::backends::cpu
