#include "encore/ir/import/onnx/shapes/dynamic_shape.h"

#include <algorithm>

#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::onnx {
namespace {

// The bound of a size that nothing bounds.
constexpr int64_t kMaxSize = int64_t{1} << 40;

// Element `i` of a vector, as a scalar.
Value Element(NodeContext& context, Value vector, int64_t i) {
  return context.Reshape(context.builder().SliceAxis(vector, 0, i, i + 1), {});
}

// Where an element of a tensor comes from: element `index` of `value`.
struct Source {
  Value value;
  int64_t index;
};

// The operand of a concatenation of vectors that the element is in.
bool StepIntoConcat(const encore::Graph& graph, GraphBuilder& g, NodeId node,
                    Source* source) {
  int64_t index = source->index;
  for (const ValueId operand : graph.operands(node)) {
    const Dim& extent = graph.shape(operand)[0];
    if (!extent.is_constant()) return false;
    if (index < extent.constant()) {
      *source = {g.Wrap(operand), index};
      return true;
    }
    index -= extent.constant();
  }
  return false;
}

// Steps back through a node that only moves or widens the element.
bool StepBack(GraphBuilder& g, Source* source) {
  const encore::Graph& graph = g.graph();
  const NodeId node = graph.producer(source->value.id());
  const auto operand = [&] { return g.Wrap(graph.operand(node, 0)); };
  switch (graph.op(node)) {
    case Op::kReshape:
      source->value = operand();
      return true;
    case Op::kCast: {
      const DType from = operand().dtype();
      if (!IsInteger(from) || !IsSigned(from) ||
          BitWidth(from) > BitWidth(source->value.dtype())) {
        return false;
      }
      source->value = operand();
      return true;
    }
    case Op::kConcat:
      return source->value.rank() == 1 &&
             StepIntoConcat(graph, g, node, source);
    case Op::kSlice: {
      const auto& slice = graph.attrs<SliceAttrs>(node);
      if (source->value.rank() != 1 || !slice.starts[0].is_constant()) {
        return false;
      }
      source->index =
          slice.starts[0].constant() + source->index * slice.strides[0];
      source->value = operand();
      return true;
    }
    default:
      return false;
  }
}

// Element `index` of a tensor of integers, as an i64 scalar.
Value TracedElement(NodeContext& context, Value tensor, int64_t index) {
  GraphBuilder& g = context.builder();
  Source source{tensor, index};
  while (StepBack(g, &source)) {
  }
  const encore::Graph& graph = g.graph();
  const NodeId node = graph.producer(source.value.id());
  if (graph.op(node) == Op::kDimValues) {
    return DimValue(context,
                    graph.attrs<DimValuesAttrs>(node).dims[source.index]);
  }
  if (const Literal* known = source.value.constant()) {
    return g.Scalar(DType::kI64, known->AsInt(source.index));
  }
  const Dim count = source.value.shape().ElementCount();
  const Value flat =
      g.Cast(context.Reshape(source.value, {count}), DType::kI64);
  return Element(context, flat, source.index);
}

// Whether a bool scalar is known to be false.
bool NeverHolds(Value condition) {
  const Literal* known = condition.constant();
  return known != nullptr && known->AsInt(0) == 0;
}

}  // namespace

Dim RunTimeSize(GraphBuilder& g, int64_t lower, std::optional<int64_t> upper) {
  size_t number = g.graph().symbols().size();
  std::string name = StrCat("size_", number);
  while (g.graph().FindSymbol(name)) name = StrCat("size_", ++number);
  return g.Symbol(std::move(name), lower, upper.value_or(kMaxSize),
                  /*at_run_time=*/true);
}

Dim RunTimeSize(NodeContext& context, int64_t lower,
                std::optional<int64_t> upper) {
  return RunTimeSize(context.builder(), lower, upper);
}

bool IsKnown(NodeContext& context, int i) {
  const Bound* bound = context.scope().Find(context.node().inputs[i]);
  return bound->dims || IsConstant(context, i);
}

bool IsConstant(NodeContext& context, int i) {
  const std::string_view name = context.node().inputs[i];
  if (context.scope().Find(name)->constant) return true;
  context.scope().ReadWeightsBehind(name);
  return false;
}

bool IsFoundOut(NodeContext& context, const Dim& dim) {
  const std::span<const Symbol> symbols = context.builder().graph().symbols();
  // Symbols of the inputs may be constants as well.
  std::vector<Dim> known;
  for (size_t i = 0; i < symbols.size(); ++i) {
    known.push_back(symbols[i].at_run_time
                        ? Dim::OfSymbol(static_cast<uint32_t>(i))
                        : Dim(2));
  }
  return dim.SymbolLimit() > 0 && !dim.Substitute(known).is_constant();
}

Value DimValue(NodeContext& context, const Dim& dim) {
  GraphBuilder& g = context.builder();
  if (dim.is_constant()) return g.Scalar(DType::kI64, dim.constant());
  return context.Reshape(g.DimValues({dim}), {});
}

