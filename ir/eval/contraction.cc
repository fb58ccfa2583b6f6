#include <algorithm>
#include <numeric>

#include "encore/ir/eval/copy.h"
#include "encore/ir/eval/families.h"
#include "encore/ir/eval/matmul.h"
#include "encore/ir/eval/numbers.h"

namespace encore::eval {
namespace {

int64_t Product(std::span<const int64_t> dims) {
  return std::accumulate(dims.begin(), dims.end(), int64_t{1},
                         std::multiplies<>());
}

int64_t ProductAt(std::span<const int64_t> dims, const Ints& axes) {
  // Unsigned: with an extent of 0 the others may be anything.
  uint64_t product = 1;
  for (const int64_t axis : axes) product *= static_cast<uint64_t>(dims[axis]);
  return static_cast<int64_t>(product);
}

// The axes in neither list.
Ints FreeAxes(int rank, const Ints& a, const Ints& b) {
  Ints free;
  for (int64_t i = 0; i < rank; ++i) {
    if (std::find(a.begin(), a.end(), i) == a.end() &&
        std::find(b.begin(), b.end(), i) == b.end()) {
      free.push_back(i);
    }
  }
  return free;
}

Ints Joined(std::initializer_list<Ints> lists) {
  Ints all;
  for (const Ints& list : lists)
    all.insert(all.end(), list.begin(), list.end());
  return all;
}

template <typename W>
Results Dot(const EvalContext& context) {
  const DotGeneralAttrs& attrs = context.attrs<DotGeneralAttrs>();
  const std::vector<int64_t>&lhs_dims = context.dims(0),
        &rhs_dims = context.dims(1);
  const Ints lhs_free = FreeAxes(static_cast<int>(lhs_dims.size()),
                                 attrs.contract.lhs, attrs.batch.lhs);
  const Ints rhs_free = FreeAxes(static_cast<int>(rhs_dims.size()),
                                 attrs.contract.rhs, attrs.batch.rhs);
  const std::vector<W> lhs =
      Permuted(DecodeAll<W>(context.operand(0)), lhs_dims,
               Joined({attrs.batch.lhs, lhs_free, attrs.contract.lhs}));
  const std::vector<W> rhs =
      Permuted(DecodeAll<W>(context.operand(1)), rhs_dims,
               Joined({attrs.batch.rhs, attrs.contract.rhs, rhs_free}));
  const int64_t batch = ProductAt(lhs_dims, attrs.batch.lhs);
  const int64_t m = ProductAt(lhs_dims, lhs_free);
  const int64_t k = ProductAt(lhs_dims, attrs.contract.lhs);
  const int64_t n = ProductAt(rhs_dims, rhs_free);
  std::vector<W> sums(batch * m * n);
  for (int64_t i = 0; i < batch; ++i) {
    MatMul(m, k, n, lhs.data() + i * m * k, rhs.data() + i * k * n,
           sums.data() + i * m * n);
  }
  return Literals{EncodeAll(context.dtype(), context.result_dims(), sums)};
}

// A convolution as matrix products over patches of the input, a tile of output
// positions at a time.
template <typename W>
class Convolver {
 public:
  explicit Convolver(const EvalContext& context)
      : attrs_(context.attrs<ConvolutionAttrs>()),
        input_dims_(context.dims(0)),
        kernel_dims_(context.dims(1)),
        output_dims_(context.result_dims()),
        input_(DecodeAll<W>(context.operand(0))),
        kernel_(DecodeAll<W>(context.operand(1))),
        taps_(Product(std::span(kernel_dims_).subspan(2))),
        positions_(Product(std::span(output_dims_).subspan(2))),
        input_size_(Product(std::span(input_dims_).subspan(2))),
        output_(Product(output_dims_)) {}

  std::vector<W> Run() && {
    for (int64_t first = 0; first < positions_; first += kTile) {
      const int64_t count = std::min(kTile, positions_ - first);
      FillOffsets(first, count);
      for (int64_t n = 0; n < output_dims_[0]; ++n) {
        const int64_t groups = attrs_.feature_groups * attrs_.batch_groups;
        for (int64_t g = 0; g < groups; ++g) RunTile(n, g, first, count);
      }
    }
    return std::move(output_);
  }

 private:
  static constexpr int64_t kTile = 512;

