// Maps with crossed loads (schedule.h) as code: blocks whose loads are
// transposed in registers.
#ifndef ENCORE_BACKENDS_CPU_CODEGEN_CROSSED_CODEGEN_H_
#define ENCORE_BACKENDS_CPU_CODEGEN_CROSSED_CODEGEN_H_

#include <functional>
#include <vector>

#include "encore/backends/cpu/codegen/builder/ir_builder.h"
#include "encore/backends/cpu/codegen/region_emitter.h"
#include "encore/backends/cpu/codegen/schedule.h"
#include "encore/backends/region/flat/flat_region.h"

namespace encore::backends::cpu {

// Iterations of each loop of the schedule's crossing.
std::vector<Value> CrossedExtents(const FlatRegion& flat,
                                  const Schedule& schedule);

// The blocks of one iteration of these loops: `body` computes a vector of
// points. REQUIRES a constant extent of both variables of a block.
void EmitCrossed(RegionEmitter& e, const FlatRegion& flat,
                 const Schedule& schedule, const std::vector<Value>& digits,
                 const std::function<void()>& body);

}  // namespace encore::backends::cpu

#endif  // ENCORE_BACKENDS_CPU_CODEGEN_CROSSED_CODEGEN_H_
