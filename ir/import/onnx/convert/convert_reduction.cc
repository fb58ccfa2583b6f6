#include <algorithm>

#include "encore/ir/import/onnx/converters.h"
#include "encore/ir/import/onnx/shapes/data_axes.h"
#include "encore/ir/import/onnx/shapes/dynamic_shape.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::onnx {
namespace {

// What the axes of a reduction come to.
struct Reduction {
  Value x;
  DType dtype = DType::kF32;  // of the result
  Ints axes;
  bool keep_dims = true;
  // No axes and noop_with_empty_axes: nothing is combined.
  bool noop = false;
  // Of axes that are data: for each dim whether it is one, and
  // what its extent becomes. Until Finish the dims keep their extents, or have
  // one more where they may be empty; what counts of a reduced one lies at 0.
  std::vector<Condition> marks;
  Dims extents;

  bool by_data() const { return !marks.empty(); }
};

Status ReadAxesByData(NodeContext& context, Reduction* reduction) {
  const Shape shape = context.shape(reduction->x);
  ShapeBuilder shapes(context);
  ENCORE_ASSIGN_OR_RETURN(const IndexExprs marks,
                          MarksByData(context, shape.rank(), &shapes));
  for (int d = 0; d < shape.rank(); ++d) {
    reduction->marks.push_back(marks[d] == 1);
    reduction->extents.push_back(
        shapes.Define(Select(reduction->marks[d], 1, shapes.Extent(shape[d]))));
  }
  ENCORE_ASSIGN_OR_RETURN(
      reduction->x,
      shapes.Assert(reduction->x,
                    "input axes has an entry twice, or an entry that is not "
                    "an axis"));
  return OkStatus();
}

StatusOr<Reduction> ReadReduction(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(1, 2));
  AttributeReader& attributes = context.attributes();
  Reduction reduction;
  reduction.x = context.Input(0);
  reduction.dtype = context.dtype(reduction.x);
  ENCORE_ASSIGN_OR_RETURN(reduction.keep_dims,
                          attributes.Bool("keepdims", true));
  ENCORE_ASSIGN_OR_RETURN(const bool noop,
                          attributes.Bool("noop_with_empty_axes", false));
  const int rank = context.rank(reduction.x);
  if (context.HasInput(1) && !IsConstant(context, 1) &&
      !(context.shape(context.Input(1)).ElementCount() == Dim(0))) {
    ENCORE_RETURN_IF_ERROR(ReadAxesByData(context, &reduction));
    return reduction;
  }
  if (context.HasInput(1) && IsConstant(context, 1)) {
    ENCORE_ASSIGN_OR_RETURN(const Ints axes, context.IntsInput(1, "axes"));
    ENCORE_ASSIGN_OR_RETURN(reduction.axes,
                            context.AxesList(axes, rank, "input axes"));
  }
  if (reduction.axes.empty()) {
    reduction.noop = noop;
    for (int i = 0; i < rank && !noop; ++i) reduction.axes.push_back(i);
  }
  return reduction;
}

// Roots and logarithms of integers are taken in f64.
void WidenIntegers(NodeContext& context, Reduction* reduction) {
  if (!IsInteger(reduction->dtype)) return;
  reduction->x = context.builder().Cast(reduction->x, DType::kF64);
}

// What Combine gave, as the operator's result.
Status Finish(NodeContext& context, const Reduction& reduction, Value reduced) {
  GraphBuilder& g = context.builder();
  if (reduced.dtype() != reduction.dtype) {
    reduced = g.Cast(reduced, reduction.dtype);
  }
  if (reduction.noop) return context.Output(0, reduced);
  if (!reduction.by_data()) {
    if (reduction.keep_dims) {
      reduced = context.Unsqueeze(reduced, reduction.axes);
    }
    return context.Output(0, reduced);
  }
  for (size_t d = 0; d < reduction.extents.size(); ++d) {
    reduced =
        g.SliceAxis(reduced, static_cast<int64_t>(d), 0, reduction.extents[d]);
  }
  if (!reduction.keep_dims) {
    ENCORE_ASSIGN_OR_RETURN(reduced,
                            MoveOnesByData(context, reduced, /*drops=*/true));
  }
  return context.Output(0, reduced);
}

