// Integers of a model that decide sizes, positions and axes: known when it is
// imported as far as dims can say them, else computed by the run.
//
// Arithmetic and comparisons fold as far as dims and bounds allow, and become
// nodes of the graph only where they must. So a converter is written once, for
// sizes of all kinds. IndexExpr is onnx-mlir's idea.
#ifndef ENCORE_IR_IMPORT_ONNX_SHAPES_INDEX_EXPR_H_
#define ENCORE_IR_IMPORT_ONNX_SHAPES_INDEX_EXPR_H_

#include <cstdint>
#include <optional>
#include <variant>

#include "encore/ir/build/builder.h"
#include "encore/ir/types/dim.h"

namespace encore::onnx {

// The extent as an i64 scalar.
Value DimValue(GraphBuilder& g, const Dim& dim);

// True, false, or a bool scalar of the graph.
class Condition {
 public:
  // NOLINTNEXTLINE: truth is a condition.
  Condition(bool known) : content_(known) {}
  Condition(GraphBuilder& g, Value value);

  bool IsTrue() const { return Is(true); }
  bool IsFalse() const { return Is(false); }
  bool known() const { return std::holds_alternative<bool>(content_); }
  // REQUIRES !known().
  GraphBuilder& builder() const { return *g_; }
  Value ToValue(GraphBuilder& g) const;

  friend Condition Not(const Condition& a);
  friend Condition And(const Condition& a, const Condition& b);
  friend Condition Or(const Condition& a, const Condition& b);

 private:
  bool Is(bool truth) const {
    return known() && std::get<bool>(content_) == truth;
  }
  GraphBuilder* g_ = nullptr;  // null: known
  std::variant<bool, Value> content_;
};

// An integer that is a dim, which may be negative, or an i64 value of the
// graph. Other values than scalars are computed with elementwise.
//
// Nodes wrap as i64 does. Bounds are those of what does not wrap.
class IndexExpr {
 public:
  IndexExpr() : IndexExpr(0) {}
  // NOLINTNEXTLINE: a constant is an integer.
  IndexExpr(int64_t constant) : content_(Dim(constant)) {}
  IndexExpr(GraphBuilder& g, Dim dim) : g_(&g), content_(std::move(dim)) {}
  // A scalar that is known to be a dim is that dim.
  IndexExpr(GraphBuilder& g, Value value);

  // Whether it is a dim.
  bool known() const { return std::holds_alternative<Dim>(content_); }
  // REQUIRES known().
  const Dim& dim() const { return std::get<Dim>(content_); }
  // REQUIRES !known().
  Value value() const { return std::get<Value>(content_); }
  // The number, where it is a constant.
  std::optional<int64_t> constant() const;
  bool Is(int64_t number) const { return constant() == number; }
  Value ToValue(GraphBuilder& g) const;

  // The least and the largest that it can be; INT64_MIN and INT64_MAX where
  // nothing bounds it.
  int64_t LowerBound() const { return Bounds().lower; }
  int64_t UpperBound() const { return Bounds().upper; }
  // The same number where it is known to lie in [lower, upper].
  IndexExpr Within(int64_t lower, int64_t upper) const;

  friend IndexExpr operator+(const IndexExpr& a, const IndexExpr& b);
  friend IndexExpr operator-(const IndexExpr& a, const IndexExpr& b);
  friend IndexExpr operator*(const IndexExpr& a, const IndexExpr& b);
  // Quotient and remainder that round toward minus infinity. Any number where
  // the divisor is not positive.
  friend IndexExpr FloorDiv(const IndexExpr& a, const IndexExpr& b);
  friend IndexExpr Mod(const IndexExpr& a, const IndexExpr& b);
  friend IndexExpr Min(const IndexExpr& a, const IndexExpr& b);
  friend IndexExpr Max(const IndexExpr& a, const IndexExpr& b);
  friend IndexExpr Select(const Condition& condition, const IndexExpr& a,
                          const IndexExpr& b);
  friend Condition Compare(const IndexExpr& a, const IndexExpr& b,
                           Comparison direction);

 private:
  struct Interval {
    int64_t lower = INT64_MIN, upper = INT64_MAX;
  };
  // The operation as a node, of which nothing is known.
  static IndexExpr Node(Op op, const IndexExpr& a, const IndexExpr& b);
  // Within bounds, unless they leave int64: then it may have wrapped.
  IndexExpr UnlessWrapped(__int128 lower, __int128 upper) const;
  static GraphBuilder& BuilderOf(const IndexExpr& a, const IndexExpr& b);
  Interval Bounds() const;
  // Bounds of a - b.
  static Interval Difference(const IndexExpr& a, const IndexExpr& b);
  // What the comparison is known to give.
  static std::optional<bool> Decided(const IndexExpr& a, const IndexExpr& b,
                                     Comparison direction);

  GraphBuilder* g_ = nullptr;  // null: a constant that was never in a graph
  std::variant<Dim, Value> content_;
  Interval bounds_;  // of a value
};

IndexExpr Select(const Condition& condition, const IndexExpr& a,
                 const IndexExpr& b);

inline Condition operator==(const IndexExpr& a, const IndexExpr& b) {
  return Compare(a, b, Comparison::kEq);
}
inline Condition operator!=(const IndexExpr& a, const IndexExpr& b) {
  return Compare(a, b, Comparison::kNe);
}
inline Condition operator<(const IndexExpr& a, const IndexExpr& b) {
  return Compare(a, b, Comparison::kLt);
}
inline Condition operator<=(const IndexExpr& a, const IndexExpr& b) {
  return Compare(a, b, Comparison::kLe);
}
inline Condition operator>(const IndexExpr& a, const IndexExpr& b) {
  return Compare(a, b, Comparison::kGt);
}
inline Condition operator>=(const IndexExpr& a, const IndexExpr& b) {
  return Compare(a, b, Comparison::kGe);
}
// The quotient of what is not negative, rounded up; of other values 0.
IndexExpr CeilDiv(const IndexExpr& a, const IndexExpr& b);

// An index that may count from the end of `extent` elements, from the start.
inline IndexExpr FromStart(const IndexExpr& index, const IndexExpr& extent) {
  return Select(index < 0, index + extent, index);
}

}  // namespace encore::onnx

#endif  // ENCORE_IR_IMPORT_ONNX_SHAPES_INDEX_EXPR_H_