  // offsets_[tap, position]: where in the input's spatial dims the tap reads;
  // -1: padding.
  void FillOffsets(int64_t first, int64_t count) {
    offsets_.resize(taps_ * count);
    for (int64_t tap = 0; tap < taps_; ++tap) {
      for (int64_t i = 0; i < count; ++i) {
        offsets_[tap * count + i] = Offset(tap, first + i);
      }
    }
  }

  int64_t Offset(int64_t tap, int64_t position) const {
    int64_t offset = 0, stride = 1;
    for (int d = static_cast<int>(input_dims_.size()) - 1; d >= 2; --d) {
      const int s = d - 2;
      const int64_t at = position % output_dims_[d] * attrs_.strides[s] +
                         tap % kernel_dims_[d] * attrs_.rhs_dilation[s] -
                         attrs_.padding_low[s];
      const int64_t dilation = attrs_.lhs_dilation[s];
      if (at < 0 || at % dilation != 0 || at / dilation >= input_dims_[d]) {
        return -1;
      }
      offset += at / dilation * stride;
      stride *= input_dims_[d];
      position /= output_dims_[d];
      tap /= kernel_dims_[d];
    }
    return offset;
  }

  void RunTile(int64_t n, int64_t group, int64_t first, int64_t count) {
    const int64_t channels = kernel_dims_[1];
    const int64_t groups = attrs_.feature_groups * attrs_.batch_groups;
    const int64_t outputs = kernel_dims_[0] / groups;
    const bool by_batch = attrs_.batch_groups > 1;
    const int64_t sample = by_batch ? group * output_dims_[0] + n : n;
    const int64_t channel = by_batch ? 0 : group * channels;
    const W* source =
        input_.data() + (sample * input_dims_[1] + channel) * input_size_;
    patches_.resize(channels * taps_ * count);
    for (int64_t c = 0; c < channels; ++c) {
      W* to = patches_.data() + c * taps_ * count;
      for (int64_t i = 0; i < taps_ * count; ++i) {
        to[i] = offsets_[i] < 0 ? W{0} : source[c * input_size_ + offsets_[i]];
      }
    }
    sums_.assign(outputs * count, W{0});
    const int64_t depth = channels * taps_;
    MatMul(outputs, depth, count, kernel_.data() + group * outputs * depth,
           patches_.data(), sums_.data());
    for (int64_t o = 0; o < outputs; ++o) {
      const int64_t row = n * kernel_dims_[0] + group * outputs + o;
      std::copy_n(sums_.data() + o * count, count,
                  output_.data() + row * positions_ + first);
    }
  }

  const ConvolutionAttrs& attrs_;
  const std::vector<int64_t> input_dims_, kernel_dims_, output_dims_;
  const std::vector<W> input_, kernel_;
  const int64_t taps_, positions_, input_size_;
  std::vector<W> output_, patches_, sums_;
  std::vector<int64_t> offsets_;
};

}  // namespace

Results EvaluateDotGeneral(const EvalContext& context) {
  return WithDomain(context.dtype(),
                    [&](auto wide) { return Dot<decltype(wide)>(context); });
}

Results EvaluateConvolution(const EvalContext& context) {
  return WithDomain(context.dtype(), [&](auto wide) -> Results {
    return Literals{EncodeAll(context.dtype(), context.result_dims(),
                              Convolver<decltype(wide)>(context).Run())};
  });
}

Results EvaluateLinear(const EvalContext& context) {
  const int64_t outputs = context.dims(1)[0], k = context.dims(1)[1];
  const std::vector<double> x = DecodeAll<double>(context.operand(0));
  const std::vector<double> weight = Permuted(
      DecodeAll<double>(context.operand(1)), context.dims(1), Ints{1, 0});
  const int64_t rows = Product(context.dims()) / std::max<int64_t>(k, 1);
  const std::vector<int64_t> dims = context.result_dims();
  std::vector<double> sums(Product(dims));
  MatMul(k == 0 ? 0 : rows, k, outputs, x.data(), weight.data(), sums.data());
  if (context.operands.size() > 2) {
    const std::vector<double> bias = DecodeAll<double>(context.operand(2));
    for (size_t i = 0; i < sums.size(); ++i) sums[i] += bias[i % outputs];
  }
  return Literals{EncodeAll(context.dtype(), dims, sums)};
}

}  // namespace encore::eval
