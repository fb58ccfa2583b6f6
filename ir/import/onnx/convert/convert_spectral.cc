// Fourier transforms, as products with the transform's matrix.

#include <algorithm>
#include <array>
#include <numbers>
#include <numeric>
#include <utility>

#include "encore/ir/import/onnx/converters.h"
#include "encore/ir/import/onnx/shapes/dynamic_shape.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::onnx {
namespace {

// A longer transform's matrix would not fit memory.
constexpr int64_t kMaxLength = 1 << 14;

struct Transform {
  Dim size;  // how long it is
  Dim bins;  // how many results there are
  bool inverse = false;
  // Inverse, of the first half of a spectrum whose other half mirrors it: the
  // results are real, [..., size, 1].
  bool mirrored = false;
};

// cos and sin of 2 pi k n / size, [from, bins]; divided by the size where it is
// the inverse.
std::array<Value, 2> Tables(NodeContext& context, DType dtype, const Dim& from,
                            const Transform& transform) {
  GraphBuilder& g = context.builder();
  const Value size = DimValue(context, transform.size);
  const Shape shape = {from, transform.bins};
  // What a whole turn adds would only cost digits.
  const Value turn =
      g.Rem(g.Mul(g.Iota(DType::kI64, shape, 0), g.Iota(DType::kI64, shape, 1)),
            size);
  const Value length = g.Cast(size, DType::kF64);
  const Value angle =
      g.Div(g.Mul(g.Cast(turn, DType::kF64), 2 * std::numbers::pi), length);
  std::array<Value, 2> tables = {g.Cos(angle), g.Sin(angle)};
  for (Value& table : tables) {
    if (transform.inverse) table = g.Div(table, length);
    if (transform.mirrored) {
      // All but the first and, of an even number, the last stand for two.
      const Value row = g.Iota(DType::kI64, {from, 1}, 0);
      const Value twice = g.Rem(g.Mul(row, int64_t{2}), size);
      table =
          g.Mul(table, g.Select(g.Compare(twice, int64_t{0}, Comparison::kEq),
                                g.Scalar(DType::kF64, 1.0),
                                g.Scalar(DType::kF64, 2.0)));
    }
    table = g.Cast(table, dtype);
  }
  return tables;
}

// [..., n, 1 or 2] to [..., bins, 2 or, mirrored, 1]; n is cut, or zeros
// follow.
StatusOr<Value> Apply(NodeContext& context, Value x,
                      const Transform& transform) {
  GraphBuilder& g = context.builder();
  ENCORE_RETURN_IF_ERROR(g.status());
  const int rank = x.rank();
  const Shape shape = x.shape();
  const Dim parts = shape[rank - 1];
  if (!(parts == Dim(1) || parts == Dim(2))) {
    return NodeContext::Error(
        StrCat("input is ", x.type(), ", expected real or complex numbers"));
  }
  const Dim most =
      transform.mirrored ? FloorDiv(transform.size, 2) + 1 : transform.size;
  const Dim from = Min(shape[rank - 2], most);
  const auto [cosine, sine] = Tables(context, x.dtype(), from, transform);
  const auto part = [&](int64_t i) {
    const Value all = g.SliceAxis(x, rank - 1, i, i + 1);
    return g.Squeeze(g.SliceAxis(all, rank - 2, 0, from), {rank - 1});
  };
  const Value real = part(0);
  Value re = g.MatMul(real, cosine);
  Value im = g.MatMul(real, sine);
  if (!transform.inverse) im = g.Neg(im);
  if (parts == Dim(2)) {
    const Value imaginary = part(1);
    const Value by_sine = g.MatMul(imaginary, sine);
    re = transform.inverse ? g.Sub(re, by_sine) : g.Add(re, by_sine);
    im = g.Add(im, g.MatMul(imaginary, cosine));
  }
  if (transform.mirrored) return g.Unsqueeze(re, {-1});
  return g.Concat({g.Unsqueeze(re, {-1}), g.Unsqueeze(im, {-1})}, -1);
}

// How many results a transform of so many elements has.
IndexExpr BinsOf(const IndexExpr& length, bool onesided) {
  return onesided ? FloorDiv(length, 2) + 1 : length;
}

// The axis of a DFT may be data. Then it changes places with the last of them
// (but for the real and imaginary parts) before and after the transform.
class AxisSwap {
 public:
  AxisSwap(NodeContext& context, IndexExpr axis)
      : context_(context), axis_(std::move(axis)) {}

