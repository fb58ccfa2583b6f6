// Fourier transforms, as products with the transform's matrix.

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "encore/ir/import/onnx/converters.h"
#include "encore/ir/import/onnx/dynamic_shape.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::onnx {
namespace {

// A longer transform's matrix would not fit memory.
constexpr int64_t kMaxLength = 1 << 14;

struct Transform {
  int64_t size = 0;  // how long it is
  int64_t bins = 0;  // how many results there are
  bool inverse = false;
};

// cos and sin of 2 pi k n / size, [from, bins]; divided by the size where it is
// the inverse.
std::array<Value, 2> Tables(GraphBuilder& g, DType dtype, int64_t from,
                            const Transform& transform) {
  std::array<Literal, 2> tables = {Literal(dtype, {from, transform.bins}),
                                   Literal(dtype, {from, transform.bins})};
  const double factor =
      transform.inverse ? 1.0 / static_cast<double>(transform.size) : 1.0;
  for (int64_t n = 0; n < from; ++n) {
    for (int64_t k = 0; k < transform.bins; ++k) {
      const double angle = 2 * std::numbers::pi *
                           static_cast<double>(n * k % transform.size) /
                           static_cast<double>(transform.size);
      tables[0].SetDouble(n * transform.bins + k, factor * std::cos(angle));
      tables[1].SetDouble(n * transform.bins + k, factor * std::sin(angle));
    }
  }
  return {g.Constant(std::move(tables[0])), g.Constant(std::move(tables[1]))};
}

// [..., n, 1 or 2] to [..., bins, 2].
StatusOr<Value> Apply(NodeContext& context, Value x,
                      const Transform& transform) {
  GraphBuilder& g = context.builder();
  const int rank = x.rank();
  const Dim length = x.shape()[rank - 2], parts = x.shape()[rank - 1];
  if (!length.is_constant() || !(parts == Dim(1) || parts == Dim(2)) ||
      transform.size < 1 || transform.size > kMaxLength) {
    return NodeContext::Error(
        StrCat("a transform of length ", transform.size, " of ", x.type(),
               ", expected a known length of at most ", kMaxLength,
               " of real or complex numbers"));
  }
  const int64_t from = std::min(length.constant(), transform.size);
  const auto [cosine, sine] = Tables(g, x.dtype(), from, transform);
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

Status Dft(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(1, 3));
  GraphBuilder& g = context.builder();
  const Value x = context.Input(0);
  const int rank = x.rank();
  Transform transform;
  ENCORE_ASSIGN_OR_RETURN(transform.inverse,
                          context.attributes().Bool("inverse", false));
  ENCORE_ASSIGN_OR_RETURN(const bool onesided,
                          context.attributes().Bool("onesided", false));
  Ints raw = {-2};
  if (context.HasInput(2)) {
    ENCORE_ASSIGN_OR_RETURN(raw, context.IntsInput(2, "axis"));
  }
  if (raw.size() != 1) return NodeContext::Error("input axis is no scalar");
  ENCORE_ASSIGN_OR_RETURN(const int64_t axis,
                          context.Axis(raw[0], rank, "input axis"));
  if (rank < 2 || axis == rank - 1 || !context.shape(x)[axis].is_constant()) {
    return NodeContext::Error(StrCat("axis ", axis, " of ", x.type(),
                                     " is not one to transform along"));
  }
  transform.size = context.shape(x)[axis].constant();
  if (context.HasInput(1)) {
    ENCORE_ASSIGN_OR_RETURN(const Ints size,
                            context.IntsInput(1, "dft_length"));
    if (size.size() != 1) {
      return NodeContext::Error("input dft_length is no scalar");
    }
    transform.size = size[0];
  }
  transform.bins = onesided ? transform.size / 2 + 1 : transform.size;
  Ints order;
  for (int i = 0; i + 1 < rank; ++i) order.push_back(i);
  std::swap(order[axis], order.back());
  order.push_back(rank - 1);
  ENCORE_ASSIGN_OR_RETURN(const Value y,
                          Apply(context, g.Transpose(x, order), transform));
  return context.Output(0, g.Transpose(y, order));
}

Status Stft(NodeContext& context) {
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(2, 4));
  GraphBuilder& g = context.builder();
  Value x = context.Input(0);
  if (x.rank() == 2) x = context.Unsqueeze(x, {2});
  ENCORE_ASSIGN_OR_RETURN(const std::vector<Value> step,
                          ElementsOf(context, 1, "frame_step"));
  ENCORE_ASSIGN_OR_RETURN(const bool onesided,
                          context.attributes().Bool("onesided", true));
  Dim length = 0;
  if (context.HasInput(2)) length = context.shape(context.Input(2))[0];
  if (context.HasInput(3)) {
    ENCORE_ASSIGN_OR_RETURN(const Ints given,
                            context.IntsInput(3, "frame_length"));
    if (given.size() == 1) length = given[0];
  }
  if (x.rank() != 3 || step.size() != 1 || !length.is_constant() ||
      length.constant() < 1) {
    return NodeContext::Error(
        StrCat("input signal is ", x.type(),
               ", expected [batch, length, 1 or 2], a positive frame_step and "
               "a frame_length or window"));
  }
  const Value room =
      g.Sub(DimValue(context, context.shape(x)[1]), length.constant());
  SizesByData sizes(context);
  sizes.Require(g.Compare(step[0], 1, Comparison::kGe));
  sizes.Require(g.Compare(room, 0, Comparison::kGe));
  const Dim frames =
      sizes.Add(g.Add(g.Div(room, g.Max(step[0], 1)), 1),
                context.shape(x)[1].UpperBound(g.graph().symbols()));
  ENCORE_ASSIGN_OR_RETURN(
      x, sizes.Guard(x,
                     "input frame_step is not positive, or input signal is "
                     "shorter than a frame"));
  // Frame f begins at f * step.
  const Value begins = g.Mul(sizes.CountTo(frames), step[0]);
  const Value at =
      g.Add(g.Unsqueeze(begins, {1}), g.Iota(DType::kI64, {length}, 0));
  Value framed = g.Take(x, at, 1);
  if (context.HasInput(2)) {
    framed = g.Mul(framed, g.Unsqueeze(context.Input(2), {1}));
  }
  Transform transform{length.constant(), length.constant(), false};
  if (onesided) transform.bins = transform.size / 2 + 1;
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
