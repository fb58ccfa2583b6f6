#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "encore/ir/eval/families.h"
#include "encore/ir/eval/numbers.h"

namespace encore::eval {
namespace {

using Line = std::span<double>;

// Applies f to each line along an axis.
Results AlongAxis(const EvalContext& context,
                  const std::function<void(Line)>& f) {
  const int64_t axis = context.attrs<AxisAttrs>().axis;
  const std::vector<int64_t>& dims = context.dims();
  std::vector<double> values = DecodeAll<double>(context.operand(0));
  const int64_t length = dims[axis];
  const int64_t inner = RowMajorStrides(dims)[axis];
  std::vector<double> line(length);
  for (int64_t at = 0; at < static_cast<int64_t>(values.size()); ++at) {
    if (at / inner % length != 0) continue;
    for (int64_t i = 0; i < length; ++i) line[i] = values[at + i * inner];
    f(line);
    for (int64_t i = 0; i < length; ++i) values[at + i * inner] = line[i];
  }
  return Literals{EncodeAll(context.dtype(), dims, values)};
}

// Divides by the root of the mean square, of what is left once the mean is
// taken away where `centred`.
void Normalize(Line line, double epsilon, bool centred) {
  const auto count = static_cast<double>(line.size());
  if (centred) {
    const double mean = std::accumulate(line.begin(), line.end(), 0.0) / count;
    for (double& value : line) value -= mean;
  }
  double squares = 0;
  for (const double value : line) squares += value * value;
  const double scale = 1 / std::sqrt(squares / count + epsilon);
  for (double& value : line) value *= scale;
}

// Normalizes runs of `length` elements, then multiplies and adds the elements
// that `channel` (a function of the element's number) names.
template <typename Channel>
Results NormalizeRuns(const EvalContext& context, int64_t length,
                      double epsilon, bool centred, Channel channel) {
  std::vector<double> values = DecodeAll<double>(context.operand(0));
  const auto count = static_cast<int64_t>(values.size());
  for (int64_t at = 0; at < count; at += length) {
    Normalize(Line(values).subspan(at, length), epsilon, centred);
  }
  const std::vector<double> scale = DecodeAll<double>(context.operand(1));
  std::vector<double> bias(scale.size());
  if (context.operands.size() > 2) bias = DecodeAll<double>(context.operand(2));
  for (int64_t i = 0; i < count; ++i) {
    values[i] = values[i] * scale[channel(i)] + bias[channel(i)];
  }
  return Literals{EncodeAll(context.dtype(), context.dims(), values)};
}

Results NormalizeLastDims(const EvalContext& context, bool centred) {
  const LayerNormAttrs& attrs = context.attrs<LayerNormAttrs>();
  const int64_t length = context.operand(1).element_count();
  return NormalizeRuns(context, length, attrs.epsilon, centred,
                       [length](int64_t i) { return i % length; });
}

// Elements of one channel of one sample.
int64_t ChannelSize(std::span<const int64_t> dims) {
  return std::accumulate(dims.begin() + 2, dims.end(), int64_t{1},
                         std::multiplies<>());
}

Results NormalizeGroups(const EvalContext& context, int64_t groups,
                        double epsilon) {
  const int64_t channels = context.dims()[1];
  const int64_t size = ChannelSize(context.dims());
  return NormalizeRuns(
      context, channels / groups * size, epsilon, /*centred=*/true,
      [size, channels](int64_t i) { return i / size % channels; });
}

void Softmax(Line line) {
  double largest = line.front(), sum = 0;
  for (const double value : line) largest = Larger(largest, value);
  for (double& value : line) sum += value = std::exp(value - largest);
  for (double& value : line) value /= sum;
}

void LogSoftmax(Line line) {
  double largest = line.front(), sum = 0;
  for (const double value : line) largest = Larger(largest, value);
  for (const double value : line) sum += std::exp(value - largest);
  for (double& value : line) value = value - largest - std::log(sum);
}

void Hardmax(Line line) {
  size_t largest = 0;
  for (size_t i = 1; i < line.size() && !std::isnan(line[largest]); ++i) {
    if (!(line[i] <= line[largest])) largest = i;
  }
  std::ranges::fill(line, 0.0);
  line[largest] = 1;
}

}  // namespace

Results EvaluateSoftmax(const EvalContext& context) {
  return AlongAxis(context, Softmax);
}

Results EvaluateLogSoftmax(const EvalContext& context) {
  return AlongAxis(context, LogSoftmax);
}

Results EvaluateHardmax(const EvalContext& context) {
  return AlongAxis(context, Hardmax);
}

Results EvaluateLayerNorm(const EvalContext& context) {
  return NormalizeLastDims(context, /*centred=*/true);
}

Results EvaluateRmsNorm(const EvalContext& context) {
  return NormalizeLastDims(context, /*centred=*/false);
}

Results EvaluateInstanceNorm(const EvalContext& context) {
  const int64_t channels = std::max<int64_t>(context.dims()[1], 1);
  return NormalizeGroups(context, channels,
                         context.attrs<EpsilonAttrs>().epsilon);
}

Results EvaluateGroupNorm(const EvalContext& context) {
  const GroupNormAttrs& attrs = context.attrs<GroupNormAttrs>();
  return NormalizeGroups(context, attrs.groups, attrs.epsilon);
}

Results EvaluateBatchNorm(const EvalContext& context) {
  const double epsilon = context.attrs<EpsilonAttrs>().epsilon;
  std::vector<double> operands[5];
  for (int i = 0; i < 5; ++i) {
    operands[i] = DecodeAll<double>(context.operand(i));
  }
  auto& [values, scale, bias, mean, variance] = operands;
  const int64_t channels = context.dims()[1];
  const int64_t size = ChannelSize(context.dims());
  for (size_t i = 0; i < values.size(); ++i) {
    const int64_t c = static_cast<int64_t>(i) / size % channels;
    values[i] =
        (values[i] - mean[c]) / std::sqrt(variance[c] + epsilon) * scale[c] +
        bias[c];
  }
  return Literals{EncodeAll(context.dtype(), context.dims(), values)};
}

Results EvaluateAttention(const EvalContext& context) {
  const AttentionAttrs& attrs = context.attrs<AttentionAttrs>();
  const std::vector<int64_t>& dims = context.dims();
  const int64_t heads = dims[1], queries = dims[2], width = dims[3];
  const int64_t kv_heads = context.dims(1)[1], keys = context.dims(1)[2];
  const int64_t value_width = context.dims(2)[3];
  const std::vector<double> q = DecodeAll<double>(context.operand(0)),
                            k = DecodeAll<double>(context.operand(1)),
                            v = DecodeAll<double>(context.operand(2));
  std::vector<double> mask;
  std::vector<int64_t> mask_strides(4);
  if (context.operands.size() > 3) {
    mask = DecodeAll<double>(context.operand(3));
    mask_strides = RowMajorStrides(context.dims(3));
    for (int i = 0; i < 4; ++i) {
      if (context.dims(3)[i] == 1) mask_strides[i] = 0;
    }
  }
  std::vector<double> result(dims[0] * heads * queries * value_width);
  std::vector<double> scores(keys);
  for (int64_t row = 0; keys > 0 && row < dims[0] * heads * queries; ++row) {
    const int64_t i = row % queries, head = row / queries % heads;
    const int64_t batch = row / queries / heads;
    const int64_t kv = batch * kv_heads + head / (heads / kv_heads);
    for (int64_t j = 0; j < keys; ++j) {
      double dot = 0;
      for (int64_t d = 0; d < width; ++d) {
        dot += q[row * width + d] * k[(kv * keys + j) * width + d];
      }
      scores[j] = attrs.scale * dot;
      if (attrs.softcap != 0) {
        scores[j] = attrs.softcap * std::tanh(scores[j] / attrs.softcap);
      }
      if (!mask.empty()) {
        scores[j] += mask[batch * mask_strides[0] + head * mask_strides[1] +
                          i * mask_strides[2] + j * mask_strides[3]];
      }
      if (attrs.causal && j > i + keys - queries) scores[j] = -INFINITY;
    }
    Softmax(scores);
    for (int64_t j = 0; j < keys; ++j) {
      for (int64_t d = 0; d < value_width; ++d) {
        result[row * value_width + d] +=
            scores[j] * v[(kv * keys + j) * value_width + d];
      }
    }
  }
  return Literals{EncodeAll(context.dtype(), context.result_dims(), result)};
}

}  // namespace encore::eval
