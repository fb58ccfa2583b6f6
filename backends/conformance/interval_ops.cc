#include "encore/backends/conformance/interval_ops.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "encore/ir/eval/evaluator.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/types/float_formats.h"

namespace encore::backends {
namespace {

using Literals = std::vector<Literal>;

// Correctly rounded by IEEE 754, or exact; of elementwise primitives on floats.
bool IsCorrectlyRounded(Op op) {
  switch (op) {
    case Op::kAbs:
    case Op::kNeg:
    case Op::kSign:
    case Op::kCeil:
    case Op::kFloor:
    case Op::kRound:
    case Op::kSqrt:
    case Op::kReciprocal:
    case Op::kAdd:
    case Op::kSub:
    case Op::kMul:
    case Op::kDiv:
    case Op::kRem:
    case Op::kMax:
    case Op::kMin:
    case Op::kSelect:
    case Op::kCast:
      return true;
    default:
      return false;
  }
}

// The attribute of that type; nothing where the op has none.
template <typename Field>
std::optional<Field> FieldOf(const Attributes& attributes) {
  std::optional<Field> found;
  VisitFields(
      attributes, [&](std::string_view, const auto& field, const auto&) {
        if constexpr (std::is_same_v<std::decay_t<decltype(field)>, Field>) {
          found = field;
        }
      });
  return found;
}

bool IsSum(Op op, const Attributes& attributes) {
  if (Info(op).has(kContraction)) return true;
  const auto combiner = FieldOf<Combiner>(attributes);
  const auto update = FieldOf<Update>(attributes);
  return combiner == Combiner::kSum || combiner == Combiner::kProduct ||
         update == Update::kAdd || update == Update::kMul;
}

// The attributes of the same op in f64.
Attributes Widened(const Attributes& attributes) {
  Attributes wide = attributes;
  VisitFields(wide, [](std::string_view, auto& field, const auto&) {
    if constexpr (std::is_same_v<std::decay_t<decltype(field)>, DType>) {
      if (IsFloat(field)) field = DType::kF64;
    }
  });
  return wide;
}

// The attributes of the op that counts what is summed, given ones.
Attributes Counting(const Attributes& attributes) {
  Attributes counting = attributes;
  VisitFields(counting, [](std::string_view, auto& field, const auto&) {
    using Field = std::decay_t<decltype(field)>;
    if constexpr (std::is_same_v<Field, Combiner>) field = Combiner::kSum;
    if constexpr (std::is_same_v<Field, Update>) field = Update::kAdd;
  });
  return counting;
}

Status Undecided(Op op) {
  return UnimplementedError(
      StrCat(op, ": its result depends on how floats are rounded"));
}

// --- Selections.

StatusOr<Intervals> Select(Op op, const Attributes& attributes,
                           std::span<const Interval> operands,
                           std::span<const TensorType> types) {
  Literals exact, ends[2];
  bool computed = false;
  for (const Interval& operand : operands) {
    if (const auto literal = ExactLiteral(operand)) exact.push_back(*literal);
    ends[0].push_back(operand.low);
    ends[1].push_back(operand.high);
    computed |= operand.computed;
  }
  Intervals results;
  if (exact.size() == operands.size()) {
    ENCORE_ASSIGN_OR_RETURN(const Literals values,
                            EvaluateNode(op, attributes, exact));
    for (const Literal& value : values) results.push_back(Exactly(value));
    return results;
  }
  for (const TensorType& type : types) {
    // Of a host object how many there are, or whether.
    const bool of_objects =
        Info(op).has(kNonFlatValues) && !IsString(type.dtype);
    if (!IsFloat(type.dtype) && !of_objects) return Undecided(op);
  }
  for (size_t i = 0; i < operands.size(); ++i) {
    if (!IsFloat(operands[i].dtype) && !operands[i].exact) return Undecided(op);
  }
  const Attributes wide = Widened(attributes);
  ENCORE_ASSIGN_OR_RETURN(const Literals low, EvaluateNode(op, wide, ends[0]));
  ENCORE_ASSIGN_OR_RETURN(const Literals high, EvaluateNode(op, wide, ends[1]));
  for (size_t i = 0; i < types.size(); ++i) {
    results.push_back(
        {types[i].dtype, low[i], high[i], !IsFloat(types[i].dtype), computed});
  }
  return results;
}

// --- Elementwise.

// The ends of each element, and 0 where it lies between.
Literals Samples(const Interval& x) {
  if (x.exact) return {x.low};
  Literals samples = {x.low, x.high};
  if (!IsFloat(x.dtype)) return samples;
  Literal inner(DType::kF64, x.low.dims());
  bool straddles = false;
  for (int64_t i = 0; i < inner.element_count(); ++i) {
    const double low = x.low.AsDouble(i), high = x.high.AsDouble(i);
    straddles |= low < 0 && high > 0;
    inner.SetDouble(i, low < 0 && high > 0 ? 0 : low);
  }
  if (straddles) samples.push_back(std::move(inner));
  return samples;
}

void IncludeAll(const Literal& values, Interval* x) {
  Literal low(values.dtype(), values.dims()),
      high(values.dtype(), values.dims());
  x->exact = true;
  for (int64_t i = 0; i < values.element_count(); ++i) {
    if (!IsFloat(values.dtype())) {
      low.SetInt(i, std::min(x->low.AsInt(i), values.AsInt(i)));
      high.SetInt(i, std::max(x->high.AsInt(i), values.AsInt(i)));
      x->exact = x->exact && low.AsInt(i) == high.AsInt(i);
      continue;
    }
    double l = x->low.AsDouble(i), h = x->high.AsDouble(i);
    Include(values.AsDouble(i), &l, &h);
    low.SetDouble(i, l);
    high.SetDouble(i, h);
    x->exact = x->exact && (l == h || (std::isnan(l) && std::isnan(h)));
  }
  x->low = std::move(low);
  x->high = std::move(high);
}

// The extremes over all combinations of the operands' samples.
StatusOr<Interval> OverSamples(Op op, const Attributes& attributes,
                               std::span<const Interval> operands,
                               DType dtype) {
  std::vector<Literals> samples;
  for (const Interval& operand : operands) {
    samples.push_back(Samples(operand));
  }
  std::vector<size_t> at(samples.size());
  std::optional<Interval> result;
  while (true) {
    Literals point;
    for (size_t i = 0; i < at.size(); ++i) point.push_back(samples[i][at[i]]);
    ENCORE_ASSIGN_OR_RETURN(const Literals values,
                            EvaluateNode(op, attributes, point));
    const Interval value = Exactly(values[0]);
    if (result.has_value()) {
      IncludeAll(value.low, &*result);
    } else {
      result = value;
    }
    size_t i = 0;
    while (i < at.size() && ++at[i] == samples[i].size()) at[i++] = 0;
    if (i == at.size()) break;
  }
  result->dtype = dtype;
  return *std::move(result);
}

// From a float dtype to another.
Interval Cast(const Interval& x, const CastAttrs& attrs) {
  Interval result = x;
  if (attrs.saturate) {
    const double largest = LargestFinite(attrs.dtype);
    const auto clamp = [largest](double* end) {
      if (!std::isnan(*end)) *end = std::clamp(*end, -largest, largest);
    };
    result = WithEnds(x, [&clamp](double* low, double* high) {
      clamp(low);
      clamp(high);
    });
  }
  result.dtype = attrs.dtype;
  result.computed = true;
  return result;
}

StatusOr<Interval> Elementwise(Op op, const Attributes& attributes,
                               std::span<const Interval> operands,
                               DType dtype) {
  if (op == Op::kCast) {
    const CastAttrs& attrs = attributes.Get<CastAttrs>();
    if (IsFloat(operands[0].dtype) && IsFloat(dtype)) {
      return Cast(operands[0], attrs);
    }
    // An integer is rounded once, straight to the dtype.
    return OverSamples(op, attributes, operands, dtype);
  }
  ENCORE_ASSIGN_OR_RETURN(Interval result,
                          OverSamples(op, attributes, operands, dtype));
  if (!IsFloat(dtype)) return result;
  result.computed = true;
  const DType compute = ComputeDType(dtype);
  const double units = IsCorrectlyRounded(op) ? 0 : kFunctionUnits;
  return WithEnds(result, [=](double* low, double* high) {
    *low -= units * UnitInTheLastPlace(compute, *low);
    *high += units * UnitInTheLastPlace(compute, *high);
    IncludeRounded(compute, low, high);
  });
}

// --- Sums.

// The float operands with f applied to the ends of each element; others as they
// are.
template <typename F>
Literals FloatsAs(std::span<const Interval> operands, F f) {
  Literals literals;
  for (const Interval& operand : operands) {
    if (!IsFloat(operand.dtype)) {
      literals.push_back(operand.low);
      continue;
    }
    Literal literal(DType::kF64, operand.low.dims());
    for (int64_t i = 0; i < literal.element_count(); ++i) {
      literal.SetDouble(i,
                        f(operand.low.AsDouble(i), operand.high.AsDouble(i)));
    }
    literals.push_back(std::move(literal));
  }
  return literals;
}

double Middle(double low, double high) {
  if (low == high || std::isnan(low)) return low;
  return std::isinf(low) || std::isinf(high) ? 0 : low + (high - low) / 2;
}

double Radius(double low, double high) {
  if (low == high || std::isnan(low)) return 0;
  return (high - low) / 2;
}

struct SumParts {
  Literal sum, terms, terms_with_radius, count;
};

StatusOr<SumParts> PartsOfSum(Op op, const Attributes& attributes,
                              std::span<const Interval> operands) {
  const auto evaluate = [&](const Attributes& attrs,
                            const Literals& literals) -> StatusOr<Literal> {
    ENCORE_ASSIGN_OR_RETURN(Literals values, EvaluateNode(op, attrs, literals));
    return std::move(values[0]);
  };
  SumParts parts;
  ENCORE_ASSIGN_OR_RETURN(parts.sum,
                          evaluate(attributes, FloatsAs(operands, Middle)));
  ENCORE_ASSIGN_OR_RETURN(
      parts.terms,
      evaluate(attributes, FloatsAs(operands, [](double low, double high) {
                 return std::abs(Middle(low, high));
               })));
  ENCORE_ASSIGN_OR_RETURN(
      parts.terms_with_radius,
      evaluate(attributes, FloatsAs(operands, [](double low, double high) {
                 return std::abs(Middle(low, high)) + Radius(low, high);
               })));
  ENCORE_ASSIGN_OR_RETURN(
      parts.count,
      evaluate(Counting(attributes),
               FloatsAs(operands, [](double, double) { return 1.0; })));
  return parts;
}

StatusOr<Interval> Sum(Op op, const Attributes& attributes,
                       std::span<const Interval> operands, DType dtype) {
  for (const Interval& operand : operands) {
    if (!IsFloat(operand.dtype) && !operand.exact) return Undecided(op);
  }
  ENCORE_ASSIGN_OR_RETURN(const SumParts parts,
                          PartsOfSum(op, attributes, operands));
  const bool in_place = FieldOf<Update>(attributes).has_value();
  const DType compute = in_place ? dtype : ComputeDType(dtype);
  const double u = Epsilon(compute) / 2;
  const bool products = Info(op).has(kContraction);
  const bool multiplies = products ||
                          FieldOf<Combiner>(attributes) == Combiner::kProduct ||
                          FieldOf<Update>(attributes) == Update::kMul;
  const double before_last = products ? 1 : 2;
  const double underflow = multiplies ? UnitInTheLastPlace(compute, 0) : 0;
  Interval result{dtype, parts.sum, parts.sum, true, true};
  int64_t i = 0;
  return WithEnds(result, [&](double* low, double* high) {
    const double sum = *low, count = parts.count.AsDouble(i);
    const double most = parts.terms_with_radius.AsDouble(i);
    const double spread = most - parts.terms.AsDouble(i);
    ++i;
    // Infinite or NaN because operands are.
    if (!std::isfinite(sum)) return;
    double roundings = std::max(0.0, count - before_last);
    // In f64 the sum at hand is rounded as often, and the last time.
    if (compute == DType::kF64) roundings += std::max(0.0, count - 1);
    const double gamma = roundings * u / (1 - roundings * u);
    const double radius = spread + gamma * most + count * underflow;
    if (!(most + radius <= LargestFinite(compute))) {
      *low = -INFINITY;
      *high = INFINITY;
      return;
    }
    *low = sum - radius;
    *high = sum + radius;
    IncludeRounded(compute, low, high);
  });
}

}  // namespace

StatusOr<Intervals> EvaluateIntervals(Op op, const Attributes& attributes,
                                      std::span<const Interval> operands,
                                      std::span<const TensorType> types) {
  const DType dtype = types[0].dtype;
  if (Info(op).has(kElementwise)) {
    ENCORE_ASSIGN_OR_RETURN(Interval result,
                            Elementwise(op, attributes, operands, dtype));
    return Intervals{std::move(result)};
  }
  if (IsFloat(dtype) && IsSum(op, attributes)) {
    ENCORE_ASSIGN_OR_RETURN(Interval result,
                            Sum(op, attributes, operands, dtype));
    return Intervals{std::move(result)};
  }
  if (op == Op::kBitcast) {
    const std::optional<Literal> x = ExactLiteral(operands[0]);
    if (!x) return Undecided(op);
    ENCORE_ASSIGN_OR_RETURN(const Literals values,
                            EvaluateNode(op, attributes, {&*x, 1}));
    return Intervals{Exactly(values[0])};
  }
  return Select(op, attributes, operands, types);
}

}  // namespace encore::backends
