#include "encore/ir/import/onnx/shapes/dynamic_shape.h"

#include <algorithm>

#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::onnx {
namespace {

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

// Element `index` of a tensor of integers.
IndexExpr TracedElement(NodeContext& context, Value tensor, int64_t index) {
  GraphBuilder& g = context.builder();
  Source source{tensor, index};
  while (StepBack(g, &source)) {
  }
  const encore::Graph& graph = g.graph();
  const NodeId node = graph.producer(source.value.id());
  if (graph.op(node) == Op::kDimValues) {
    return {g, graph.attrs<DimValuesAttrs>(node).dims[source.index]};
  }
  if (const Literal* known = source.value.constant()) {
    return known->AsInt(source.index);
  }
  const Dim count = source.value.shape().ElementCount();
  const Value flat =
      g.Cast(context.Reshape(source.value, {count}), DType::kI64);
  return {g, Element(context, flat, source.index)};
}

}  // namespace

Dim RunTimeSize(GraphBuilder& g, std::optional<int64_t> upper) {
  size_t number = g.graph().symbols().size();
  std::string name = StrCat("size_", number);
  while (g.graph().FindSymbol(name)) name = StrCat("size_", ++number);
  return g.Symbol(std::move(name), 0,
                  std::min(upper.value_or(kMaxSize), kMaxSize),
                  /*at_run_time=*/true);
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

bool IsDataDependent(NodeContext& context, const Dim& dim) {
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
  return DimValue(context.builder(), dim);
}

StatusOr<IndexExprs> ElementsOf(NodeContext& context, int i,
                                std::string_view what) {
  GraphBuilder& g = context.builder();
  IndexExprs elements;
  if (IsKnown(context, i)) {
    ENCORE_ASSIGN_OR_RETURN(const Dims dims, context.DimsInput(i, what));
    for (const Dim& dim : dims) elements.emplace_back(g, dim);
    return elements;
  }
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
  for (int64_t k = 0; k < count.constant(); ++k) {
    elements.push_back(TracedElement(context, input, k));
  }
  return elements;
}

StatusOr<IndexExprs> ElementsOf(NodeContext& context, int i,
                                std::string_view what, size_t count,
                                std::string_view others) {
  ENCORE_ASSIGN_OR_RETURN(IndexExprs elements, ElementsOf(context, i, what));
  if (elements.size() == count) return elements;
  return NodeContext::Error(StrCat("input ", what, " has ", elements.size(),
                                   " entries for ", count, " ", others));
}

StatusOr<IndexExpr> ElementOf(NodeContext& context, int i,
                              std::string_view what) {
  ENCORE_ASSIGN_OR_RETURN(const IndexExprs elements,
                          ElementsOf(context, i, what));
  if (elements.size() == 1) return elements[0];
  return NodeContext::Error(StrCat("input ", what, " has ", elements.size(),
                                   " elements, expected 1"));
}

Dim ShapeBuilder::Define(const IndexExpr& size,
                         const std::optional<Dim>& most) {
  GraphBuilder& g = context_.builder();
  const IndexExpr limit = Extent(most.value_or(kMaxSize));
  if (size.known()) {
    const std::optional<int64_t> constant = size.constant();
    if (constant) Require(*constant >= 0);
    if (most && most->is_constant()) Require(size <= limit);
    return constant && *constant < 0 ? Dim(0) : size.dim();
  }
  if (!size.value().valid()) return Dim(0);
  Require(size >= 0);
  Require(size <= limit);
  for (const Definition& definition : definitions_) {
    if (definition.size.id() == size.value().id()) return definition.dim;
  }
  if (const DefinedSize* before = context_.scope().FindSize(size.value())) {
    // Where it was defined, other things were asserted too.
    if (before->asserted) Require(size == Extent(before->dim));
    return before->dim;
  }
  const int64_t upper = std::min(limit.UpperBound(), size.UpperBound());
  definitions_.push_back(
      {RunTimeSize(g, std::max<int64_t>(upper, 0)), size.value()});
  return definitions_.back().dim;
}

void ShapeBuilder::Require(const Condition& condition,
                           std::string_view otherwise) {
  // What never holds is known at once, whatever else is required.
  if (holds_.IsFalse()) return;
  if (condition.IsFalse()) otherwise_ = otherwise;
  holds_ = condition.IsFalse() ? condition : And(holds_, condition);
}

void ShapeBuilder::RequireEqual(const IndexExpr& a, const IndexExpr& b) {
  Require(a == b);
  if (a.known() && b.known()) equal_.emplace_back(a.dim(), b.dim());
}

IndexExpr ShapeBuilder::RequireWithin(const IndexExpr& x, int64_t lower,
                                      int64_t upper) {
  Require(x >= lower);
  Require(x <= upper);
  return x.Within(lower, upper);
}

IndexExpr ShapeBuilder::RequireAxis(const IndexExpr& axis, int64_t rank) {
  return RequireWithin(FromStart(axis, rank), 0, rank - 1);
}

IndexExpr ShapeBuilder::Product(const IndexExprs& extents) {
  GraphBuilder& g = context_.builder();
  IndexExpr product = 1;
  for (const IndexExpr& extent : extents) product = product * extent;
  if (product.known()) return product;
  // It wraps; the one of doubles does not.
  Value size = g.Scalar(DType::kF64, 1.0);
  for (const IndexExpr& extent : extents) {
    size = g.Mul(size, g.Cast(extent.ToValue(g), DType::kF64));
  }
  Require({g, g.Compare(size, 0x1p62, Comparison::kLt)});
  return product;
}

StatusOr<Value> ShapeBuilder::Assert(Value x, std::string_view message) {
  GraphBuilder& g = context_.builder();
  if (holds_.IsFalse()) {
    return InvalidArgumentError(otherwise_.empty() ? message : otherwise_);
  }
  const auto asserted = [&](Value value) {
    return holds_.IsTrue()
               ? value
               : g.Assert(value, holds_.ToValue(g), std::string(message));
  };
  for (const auto& [dim, size] : definitions_) {
    // Nothing large is made of sizes that make no sense.
    const Value sound = Select(holds_, IndexExpr(g, size), 0).ToValue(g);
    g.DefineSymbols(asserted(sound), {dim}, std::string(message));
    context_.scope().AddSize(size, {dim, !holds_.IsTrue()});
  }
  definitions_.clear();
  for (const auto& [a, b] : equal_) context_.scope().equal_dims().Add(a, b);
  x = asserted(x);
  ENCORE_RETURN_IF_ERROR(g.status());
  return x;
}

Value FailWith(GraphBuilder& g, Value x, std::string_view message) {
  return g.Assert(x, g.Scalar(DType::kI64, int64_t{0}), std::string(message));
}

Value CountTo(NodeContext& context, const Dim& dim) {
  return context.builder().Iota(DType::kI64, {dim}, 0);
}

Dim CountedSize(NodeContext& context, Value count, int64_t upper) {
  GraphBuilder& g = context.builder();
  if (!count.valid()) return Dim(0);
  const IndexExpr number(g, count);
  if (number.constant()) return std::max<int64_t>(*number.constant(), 0);
  ShapeBuilder shapes(context);
  const Dim size = shapes.Define(number.Within(0, upper), upper);
  // Nothing is required, so nothing is asserted.
  const StatusOr<Value> defined = shapes.Assert(count, "");
  if (!defined.ok()) g.Fail(defined.status());
  return size;
}

Value PositionsOf(NodeContext& context, Value mask,
                  std::optional<int64_t> most) {
  if (!mask.valid()) return mask;
  GraphBuilder& g = context.builder();
  const Dim size = context.shape(mask)[0];
  const Value ones = g.Cast(mask, DType::kI64);
  // Each true element goes to the place that those before it leave; the others
  // go past the end, where a scatter drops them.
  const Value before = g.Cumulative(ones, {Combiner::kSum, 0, true, false});
  const Value past = DimValue(context, size);
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
  const Dim count = CountedSize(context, g.Sum(ones, {0}),
                                std::min(bound, most.value_or(bound)));
  return g.SliceAxis(positions, 0, 0, count);
}

Value TakeFront(NodeContext& context, Value buffer, Value dims, const Shape& a,
                const Shape& b) {
  GraphBuilder& g = context.builder();
  Value index = g.Scalar(DType::kI64, int64_t{0});
  Value stride = g.Scalar(DType::kI64, int64_t{1});
  // From the last dim to the first, along which the stride grows.
  for (int d = a.rank(); d-- > 0;) {
    const Value extent = Element(context, dims, d);
    const Value along = CountTo(
        context, a[d] == b[d]
                     ? a[d]
                     : CountedSize(context, extent,
                                   std::max(a[d].constant(), b[d].constant())));
    Dims column(a.rank() - d, 1);
    column[0] = context.shape(along)[0];
    index = g.Add(index, g.Mul(context.Reshape(along, column), stride));
    stride = g.Mul(stride, extent);
  }
  return g.Take(buffer, index, 0);
}

}  // namespace encore::onnx
