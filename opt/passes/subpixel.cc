#include "encore/opt/passes/subpixel.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "encore/ir/build/builder.h"
#include "encore/ir/ops/attributes.h"
#include "encore/ir/ops/op.h"
#include "encore/ir/support/integers.h"
#include "encore/ir/transform/rewrite.h"
#include "encore/ir/types/shape.h"

namespace encore::opt {
namespace {

// What becomes of one spatial dim.
struct Phases {
  int64_t count = 1;  // s
  int64_t taps = 1;   // of each phase
  int64_t low = 0, high = 0;
  int64_t positions = 1;  // of each phase
  int64_t extent = 1;     // of the result
};

std::optional<Phases> PhasesOf(const ConvolutionAttrs& attrs, int d,
                               const Dim& input, const Dim& window,
                               const Dim& result) {
  if (!input.is_constant() || !window.is_constant() || !result.is_constant() ||
      attrs.strides[d] != 1) {
    return std::nullopt;
  }
  Phases phases;
  phases.extent = result.constant();
  phases.count = attrs.lhs_dilation[d];
  const int64_t s = phases.count, k = window.constant();
  if (input.constant() == 0 || phases.extent == 0) return std::nullopt;
  if (s == 1) {
    phases.taps = k;
    phases.low = attrs.padding_low[d];
    phases.high = attrs.padding_high[d];
    phases.positions = phases.extent;
    return phases;
  }
  const int64_t low = attrs.padding_low[d];
  if (k % s != 0 || low < 0 || low % s != s - 1 || attrs.rhs_dilation[d] != 1) {
    return std::nullopt;
  }
  phases.taps = k / s;
  phases.low = (low - (s - 1)) / s;
  phases.positions = CeilDiv(phases.extent, s);
  phases.high =
      phases.positions - input.constant() - phases.low + phases.taps - 1;
  return phases.high < 0 ? std::nullopt : std::optional(phases);
}

// [O, C, k…] as [O * s…, C, k / s…]: tap s * u + s - 1 - b of a filter is tap u
// of its phase b.
Value PhaseFilters(GraphBuilder& builder, Value filters, const Shape& shape,
                   const std::vector<Phases>& phases) {
  const int rank = static_cast<int>(phases.size());
  Dims split = {shape[0], shape[1]}, merged = {shape[0], shape[1]};
  Ints phase_axes, order = {0};
  for (int d = 0; d < rank; ++d) {
    split.push_back(Dim(phases[d].taps));
    split.push_back(Dim(phases[d].count));
    merged[0] = merged[0] * Dim(phases[d].count);
    merged.push_back(Dim(phases[d].taps));
    phase_axes.push_back(2 * d + 3);
  }
  order.insert(order.end(), phase_axes.begin(), phase_axes.end());
  order.push_back(1);
  for (int d = 0; d < rank; ++d) order.push_back(2 * d + 2);
  const Value reversed =
      builder.Reverse(builder.Reshape(filters, Shape(split)), phase_axes);
  return builder.Reshape(builder.Transpose(reversed, order), Shape(merged));
}

// [N, O * s…, a…] as [N, O, s * a…], as far as the result goes.
Value Interleave(GraphBuilder& builder, Value value, const Shape& result,
                 const std::vector<Phases>& phases) {
  const int rank = static_cast<int>(phases.size());
  Dims split = {result[0], result[1]}, merged = {result[0], result[1]};
  Dims starts(rank + 2, Dim(0)), limits = {result[0], result[1]};
  Ints order = {0, 1};
  for (int d = 0; d < rank; ++d) split.push_back(Dim(phases[d].count));
  for (int d = 0; d < rank; ++d) {
    split.push_back(Dim(phases[d].positions));
    order.push_back(rank + 2 + d);
    order.push_back(2 + d);
    merged.push_back(Dim(phases[d].positions * phases[d].count));
    limits.push_back(Dim(phases[d].extent));
  }
  value = builder.Transpose(builder.Reshape(value, Shape(split)), order);
  return builder.Slice(builder.Reshape(value, Shape(merged)), starts, limits);
}

std::optional<std::vector<Value>> Rewrite(GraphBuilder& builder,
                                          const Graph& graph, NodeId node,
                                          std::span<const Value> operands) {
  if (graph.op(node) != Op::kConvolution) return std::nullopt;
  ConvolutionAttrs attrs = graph.attrs<ConvolutionAttrs>(node);
  const Shape& input = graph.shape(graph.operand(node, 0));
  const Shape& filters = graph.shape(graph.operand(node, 1));
  const Shape& result = graph.shape(graph.result(node));
  if (attrs.batch_groups != 1 ||
      std::ranges::all_of(attrs.lhs_dilation,
                          [](int64_t dilation) { return dilation == 1; })) {
    return std::nullopt;
  }
  std::vector<Phases> phases;
  for (int d = 0; d < input.rank() - 2; ++d) {
    const auto dim =
        PhasesOf(attrs, d, input[d + 2], filters[d + 2], result[d + 2]);
    if (!dim) return std::nullopt;
    attrs.lhs_dilation[d] = 1;
    attrs.padding_low[d] = dim->low;
    attrs.padding_high[d] = dim->high;
    phases.push_back(*dim);
  }
  const Value dense = builder.Convolution(
      operands[0], PhaseFilters(builder, operands[1], filters, phases), attrs);
  return std::vector<Value>{Interleave(builder, dense, result, phases)};
}

}  // namespace

StatusOr<Graph> SubpixelConvolutions(const Graph& graph) {
  return RewriteGraph(graph, Rewrite);
}

}  // namespace encore::opt
