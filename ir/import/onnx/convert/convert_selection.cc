// Operators that order elements, or keep those that data picks: results of
// run-time size.

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "encore/ir/import/onnx/converters.h"
#include "encore/ir/import/onnx/shapes/dynamic_shape.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::onnx {
namespace {

Status TopK(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(2, 2));
  GraphBuilder& g = context.builder();
  const Value x = context.Input(0);
  ENCORE_ASSIGN_OR_RETURN(const int64_t axis,
                          context.AxisAttribute(-1, x.rank()));
  ENCORE_ASSIGN_OR_RETURN(const bool largest,
                          context.attributes().Bool("largest", true));
  // Any order will do where none is asked for.
  context.attributes().Ignore("sorted");
  Value order = context.Emit(Op::kArgSort, {x}, ArgSortAttrs{axis, largest});
  ENCORE_ASSIGN_OR_RETURN(const IndexExpr k, ElementOf(context, 1, "K"));
  ShapeBuilder shapes(context);
  const Dim kept = shapes.Define(k, x.shape()[static_cast<int>(axis)]);
  ENCORE_ASSIGN_OR_RETURN(
      order,
      shapes.Assert(
          order, "input K is negative or larger than the extent of the axis"));
  const Value first = g.SliceAxis(order, axis, 0, kept);
  ENCORE_RETURN_IF_ERROR(context.Output(0, context.TakeAlong(x, first, axis)));
  return context.Output(1, first);
}

// The positions of elements that are not zero, one row per dim.
Status NonZero(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(1, 1));
  GraphBuilder& g = context.builder();
  Value x = context.Input(0);
  if (x.rank() == 0) x = context.Reshape(x, {1});
  const Shape shape = context.shape(x);
  const Dim count = shape.ElementCount();
  const Value flat = context.Reshape(x, {count});
  const Value mask =
      x.dtype() == DType::kBool
          ? flat
          : g.Compare(flat, context.Scalar(x.dtype(), 0), Comparison::kNe);
  Value rest = PositionsOf(context, mask);
  std::vector<Value> rows;
  for (int d = shape.rank(); d-- > 0;) {
    const Value extent = DimValue(context, shape[d]);
    rows.push_back(context.Unsqueeze(d == 0 ? rest : g.Rem(rest, extent), {0}));
    rest = g.Div(rest, extent);
  }
  std::reverse(rows.begin(), rows.end());
  return context.Output(0, g.Concat(rows, 0));
}

Status Compress(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(2, 2));
  GraphBuilder& g = context.builder();
  Value x = context.Input(0);
  Value condition = context.Input(1);
  if (x.rank() == 0) {
    return NodeContext::Error(
        "the first input is a scalar, expected rank 1 or more");
  }
  int64_t axis = 0;
  if (context.attributes().Has("axis")) {
    ENCORE_ASSIGN_OR_RETURN(axis, context.AxisAttribute(0, x.rank()));
  } else {
    x = context.Reshape(x, {context.shape(x).ElementCount()});
  }
  if (condition.rank() != 1 || condition.dtype() != DType::kBool) {
    return NodeContext::Error(
        StrCat("input condition is ", condition.type(), ", expected bool[n]"));
  }
  // A condition may be shorter than the axis, or longer: what lies past the
  // end is nothing.
  const Dim kept = Min(context.shape(condition)[0],
                       context.shape(x)[static_cast<int>(axis)]);
  condition = g.SliceAxis(condition, 0, 0, kept);
  return context.Output(0, g.Take(x, PositionsOf(context, condition), axis));
}

// zeros [n] with `updates` written, or added, at the places `at` [n]; places
// from n on are dropped.
Value ScatterAt(GraphBuilder& g, Value at, Value updates, Update update) {
  ScatterAttrs scatter;
  scatter.update = update;
  scatter.inserted_window_dims = {0};
  scatter.scatter_dims_to_operand_dims = {0};
  scatter.index_vector_dim = 1;
  const Value zeros = g.Full(at.shape(), g.Scalar(updates.dtype(), int64_t{0}));
  return g.Scatter(zeros, g.Unsqueeze(at, {1}), updates, std::move(scatter));
}

