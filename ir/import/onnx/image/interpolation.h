// The arithmetic of operators that read an image between its elements: where an
// element of a resized image lies, and what the elements around it weigh.
//
// Each formula is a template over a number T, so that it is written once:
//   double       computes it, for what is known when the model is imported;
//   GraphNumber  writes it into a graph, for what is dynamic.
// Both do the same operations in the same order: f64 gives the same bits either
// way. A condition is a bool, or a GraphNumber of bools.
//
// Source of the formulas: Resize in the ONNX operator specification. The cubic
// kernel: Keys, "Cubic convolution interpolation for digital image processing",
// 1981.
#ifndef ENCORE_IR_IMPORT_ONNX_IMAGE_INTERPOLATION_H_
#define ENCORE_IR_IMPORT_ONNX_IMAGE_INTERPOLATION_H_

#include <cmath>
#include <functional>
#include <vector>

#include "encore/ir/build/builder.h"
#include "encore/ir/ops/op.h"
#include "encore/ir/support/check.h"

namespace encore::onnx {

enum class Interpolation { kNearest, kLinear, kCubic };

// A constant, or a float scalar or tensor of a graph, whose builder outlives
// it. Operations on constants are computed. Others are nodes, where a constant
// takes the dtype of the operand beside it; two of them are f64. A condition
// that is a constant is 0 or 1.
class GraphNumber {
 public:
  GraphNumber() = default;
  // NOLINTNEXTLINE: a constant is a number.
  GraphNumber(double number) : number_(number) {}
  // A scalar that is a constant of the graph is that constant.
  GraphNumber(GraphBuilder& g, Value value) : g_(&g), value_(value) {
    const Literal* constant = value.valid() ? value.constant() : nullptr;
    if (constant == nullptr || constant->rank() > 0) return;
    g_ = nullptr;
    number_ = constant->AsDouble(0);
  }

  bool known() const { return g_ == nullptr; }
  // REQUIRES known().
  double number() const {
    ENCORE_CHECK(known());
    return number_;
  }
  // REQUIRES !known().
  Value value() const {
    ENCORE_CHECK(!known());
    return value_;
  }
  Value ToValue(GraphBuilder& g) const {
    return known() ? g.Scalar(DType::kF64, number_) : value_;
  }

  // The op, which `compute` does with doubles.
  template <typename Compute>
  GraphNumber Unary(Op op, Compute compute) const {
    if (known()) return compute(number_);
    return {*g_, g_->Unary(op, value_)};
  }
  template <typename Compute>
  GraphNumber Binary(Op op, const GraphNumber& other, Compute compute) const {
    if (known() && other.known()) return compute(number_, other.number_);
    GraphBuilder& g = known() ? *other.g_ : *g_;
    return {g, g.Binary(op, operand(), other.operand())};
  }
  template <typename Compute>
  GraphNumber Compare(Comparison direction, const GraphNumber& other,
                      Compute compute) const {
    if (known() && other.known()) return compute(number_, other.number_);
    GraphBuilder& g = known() ? *other.g_ : *g_;
    return {g, g.Compare(operand(), other.operand(), direction)};
  }
  // `a` where this is true, else `b`.
  GraphNumber Select(const GraphNumber& a, const GraphNumber& b) const {
    if (known()) return number_ != 0 ? a : b;
    if (a.known() && b.known()) {
      return {*g_, g_->Select(value_, a.ToValue(*g_), b.operand())};
    }
    return {*g_, g_->Select(value_, a.operand(), b.operand())};
  }

 private:
  Operand operand() const {
    return known() ? Operand(number_) : Operand(value_);
  }

