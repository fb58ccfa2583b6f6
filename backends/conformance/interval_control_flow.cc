#include "encore/backends/conformance/interval_control_flow.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "encore/backends/conformance/interval_ops.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::backends {
namespace {

StatusOr<int64_t> Scalar(const Interval& x) {
  if (x.exact) return x.low.AsInt(0);
  return UnimplementedError("a condition depends on how floats are rounded");
}

// `op`, a movement, along with the dtype of its operands and its dims.
StatusOr<Interval> Moved(Op op, const Attributes& attributes,
                         std::span<const Interval> operands,
                         std::vector<int64_t> dims) {
  const TensorType type{operands[0].dtype,
                        Shape(std::span<const int64_t>(dims)),
                        ValueKind::kTensor};
  ENCORE_ASSIGN_OR_RETURN(
      Intervals results,
      EvaluateIntervals(op, attributes, operands, {&type, 1}));
  return std::move(results[0]);
}

StatusOr<Interval> Reshaped(const Interval& x, std::vector<int64_t> dims) {
  const Attributes to =
      ReshapeAttrs{Shape(std::span<const int64_t>(dims)).dims()};
  return Moved(Op::kReshape, to, {&x, 1}, std::move(dims));
}

// Slice `at` of x along `axis`, which is dropped.
StatusOr<Interval> SliceAt(const Interval& x, int64_t axis, int64_t at) {
  std::vector<int64_t> dims = x.low.dims();
  SliceAttrs slice;
  for (int64_t d = 0; d < static_cast<int64_t>(dims.size()); ++d) {
    slice.starts.push_back(d == axis ? at : 0);
    slice.limits.push_back(d == axis ? at + 1 : dims[d]);
    slice.strides.push_back(1);
  }
  dims[axis] = 1;
  ENCORE_ASSIGN_OR_RETURN(const Interval thin,
                          Moved(Op::kSlice, slice, {&x, 1}, dims));
  dims.erase(dims.begin() + axis);
  return Reshaped(thin, std::move(dims));
}

// One after the other along a new axis; zeros of `type` where there is none.
StatusOr<Interval> Stacked(const Intervals& slices, int64_t axis,
                           const TensorType& type) {
  if (slices.empty()) {
    std::vector<int64_t> dims = type.shape.ConstantDims();
    dims[axis] = 0;
    return Exactly(Literal(type.dtype, std::move(dims)));
  }
  Intervals thin;
  std::vector<int64_t> dims = slices[0].low.dims();
  dims.insert(dims.begin() + axis, 1);
  for (const Interval& slice : slices) {
    ENCORE_ASSIGN_OR_RETURN(Interval one, Reshaped(slice, dims));
    thin.push_back(std::move(one));
  }
  dims[axis] = static_cast<int64_t>(slices.size());
  return Moved(Op::kConcat, AxisAttrs{axis}, thin, std::move(dims));
}

// The carried values, then the stacked ones.
StatusOr<Intervals> WithStacked(std::span<const Interval> carried,
                                const std::vector<Intervals>& stacked,
                                const Ints& axes,
                                std::span<const TensorType> types) {
  Intervals results(carried.begin(), carried.end());
  for (size_t i = 0; i < stacked.size(); ++i) {
    ENCORE_ASSIGN_OR_RETURN(
        Interval all, Stacked(stacked[i], axes[i], types[results.size()]));
    results.push_back(std::move(all));
  }
  return results;
}

StatusOr<Intervals> EvaluateWhile(std::span<const Interval> operands,
                                  const RunBody& run_body) {
  Intervals values(operands.begin(), operands.end());
  while (true) {
    ENCORE_ASSIGN_OR_RETURN(const Intervals condition, run_body(0, values));
    ENCORE_ASSIGN_OR_RETURN(const int64_t goes_on, Scalar(condition[0]));
    if (goes_on == 0) return values;
    ENCORE_ASSIGN_OR_RETURN(values, run_body(1, values));
  }
}

StatusOr<Intervals> EvaluateLoop(const LoopAttrs& attrs,
                                 std::span<const Interval> operands,
                                 std::span<const TensorType> types,
                                 const RunBody& run_body) {
  ENCORE_ASSIGN_OR_RETURN(const int64_t trips, Scalar(operands[0]));
  ENCORE_ASSIGN_OR_RETURN(int64_t condition, Scalar(operands[1]));
  Intervals inputs(operands.begin(), operands.end());
  std::vector<Intervals> stacked(types.size() - attrs.carried);
  for (int64_t i = 0; i < trips && condition != 0; ++i) {
    inputs[0] = Exactly(Literal::Scalar<int64_t>(i));
    inputs[1] = Exactly(Literal::Scalar<bool>(true));
    ENCORE_ASSIGN_OR_RETURN(const Intervals outputs, run_body(0, inputs));
    ENCORE_ASSIGN_OR_RETURN(condition, Scalar(outputs[0]));
    std::copy_n(outputs.begin() + 1, attrs.carried, inputs.begin() + 2);
    for (size_t k = 0; k < stacked.size(); ++k) {
      stacked[k].push_back(outputs[1 + attrs.carried + k]);
    }
  }
  return WithStacked(std::span(inputs).subspan(2, attrs.carried), stacked,
                     Ints(stacked.size()), types);
}

StatusOr<Intervals> EvaluateScan(const ScanAttrs& attrs,
                                 std::span<const Interval> operands,
                                 std::span<const TensorType> types,
                                 const RunBody& run_body) {
  const int64_t scanned =
      static_cast<int64_t>(operands.size()) - attrs.carried - attrs.captures;
  const int64_t length = operands[attrs.carried].low.dims()[attrs.scan_axes[0]];
  Intervals inputs(operands.begin(), operands.end());
  std::vector<Intervals> stacked(types.size() - attrs.carried);
  for (int64_t i = 0; i < length; ++i) {
    for (int64_t k = 0; k < scanned; ++k) {
      ENCORE_ASSIGN_OR_RETURN(
          inputs[attrs.carried + k],
          SliceAt(operands[attrs.carried + k], attrs.scan_axes[k],
                  attrs.directions[k] != 0 ? length - 1 - i : i));
    }
    ENCORE_ASSIGN_OR_RETURN(const Intervals outputs, run_body(0, inputs));
    std::copy_n(outputs.begin(), attrs.carried, inputs.begin());
    for (size_t k = 0; k < stacked.size(); ++k) {
      stacked[k].push_back(outputs[attrs.carried + k]);
    }
  }
  for (size_t k = 0; k < stacked.size(); ++k) {
    if (attrs.directions[scanned + k] == 0) continue;
    std::reverse(stacked[k].begin(), stacked[k].end());
  }
  return WithStacked(
      std::span(inputs).first(attrs.carried), stacked,
      Ints(attrs.scan_axes.begin() + scanned, attrs.scan_axes.end()), types);
}

}  // namespace

StatusOr<Intervals> EvaluateControlFlow(Op op, const Attributes& attributes,
                                        std::span<const Interval> operands,
                                        std::span<const TensorType> types,
                                        const RunBody& run_body) {
  switch (op) {
    case Op::kIf: {
      ENCORE_ASSIGN_OR_RETURN(const int64_t condition, Scalar(operands[0]));
      return run_body(condition != 0 ? 0 : 1, operands.subspan(1));
    }
    case Op::kWhile:
      return EvaluateWhile(operands, run_body);
    case Op::kLoop:
      return EvaluateLoop(attributes.Get<LoopAttrs>(), operands, types,
                          run_body);
    case Op::kScan:
      return EvaluateScan(attributes.Get<ScanAttrs>(), operands, types,
                          run_body);
    default:
      return UnimplementedError(StrCat(op, " has no bodies"));
  }
}

}  // namespace encore::backends
