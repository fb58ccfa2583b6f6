// Zeros in the padding of outputs (backends/region/layout.h) as code.
#ifndef ENCORE_BACKENDS_CPU_CODEGEN_PADDING_H_
#define ENCORE_BACKENDS_CPU_CODEGEN_PADDING_H_

#include "encore/backends/cpu/codegen/builder/ir_builder.h"
#include "encore/backends/cpu/codegen/region_emitter.h"
#include "encore/backends/region/region.h"

namespace encore::backends::cpu {

// Stores zeros in the share of `partition` of `partitions` (both i64) in the
// padding of all outputs, by vectors of up to `lanes` elements. Stores nothing
// else, so that it may run beside other partitions.
void EmitPadding(RegionEmitter& e, const Region& region, int lanes,
                 const Value& partition, const Value& partitions);

}  // namespace encore::backends::cpu

#endif  // ENCORE_BACKENDS_CPU_CODEGEN_PADDING_H_
