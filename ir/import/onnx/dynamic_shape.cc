#include "encore/ir/import/onnx/dynamic_shape.h"

#include <algorithm>

#include "encore/ir/support/strings.h"

namespace encore::onnx {
namespace {

// The bound of a size that nothing bounds.
constexpr int64_t kMaxSize = int64_t{1} << 40;

// Element `i` of a vector, as a scalar.
Value Element(NodeContext& context, Value vector, int64_t i) {
  return context.Reshape(context.builder().SliceAxis(vector, 0, i, i + 1), {});
}

}  // namespace

Dim RunTimeSize(NodeContext& context, int64_t lower,
                std::optional<int64_t> upper) {
  GraphBuilder& g = context.builder();
  size_t number = g.graph().symbols().size();
  std::string name = StrCat("size_", number);
  while (g.graph().FindSymbol(name)) name = StrCat("size_", ++number);
  return g.Symbol(std::move(name), lower, upper.value_or(kMaxSize),
                  /*at_run_time=*/true);
}

Value CountUp(NodeContext& context, Value count, std::optional<int64_t> upper) {
  if (const Literal* known = count.constant()) {
    return context.builder().Iota(DType::kI64,
                                  {std::max<int64_t>(known->AsInt(0), 0)}, 0);
  }
  return context.Emit(Op::kCountUp, {count},
                      CountUpAttrs{{RunTimeSize(context, 0, upper)}});
}

Value PositionsOf(NodeContext& context, Value mask) {
  GraphBuilder& g = context.builder();
  const Dim size = context.shape(mask)[0];
  const Value ones = g.Cast(mask, DType::kI64);
  // Each true element goes to the place that those before it leave; the others
  // go past the end, where a scatter drops them.
  const Value before = g.Cumulative(ones, {Combiner::kSum, 0, true, false});
  const Value past = context.Reshape(g.DimValues({size}), {});
  const Value place = g.Select(mask, before, past);
  const Value zeros = g.Full({size}, g.Scalar(DType::kI64, int64_t{0}));
  ScatterAttrs scatter;
  scatter.inserted_window_dims = {0};
  scatter.scatter_dims_to_operand_dims = {0};
  scatter.index_vector_dim = 1;
  const Value positions =
      g.Scatter(zeros, context.Unsqueeze(place, {1}),
                g.Iota(DType::kI64, {size}, 0), std::move(scatter));
  const int64_t bound = size.UpperBound(g.graph().symbols());
  return g.Take(positions, CountUp(context, g.Sum(ones, {0}), bound), 0);
}

Value TakeFront(NodeContext& context, Value buffer, Value dims, const Shape& a,
                const Shape& b) {
  GraphBuilder& g = context.builder();
  Value index = g.Scalar(DType::kI64, int64_t{0});
  Value stride = g.Scalar(DType::kI64, int64_t{1});
  // From the last dim to the first, along which the stride grows.
  for (int d = a.rank(); d-- > 0;) {
    const Value extent = Element(context, dims, d);
    const Value along =
        a[d] == b[d] ? g.Iota(DType::kI64, {a[d]}, 0)
                     : CountUp(context, extent,
                               std::max(a[d].constant(), b[d].constant()));
    Dims column(a.rank() - d, 1);
    column[0] = context.shape(along)[0];
    index = g.Add(index, g.Mul(context.Reshape(along, column), stride));
    stride = g.Mul(stride, extent);
  }
  return g.Take(buffer, index, 0);
}

}  // namespace encore::onnx
