// The arithmetic of operators that read an image between its elements: where an
// element of a resized image lies, and what the elements around it weigh.
//
// Each formula is a template over a number T, so that it is written once:
//   double       computes it, for what is known when the model is imported;
//   GraphNumber  writes it into a graph, for what only the run knows.
// Both do the same operations in the same order: f64 gives the same bits either
// way. A condition is a bool, or a GraphNumber of bools.
//
// Source of the formulas: Resize in the ONNX operator specification. The cubic
// kernel: Keys, "Cubic convolution interpolation for digital image processing",
// 1981.
#ifndef ENCORE_IR_IMPORT_ONNX_IMAGE_INTERPOLATION_H_
#define ENCORE_IR_IMPORT_ONNX_IMAGE_INTERPOLATION_H_

#include <cmath>
#include <vector>

#include "encore/ir/build/builder.h"
#include "encore/ir/ops/op.h"
#include "encore/ir/support/check.h"

namespace encore::onnx {

// A float scalar or tensor of a graph, or a constant that takes the dtype of
// the operand beside it. REQUIRES that each operation has an operand of a
// graph, whose builder outlives it.
class GraphNumber {
 public:
  GraphNumber() = default;
  // NOLINTNEXTLINE: a constant is a number.
  GraphNumber(double number) : number_(number) {}
  GraphNumber(GraphBuilder& g, Value value) : g_(&g), value_(value) {}

  // The value; REQUIRES one of a graph.
  Value value() const {
    ENCORE_CHECK(g_ != nullptr);
    return value_;
  }
  GraphNumber Unary(Op op) const { return {*g_, g_->Unary(op, value())}; }
  GraphNumber Binary(Op op, const GraphNumber& other) const {
    GraphBuilder& g = BuilderWith(other);
    return {g, g.Binary(op, operand(), other.operand())};
  }
  GraphNumber Compare(Comparison direction, const GraphNumber& other) const {
    GraphBuilder& g = BuilderWith(other);
    return {g, g.Compare(operand(), other.operand(), direction)};
  }
  // `a` where this is true, else `b`.
  GraphNumber Select(const GraphNumber& a, const GraphNumber& b) const {
    return {*g_, g_->Select(value(), a.operand(), b.operand())};
  }

 private:
  Operand operand() const {
    return g_ != nullptr ? Operand(value_) : Operand(number_);
  }
  GraphBuilder& BuilderWith(const GraphNumber& other) const {
    ENCORE_CHECK(g_ != nullptr || other.g_ != nullptr);
    return g_ != nullptr ? *g_ : *other.g_;
  }

  GraphBuilder* g_ = nullptr;  // null: a constant
  Value value_;
  double number_ = 0;
};

inline GraphNumber operator+(const GraphNumber& a, const GraphNumber& b) {
  return a.Binary(Op::kAdd, b);
}
inline GraphNumber operator-(const GraphNumber& a, const GraphNumber& b) {
  return a.Binary(Op::kSub, b);
}
inline GraphNumber operator*(const GraphNumber& a, const GraphNumber& b) {
  return a.Binary(Op::kMul, b);
}
inline GraphNumber operator/(const GraphNumber& a, const GraphNumber& b) {
  return a.Binary(Op::kDiv, b);
}
inline GraphNumber operator<(const GraphNumber& a, const GraphNumber& b) {
  return a.Compare(Comparison::kLt, b);
}
inline GraphNumber operator<=(const GraphNumber& a, const GraphNumber& b) {
  return a.Compare(Comparison::kLe, b);
}
inline GraphNumber operator>(const GraphNumber& a, const GraphNumber& b) {
  return a.Compare(Comparison::kGt, b);
}
inline GraphNumber operator>=(const GraphNumber& a, const GraphNumber& b) {
  return a.Compare(Comparison::kGe, b);
}
inline GraphNumber operator!=(const GraphNumber& a, const GraphNumber& b) {
  return a.Compare(Comparison::kNe, b);
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

inline GraphNumber Floor(const GraphNumber& x) { return x.Unary(Op::kFloor); }
inline GraphNumber Ceil(const GraphNumber& x) { return x.Unary(Op::kCeil); }
inline GraphNumber Abs(const GraphNumber& x) { return x.Unary(Op::kAbs); }
inline GraphNumber Min(const GraphNumber& a, const GraphNumber& b) {
  return a.Binary(Op::kMin, b);
}
inline GraphNumber Max(const GraphNumber& a, const GraphNumber& b) {
  return a.Binary(Op::kMax, b);
}
inline GraphNumber And(const GraphNumber& a, const GraphNumber& b) {
  return a.Binary(Op::kAnd, b);
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
