// If, while, loop and scan on intervals, as ops.def defines them.
#ifndef ENCORE_BACKENDS_CONFORMANCE_INTERVAL_CONTROL_FLOW_H_
#define ENCORE_BACKENDS_CONFORMANCE_INTERVAL_CONTROL_FLOW_H_

#include <functional>
#include <span>

#include "encore/backends/conformance/interval.h"
#include "encore/ir/ops/attributes.h"
#include "encore/ir/ops/op.h"
#include "encore/ir/support/status.h"
#include "encore/ir/types/shape.h"

namespace encore::backends {

// The results of body i on inputs.
using RunBody =
    std::function<StatusOr<Intervals>(int i, std::span<const Interval>)>;

// REQUIRES an op with bodies and constant extents. Unimplemented where a
// condition depends on how floats are rounded.
StatusOr<Intervals> EvaluateControlFlow(Op op, const Attributes& attributes,
                                        std::span<const Interval> operands,
                                        std::span<const TensorType> types,
                                        const RunBody& run_body);

}  // namespace encore::backends

#endif  // ENCORE_BACKENDS_CONFORMANCE_INTERVAL_CONTROL_FLOW_H_