  // The extents under which `from` is there after the swap.
  IndexExprs Swapped(const IndexExprs& from) const {
    const size_t last = from.size() - 1;
    IndexExprs to = from;
    for (size_t d = 0; d < last; ++d) {
      to[d] = Select(Is(d), from[last], from[d]);
      to[last] = Select(Is(d), from[d], to[last]);
    }
    return to;
  }

  // x, [dims…, parts], with its dims swapped to be `to`.
  Value Swap(Value x, const Dims& to) const {
    if (!x.valid()) return x;
    GraphBuilder& g = context_.builder();
    const size_t last = to.size() - 1;
    if (const auto known = axis_.constant()) {
      Ints order(x.rank());
      std::iota(order.begin(), order.end(), 0);
      std::swap(order[*known], order[last]);
      return g.Transpose(x, std::move(order));
    }
    Dims from = x.shape().dims();
    const Dim parts = from.back();
    from.pop_back();
    // The stride of each dim of x, and the one it takes.
    IndexExpr stride = 1, chosen = 1;
    Value index = g.Scalar(DType::kI64, int64_t{0});
    for (size_t d = last; d-- > 0;) {
      stride = stride * IndexExpr(g, from[d + 1]);
      chosen = Select(Is(d), stride, chosen);
      index = g.Add(index, Along(to, d, Select(Is(d), 1, stride)));
    }
    index = g.Add(index, Along(to, last, chosen));
    const Value rows = context_.Reshape(x, {Shape(from).ElementCount(), parts});
    return g.Take(rows, index, 0);
  }

 private:
  Condition Is(size_t d) const { return axis_ == static_cast<int64_t>(d); }
  Value Along(const Dims& dims, size_t d, const IndexExpr& stride) const {
    GraphBuilder& g = context_.builder();
    Dims column(dims.size(), 1);
    column[d] = dims[d];
    return g.Mul(context_.Reshape(CountTo(context_, dims[d]), column),
                 stride.ToValue(g));
  }

  NodeContext& context_;
  IndexExpr axis_;
};

Status Dft(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(1, 3));
  Value x = context.Input(0);
  const int rank = x.rank();
  ENCORE_ASSIGN_OR_RETURN(const bool inverse,
                          context.attributes().Bool("inverse", false));
  ENCORE_ASSIGN_OR_RETURN(const bool onesided,
                          context.attributes().Bool("onesided", false));
  IndexExpr axis = -2;
  if (context.HasInput(2)) {
    ENCORE_ASSIGN_OR_RETURN(axis, ElementOf(context, 2, "axis"));
  }
  if (rank < 2) {
    return NodeContext::Error(
        StrCat("input is ", x.type(), ", expected [..., length, 1 or 2]"));
  }
  ShapeBuilder shapes(context);
  axis = FromStart(axis, rank);
  // The last axis is that of real and imaginary parts.
  const AxisSwap swap(context, shapes.RequireWithin(axis, 0, rank - 2));
  const Shape shape = context.shape(x);
  IndexExprs extents;
  for (int d = 0; d + 1 < rank; ++d) extents.push_back(shapes.Extent(shape[d]));
  extents = swap.Swapped(extents);
  const bool mirrored = inverse && onesided;
  IndexExpr size = mirrored ? (extents.back() - 1) * 2 : extents.back();
  if (context.HasInput(1)) {
    ENCORE_ASSIGN_OR_RETURN(size, ElementOf(context, 1, "dft_length"));
  }
  size = shapes.RequireWithin(size, 1, kMaxLength);
  const auto define = [&](const IndexExprs& from) {
    Dims dims;
    for (const IndexExpr& extent : from) dims.push_back(shapes.Define(extent));
    return dims;
  };
  const Dims swapped = define(extents);
  extents.back() = BinsOf(size, onesided && !inverse);
  const Transform transform = {
      shapes.Define(size), shapes.Define(extents.back()), inverse, mirrored};
  const Dims results = define(swap.Swapped(extents));
  ENCORE_ASSIGN_OR_RETURN(
      x, shapes.Assert(x, StrCat("input axis is not an axis to transform "
                                 "along, or the length of the transform is not "
                                 "in [1, ",
                                 kMaxLength, "]")));
  ENCORE_ASSIGN_OR_RETURN(const Value y,
                          Apply(context, swap.Swap(x, swapped), transform));
  return context.Output(0, swap.Swap(y, results));
}