  GraphBuilder* g_ = nullptr;  // null: a constant
  Value value_;
  double number_ = 0;
};

inline GraphNumber operator+(const GraphNumber& a, const GraphNumber& b) {
  return a.Binary(Op::kAdd, b, std::plus());
}
inline GraphNumber operator-(const GraphNumber& a, const GraphNumber& b) {
  return a.Binary(Op::kSub, b, std::minus());
}
inline GraphNumber operator*(const GraphNumber& a, const GraphNumber& b) {
  return a.Binary(Op::kMul, b, std::multiplies());
}
inline GraphNumber operator/(const GraphNumber& a, const GraphNumber& b) {
  return a.Binary(Op::kDiv, b, std::divides());
}
inline GraphNumber operator<(const GraphNumber& a, const GraphNumber& b) {
  return a.Compare(Comparison::kLt, b, std::less());
}
inline GraphNumber operator<=(const GraphNumber& a, const GraphNumber& b) {
  return a.Compare(Comparison::kLe, b, std::less_equal());
}
inline GraphNumber operator>(const GraphNumber& a, const GraphNumber& b) {
  return a.Compare(Comparison::kGt, b, std::greater());
}
inline GraphNumber operator>=(const GraphNumber& a, const GraphNumber& b) {
  return a.Compare(Comparison::kGe, b, std::greater_equal());
}
inline GraphNumber operator!=(const GraphNumber& a, const GraphNumber& b) {
  return a.Compare(Comparison::kNe, b, std::not_equal_to());
}

// What the formulas need beside operators, for both numbers.
namespace arithmetic {

inline double Floor(double x) { return std::floor(x); }
inline double Ceil(double x) { return std::ceil(x); }
inline double Abs(double x) { return std::fabs(x); }
// A NaN is no number to choose.
inline double Min(double a, double b) { return std::fmin(a, b); }
inline double Max(double a, double b) { return std::fmax(a, b); }
inline bool And(bool a, bool b) { return a && b; }
inline double Select(bool condition, double a, double b) {
  return condition ? a : b;
}

inline GraphNumber Floor(const GraphNumber& x) {
  return x.Unary(Op::kFloor, [](double a) { return Floor(a); });
}
inline GraphNumber Ceil(const GraphNumber& x) {
  return x.Unary(Op::kCeil, [](double a) { return Ceil(a); });
}
inline GraphNumber Abs(const GraphNumber& x) {
  return x.Unary(Op::kAbs, [](double a) { return Abs(a); });
}
inline GraphNumber Min(const GraphNumber& a, const GraphNumber& b) {
  return a.Binary(Op::kMin, b, [](double c, double d) { return Min(c, d); });
}
inline GraphNumber Max(const GraphNumber& a, const GraphNumber& b) {
  return a.Binary(Op::kMax, b, [](double c, double d) { return Max(c, d); });
}
inline GraphNumber And(const GraphNumber& a, const GraphNumber& b) {
  if (a.known()) return a.number() != 0 ? b : a;
  if (b.known()) return b.number() != 0 ? a : b;
  return a.Binary(Op::kAnd, b, std::logical_and());
}
inline GraphNumber Select(const GraphNumber& condition, const GraphNumber& a,
                          const GraphNumber& b) {
  return condition.Select(a, b);
}

}  // namespace arithmetic

// The cubic kernel with parameter `a` at a distance d in [0, 1], and in [1, 2].
template <typename T>
T CubicNear(const T& d, double a) {
  return (d * (a + 2) - (a + 3)) * d * d + 1.0;
}
template <typename T>
T CubicFar(const T& d, double a) {
  return ((d * a - 5 * a) * d + 8 * a) * d - 4 * a;
}

// Weights of the elements around a position whose fraction is t in [0, 1): from
// the element before it on for linear, from one earlier on for cubic.
template <typename T>
std::vector<T> LinearWeights(const T& t) {
  return {1.0 - t, t};
}
template <typename T>
std::vector<T> CubicWeights(const T& t, double a) {
  return {CubicFar<T>(t + 1.0, a), CubicNear<T>(t, a), CubicNear<T>(1.0 - t, a),
          CubicFar<T>(2.0 - t, a)};
}

// The weight of an element at a distance of |d|; 0 where the kernel ends.
template <typename T>
T LinearWeight(const T& d) {
  return arithmetic::Max(1.0 - arithmetic::Abs(d), 0.0);
}
template <typename T>
T CubicWeight(const T& distance, double a) {
  using arithmetic::Select;
  const T d = arithmetic::Abs(distance);
  return Select(d <= 1.0, CubicNear<T>(d, a),
                Select(d < 2.0, CubicFar<T>(d, a), 0.0));
}

}  // namespace encore::onnx

#endif  // ENCORE_IR_IMPORT_ONNX_IMAGE_INTERPOLATION_H_