// How the rows of a matrix repeat.
struct Distinct {
  Value number;  // i64 [n]: which of the distinct rows it is
  Value is_new;  // bool [n]: the first of its kind
};

// By sorting, where rows are single elements: equal ones stand side by side.
Distinct DistinctElements(NodeContext& context, Value x) {
  GraphBuilder& g = context.builder();
  const Dim n = context.shape(x)[0];
  const Value order = context.Emit(Op::kArgSort, {x}, ArgSortAttrs{0, false});
  const Value sorted = g.Take(x, order, 0);
  const Value at = g.Iota(DType::kI64, {n}, 0);
  const Value before = g.Take(sorted, g.Max(g.Sub(at, 1), 0), 0);
  const Value starts = g.Or(g.Compare(at, 0, Comparison::kEq),
                            g.Compare(sorted, before, Comparison::kNe));
  const Value ones = g.Cast(starts, DType::kI64);
  const Value group =
      g.Sub(g.Cumulative(ones, {Combiner::kSum, 0, false, false}), 1);
  return {
      ScatterAt(g, order, group, Update::kSet),
      g.Compare(ScatterAt(g, order, ones, Update::kSet), 0, Comparison::kNe)};
}

// By comparing all pairs of rows [n, m], in lexicographic order.
Distinct DistinctRows(NodeContext& context, Value rows) {
  GraphBuilder& g = context.builder();
  const Dim n = context.shape(rows)[0];
  const Value a = g.Unsqueeze(rows, {1}), b = g.Unsqueeze(rows, {0});
  const Value differs = g.Compare(a, b, Comparison::kNe);
  const Value less = g.Compare(a, b, Comparison::kLt);
  // Where they differ first decides.
  const Value first = g.ArgReduce(g.Cast(differs, DType::kU8),
                                  {Combiner::kMax, 2, false, DType::kI64});
  const Value decided =
      g.Squeeze(context.TakeAlong(less, g.Unsqueeze(first, {2}), 2), {2});
  const Value equal = g.Not(g.Reduce(differs, Combiner::kOr, {2}));
  const Value like = g.ArgReduce(g.Cast(equal, DType::kU8),
                                 {Combiner::kMax, 1, false, DType::kI64});
  const Value is_new =
      g.Compare(like, g.Iota(DType::kI64, {n}, 0), Comparison::kEq);
  // Distinct rows that come before.
  const Value smaller = g.And(decided, g.Unsqueeze(is_new, {1}));
  return {g.Sum(g.Cast(smaller, DType::kI64), {0}), is_new};
}

Status Unique(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(1, 1));
  GraphBuilder& g = context.builder();
  Value x = context.Input(0);
  ENCORE_ASSIGN_OR_RETURN(const bool sorted,
                          context.attributes().Bool("sorted", true));
  int64_t axis = 0;
  const bool whole = !context.attributes().Has("axis");
  if (whole) {
    x = context.Reshape(x, {context.shape(x).ElementCount()});
  } else {
    ENCORE_ASSIGN_OR_RETURN(axis, context.AxisAttribute(0, x.rank()));
  }
  Ints front;
  Dim width = 1;
  for (int i = 0; i < x.rank(); ++i) {
    if (i == axis) continue;
    front.push_back(i);
    width = width * context.shape(x)[i];
  }
  front.insert(front.begin(), axis);
  const Dim n = context.shape(x)[static_cast<int>(axis)];
  Distinct distinct =
      width == Dim(1)
          ? DistinctElements(context, context.Reshape(x, {n}))
          : DistinctRows(context,
                         context.Reshape(g.Transpose(x, front), {n, width}));
  const Value ones = g.Cast(distinct.is_new, DType::kI64);
  const Value at = g.Iota(DType::kI64, {n}, 0);
  const Value past = DimValue(context, n);
  const auto firsts_by_number = [&](Value number) {
    return ScatterAt(g, g.Select(distinct.is_new, number, past), at,
                     Update::kSet);
  };
  if (!sorted) {
    // Numbered as they come: by the first of their kind.
    const Value coming =
        g.Sub(g.Cumulative(ones, {Combiner::kSum, 0, false, false}), 1);
    const Value first =
        g.Take(firsts_by_number(distinct.number), distinct.number, 0);
    distinct.number = g.Take(coming, first, 0);
  }
  const int64_t bound = n.UpperBound(g.graph().symbols());
  const Value numbers =
      CountTo(context, CountedSize(context, g.Sum(ones, {0}), bound));
  const Value firsts = g.Take(firsts_by_number(distinct.number), numbers, 0);
  const Value counts =
      ScatterAt(g, distinct.number,
                g.Full({n}, g.Scalar(DType::kI64, int64_t{1})), Update::kAdd);
  ENCORE_RETURN_IF_ERROR(context.Output(0, g.Take(x, firsts, axis)));
  ENCORE_RETURN_IF_ERROR(context.Output(1, firsts));
  ENCORE_RETURN_IF_ERROR(context.Output(2, distinct.number));
  return context.Output(3, g.Take(counts, numbers, 0));
}

