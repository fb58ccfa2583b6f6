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

bool IsKnown(NodeContext& context, int i) {
  const Bound* bound = context.scope().Find(context.node().inputs[i]);
  return bound->constant || bound->dims;
}

Value DimValue(NodeContext& context, const Dim& dim) {
  GraphBuilder& g = context.builder();
  if (dim.is_constant()) return g.Scalar(DType::kI64, dim.constant());
  return context.Reshape(g.DimValues({dim}), {});
}

StatusOr<std::vector<Value>> ElementsOf(NodeContext& context, int i,
                                        std::string_view what) {
  const Value input = context.Input(i);
  const Dim count = context.shape(input).ElementCount();
  if (input.rank() > 1 || !IsInteger(input.dtype())) {
    return NodeContext::Error(StrCat("input ", what, " is ", input.type(),
                                     ", expected a vector of integers"));
  }
  if (!count.is_constant() || count.constant() > kMaxRank * 2) {
    return UnimplementedError(
        StrCat("input ", what, " has ", count,
               " elements; how many there are must be known when the model is "
               "compiled, and at most ",
               kMaxRank * 2));
  }
  const Value vector =
      context.builder().Cast(context.Reshape(input, {count}), DType::kI64);
  std::vector<Value> elements;
  for (int64_t k = 0; k < count.constant(); ++k) {
    elements.push_back(Element(context, vector, k));
  }
  return elements;
}

SizesByData::SizesByData(NodeContext& context)
    : context_(context),
      holds_(context.builder().Constant(Literal::Scalar(true))) {}

Dim SizesByData::Add(Value size, std::optional<int64_t> upper) {
  GraphBuilder& g = context_.builder();
  const Literal* known = size.constant();
  if (known != nullptr && known->AsInt(0) >= 0 &&
      known->AsInt(0) <= upper.value_or(kMaxSize)) {
    return Dim(known->AsInt(0));
  }
  Require(g.Compare(size, 0, Comparison::kGe));
  Require(g.Compare(size, upper.value_or(kMaxSize), Comparison::kLe));
  found_.push_back({RunTimeSize(context_, 0, upper), size, Value()});
  return found_.back().dim;
}

void SizesByData::Require(Value condition) {
  holds_ = context_.builder().And(holds_, condition);
}

Value SizesByData::Guard(Value x, std::string_view message) {
  GraphBuilder& g = context_.builder();
  std::vector<Value> operands = {x, g.Cast(holds_, DType::kI64)};
  for (Found& found : found_) {
    // Nothing large is made of sizes that make no sense.
    found.numbers =
        context_.Emit(Op::kCountUp, {g.Select(holds_, found.size, 0)},
                      CountUpAttrs{{found.dim}});
    operands.push_back(found.numbers);
  }
  return context_.Emit(Op::kGuard, operands, GuardAttrs{std::string(message)});
}

Value SizesByData::CountTo(const Dim& dim) {
  for (const Found& found : found_) {
    if (found.dim == dim) return found.numbers;
  }
  return context_.builder().Iota(DType::kI64, {dim}, 0);
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
