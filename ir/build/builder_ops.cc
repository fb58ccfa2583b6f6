// GraphBuilder's methods for single ops: neutral values of attributes, negative
// axes, broadcasting.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "encore/ir/build/builder.h"
#include "encore/ir/support/strings.h"

namespace encore {
namespace {

// An axis counted from the end, from the start; others stay for inference to
// refuse.
int64_t FromStart(int64_t axis, int rank) {
  return axis < 0 ? axis + rank : axis;
}

Ints SortedAxes(Ints axes, int rank) {
  for (int64_t& axis : axes) axis = FromStart(axis, rank);
  std::sort(axes.begin(), axes.end());
  return axes;
}

void FillList(Ints* list, int count, int64_t neutral) {
  if (list->empty()) list->resize(std::max(count, 0), neutral);
}

template <typename Attrs>
Attrs FilledWindows(Attrs attrs, int count) {
  FillList(&attrs.strides, count, 1);
  FillList(&attrs.padding_low, count, 0);
  FillList(&attrs.padding_high, count, 0);
  FillList(&attrs.dilations, count, 1);
  return attrs;
}

Dims FilledDims(Dims dims, int count) {
  if (dims.empty()) dims.resize(count);
  return dims;
}

Shape FirstDims(const Shape& shape, int count) {
  return Shape(
      std::vector<Dim>(shape.dims().begin(), shape.dims().begin() + count));
}

Shape Joined(Shape shape, std::initializer_list<Dim> dims) {
  shape.mutable_dims().insert(shape.mutable_dims().end(), dims.begin(),
                              dims.end());
  return shape;
}

Ints Range(int64_t begin, int64_t end) {
  Ints range(std::max<int64_t>(end - begin, 0));
  std::iota(range.begin(), range.end(), begin);
  return range;
}

}  // namespace

// --- Shape and movement.

Value GraphBuilder::Broadcast(Value x, Shape shape, Ints axes) {
  return Node1(Op::kBroadcast, {x},
               BroadcastAttrs{shape.dims(), std::move(axes)});
}

Value GraphBuilder::BroadcastTo(Value x, const Shape& shape) {
  if (x.valid() && x.shape() == shape) return x;
  if (x.valid() && x.rank() > shape.rank()) {
    return Fail(InvalidArgumentError(
        StrCat("shape ", x.shape().ToString(graph_.symbols()),
               " does not broadcast to ", shape.ToString(graph_.symbols()))));
  }
  return Broadcast(x, shape, Range(shape.rank() - x.rank(), shape.rank()));
}

Value GraphBuilder::Reshape(Value x, Shape shape) {
  return Node1(Op::kReshape, {x}, ReshapeAttrs{shape.dims()});
}

Value GraphBuilder::Squeeze(Value x, const Ints& axes) {
  const Ints sorted = SortedAxes(axes, x.rank());
  std::vector<Dim> dims;
  for (int i = 0; i < x.rank(); ++i) {
    if (!std::binary_search(sorted.begin(), sorted.end(), i)) {
      dims.push_back(x.shape()[i]);
    }
  }
  return Reshape(x, Shape(std::move(dims)));
}

Value GraphBuilder::Unsqueeze(Value x, const Ints& axes) {
  const int rank = x.rank() + static_cast<int>(axes.size());
  std::vector<Dim> dims = x.shape().dims();
  for (const int64_t axis : SortedAxes(axes, rank)) {
    if (axis < 0 || axis > static_cast<int64_t>(dims.size())) {
      return Fail(InvalidArgumentError(StrCat(
          "unsqueeze at axis ", axis, ", expected one in [0, ", rank, ")")));
    }
    dims.insert(dims.begin() + axis, 1);
  }
  return Reshape(x, Shape(std::move(dims)));
}

Value GraphBuilder::Transpose(Value x, Ints permutation) {
  for (int64_t& axis : permutation) axis = FromStart(axis, x.rank());
  return Node1(Op::kTranspose, {x}, TransposeAttrs{std::move(permutation)});
}

Value GraphBuilder::TransposeMatrix(Value x) {
  if (x.valid() && x.rank() < 2) {
    return Fail(
        InvalidArgumentError(StrCat("matrix transpose of a tensor of rank ",
                                    x.rank(), ", expected at least 2")));
  }
  Ints permutation = Range(0, x.rank());
  if (x.rank() >= 2)
    std::iter_swap(permutation.end() - 1, permutation.end() - 2);
  return Transpose(x, std::move(permutation));
}

Value GraphBuilder::Slice(Value x, Dims starts, Dims limits, Ints strides) {
  FillList(&strides, x.rank(), 1);
  return Node1(
      Op::kSlice, {x},
      SliceAttrs{std::move(starts), std::move(limits), std::move(strides)});
}

Value GraphBuilder::SliceAxis(Value x, int64_t axis, Dim start, Dim limit,
                              int64_t stride) {
  const int64_t at = FromStart(axis, x.rank());
  if (!x.valid()) return {};
  if (at < 0 || at >= x.rank()) {
    return Fail(InvalidArgumentError(
        StrCat("slice along axis ", axis, " of ", x.type().ToString())));
  }
  Dims starts(x.rank()), limits = x.shape().dims();
  Ints strides(x.rank(), 1);
  starts[at] = std::move(start);
  limits[at] = std::move(limit);
  strides[at] = stride;
  return Slice(x, std::move(starts), std::move(limits), std::move(strides));
}

Value GraphBuilder::DynamicSlice(Value x, Value start, Dims sizes) {
  return Node1(Op::kDynamicSlice, {x, start},
               DynamicSliceAttrs{std::move(sizes)});
}

Value GraphBuilder::DynamicUpdateSlice(Value x, Value update, Value start) {
  return Node1(Op::kDynamicUpdateSlice, {x, update, start});
}

Value GraphBuilder::Pad(Value x, Operand value, Dims low, Dims high,
                        Ints interior) {
  FillList(&interior, x.rank(), 0);
  return Node1(
      Op::kPad, {x, Resolve(value, x.dtype())},
      PadAttrs{FilledDims(std::move(low), x.rank()),
               FilledDims(std::move(high), x.rank()), std::move(interior)});
}

Value GraphBuilder::Concat(std::span<const Value> operands, int64_t axis) {
  if (operands.empty()) {
    return Fail(
        InvalidArgumentError("concat without operands, expected at least one"));
  }
  return Node(Op::kConcat, operands,
              AxisAttrs{FromStart(axis, operands[0].rank())})[0];
}

Value GraphBuilder::Concat(std::initializer_list<Value> operands,
                           int64_t axis) {
  return Concat(std::span(operands.begin(), operands.size()), axis);
}

Value GraphBuilder::Reverse(Value x, Ints axes) {
  return Node1(Op::kReverse, {x},
               AxesAttrs{SortedAxes(std::move(axes), x.rank())});
}

Value GraphBuilder::Gather(Value x, Value starts, GatherAttrs attrs) {
  return Node1(Op::kGather, {x, starts}, std::move(attrs));
}

Value GraphBuilder::Take(Value x, Value indices, int64_t axis) {
  if (!x.valid() || !indices.valid()) return {};
  const int64_t at = FromStart(axis, x.rank());
  if (at < 0 || at >= x.rank()) {
    return Fail(InvalidArgumentError(
        StrCat("take along axis ", axis, " of ", x.type().ToString())));
  }
  // Result dims: those of x before the axis, of the indices, of x after it.
  GatherAttrs attrs;
  for (int i = 0; i < x.rank(); ++i) {
    if (i != at) {
      attrs.offset_dims.push_back(i < at ? i : i - 1 + indices.rank());
    }
  }
  attrs.collapsed_slice_dims = {at};
  attrs.start_index_map = {at};
  attrs.index_vector_dim = indices.rank();
  attrs.slice_sizes = x.shape().dims();
  attrs.slice_sizes[at] = 1;
  return Gather(x, indices, std::move(attrs));
}

Value GraphBuilder::Scatter(Value x, Value indices, Value updates,
                            ScatterAttrs attrs) {
  return Node1(Op::kScatter, {x, indices, updates}, std::move(attrs));
}

// --- Reductions, contractions, windows.

Value GraphBuilder::WithKeptDims(Value x, Value reduced, const Ints& axes,
                                 bool keep_dims) {
  if (!keep_dims || !reduced.valid()) return reduced;
  Shape kept = x.shape();
  for (const int64_t axis : axes) kept[static_cast<int>(axis)] = 1;
  return Reshape(reduced, std::move(kept));
}

Value GraphBuilder::Reduce(Value x, Combiner combiner, Ints axes,
                           bool keep_dims) {
  axes = SortedAxes(std::move(axes), x.rank());
  const Value reduced = Node1(Op::kReduce, {x}, ReduceAttrs{combiner, axes});
  return WithKeptDims(x, reduced, axes, keep_dims);
}

Value GraphBuilder::Sum(Value x, Ints axes, bool keep_dims) {
  return Reduce(x, Combiner::kSum, std::move(axes), keep_dims);
}

Value GraphBuilder::Mean(Value x, Ints axes, bool keep_dims) {
  axes = SortedAxes(std::move(axes), x.rank());
  const Value mean = Node1(Op::kMean, {x}, AxesAttrs{axes});
  return WithKeptDims(x, mean, axes, keep_dims);
}

Value GraphBuilder::ArgReduce(Value x, ArgReduceAttrs attrs) {
  attrs.axis = FromStart(attrs.axis, x.rank());
  return Node1(Op::kArgReduce, {x}, std::move(attrs));
}

Value GraphBuilder::Cumulative(Value x, CumulativeAttrs attrs) {
  attrs.axis = FromStart(attrs.axis, x.rank());
  return Node1(Op::kCumulative, {x}, std::move(attrs));
}

Value GraphBuilder::DotGeneral(Value lhs, Value rhs, AxisPairs contract,
                               AxisPairs batch) {
  return Node1(Op::kDotGeneral, {lhs, rhs},
               DotGeneralAttrs{std::move(contract), std::move(batch)});
}

Value GraphBuilder::MatMul(Value a, Value b) {
  if (!a.valid() || !b.valid()) return {};
  if (a.rank() == 0 || b.rank() == 0) {
    return Fail(InvalidArgumentError(
        "matmul of a scalar, expected tensors of rank 1 or more"));
  }
  // A matrix on the right has no batch: the left's dims stay as they are.
  const int a_last = a.rank() - 1;
  if (b.rank() == 1) return DotGeneral(a, b, {{a_last}, {0}});
  if (b.rank() == 2) return DotGeneral(a, b, {{a_last}, {0}});
  if (a.rank() == 1) {
    return Squeeze(MatMul(Unsqueeze(a, {0}), b), {b.rank() - 2});
  }
  const auto batch = BroadcastShape(FirstDims(a.shape(), a.rank() - 2),
                                    FirstDims(b.shape(), b.rank() - 2));
  if (!batch) {
    return Fail(InvalidArgumentError(
        StrCat("matmul of ", a.type().ToString(graph_.symbols()), " and ",
               b.type().ToString(graph_.symbols()),
               ", whose batches do not broadcast together")));
  }
  const int rank = batch->rank();
  a = BroadcastTo(a,
                  Joined(*batch, {a.shape()[a_last - 1], a.shape()[a_last]}));
  b = BroadcastTo(
      b, Joined(*batch, {b.shape()[b.rank() - 2], b.shape()[b.rank() - 1]}));
  return DotGeneral(a, b, {{rank + 1}, {rank}},
                    {Range(0, rank), Range(0, rank)});
}

Value GraphBuilder::Linear(Value x, Value weight, Value bias) {
  if (bias.builder_ == nullptr) return Node1(Op::kLinear, {x, weight});
  return Node1(Op::kLinear, {x, weight, bias});
}

Value GraphBuilder::Convolution(Value x, Value kernel, ConvolutionAttrs attrs) {
  const int spatial = x.rank() - 2;
  FillList(&attrs.strides, spatial, 1);
  FillList(&attrs.padding_low, spatial, 0);
  FillList(&attrs.padding_high, spatial, 0);
  FillList(&attrs.lhs_dilation, spatial, 1);
  FillList(&attrs.rhs_dilation, spatial, 1);
  return Node1(Op::kConvolution, {x, kernel}, std::move(attrs));
}

Value GraphBuilder::ReduceWindow(Value x, ReduceWindowAttrs attrs) {
  return Node1(Op::kReduceWindow, {x},
               FilledWindows(std::move(attrs), x.rank()));
}

Value GraphBuilder::MaxPool(Value x, PoolAttrs attrs) {
  return Node1(Op::kMaxPool, {x},
               FilledWindows(std::move(attrs), x.rank() - 2));
}

Value GraphBuilder::AvgPool(Value x, PoolAttrs attrs) {
  return Node1(Op::kAvgPool, {x},
               FilledWindows(std::move(attrs), x.rank() - 2));
}

// --- Normalization and attention.

Value GraphBuilder::Softmax(Value x, int64_t axis) {
  return Node1(Op::kSoftmax, {x}, AxisAttrs{FromStart(axis, x.rank())});
}

Value GraphBuilder::LogSoftmax(Value x, int64_t axis) {
  return Node1(Op::kLogSoftmax, {x}, AxisAttrs{FromStart(axis, x.rank())});
}

Value GraphBuilder::LayerNorm(Value x, Value scale, Value bias, int64_t axis,
                              double epsilon) {
  const LayerNormAttrs attrs{FromStart(axis, x.rank()), epsilon};
  if (bias.builder_ == nullptr) return Node1(Op::kLayerNorm, {x, scale}, attrs);
  return Node1(Op::kLayerNorm, {x, scale, bias}, attrs);
}

Value GraphBuilder::RmsNorm(Value x, Value scale, int64_t axis,
                            double epsilon) {
  return Node1(Op::kRmsNorm, {x, scale},
               LayerNormAttrs{FromStart(axis, x.rank()), epsilon});
}

Value GraphBuilder::BatchNorm(Value x, Value scale, Value bias, Value mean,
                              Value variance, double epsilon) {
  return Node1(Op::kBatchNorm, {x, scale, bias, mean, variance},
               EpsilonAttrs{epsilon});
}

Value GraphBuilder::InstanceNorm(Value x, Value scale, Value bias,
                                 double epsilon) {
  return Node1(Op::kInstanceNorm, {x, scale, bias}, EpsilonAttrs{epsilon});
}

Value GraphBuilder::GroupNorm(Value x, Value scale, Value bias, int64_t groups,
                              double epsilon) {
  return Node1(Op::kGroupNorm, {x, scale, bias},
               GroupNormAttrs{groups, epsilon});
}

Value GraphBuilder::Attention(Value query, Value key, Value value, Value mask,
                              AttentionAttrs attrs) {
  if (mask.builder_ == nullptr) {
    return Node1(Op::kAttention, {query, key, value}, std::move(attrs));
  }
  return Node1(Op::kAttention, {query, key, value, mask}, std::move(attrs));
}

}  // namespace encore
