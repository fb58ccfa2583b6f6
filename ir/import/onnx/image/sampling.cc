#include "encore/ir/import/onnx/image/sampling.h"

#include <utility>

namespace encore::onnx {
namespace {

// x [N, C, d…] at flat positions [N, P] of the spatial dims: [N, C, P].
Value AtPositions(GraphBuilder& g, Value x, Value positions) {
  const Shape shape = x.shape();
  Dim size = 1;
  for (int i = 2; i < shape.rank(); ++i) size = size * shape[i];
  const Value flat = g.Reshape(x, {shape[0], shape[1], size});
  GatherAttrs gather;
  gather.offset_dims = {1};
  gather.collapsed_slice_dims = {2};
  gather.operand_batching_dims = {0};
  gather.start_indices_batching_dims = {0};
  gather.start_index_map = {2};
  gather.index_vector_dim = 2;
  gather.slice_sizes = {1, shape[1], 1};
  return g.Gather(flat, positions, std::move(gather));
}

}  // namespace

Value Sample(GraphBuilder& g, Value x, const std::vector<GridAxis>& axes,
             const std::vector<std::vector<Tap>>& taps) {
  struct Partial {
    Value at, weight, inside;
  };
  std::vector<Partial> partial(1);
  for (size_t d = 0; d < axes.size(); ++d) {
    std::vector<Partial> next;
    for (const Partial& outer : partial) {
      for (const Tap& tap : taps[d]) {
        const auto both = [&](Op op, Value a, Value b) {
          return !a.valid() ? b : !b.valid() ? a : g.Binary(op, a, b);
        };
        const Value base =
            outer.at.valid() ? g.Mul(outer.at, axes[d].extent) : outer.at;
        next.push_back({both(Op::kAdd, base, tap.at),
                        both(Op::kMul, outer.weight, tap.weight),
                        both(Op::kAnd, outer.inside, tap.inside)});
      }
    }
    partial = std::move(next);
  }
  Value sum;
  for (const Partial& part : partial) {
    Value term = AtPositions(g, x, part.at);
    if (part.inside.valid()) {
      term = g.Select(g.Unsqueeze(part.inside, {1}), term,
                      g.Constant(Literal(x.dtype(), {})));
    }
    if (part.weight.valid()) {
      term = g.Mul(term, g.Cast(g.Unsqueeze(part.weight, {1}), x.dtype()));
    }
    sum = sum.valid() ? g.Add(sum, term) : term;
  }
  return sum;
}

}  // namespace encore::onnx