Status Stft(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(2, 4));
  GraphBuilder& g = context.builder();
  Value x = context.Input(0);
  if (x.rank() == 2) x = context.Unsqueeze(x, {2});
  ENCORE_ASSIGN_OR_RETURN(IndexExpr step, ElementOf(context, 1, "frame_step"));
  ENCORE_ASSIGN_OR_RETURN(const bool onesided,
                          context.attributes().Bool("onesided", true));
  if (x.rank() != 3 || !(context.HasInput(2) || context.HasInput(3))) {
    return NodeContext::Error(
        StrCat("input signal is ", x.type(),
               ", expected [batch, length, 1 or 2] and a window or a "
               "frame_length"));
  }
  ShapeBuilder shapes(context);
  IndexExpr length = 0;
  if (context.HasInput(3)) {
    ENCORE_ASSIGN_OR_RETURN(length, ElementOf(context, 3, "frame_length"));
  }
  if (context.HasInput(2)) {
    ENCORE_RETURN_IF_ERROR(context.CheckVector(2, "window"));
    const IndexExpr window = shapes.Extent(context.shape(context.Input(2))[0]);
    if (context.HasInput(3)) shapes.RequireEqual(length, window);
    length = window;
  }
  const Dim signal = context.shape(x)[1];
  length = shapes.RequireWithin(length, 1, kMaxLength);
  const Transform transform = {shapes.Define(length),
                               shapes.Define(BinsOf(length, onesided))};
  IndexExpr room = shapes.Extent(signal) - length;
  shapes.Require(step >= 1);
  shapes.Require(room >= 0);
  step = Max(step, 1);
  if (!room.known()) room = Max(room, 0);
  const Dim frames = shapes.Define(FloorDiv(room, step) + 1, signal);
  ENCORE_ASSIGN_OR_RETURN(
      x, shapes.Assert(x, StrCat("input frame_step is not positive, or a frame "
                                 "is not in [1, ",
                                 kMaxLength,
                                 "], not as long as input window or longer "
                                 "than input signal")));
  // Frame f begins at f * step.
  const Value begins = g.Mul(CountTo(context, frames), step.ToValue(g));
  const Value at =
      g.Add(g.Unsqueeze(begins, {1}), CountTo(context, transform.size));
  Value framed = g.Take(x, at, 1);
  if (context.HasInput(2)) {
    framed = g.Mul(framed, g.Unsqueeze(context.Input(2), {1}));
  }
  ENCORE_ASSIGN_OR_RETURN(const Value y, Apply(context, framed, transform));
  return context.Output(0, y);
}

constexpr Converter kConverters[] = {
    {"DFT", Dft, Op::kDotGeneral},
    {"STFT", Stft, Op::kDotGeneral},
};

}  // namespace

std::span<const Converter> SpectralConverters() { return kConverters; }

}  // namespace encore::onnx
