#include "encore/backends/conformance/tolerance.h"

#include <algorithm>
#include <cmath>

#include "encore/ir/float_formats.h"
#include "encore/ir/support/strings.h"

namespace encore::backends {
Tolerance ToleranceOf(Op op) {
  const OpInfo& info = Info(op);
  // Moved, not computed.
  if (info.has(kMovement)) return {};
  switch (op) {
    // Correctly rounded by IEEE 754 in every dtype.
    case Op::kAbs:
    case Op::kNeg:
    case Op::kSign:
    case Op::kCeil:
    case Op::kFloor:
    case Op::kRound:
    case Op::kSqrt:
    case Op::kAdd:
    case Op::kSub:
    case Op::kMul:
    case Op::kDiv:
    case Op::kMax:
    case Op::kMin:
    case Op::kCompare:
    case Op::kSelect:
    case Op::kCast:
    case Op::kIota:
    case Op::kRelu:
    case Op::kClamp:
    case Op::kMaxPool:
      return {};
    // One rounding more than a division.
    case Op::kRsqrt:
    case Op::kReciprocal:
      return {2, 0};
    // By a reduction of its argument whose error grows with the quotient.
    case Op::kRem:
      return {4, 1};
    // The exponent's rounding is multiplied by the result's logarithm.
    case Op::kPow:
      return {64, 0};
    default:
      break;
  }
  // Polynomials of 4 ulp, near their zeros relative to 1.
  if (info.has(kElementwise) && info.level == OpLevel::kPrimitive) {
    return {8, 1};
  }
  // Sums in f32 in another order than the evaluator's, of terms of order 1; and
  // composites, which are computed by their decomposition.
  return {256, 1};
}

Tolerance GraphTolerance(const Graph& graph) {
  Tolerance sum;
  for (const NodeId node : Nodes(graph)) {
    const Tolerance tolerance = ToleranceOf(graph.op(node));
    sum.units += tolerance.units + 1;
    sum.scale = std::max(sum.scale, tolerance.scale);
  }
  // Errors of a node are multiplied by those after it.
  return {4 * sum.units, std::max(sum.scale, 1.0)};
}

std::optional<std::string> Difference(const Literal& actual,
                                      const Literal& expected,
                                      const Tolerance& tolerance) {
  if (actual.type() != expected.type()) {
    return StrCat("type ", actual.type(), ", expected ", expected.type());
  }
  if (expected.host() != HostKind::kNone) {
    if (actual.elements().size() != expected.elements().size()) {
      return StrCat(actual.elements().size(), " elements, expected ",
                    expected.elements().size());
    }
    for (size_t i = 0; i < expected.elements().size(); ++i) {
      const auto difference =
          Difference(actual.elements()[i], expected.elements()[i], tolerance);
      if (difference) return difference;
    }
    return std::nullopt;
  }
  if (IsHost(expected.dtype())) {
    if (actual == expected) return std::nullopt;
    return "other strings";
  }
  if (!IsFloat(expected.dtype())) {
    for (int64_t i = 0; i < expected.element_count(); ++i) {
      if (actual.AsInt(i) == expected.AsInt(i)) continue;
      return StrCat("element ", i, " is ", actual.AsInt(i), ", expected ",
                    expected.AsInt(i));
    }
    return std::nullopt;
  }
  const double unit = tolerance.units * Epsilon(expected.dtype());
  for (int64_t i = 0; i < expected.element_count(); ++i) {
    const double a = actual.AsDouble(i), e = expected.AsDouble(i);
    if (a == e || (std::isnan(a) && std::isnan(e))) continue;
    if (std::abs(a - e) <= unit * std::max(std::abs(e), tolerance.scale)) {
      continue;
    }
    return StrCat("element ", i, " is ", a, ", expected ", e);
  }
  return std::nullopt;
}

}  // namespace encore::backends
