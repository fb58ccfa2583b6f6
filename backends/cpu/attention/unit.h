// What the code of one kernel shares: where it keeps what, and at which point
// it is. Private to this folder.
#ifndef ENCORE_BACKENDS_CPU_ATTENTION_UNIT_H_
#define ENCORE_BACKENDS_CPU_ATTENTION_UNIT_H_

#include <cstdint>
#include <functional>

#include "encore/backends/cpu/attention/schedule.h"
#include "encore/backends/cpu/codegen/ir_builder.h"
#include "encore/backends/cpu/codegen/region_emitter.h"
#include "encore/backends/region/flat/attention_region.h"

namespace encore::backends::cpu {

// Offsets in f32 elements from the beginning of a partition's scratch memory,
// each at a cache line.
struct AttentionScratch {
  int64_t queries = 0;  // [state rows][padded depth]
  int64_t keys = 0;     // panels of [depth][vectors]
  int64_t values = 0;   // panels of [keys of a block][vectors]
  int64_t scores = 0;   // [rows of a tile][padded keys]
  int64_t results = 0;  // [state rows][padded columns]
  int64_t maxima = 0;   // [state rows]
  int64_t sums = 0;     // [state rows][lanes], to be added up
  int64_t scales = 0;   // [rows of a tile]: e^(m before - m)
  int64_t bytes = 0;    // of a partition
};

AttentionScratch MakeScratch(const AttentionSchedule& schedule);

struct AttentionCode {
  IrBuilder& b;
  RegionEmitter& e;
  const AttentionRegion& attention;
  const AttentionSchedule& s;
  const AttentionScratch& layout;
  Value scratch;  // of this partition

  IrType vector() const { return {Elem::kF32, s.lanes}; }
  Value Scratch(int64_t offset, const Value& element) const {
    return b.Gep(scratch, Elem::kF32, b.Add(element, offset));
  }
  Value At(const Value& pointer, int64_t element) const {
    return b.Gep(pointer, Elem::kF32, IrBuilder::I64(element));
  }
  // The row variables are those of row `number` from here on.
  void SetRow(const Value& number) const;
};

// `body` for every vector of `extent` elements along `variable`, the last with
// some lanes only; at it the variable is begin + the element.
void ForVectors(
    const AttentionCode& code, int variable, const Value& begin, int64_t extent,
    const std::function<void(const Value& element, const Value& active)>& body);

}  // namespace encore::backends::cpu

#endif  // ENCORE_BACKENDS_CPU_ATTENTION_UNIT_H_