// Boxes [B, N, 4] as four [B, N]: top, left, bottom, right.
std::array<Value, 4> Corners(GraphBuilder& g, Value boxes, bool centered) {
  std::array<Value, 4> c;
  for (int i = 0; i < 4; ++i) {
    c[i] = g.Squeeze(g.SliceAxis(boxes, 2, i, i + 1), {2});
  }
  if (!centered) {
    return {g.Min(c[0], c[2]), g.Min(c[1], c[3]), g.Max(c[0], c[2]),
            g.Max(c[1], c[3])};
  }
  const Value width = g.Div(c[2], 2.0), height = g.Div(c[3], 2.0);
  return {g.Sub(c[1], height), g.Sub(c[0], width), g.Add(c[1], height),
          g.Add(c[0], width)};
}

// Intersection over union of all pairs: [B, N, N].
Value Overlaps(GraphBuilder& g, Value boxes, bool centered) {
  const std::array<Value, 4> c = Corners(g, boxes, centered);
  const auto both = [&](Op op, int i) {
    return g.Binary(op, g.Unsqueeze(c[i], {2}), g.Unsqueeze(c[i], {1}));
  };
  const auto extent = [&](int low) {
    return g.Max(g.Sub(both(Op::kMin, low + 2), both(Op::kMax, low)), 0.0);
  };
  const Value area = g.Mul(g.Sub(c[2], c[0]), g.Sub(c[3], c[1]));
  const Value common = g.Mul(extent(0), extent(1));
  const Value all =
      g.Sub(g.Add(g.Unsqueeze(area, {2}), g.Unsqueeze(area, {1})), common);
  return g.Select(g.Compare(common, 0.0, Comparison::kGt), g.Div(common, all),
                  0.0);
}

struct Suppression {
  Value overlaps;  // [B, N, N]
  Value scores;    // [B, C, N]
  Value order;     // i64 [B, C, N], best first
  Value most;      // i64 scalar: how many of each class
  Value overlap;   // scalars
  Value score;
};

// Which boxes stay, [N, B, C] in the order of their scores: one after the
// other, each unless one that stays overlaps it too much.
Value Survivors(GraphBuilder& g, const Suppression& s) {
  const Shape shape = s.scores.shape();
  const auto zeros = [&](DType dtype, Shape of) {
    return g.Full(std::move(of), g.Constant(Literal(dtype, {})));
  };
  const Value operands[] = {zeros(DType::kBool, shape),
                            zeros(DType::kI64, {shape[0], shape[1]}),
                            s.order,
                            s.overlaps,
                            s.scores,
                            s.most,
                            s.overlap,
                            s.score};
  const auto body = [](GraphBuilder& b, std::span<const Value> in) {
    const Value kept = in[0], count = in[1], current = in[2];
    const Shape all = kept.shape();
    // The current box's overlaps with all, and its score.
    GatherAttrs row;
    row.offset_dims = {2};
    row.collapsed_slice_dims = {1};
    row.operand_batching_dims = {0};
    row.start_indices_batching_dims = {0};
    row.start_index_map = {1};
    row.index_vector_dim = 2;
    row.slice_sizes = {1, 1, all[2]};
    const Value near = b.Compare(b.Gather(in[3], current, std::move(row)),
                                 in[6], Comparison::kGt);
    const Value hit = b.Reduce(b.And(near, kept), Combiner::kOr, {2});
    const Value here = b.Compare(b.Iota(DType::kI64, all, 2),
                                 b.Unsqueeze(current, {2}), Comparison::kEq);
    const Value score = b.Sum(b.Select(here, in[4], 0.0), {2});
    const Value stays =
        b.And(b.And(b.Not(hit), b.Compare(score, in[7], Comparison::kGt)),
              b.Compare(count, in[5], Comparison::kLt));
    return std::vector<Value>{b.Or(kept, b.And(here, b.Unsqueeze(stays, {2}))),
                              b.Add(count, b.Cast(stays, DType::kI64)), stays};
  };
  ScanAttrs attrs;
  attrs.carried = 2;
  attrs.captures = 5;
  attrs.scan_axes = {2, 0};
  return g.Scan(operands, body, std::move(attrs)).back();
}