std::optional<Dim> KnownDim(NodeContext& context, Value scalar) {
  if (!scalar.valid()) return std::nullopt;
  if (const Literal* known = scalar.constant()) return Dim(known->AsInt(0));
  const encore::Graph& graph = context.builder().graph();
  NodeId node = graph.producer(scalar.id());
  if (graph.op(node) == Op::kReshape) {
    node = graph.producer(graph.operand(node, 0));
  }
  if (graph.op(node) != Op::kDimValues) return std::nullopt;
  const Dims& dims = graph.attrs<DimValuesAttrs>(node).dims;
  return dims.size() == 1 ? std::optional(dims[0]) : std::nullopt;
}

bool IsNumber(Value scalar, int64_t number) {
  const Literal* known = scalar.constant();
  return known != nullptr && known->AsInt(0) == number;
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
    return context.Unknown(
        StrCat("input ", what, " has ", count,
               " elements; how many there are must be known when the model is "
               "compiled, and at most ",
               kMaxRank * 2));
  }
  std::vector<Value> elements;
  for (int64_t k = 0; k < count.constant(); ++k) {
    elements.push_back(TracedElement(context, input, k));
  }
  return elements;
}

SizesByData::SizesByData(NodeContext& context)
    : context_(context),
      holds_(context.builder().Constant(Literal::Scalar(true))) {}

Dim SizesByData::Add(Value size, std::optional<int64_t> upper) {
  GraphBuilder& g = context_.builder();
  const std::span<const Symbol> symbols = g.graph().symbols();
  const int64_t most = upper.value_or(kMaxSize);
  if (const auto known = KnownDim(context_, size);
      known && known->LowerBound(symbols) >= 0 &&
      known->UpperBound(symbols) <= most) {
    return *known;
  }
  if (!size.valid()) return Dim(0);
  Require(g.Compare(size, 0, Comparison::kGe));
  Require(g.Compare(size, most, Comparison::kLe));
  const FoundSize* before = context_.scope().FindSize(size);
  if (before != nullptr) {
    // Where it was defined, other things were asserted too.
    Require(g.Compare(size, DimValue(context_, before->dim), Comparison::kEq));
    found_.push_back({before->dim, size, before->numbers});
  } else {
    found_.push_back({RunTimeSize(context_, 0, upper), size, Value()});
  }
  return found_.back().dim;
}

Value SizesByData::ValueOf(const Dim& dim) const {
  for (const Found& found : found_) {
    if (found.dim == dim) return found.size;
  }
  return DimValue(context_, dim);
}

void SizesByData::Require(Value condition) {
  // What never holds is known at once, whatever else is required.
  if (NeverHolds(holds_)) return;
  holds_ = NeverHolds(condition) ? condition
                                 : context_.builder().And(holds_, condition);
}

Value SizesByData::Product(const std::vector<Value>& extents) {
  GraphBuilder& g = context_.builder();
  // The product wraps; the one of doubles does not.
  Value product = g.Scalar(DType::kI64, int64_t{1});
  Value size = g.Scalar(DType::kF64, 1.0);
  for (const Value& extent : extents) {
    product = g.Mul(product, extent);
    size = g.Mul(size, g.Cast(extent, DType::kF64));
  }
  Require(g.Compare(size, 0x1p62, Comparison::kLt));
  return product;
}

StatusOr<Value> SizesByData::Assert(Value x, std::string_view message) {
  GraphBuilder& g = context_.builder();
  if (NeverHolds(holds_)) return InvalidArgumentError(message);
  for (Found& found : found_) {
    // Nothing large is made of sizes that make no sense.
    if (!found.numbers.valid()) {
      const Value size = g.Assert(g.Select(holds_, found.size, 0), holds_,
                                  std::string(message));
      g.DefineSymbols(size, {found.dim}, std::string(message));
      found.numbers = g.Iota(DType::kI64, {found.dim}, 0);
      context_.scope().AddSize(found.size, {found.dim, found.numbers, true});
    }
  }
  const Value asserted = g.Assert(x, holds_, std::string(message));
  ENCORE_RETURN_IF_ERROR(g.status());
  return asserted;
}

Value SizesByData::CountTo(const Dim& dim) const {
  for (const Found& found : found_) {
    if (found.dim == dim) return found.numbers;
  }
  return context_.builder().Iota(DType::kI64, {dim}, 0);
}

Value CountUp(NodeContext& context, Value count, std::optional<int64_t> upper) {
  GraphBuilder& g = context.builder();
  if (const Literal* known = count.constant()) {
    return g.Iota(DType::kI64, {std::max<int64_t>(known->AsInt(0), 0)}, 0);
  }
  if (const auto known = KnownDim(context, count);
      known && known->LowerBound(g.graph().symbols()) >= 0) {
    return g.Iota(DType::kI64, {*known}, 0);
  }
  if (!count.valid()) return count;
  Scope& scope = context.scope();
  if (const FoundSize* found = scope.FindSize(count);
      found != nullptr && !found->asserted) {
    return found->numbers;
  }
  const Dim size = RunTimeSize(context, 0, upper);
  context.builder().DefineSymbols(count, {size});
  const Value numbers = context.builder().Iota(DType::kI64, {size}, 0);
  scope.AddSize(count, {size, numbers});
  return numbers;
}

Value PositionsOf(NodeContext& context, Value mask) {
  if (!mask.valid()) return mask;
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
