#include "encore/ir/import/onnx/shapes/index_expr.h"

#include <algorithm>

#include "encore/ir/support/check.h"

namespace encore::onnx {
namespace {

// The dim that a scalar is known to be.
std::optional<Dim> KnownDim(GraphBuilder& g, Value scalar) {
  if (!scalar.valid() || scalar.rank() != 0) return std::nullopt;
  if (const Literal* known = scalar.constant()) return Dim(known->AsInt(0));
  const encore::Graph& graph = g.graph();
  const NodeId node = graph.producer(scalar.id());
  if (graph.op(node) != Op::kReshape) return std::nullopt;
  const NodeId from = graph.producer(graph.operand(node, 0));
  if (graph.op(from) != Op::kDimValues) return std::nullopt;
  const Dims& dims = graph.attrs<DimValuesAttrs>(from).dims;
  return dims.size() == 1 ? std::optional(dims[0]) : std::nullopt;
}

// i64 arithmetic of constants, which wraps as nodes do.
int64_t Wrapped(__int128 number) { return static_cast<int64_t>(number); }

std::optional<bool> Decide(Comparison direction, int64_t lower, int64_t upper) {
  switch (direction) {
    case Comparison::kEq:
      if (lower == 0 && upper == 0) return true;
      if (lower > 0 || upper < 0) return false;
      return std::nullopt;
    case Comparison::kLt:
      if (upper < 0) return true;
      if (lower >= 0) return false;
      return std::nullopt;
    case Comparison::kLe:
      if (upper <= 0) return true;
      if (lower > 0) return false;
      return std::nullopt;
    case Comparison::kNe:
    case Comparison::kGt:
    case Comparison::kGe: {
      const Comparison opposite = direction == Comparison::kNe ? Comparison::kEq
                                  : direction == Comparison::kGt
                                      ? Comparison::kLe
                                      : Comparison::kLt;
      const auto decided = Decide(opposite, lower, upper);
      return decided ? std::optional(!*decided) : std::nullopt;
    }
  }
  return std::nullopt;
}

}  // namespace

Value DimValue(GraphBuilder& g, const Dim& dim) {
  if (dim.is_constant()) return g.Scalar(DType::kI64, dim.constant());
  return g.Reshape(g.DimValues({dim}), Shape{});
}

Condition::Condition(GraphBuilder& g, Value value) : g_(&g), content_(value) {
  const Literal* known = value.valid() ? value.constant() : nullptr;
  if (known != nullptr && known->rank() == 0) content_ = known->AsInt(0) != 0;
}

Value Condition::ToValue(GraphBuilder& g) const {
  return known() ? g.Constant(Literal::Scalar(std::get<bool>(content_)))
                 : std::get<Value>(content_);
}

Condition Not(const Condition& a) {
  if (a.known()) return a.IsFalse();
  return {*a.g_, a.g_->Not(std::get<Value>(a.content_))};
}

Condition And(const Condition& a, const Condition& b) {
  if (a.known()) return a.IsTrue() ? b : a;
  if (b.known()) return b.IsTrue() ? a : b;
  return {*a.g_,
          a.g_->And(std::get<Value>(a.content_), std::get<Value>(b.content_))};
}

Condition Or(const Condition& a, const Condition& b) {
  if (a.known()) return a.IsTrue() ? a : b;
  if (b.known()) return b.IsTrue() ? b : a;
  return {*a.g_,
          a.g_->Or(std::get<Value>(a.content_), std::get<Value>(b.content_))};
}

IndexExpr::IndexExpr(GraphBuilder& g, Value value) : g_(&g), content_(value) {
  if (auto dim = KnownDim(g, value)) content_ = *std::move(dim);
}

std::optional<int64_t> IndexExpr::constant() const {
  if (!known() || !dim().is_constant()) return std::nullopt;
  return dim().constant();
}

Value IndexExpr::ToValue(GraphBuilder& g) const {
  return known() ? DimValue(g, dim()) : value();
}

IndexExpr::Interval IndexExpr::Bounds() const {
  if (!known()) return bounds_;
  if (dim().is_constant()) return {dim().constant(), dim().constant()};
  const auto symbols = g_->graph().symbols();
  return {dim().LowerBound(symbols), dim().UpperBound(symbols)};
}

IndexExpr IndexExpr::Within(int64_t lower, int64_t upper) const {
  IndexExpr bounded = *this;
  bounded.bounds_.lower = std::max(bounds_.lower, lower);
  bounded.bounds_.upper = std::min(bounds_.upper, upper);
  return bounded;
}

GraphBuilder& IndexExpr::BuilderOf(const IndexExpr& a, const IndexExpr& b) {
  ENCORE_CHECK(a.g_ != nullptr || b.g_ != nullptr);
  return a.g_ != nullptr ? *a.g_ : *b.g_;
}

IndexExpr IndexExpr::Node(Op op, const IndexExpr& a, const IndexExpr& b) {
  GraphBuilder& g = BuilderOf(a, b);
  return {g, g.Binary(op, a.ToValue(g), b.ToValue(g))};
}

IndexExpr IndexExpr::UnlessWrapped(__int128 lower, __int128 upper) const {
  if (lower < INT64_MIN || upper > INT64_MAX) return *this;
  return Within(static_cast<int64_t>(lower), static_cast<int64_t>(upper));
}

IndexExpr operator+(const IndexExpr& a, const IndexExpr& b) {
  const __int128 p = a.LowerBound(), q = a.UpperBound();
  if (a.constant() && b.constant()) return Wrapped(p + *b.constant());
  if (a.known() && b.known()) {
    const Dim sum = a.dim() + b.dim();
    if (sum.valid()) return {IndexExpr::BuilderOf(a, b), sum};
  }
  return IndexExpr::Node(Op::kAdd, a, b)
      .UnlessWrapped(p + b.LowerBound(), q + b.UpperBound());
}

IndexExpr operator-(const IndexExpr& a, const IndexExpr& b) {
  const __int128 p = a.LowerBound(), q = a.UpperBound();
  if (a.constant() && b.constant()) return Wrapped(p - *b.constant());
  if (a.known() && b.known()) {
    const Dim difference = a.dim() - b.dim();
    if (difference.valid()) return {IndexExpr::BuilderOf(a, b), difference};
  }
  return IndexExpr::Node(Op::kSub, a, b)
      .UnlessWrapped(p - b.UpperBound(), q - b.LowerBound());
}

IndexExpr operator*(const IndexExpr& a, const IndexExpr& b) {
  const __int128 p = a.LowerBound(), q = a.UpperBound();
  if (a.constant() && b.constant()) return Wrapped(p * *b.constant());
  if (a.known() && b.known()) {
    const Dim product = a.dim() * b.dim();
    if (product.valid()) return {IndexExpr::BuilderOf(a, b), product};
  }
  const int64_t r = b.LowerBound(), s = b.UpperBound();
  return IndexExpr::Node(Op::kMul, a, b)
      .UnlessWrapped(std::min({p * r, p * s, q * r, q * s}),
                     std::max({p * r, p * s, q * r, q * s}));
}

IndexExpr FloorDiv(const IndexExpr& a, const IndexExpr& b) {
  if (const auto divisor = b.constant(); divisor && *divisor < 1) return 0;
  if (a.known() && b.known()) {
    const Dim quotient = FloorDiv(a.dim(), b.dim());
    if (quotient.is_constant()) return quotient.constant();
    if (quotient.valid()) return {IndexExpr::BuilderOf(a, b), quotient};
  }
  const IndexExpr quotient =
      IndexExpr::Node(Op::kDiv, a.LowerBound() >= 0 ? a : a - Mod(a, b), b);
  if (b.LowerBound() < 1) return quotient;
  return quotient.Within(std::min<int64_t>(a.LowerBound(), 0),
                         std::max<int64_t>(a.UpperBound(), 0) / b.LowerBound());
}

IndexExpr Mod(const IndexExpr& a, const IndexExpr& b) {
  if (const auto divisor = b.constant(); divisor && *divisor < 1) return 0;
  if (a.known() && b.known()) {
    const Dim rest = Mod(a.dim(), b.dim());
    if (rest.is_constant()) return rest.constant();
    if (rest.valid()) return {IndexExpr::BuilderOf(a, b), rest};
  }
  const int64_t most = std::max<int64_t>(b.UpperBound() - 1, 0);
  const IndexExpr rest = IndexExpr::Node(Op::kRem, a, b).Within(-most, most);
  if (a.LowerBound() >= 0) return rest.Within(0, most);
  return IndexExpr::Node(Op::kRem, rest + b, b).Within(0, most);
}

IndexExpr CeilDiv(const IndexExpr& a, const IndexExpr& b) {
  if (a.known() && b.known()) return FloorDiv(a + (b - 1), b);
  // Without a sum that wraps.
  const IndexExpr some = Max(a, 0);
  return FloorDiv(Max(some - 1, 0), b) + Min(some, 1);
}

IndexExpr::Interval IndexExpr::Difference(const IndexExpr& a,
                                          const IndexExpr& b) {
  if (a.known() && b.known()) {
    const Dim difference = a.dim() - b.dim();
    if (difference.is_constant())
      return IndexExpr(difference.constant()).Bounds();
    if (difference.valid())
      return IndexExpr(BuilderOf(a, b), difference).Bounds();
  }
  if (!a.known() && !b.known() && a.value().valid() && b.value().valid() &&
      a.value().id() == b.value().id()) {
    return {0, 0};
  }
  const auto clamped = [](__int128 number) {
    return static_cast<int64_t>(
        std::clamp<__int128>(number, INT64_MIN, INT64_MAX));
  };
  return {clamped(static_cast<__int128>(a.LowerBound()) - b.UpperBound()),
          clamped(static_cast<__int128>(a.UpperBound()) - b.LowerBound())};
}

std::optional<bool> IndexExpr::Decided(const IndexExpr& a, const IndexExpr& b,
                                       Comparison direction) {
  const Interval difference = Difference(a, b);
  return Decide(direction, difference.lower, difference.upper);
}

IndexExpr Min(const IndexExpr& a, const IndexExpr& b) {
  const auto ordered = IndexExpr::Decided(a, b, Comparison::kLe);
  if (ordered) return *ordered ? a : b;
  if (a.known() && b.known()) {
    const Dim least = Min(a.dim(), b.dim());
    if (least.valid()) return {IndexExpr::BuilderOf(a, b), least};
  }
  return IndexExpr::Node(Op::kMin, a, b)
      .Within(std::min(a.LowerBound(), b.LowerBound()),
              std::min(a.UpperBound(), b.UpperBound()));
}

IndexExpr Max(const IndexExpr& a, const IndexExpr& b) {
  const auto ordered = IndexExpr::Decided(a, b, Comparison::kGe);
  if (ordered) return *ordered ? a : b;
  if (a.known() && b.known()) {
    const Dim most = Max(a.dim(), b.dim());
    if (most.valid()) return {IndexExpr::BuilderOf(a, b), most};
  }
  return IndexExpr::Node(Op::kMax, a, b)
      .Within(std::max(a.LowerBound(), b.LowerBound()),
              std::max(a.UpperBound(), b.UpperBound()));
}

IndexExpr Select(const Condition& condition, const IndexExpr& a,
                 const IndexExpr& b) {
  if (condition.known()) return condition.IsTrue() ? a : b;
  const auto equal = IndexExpr::Decided(a, b, Comparison::kEq);
  if (equal && *equal) return a;
  // Two constants and a condition of the graph.
  GraphBuilder& g = condition.builder();
  return IndexExpr(g,
                   g.Select(condition.ToValue(g), a.ToValue(g), b.ToValue(g)))
      .Within(std::min(a.LowerBound(), b.LowerBound()),
              std::max(a.UpperBound(), b.UpperBound()));
}

Condition Compare(const IndexExpr& a, const IndexExpr& b,
                  Comparison direction) {
  if (const auto known = IndexExpr::Decided(a, b, direction)) return *known;
  GraphBuilder& g = IndexExpr::BuilderOf(a, b);
  return {g, g.Compare(a.ToValue(g), b.ToValue(g), direction)};
}

}  // namespace encore::onnx
