// The last stage of a Winograd convolution's unit: A^T m A and the epilogue of
// the region.
#ifndef ENCORE_BACKENDS_CPU_WINOGRAD_RESULT_STAGE_H_
#define ENCORE_BACKENDS_CPU_WINOGRAD_RESULT_STAGE_H_

#include <cstdint>
#include <vector>

#include "encore/backends/cpu/codegen/region_emitter.h"
#include "encore/backends/cpu/vendor/sum_region.h"
#include "encore/backends/cpu/winograd/unit.h"
#include "encore/backends/region/flat/flat_region.h"

namespace encore::backends::cpu {

class ResultStage {
 public:
  // `epilogue`: EpilogueOf(sum, …), flat, whose sums lie along the columns of a
  // line. `e`: of it, with the sums as its staged input. All are used as long
  // as this is.
  ResultStage(const WinogradCode& code, const SumRegion& sum,
              const FlatRegion& epilogue, RegionEmitter& e);

  // Of the rows from `row` to `end`, those of a chunk.
  void Emit(const WinogradSpan& span, const Value& row, const Value& end);

 private:
  // The results of one row's vector of tiles into scratch.
  void EmitTiles(const WinogradSpan& span, const Value& row,
                 const Value& vector);
  void EmitEpilogue(const WinogradSpan& span, const Value& row);
  // The columns [begin, end) of a line, or all of them.
  void EmitWholeLine();
  void EmitPart(const Value& begin, const Value& end);
  void EmitVector(const Value& column, const Value& active);
  // The point whose columns come next.
  void SetPoint(const std::vector<Value>& batches, const Value& row,
                const Value& line);

  const WinogradCode& c_;
  const SumRegion& sum_;
  const FlatRegion& epilogue_;
  IrBuilder& b_;
  RegionEmitter& e_;
  const uint32_t column_variable_;
};

}  // namespace encore::backends::cpu

#endif  // ENCORE_BACKENDS_CPU_WINOGRAD_RESULT_STAGE_H_
