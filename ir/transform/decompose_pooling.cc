#include "encore/ir/transform/decompositions.h"

namespace encore::ops {
namespace {

// Windows of 1 over batch and channels before the pool's.
ReduceWindowAttrs OfPool(const PoolAttrs& pool, Combiner combiner) {
  const auto with = [](int64_t neutral, const Ints& list) {
    Ints all = {neutral, neutral};
    all.insert(all.end(), list.begin(), list.end());
    return all;
  };
  return {combiner,
          with(1, pool.window),
          with(1, pool.strides),
          with(0, pool.padding_low),
          with(0, pool.padding_high),
          with(1, pool.dilations)};
}

}  // namespace

Value DecomposeMaxPool(const DecomposeContext& context) {
  return context.g.ReduceWindow(
      context.operands[0], OfPool(context.attrs<PoolAttrs>(), Combiner::kMax));
}

Value DecomposeAvgPool(const DecomposeContext& context) {
  GraphBuilder& g = context.g;
  const PoolAttrs& pool = context.attrs<PoolAttrs>();
  const ReduceWindowAttrs windows = OfPool(pool, Combiner::kSum);
  const Value x = context.wide();
  const Value sum = g.ReduceWindow(x, windows);
  if (pool.count_padding) {
    double size = 1;
    for (const int64_t extent : pool.window) {
      size *= static_cast<double>(extent);
    }
    return context.Narrow(g.Div(sum, size));
  }
  // How many elements each window has, by summing ones.
  Shape plane = x.shape();
  plane[0] = plane[1] = 1;
  const Value ones = g.Full(plane, g.Scalar(x.dtype(), 1.0));
  return context.Narrow(g.Div(sum, g.ReduceWindow(ones, windows)));
}

}  // namespace encore::ops
