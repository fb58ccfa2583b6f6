// Fourier transforms, as products with the transform's matrix.

#include <algorithm>
#include <array>
#include <numbers>
#include <numeric>
#include <optional>

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
    table = g.Cast(table, dtype);
  }
  return tables;
}

// [..., n, 1 or 2] to [..., bins, 2]; n is cut, or zeros follow.
StatusOr<Value> Apply(NodeContext& context, Value x,
                      const Transform& transform) {
  GraphBuilder& g = context.builder();
  const int rank = x.rank();
  const Shape shape = x.shape();
  const Dim parts = shape[rank - 1];
  if (!(parts == Dim(1) || parts == Dim(2))) {
    return NodeContext::Error(
        StrCat("input is ", x.type(), ", expected real or complex numbers"));
  }
  const Dim from = Min(shape[rank - 2], transform.size);
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
  return g.Concat({g.Unsqueeze(re, {-1}), g.Unsqueeze(im, {-1})}, -1);
}

// The transform as long as `size` says, and its results; that it is one is
// required.
Transform TransformOf(NodeContext& context, Value size, bool onesided,
                      SizesByData* sizes) {
  GraphBuilder& g = context.builder();
  sizes->Require(g.And(g.Compare(size, 1, Comparison::kGe),
                       g.Compare(size, kMaxLength, Comparison::kLe)));
  Transform transform;
  if (const std::optional<Dim> known = KnownDim(context, size)) {
    transform.size = *known;
    transform.bins = onesided ? FloorDiv(*known, 2) + 1 : *known;
  } else {
    transform.size = sizes->Add(size, kMaxLength);
    transform.bins = onesided ? sizes->Add(g.Add(g.Div(size, 2), 1), kMaxLength)
                              : transform.size;
  }
  return transform;
}

// A scalar input, or a vector of one integer.
StatusOr<Value> IntegerInput(NodeContext& context, int i,
                             std::string_view name) {
  ENCORE_ASSIGN_OR_RETURN(const std::vector<Value> elements,
                          ElementsOf(context, i, name));
  if (elements.size() == 1) return elements[0];
  return NodeContext::Error(StrCat("input ", name, " has ", elements.size(),
                                   " elements, expected 1"));
}

// The axis of a DFT may be data. Then it changes places with the last of them
// (but for the real and imaginary parts) before and after the transform.
class AxisSwap {
 public:
  // `axis` of the dims `shape`, without the parts. Of each extent that the swap
  // defines `sizes` gets the symbol.
  AxisSwap(NodeContext& context, Value axis) : context_(context), axis_(axis) {}

  // The dims under which `from` is there after the swap.
  Dims Swapped(const Dims& from, SizesByData* sizes) {
    const size_t last = from.size() - 1;
    Dims to;
    for (size_t d = 0; d < last; ++d) {
      to.push_back(Either(Is(d), from[last], from[d], sizes));
    }
    GraphBuilder& g = context_.builder();
    Value extent = sizes->ValueOf(from[last]);
    int64_t upper = UpperBound(from[last]);
    bool one = true;
    for (size_t d = 0; d < last; ++d) {
      one = one && from[d] == from[last];
      extent = g.Select(Is(d), sizes->ValueOf(from[d]), extent);
      upper = std::max(upper, UpperBound(from[d]));
    }
    to.push_back(one ? from[last] : sizes->Add(extent, upper));
    return to;
  }

  // x, [dims…, parts], with its dims swapped to be `to`.
  Value Swap(Value x, const Dims& to, const SizesByData& sizes) const {
    GraphBuilder& g = context_.builder();
    const size_t last = to.size() - 1;
    if (const Literal* known = axis_.constant()) {
      Ints order(x.rank());
      std::iota(order.begin(), order.end(), 0);
      std::swap(order[known->AsInt(0)], order[last]);
      return g.Transpose(x, std::move(order));
    }
    Dims from = x.shape().dims();
    const Dim parts = from.back();
    from.pop_back();
    // The stride of each dim of x, and the one it takes.
    Value stride = g.Scalar(DType::kI64, int64_t{1}), chosen = stride;
    Value index = g.Scalar(DType::kI64, int64_t{0});
    for (size_t d = last; d-- > 0;) {
      stride = g.Mul(stride, DimValue(context_, from[d + 1]));
      chosen = g.Select(Is(d), stride, chosen);
      index = g.Add(index, Along(to, d, g.Select(Is(d), 1, stride), sizes));
    }
    index = g.Add(index, Along(to, last, chosen, sizes));
    const Value rows = context_.Reshape(x, {Shape(from).ElementCount(), parts});
    return g.Take(rows, index, 0);
  }

