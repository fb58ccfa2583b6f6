#include <algorithm>

#include "encore/ir/eval/copy.h"
#include "encore/ir/eval/families.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::eval {
namespace {

Status TooLong(const EvalContext& context) {
  return ResourceExhaustedError(StrCat(context.op, ": more than ",
                                       context.max_iterations, " iterations"));
}

// Slice `at` of `x` along `axis`, which is dropped.
Literal SliceAt(const Literal& x, int64_t axis, int64_t at) {
  if (IsPacked(x.dtype())) {
    return Pack(SliceAt(Unpack(x), axis, at), x.dtype());
  }
  CopyPlan plan;
  plan.dims = x.dims();
  plan.src_strides = RowMajorStrides(x.dims());
  plan.src_base = at * plan.src_strides[axis];
  plan.dims.erase(plan.dims.begin() + axis);
  plan.src_strides.erase(plan.src_strides.begin() + axis);
  plan.dst_strides = RowMajorStrides(plan.dims);
  Literal slice(x.dtype(), plan.dims);
  Copy(plan, x, &slice);
  return slice;
}

// Stacked results by what each iteration gave; without iterations result i is
// the zeros that its type says.
Literals StackAll(const EvalContext& context, Literals carried,
                  const std::vector<Literals>& stacked,
                  std::span<const int64_t> axes,
                  std::span<const int64_t> backward) {
  for (size_t i = 0; i < stacked.size(); ++i) {
    if (stacked[i].empty()) {
      const TensorType& type = context.results[carried.size()];
      std::vector<int64_t> dims;
      for (const Dim& dim : type.shape.dims()) {
        dims.push_back(dim.is_constant() ? dim.constant() : 0);
      }
      dims[axes[i]] = 0;
      carried.push_back(Literal(type.dtype, std::move(dims)));
      continue;
    }
    Literals slices = stacked[i];
    if (backward[i]) std::reverse(slices.begin(), slices.end());
    carried.push_back(Stack(slices, axes[i]));
  }
  return carried;
}

}  // namespace

Results EvaluateIf(const EvalContext& context) {
  const bool condition = context.operand(0).AsInt(0) != 0;
  return context.run_body(condition ? 0 : 1, context.operands.subspan(1));
}

Results EvaluateWhile(const EvalContext& context) {
  Literals values(context.operands.begin(), context.operands.end());
  for (int64_t i = 0;; ++i) {
    ENCORE_ASSIGN_OR_RETURN(const Literals condition,
                            context.run_body(0, values));
    if (condition[0].AsInt(0) == 0) return values;
    if (i >= context.max_iterations) return TooLong(context);
    ENCORE_ASSIGN_OR_RETURN(values, context.run_body(1, values));
  }
}

Results EvaluateLoop(const EvalContext& context) {
  const LoopAttrs& attrs = context.attrs<LoopAttrs>();
  const int64_t trips = context.operand(0).AsInt(0);
  if (attrs.max_trips >= 0 && trips > attrs.max_trips) {
    return InvalidArgumentError(StrCat(context.op, ": the trip count is ",
                                       trips, ", expected at most ",
                                       attrs.max_trips, " (max_trips)"));
  }
  bool condition = context.operand(1).AsInt(0) != 0;
  Literals inputs(context.operands.begin(), context.operands.end());
  std::vector<Literals> stacked(context.results.size() - attrs.carried);
  for (int64_t i = 0; i < trips && condition; ++i) {
    if (i >= context.max_iterations) return TooLong(context);
    inputs[0] = Literal::Scalar<int64_t>(i);
    inputs[1] = Literal::Scalar<bool>(condition);
    ENCORE_ASSIGN_OR_RETURN(Literals outputs, context.run_body(0, inputs));
    condition = outputs[0].AsInt(0) != 0;
    std::move(outputs.begin() + 1, outputs.begin() + 1 + attrs.carried,
              inputs.begin() + 2);
    for (size_t k = 0; k < stacked.size(); ++k) {
      stacked[k].push_back(std::move(outputs[1 + attrs.carried + k]));
    }
  }
  const Ints zeros(stacked.size());
  return StackAll(
      context, Literals(inputs.begin() + 2, inputs.begin() + 2 + attrs.carried),
      stacked, zeros, zeros);
}

Results EvaluateScan(const EvalContext& context) {
  const ScanAttrs& attrs = context.attrs<ScanAttrs>();
  const auto count = static_cast<int64_t>(context.operands.size());
  const int64_t end = count - attrs.captures;
  const int64_t length =
      context.dims(static_cast<int>(attrs.carried))[attrs.scan_axes[0]];
  Literals inputs(context.operands.begin(), context.operands.end());
  std::vector<Literals> stacked(context.results.size() - attrs.carried);
  for (int64_t i = 0; i < length; ++i) {
    for (int64_t k = attrs.carried; k < end; ++k) {
      const int64_t scanned = k - attrs.carried;
      const int64_t at = attrs.directions[scanned] ? length - 1 - i : i;
      inputs[k] = SliceAt(context.operands[k], attrs.scan_axes[scanned], at);
    }
    ENCORE_ASSIGN_OR_RETURN(Literals outputs, context.run_body(0, inputs));
    std::move(outputs.begin(), outputs.begin() + attrs.carried, inputs.begin());
    for (size_t k = 0; k < stacked.size(); ++k) {
      stacked[k].push_back(std::move(outputs[attrs.carried + k]));
    }
  }
  const size_t scanned = end - attrs.carried;
  return StackAll(context,
                  Literals(inputs.begin(), inputs.begin() + attrs.carried),
                  stacked, std::span(attrs.scan_axes).subspan(scanned),
                  std::span(attrs.directions).subspan(scanned));
}

Results EvaluateCustom(const EvalContext& context) {
  return UnimplementedError(
      StrCat("custom operator ", Quote(context.attrs<CustomAttrs>().name),
             " has no evaluator: EvaluateOptions::custom is not set"));
}

}  // namespace encore::eval