// An upper bound of how many boxes stay, where so many of each class do.
std::optional<int64_t> MostBoxes(const GraphBuilder& g, const Suppression& s) {
  const Literal* most = s.most.valid() ? s.most.constant() : nullptr;
  if (most == nullptr) return std::nullopt;
  const Shape shape = s.scores.shape();
  const Dim each = Min(shape[2], std::max<int64_t>(most->AsInt(0), 0));
  const Dim all = shape[0] * shape[1] * each;
  if (!all.valid()) return std::nullopt;
  return all.UpperBound(g.graph().symbols());
}

Status NonMaxSuppression(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(2, 5));
  GraphBuilder& g = context.builder();
  ENCORE_ASSIGN_OR_RETURN(const bool centered,
                          context.attributes().Bool("center_point_box", false));
  const Value boxes = context.Input(0), scores = context.Input(1);
  if (boxes.rank() != 3 || scores.rank() != 3 ||
      !(boxes.shape()[2] == Dim(4)) || !IsFloat(boxes.dtype())) {
    return NodeContext::Error(StrCat("inputs are ", boxes.type(), " and ",
                                     scores.type(),
                                     ", expected [B, N, 4] and [B, C, N]"));
  }
  const auto scalar = [&](int i, Value fallback) {
    return context.HasInput(i) ? context.Reshape(context.Input(i), {})
                               : fallback;
  };
  Suppression s;
  s.overlaps = Overlaps(g, boxes, centered);
  s.scores = scores;
  s.order = context.Emit(Op::kArgSort, {scores}, ArgSortAttrs{2, true});
  s.most = g.Cast(scalar(2, g.Scalar(DType::kI64, int64_t{0})), DType::kI64);
  s.overlap = scalar(3, context.Scalar(boxes.dtype(), 0));
  s.score = scalar(4, context.Scalar(scores.dtype(), -INFINITY));
  const Value stays = g.Transpose(Survivors(g, s), {1, 2, 0});
  ENCORE_RETURN_IF_ERROR(g.status());
  const Shape shape = context.shape(scores);
  const Dim count = shape.ElementCount();
  const Value at =
      PositionsOf(context, context.Reshape(stays, {count}), MostBoxes(g, s));
  const Value n = DimValue(context, shape[2]);
  const Value classes = DimValue(context, shape[1]);
  const Value row = g.Div(at, n);
  const Value columns[] = {
      g.Unsqueeze(g.Div(row, classes), {1}),
      g.Unsqueeze(g.Rem(row, classes), {1}),
      g.Unsqueeze(g.Take(context.Reshape(s.order, {count}), at, 0), {1})};
  return context.Output(0, g.Concat(columns, 1));
}

constexpr Converter kConverters[] = {
    {"Compress", Compress, Op::kGather},
    {"NonMaxSuppression", NonMaxSuppression, Op::kScan},
    {"NonZero", NonZero, Op::kScatter},
    {"TopK", TopK, Op::kArgSort},
    {"Unique", Unique, Op::kArgSort},
};

}  // namespace

std::span<const Converter> SelectionConverters() { return kConverters; }

}  // namespace encore::onnx
