#include <algorithm>
#include <numeric>

#include "encore/ir/eval/copy.h"
#include "encore/ir/eval/families.h"
#include "encore/ir/eval/numbers.h"
#include "encore/ir/support/integers.h"
#include "encore/ir/support/strings.h"

namespace encore::eval {
namespace {

// Reads the operand by `src_strides` for each result element in order.
Results Read(const EvalContext& context, std::vector<int64_t> src_strides,
             int64_t src_base = 0) {
  Literal result = context.NewResult();
  const std::vector<int64_t> dims = result.dims();
  Copy({dims, std::move(src_strides), RowMajorStrides(dims), src_base, 0},
       context.operand(0), &result);
  return Literals{std::move(result)};
}

// Start indices clamped so that a slice of `sizes` lies within `dims`.
std::vector<int64_t> ClampedStart(const Literal& start,
                                  std::span<const int64_t> dims,
                                  std::span<const int64_t> sizes) {
  std::vector<int64_t> clamped;
  for (size_t i = 0; i < dims.size(); ++i) {
    clamped.push_back(
        std::clamp<int64_t>(start.AsInt(i), 0, dims[i] - sizes[i]));
  }
  return clamped;
}

int64_t Dot(std::span<const int64_t> a, std::span<const int64_t> b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), int64_t{0});
}

}  // namespace

Results EvaluateSource(const EvalContext&) {
  return InternalError("an argument is given, not evaluated");
}

Results EvaluateConstant(const EvalContext& context) {
  return Literals{context.attrs<ConstantAttrs>().value};
}

Results EvaluateIota(const EvalContext& context) {
  const IotaAttrs& attrs = context.attrs<IotaAttrs>();
  Literal result = context.NewResult();
  const int64_t stride = RowMajorStrides(result.dims())[attrs.axis];
  const int64_t extent = result.dims()[attrs.axis];
  WithDomain(attrs.dtype, [&](auto wide) {
    std::vector<decltype(wide)> values(result.element_count());
    for (int64_t i = 0; i < result.element_count(); ++i) {
      values[i] = static_cast<decltype(wide)>(i / stride % extent);
    }
    Encode(values.data(), 0, result.element_count(), &result);
  });
  return Literals{std::move(result)};
}

// The symbols have values when it is evaluated.
Results EvaluateDefineSymbols(const EvalContext& context) {
  const DefineSymbolsAttrs& attrs = context.attrs<DefineSymbolsAttrs>();
  const Literal& values = context.operand(0);
  for (int64_t i = 0; i < values.element_count(); ++i) {
    const Dim& dim = attrs.dims[i];
    if (!dim.is_constant()) {
      return InvalidArgumentError(
          StrCat(context.op, ": ", dim, " has no value"));
    }
    if (values.AsInt(i) == dim.constant()) continue;
    return OutOfRangeError(attrs.message.empty()
                               ? StrCat(context.op, ": element ", i, " is ",
                                        values.AsInt(i), ", expected ", dim)
                               : attrs.message);
  }
  return Literals{values};
}

Results EvaluateAssertion(const EvalContext& context) {
  if (context.operand(1).AsInt(0) > 0) return Literals{context.operand(0)};
  return OutOfRangeError(context.attrs<AssertionAttrs>().message);
}

Results EvaluateDimValues(const EvalContext& context) {
  const std::vector<int64_t> dims =
      Shape(context.attrs<DimValuesAttrs>().dims).ConstantDims();
  return Literals{Literal::Vector(std::span<const int64_t>(dims))};
}

Results EvaluateBroadcast(const EvalContext& context) {
  const Ints& axes = context.attrs<BroadcastAttrs>().axes;
  const std::vector<int64_t> from = RowMajorStrides(context.dims());
  std::vector<int64_t> strides(context.results[0].shape.rank());
  for (size_t i = 0; i < axes.size(); ++i) {
    strides[axes[i]] = context.dims()[i] == 1 ? 0 : from[i];
  }
  return Read(context, std::move(strides));
}

Results EvaluateReshape(const EvalContext& context) {
  return Literals{context.operand(0).Reshaped(context.result_dims())};
}