// `x`, like the reduction's, combined along its axes, which are dropped; along
// axes that are data, kept as Reduction says.
Value Combine(NodeContext& context, Combiner combiner,
              const Reduction& reduction, Value x) {
  GraphBuilder& g = context.builder();
  if (!reduction.by_data()) {
    return context.Emit(Op::kReduce, {x},
                        ReduceAttrs{combiner, reduction.axes});
  }
  for (size_t d = 0; d < reduction.marks.size(); ++d) {
    const Value along =
        g.Reduce(x, combiner, {static_cast<int64_t>(d)}, /*keep_dims=*/true);
    const Dim& extent = x.shape()[static_cast<int>(d)];
    // What nothing comes to needs a place.
    if (extent.LowerBound(g.graph().symbols()) < 1) {
      x = context.Emit(Op::kConcat, {x, along},
                       AxisAttrs{static_cast<int64_t>(d)});
    }
    x = g.Select(reduction.marks[d].ToValue(g), along, x);
  }
  return x;
}

// How many elements are combined, as a scalar.
Value CountOf(NodeContext& context, const Reduction& reduction) {
  GraphBuilder& g = context.builder();
  const Shape shape = context.shape(reduction.x);
  Dim count = 1;
  for (const int64_t axis : reduction.axes) count = count * shape[axis];
  Value number = DimValue(context, count);
  for (size_t d = 0; d < reduction.marks.size(); ++d) {
    const Value extent = DimValue(context, shape[static_cast<int>(d)]);
    number = g.Mul(number, g.Select(reduction.marks[d].ToValue(g), extent, 1));
  }
  return number;
}

template <Combiner kCombiner>
Status Reduce(NodeContext& context) {
  ENCORE_ASSIGN_OR_RETURN(const Reduction reduction, ReadReduction(context));
  if (reduction.noop) return context.Output(0, reduction.x);
  Combiner combiner = kCombiner;
  // On bool the extremes are the logical operations.
  if (context.dtype(reduction.x) == DType::kBool) {
    combiner = kCombiner == Combiner::kMax ? Combiner::kOr : Combiner::kAnd;
  }
  return Finish(context, reduction,
                Combine(context, combiner, reduction, reduction.x));
}

Status ReduceMean(NodeContext& context) {
  ENCORE_ASSIGN_OR_RETURN(const Reduction reduction, ReadReduction(context));
  if (reduction.noop) return context.Output(0, reduction.x);
  if (IsFloat(context.dtype(reduction.x)) && !reduction.by_data()) {
    return Finish(
        context, reduction,
        context.Emit(Op::kMean, {reduction.x}, AxesAttrs{reduction.axes}));
  }
  const Value sum = Combine(context, Combiner::kSum, reduction, reduction.x);
  const Value divisor =
      context.builder().Cast(CountOf(context, reduction), context.dtype(sum));
  return Finish(
      context, reduction,
      context.Emit(Op::kDiv, {sum, context.Fill(divisor, context.shape(sum))}));
}

// The sum of f(x), and g of that.
Status SumOf(NodeContext& context, std::optional<Op> before, bool squared,
             std::optional<Op> after) {
  ENCORE_ASSIGN_OR_RETURN(Reduction reduction, ReadReduction(context));
  if (after) WidenIntegers(context, &reduction);
  Value x = reduction.x;
  if (before) x = context.Emit(*before, {x});
  if (squared) x = context.Emit(Op::kMul, {x, x});
  if (!reduction.noop) x = Combine(context, Combiner::kSum, reduction, x);
  if (after) x = context.Emit(*after, {x});
  return Finish(context, reduction, x);
}

Status ReduceL1(NodeContext& context) {
  return SumOf(context, Op::kAbs, false, std::nullopt);
}
Status ReduceLogSum(NodeContext& context) {
  return SumOf(context, std::nullopt, false, Op::kLog);
}
Status ReduceSumSquare(NodeContext& context) {
  return SumOf(context, std::nullopt, true, std::nullopt);
}

Status ReduceL2(NodeContext& context) {
  return SumOf(context, std::nullopt, true, Op::kSqrt);
}

