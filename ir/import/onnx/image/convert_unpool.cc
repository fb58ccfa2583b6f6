// Elements moved by computed indices: sequences reversed, poolings undone.

#include <algorithm>

#include "encore/ir/import/onnx/converters.h"
#include "encore/ir/import/onnx/image/place_range.h"
#include "encore/ir/import/onnx/image/window.h"
#include "encore/ir/import/onnx/shapes/pad_to.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::onnx {
namespace {

// The first lengths[b] steps of sequence b in the opposite order; lengths of
// fewer than 0 or more than all steps end the run, as in ONNX Runtime.
Status ReverseSequence(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(2, 2));
  GraphBuilder& g = context.builder();
  const Value x = context.Input(0);
  Value lengths = g.Cast(context.Input(1), DType::kI64);
  ENCORE_ASSIGN_OR_RETURN(const int64_t batch,
                          context.attributes().Int("batch_axis", 1));
  ENCORE_ASSIGN_OR_RETURN(const int64_t time,
                          context.attributes().Int("time_axis", 0));
  if (x.rank() < 2 || batch + time != 1 || batch * time != 0 ||
      lengths.rank() != 1) {
    return NodeContext::Error(
        "attributes batch_axis and time_axis must be 0 and 1 in either "
        "order, and input sequence_lens must have an element per batch entry");
  }
  const Shape grid = {context.shape(x)[0], context.shape(x)[1]};
  GatherAttrs gather;
  // A length of all steps is the longest.
  ENCORE_ASSIGN_OR_RETURN(
      gather.out_of_range,
      RuleForPlaces(context, lengths, grid[time] + 1, "sequence_lens"));
  lengths = g.Unsqueeze(lengths, {time});
  const Value at = g.Iota(DType::kI64, grid, time);
  Value from = g.Select(g.Compare(at, lengths, Comparison::kLt),
                        g.Sub(g.Sub(lengths, 1), at), at);
  if (gather.out_of_range == OutOfRange::kError) {
    // A length of too many steps has its last one there; one below 0 is no
    // place.
    from = g.Select(g.Compare(lengths, 0, Comparison::kLt), lengths, from);
  }
  for (int i = 0; i < x.rank(); ++i) {
    gather.slice_sizes.push_back(i < 2 ? Dim(1) : context.shape(x)[i]);
    if (i >= 2) gather.offset_dims.push_back(i);
  }
  gather.collapsed_slice_dims = {time};
  gather.operand_batching_dims = {batch};
  gather.start_indices_batching_dims = {batch};
  gather.start_index_map = {time};
  gather.index_vector_dim = 2;
  return context.Output(0, g.Gather(x, from, std::move(gather)));
}

// Values back to where a MaxPool says that it took them from.
Status MaxUnpool(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(2, 3));
  GraphBuilder& g = context.builder();
  const Value x = context.Input(0), indices = context.Input(1);
  const Shape shape = context.shape(x);
  ENCORE_ASSIGN_OR_RETURN(const Window window,
                          ReadWindow(context, shape, std::nullopt, false));
  Dims pooled = {shape[0], shape[1]};
  for (size_t i = 0; i < window.sizes.size(); ++i) {
    pooled.push_back((shape[static_cast<int>(i) + 2] - 1) * window.strides[i] +
                     window.sizes[i] - window.padding_low[i] -
                     window.padding_high[i]);
  }
  const Dim count = shape.ElementCount();
  const Shape flat = {Shape(pooled).ElementCount()};
  ScatterAttrs scatter;
  scatter.inserted_window_dims = {0};
  scatter.scatter_dims_to_operand_dims = {0};
  scatter.index_vector_dim = 1;
  // They may say more than the windows do where the shape is given.
  if (!context.HasInput(2)) scatter.out_of_range = OutOfRange::kError;
  Value y = g.Scatter(g.Full(flat, g.Constant(Literal(x.dtype(), {}))),
                      context.Reshape(indices, {count, 1}),
                      context.Reshape(x, {count}), std::move(scatter));
  y = context.Reshape(y, pooled);
  if (context.HasInput(2)) {
    ENCORE_ASSIGN_OR_RETURN(
        const IndexExprs to,
        ElementsOf(context, 2, "output_shape", pooled.size(), "axes"));
    ShapeBuilder shapes(context);
    ENCORE_ASSIGN_OR_RETURN(
        y, PadTo(context, y, IndexExprs(to.size(), 0), to,
                 context.Scalar(y.dtype(), 0),
                 "input output_shape has a negative entry", &shapes));
  }
  return context.Output(0, y);
}

// The determinant by elimination with the largest pivot of each column.
Status Det(NodeContext& context) {
  constexpr int64_t kMaxSize = 64;
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(1, 1));
  GraphBuilder& g = context.builder();
  Value rest = context.Input(0);
  const int rank = rest.rank();
  if (rank < 2 || !context.shape(rest)[rank - 1].is_constant() ||
      context.shape(rest)[rank - 1] != context.shape(rest)[rank - 2] ||
      context.shape(rest)[rank - 1].constant() > kMaxSize) {
    return NodeContext::Error(
        StrCat("input is ", rest.type(),
               ", expected square matrices of known size, at most ", kMaxSize));
  }
  const int64_t size = context.shape(rest)[rank - 1].constant();
  const int64_t row = rank - 2, column = rank - 1;
  Dims batch = context.shape(rest).dims();
  batch.resize(row);
  Value det = g.Full(Shape(std::move(batch)), context.Scalar(rest.dtype(), 1));
  const Value zero = context.Scalar(rest.dtype(), 0);
  for (int64_t n = size; n > 0; --n) {
    const Value first = g.SliceAxis(rest, column, 0, 1);
    const Value at =
        g.ArgReduce(g.Abs(first), {Combiner::kMax, row, false, DType::kI64});
    const Value where = g.Unsqueeze(at, {row});
    const Value is_pivot = g.Compare(g.Iota(DType::kI64, rest.shape(), row),
                                     where, Comparison::kEq);
    const Value pivot_row =
        g.Reduce(g.Select(is_pivot, rest, zero), Combiner::kSum, {row}, true);
    const Value pivot = g.SliceAxis(pivot_row, column, 0, 1);
    const Value swapped = g.Compare(at, 0, Comparison::kNe);
    const Value sign = g.Select(swapped, context.Scalar(rest.dtype(), -1), 1.0);
    det = g.Mul(det,
                g.Mul(g.Squeeze(pivot, {row, column}), g.Squeeze(sign, {row})));
    if (n == 1) break;
    // The first row takes the pivot's place, and the others are reduced.
    const Value top = g.SliceAxis(rest, row, 0, 1);
    const Value others = g.SliceAxis(g.Select(is_pivot, top, rest), row, 1, n);
    const Value divisor = g.Select(g.Compare(pivot, zero, Comparison::kEq),
                                   context.Scalar(rest.dtype(), 1), pivot);
    const Value factors = g.Div(g.SliceAxis(others, column, 0, 1), divisor);
    rest = g.Sub(g.SliceAxis(others, column, 1, n),
                 g.Mul(factors, g.SliceAxis(pivot_row, column, 1, n)));
  }
  return context.Output(0, det);
}

constexpr Converter kConverters[] = {
    {"Det", Det, Op::kArgReduce},
    {"MaxUnpool", MaxUnpool, Op::kScatter},
    {"ReverseSequence", ReverseSequence, Op::kGather},
};

}  // namespace

std::span<const Converter> UnpoolConverters() { return kConverters; }

}  // namespace encore::onnx
