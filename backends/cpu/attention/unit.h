// What the code of one kernel shares: where it keeps what, and at which point
// it is. Private to this folder.
#ifndef ENCORE_BACKENDS_CPU_ATTENTION_UNIT_H_
#define ENCORE_BACKENDS_CPU_ATTENTION_UNIT_H_

#include <cstdint>
#include <functional>

#include "encore/backends/cpu/attention/schedule.h"
#include "encore/backends/cpu/attention/scratch.h"
#include "encore/backends/cpu/codegen/builder/ir_builder.h"
#include "encore/backends/cpu/codegen/region_emitter.h"
#include "encore/backends/region/flat/attention_region.h"

namespace encore::backends::cpu {

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
