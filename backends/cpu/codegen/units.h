// The units of work of a partition: points of a nest of loops, counted through.
#ifndef ENCORE_BACKENDS_CPU_CODEGEN_UNITS_H_
#define ENCORE_BACKENDS_CPU_CODEGEN_UNITS_H_

#include <functional>
#include <utility>
#include <vector>

#include "encore/backends/cpu/codegen/builder/ir_builder.h"

namespace encore::backends::cpu {

// [begin, end) of `units` that fall to `partition` of so many.
std::pair<Value, Value> UnitsOf(IrBuilder& b, const Value& units,
                                const Value& partition,
                                const Value& partitions);

// `body` for every unit in [begin, end), with its digits under `extents`, of
// which the last varies fastest: units that differ in that one alone are a
// loop, and only its first unit is divided.
void ForEachUnit(IrBuilder& b, const Value& begin, const Value& end,
                 const std::vector<Value>& extents,
                 const std::function<void(const std::vector<Value>&)>& body);

}  // namespace encore::backends::cpu

#endif  // ENCORE_BACKENDS_CPU_CODEGEN_UNITS_H_