// log(sum(exp(x))), with the largest element taken out so that nothing
// overflows.
Status ReduceLogSumExp(NodeContext& context) {
  ENCORE_ASSIGN_OR_RETURN(Reduction reduction, ReadReduction(context));
  if (reduction.noop) return context.Output(0, reduction.x);
  WidenIntegers(context, &reduction);
  const Shape shape = context.shape(reduction.x);
  const DType dtype = context.dtype(reduction.x);
  const Value raw = Combine(context, Combiner::kMax, reduction, reduction.x);
  // An infinite maximum would make x - max NaN; without it the sum is right as
  // it is.
  const Value zero = context.Fill(context.Scalar(dtype, 0), context.shape(raw));
  const Value top =
      context.Emit(Op::kSelect, {context.Emit(Op::kIsInf, {raw}), zero, raw});
  Value kept = top;
  if (!reduction.by_data()) kept = context.Unsqueeze(top, reduction.axes);
  for (size_t d = 0; d < reduction.marks.size(); ++d) {
    const int axis = static_cast<int>(d);
    kept = context.builder().SliceAxis(kept, axis, 0, shape[axis]);
  }
  const Value shifted = context.Emit(
      Op::kSub, {reduction.x, context.builder().BroadcastTo(kept, shape)});
  const Value sum = Combine(context, Combiner::kSum, reduction,
                            context.Emit(Op::kExp, {shifted}));
  return Finish(context, reduction,
                context.Emit(Op::kAdd, {context.Emit(Op::kLog, {sum}), top}));
}

template <Combiner kCombiner>
Status ArgReduce(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(1, 1));
  AttributeReader& attributes = context.attributes();
  const Value x = context.Input(0);
  ENCORE_ASSIGN_OR_RETURN(const int64_t raw, attributes.Int("axis", 0));
  ENCORE_ASSIGN_OR_RETURN(const bool keep_dims,
                          attributes.Bool("keepdims", true));
  ENCORE_ASSIGN_OR_RETURN(const bool last,
                          attributes.Bool("select_last_index", false));
  ENCORE_ASSIGN_OR_RETURN(const int64_t axis,
                          context.Axis(raw, context.rank(x), "attribute axis"));
  Value index = context.Emit(
      Op::kArgReduce, {x}, ArgReduceAttrs{kCombiner, axis, last, DType::kI64});
  if (keep_dims) index = context.Unsqueeze(index, {axis});
  return context.Output(0, index);
}

template <Combiner kCombiner>
Status Cumulative(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(2, 2));
  ENCORE_ASSIGN_OR_RETURN(const bool exclusive,
                          context.attributes().Bool("exclusive", false));
  ENCORE_ASSIGN_OR_RETURN(const bool reverse,
                          context.attributes().Bool("reverse", false));
  if (!IsConstant(context, 1)) {
    return CumulativeByData(context, kCombiner, exclusive, reverse);
  }
  ENCORE_ASSIGN_OR_RETURN(const Ints axes, context.IntsInput(1, "axis"));
  if (axes.size() != 1)
    return NodeContext::Error(
        "input axis has more or less than one element, expected 1");
  const Value x = context.Input(0);
  ENCORE_ASSIGN_OR_RETURN(const int64_t axis,
                          context.Axis(axes[0], context.rank(x), "input axis"));
  return context.Output(
      0, context.Emit(Op::kCumulative, {x},
                      CumulativeAttrs{kCombiner, axis, exclusive, reverse}));
}

constexpr Converter kConverters[] = {
    {"ArgMax", ArgReduce<Combiner::kMax>, Op::kArgReduce},
    {"ArgMin", ArgReduce<Combiner::kMin>, Op::kArgReduce},
    {"CumProd", Cumulative<Combiner::kProduct>, Op::kCumulative},
    {"CumSum", Cumulative<Combiner::kSum>, Op::kCumulative},
    {"ReduceL1", ReduceL1, Op::kReduce},
    {"ReduceL2", ReduceL2, Op::kReduce},
    {"ReduceLogSum", ReduceLogSum, Op::kReduce},
    {"ReduceLogSumExp", ReduceLogSumExp, Op::kReduce},
    {"ReduceMax", Reduce<Combiner::kMax>, Op::kReduce},
    {"ReduceMean", ReduceMean, Op::kMean},
    {"ReduceMin", Reduce<Combiner::kMin>, Op::kReduce},
    {"ReduceProd", Reduce<Combiner::kProduct>, Op::kReduce},
    {"ReduceSum", Reduce<Combiner::kSum>, Op::kReduce},
    {"ReduceSumSquare", ReduceSumSquare, Op::kReduce},
};

}  // namespace

std::span<const Converter> ReductionConverters() { return kConverters; }

}  // namespace encore::onnx