Results EvaluateTranspose(const EvalContext& context) {
  const std::vector<int64_t> from = RowMajorStrides(context.dims());
  std::vector<int64_t> strides;
  for (const int64_t axis : context.attrs<TransposeAttrs>().permutation) {
    strides.push_back(from[axis]);
  }
  return Read(context, std::move(strides));
}

Results EvaluateSlice(const EvalContext& context) {
  const SliceAttrs& attrs = context.attrs<SliceAttrs>();
  std::vector<int64_t> strides = RowMajorStrides(context.dims());
  int64_t base = 0;
  for (size_t i = 0; i < strides.size(); ++i) {
    base += attrs.starts[i].constant() * strides[i];
    // A stride beyond the extent reads one element.
    strides[i] *= std::min(attrs.strides[i], context.dims()[i] + 1);
  }
  return Read(context, std::move(strides), base);
}

Results EvaluateDynamicSlice(const EvalContext& context) {
  std::vector<int64_t> strides = RowMajorStrides(context.dims());
  const std::vector<int64_t> start =
      ClampedStart(context.operand(1), context.dims(), context.result_dims());
  const int64_t base = Dot(start, strides);
  return Read(context, std::move(strides), base);
}

Results EvaluateDynamicUpdateSlice(const EvalContext& context) {
  Literal result = context.NewResult();
  std::vector<int64_t> strides = RowMajorStrides(context.dims());
  Copy({context.dims(), strides, strides, 0, 0}, context.operand(0), &result);
  const std::vector<int64_t> start =
      ClampedStart(context.operand(2), context.dims(), context.dims(1));
  const int64_t base = Dot(start, strides);
  Copy({context.dims(1), RowMajorStrides(context.dims(1)), std::move(strides),
        0, base},
       context.operand(1), &result);
  return Literals{std::move(result)};
}

Results EvaluatePad(const EvalContext& context) {
  const PadAttrs& attrs = context.attrs<PadAttrs>();
  Literal result = context.NewResult();
  const std::vector<int64_t> to = RowMajorStrides(result.dims());
  Copy({result.dims(), std::vector<int64_t>(to.size()), to, 0, 0},
       context.operand(1), &result);
  CopyPlan plan{{}, RowMajorStrides(context.dims()), {}, 0, 0};
  for (size_t i = 0; i < to.size(); ++i) {
    // Operand element e lands at low + e * step; the first and last that do
    // within the result.
    const int64_t step = attrs.interior[i] + 1, low = attrs.low[i].constant();
    const int64_t first = low < 0 ? CeilDiv(-low, step) : 0;
    const int64_t room = result.dims()[i] - 1 - low;
    const int64_t end =
        room < 0 ? 0 : std::min(context.dims()[i], room / step + 1);
    plan.dims.push_back(std::max<int64_t>(end - first, 0));
    // With one element the step, which may be huge, does not matter.
    plan.dst_strides.push_back(plan.dims[i] > 1 ? to[i] * step : 0);
    if (plan.dims[i] == 0) continue;
    plan.src_base += first * plan.src_strides[i];
    plan.dst_base += (low + first * step) * to[i];
  }
  Copy(plan, context.operand(0), &result);
  return Literals{std::move(result)};
}

Results EvaluateConcat(const EvalContext& context) {
  const int64_t axis = context.attrs<AxisAttrs>().axis;
  Literal result = context.NewResult();
  CopyPlan plan;
  plan.dst_strides = RowMajorStrides(result.dims());
  for (const Literal& operand : context.operands) {
    plan.dims = operand.dims();
    plan.src_strides = RowMajorStrides(plan.dims);
    Copy(plan, operand, &result);
    plan.dst_base += plan.dims[axis] * plan.dst_strides[axis];
  }
  return Literals{std::move(result)};
}

Results EvaluateReverse(const EvalContext& context) {
  std::vector<int64_t> strides = RowMajorStrides(context.dims());
  int64_t base = 0;
  for (const int64_t axis : context.attrs<AxesAttrs>().axes) {
    base += (context.dims()[axis] - 1) * strides[axis];
    strides[axis] = -strides[axis];
  }
  return Read(context, std::move(strides), base);
}

}  // namespace encore::eval