 private:
  int64_t UpperBound(const Dim& dim) const {
    return dim.UpperBound(context_.builder().graph().symbols());
  }
  Value Is(size_t d) const {
    return context_.builder().Compare(axis_, static_cast<int64_t>(d),
                                      Comparison::kEq);
  }
  Dim Either(Value condition, const Dim& a, const Dim& b, SizesByData* sizes) {
    if (a == b) return a;
    GraphBuilder& g = context_.builder();
    return sizes->Add(g.Select(condition, sizes->ValueOf(a), sizes->ValueOf(b)),
                      std::max(UpperBound(a), UpperBound(b)));
  }
  Value Along(const Dims& dims, size_t d, Value stride,
              const SizesByData& sizes) const {
    Dims column(dims.size(), 1);
    column[d] = dims[d];
    const Value at = context_.Reshape(sizes.CountTo(dims[d]), column);
    return context_.builder().Mul(at, stride);
  }

  NodeContext& context_;
  Value axis_;
};

Status Dft(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(1, 3));
  GraphBuilder& g = context.builder();
  Value x = context.Input(0);
  const int rank = x.rank();
  ENCORE_ASSIGN_OR_RETURN(const bool inverse,
                          context.attributes().Bool("inverse", false));
  ENCORE_ASSIGN_OR_RETURN(const bool onesided,
                          context.attributes().Bool("onesided", false));
  Value axis = g.Scalar(DType::kI64, int64_t{-2});
  if (context.HasInput(2)) {
    ENCORE_ASSIGN_OR_RETURN(axis, IntegerInput(context, 2, "axis"));
  }
  if (rank < 2) {
    return NodeContext::Error(
        StrCat("input is ", x.type(), ", expected [..., length, 1 or 2]"));
  }
  axis = g.Select(g.Compare(axis, 0, Comparison::kLt), g.Add(axis, rank), axis);
  SizesByData sizes(context);
  sizes.Require(g.And(g.Compare(axis, 0, Comparison::kGe),
                      g.Compare(axis, rank - 1, Comparison::kLt)));
  AxisSwap swap(context, axis);
  Dims dims = x.shape().dims();
  const Dim parts = dims.back();
  dims.pop_back();
  const Dims swapped = swap.Swapped(dims, &sizes);
  Value size = sizes.ValueOf(swapped.back());
  if (context.HasInput(1)) {
    ENCORE_ASSIGN_OR_RETURN(size, IntegerInput(context, 1, "dft_length"));
  }
  Transform transform = TransformOf(context, size, onesided, &sizes);
  transform.inverse = inverse;
  Dims results = swapped;
  results.back() = transform.bins;
  results = swap.Swapped(results, &sizes);
  ENCORE_ASSIGN_OR_RETURN(
      x, sizes.Assert(x, StrCat("input axis is not an axis to transform along, "
                                "or the length of the transform is not in [1, ",
                                kMaxLength, "]")));
  ENCORE_ASSIGN_OR_RETURN(
      const Value y, Apply(context, swap.Swap(x, swapped, sizes), transform));
  return context.Output(0, swap.Swap(y, results, sizes));
}

Status Stft(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(2, 4));
  GraphBuilder& g = context.builder();
  Value x = context.Input(0);
  if (x.rank() == 2) x = context.Unsqueeze(x, {2});
  ENCORE_ASSIGN_OR_RETURN(const Value step,
                          IntegerInput(context, 1, "frame_step"));
  ENCORE_ASSIGN_OR_RETURN(const bool onesided,
                          context.attributes().Bool("onesided", true));
  if (x.rank() != 3 || !(context.HasInput(2) || context.HasInput(3))) {
    return NodeContext::Error(
        StrCat("input signal is ", x.type(),
               ", expected [batch, length, 1 or 2] and a window or a "
               "frame_length"));
  }
  SizesByData sizes(context);
  Value length;
  if (context.HasInput(3)) {
    ENCORE_ASSIGN_OR_RETURN(length, IntegerInput(context, 3, "frame_length"));
  }
  if (context.HasInput(2)) {
    ENCORE_RETURN_IF_ERROR(context.CheckVector(2, "window"));
    const Value window = DimValue(context, context.shape(context.Input(2))[0]);
    if (length.valid()) {
      sizes.Require(g.Compare(length, window, Comparison::kEq));
    }
    length = window;
  }
  const Dim signal = context.shape(x)[1];
  const Value room = g.Sub(DimValue(context, signal), length);
  sizes.Require(g.Compare(step, 1, Comparison::kGe));
  sizes.Require(g.Compare(room, 0, Comparison::kGe));
  const Transform transform = TransformOf(context, length, onesided, &sizes);
  const Dim frames = sizes.Add(g.Add(g.Div(room, g.Max(step, 1)), 1),
                               signal.UpperBound(g.graph().symbols()));
  ENCORE_ASSIGN_OR_RETURN(
      x, sizes.Assert(x, StrCat("input frame_step is not positive, or a frame "
                                "is not in [1, ",
                                kMaxLength,
                                "], not as long as input window or longer than "
                                "input signal")));
  // Frame f begins at f * step.
  const Value begins = g.Mul(sizes.CountTo(frames), step);
  const Value at =
      g.Add(g.Unsqueeze(begins, {1}), sizes.CountTo(transform.size));
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
