#include "encore/backends/conformance/interval.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "encore/ir/types/float_formats.h"

namespace encore::backends {
namespace {

// `like`, a host object, with other elements of `dtype`.
Literal Rebuilt(const Literal& like, DType dtype,
                std::vector<Literal> elements) {
  if (like.kind() == ValueKind::kSequence) {
    return Literal::Sequence(dtype, std::move(elements));
  }
  if (elements.empty()) return Literal::Absent(dtype, like.kind());
  return Literal::Optional(std::move(elements[0]));
}

// The same values, rounded to another float dtype.
Literal InDType(const Literal& x, DType dtype) {
  if (x.kind() != ValueKind::kTensor) {
    std::vector<Literal> elements;
    for (const Literal& element : x.elements()) {
      elements.push_back(InDType(element, dtype));
    }
    return Rebuilt(x, dtype, std::move(elements));
  }
  Literal result(dtype, x.dims());
  for (int64_t i = 0; i < x.element_count(); ++i) {
    result.SetDouble(i, x.AsDouble(i));
  }
  return result;
}

using Change = std::function<void(double* low, double* high)>;

std::pair<Literal, Literal> Changed(const Literal& low, const Literal& high,
                                    const Change& change, bool* exact) {
  if (low.kind() != ValueKind::kTensor) {
    std::vector<Literal> lows, highs;
    for (size_t i = 0; i < low.elements().size(); ++i) {
      auto [l, h] =
          Changed(low.elements()[i], high.elements()[i], change, exact);
      lows.push_back(std::move(l));
      highs.push_back(std::move(h));
    }
    return {Rebuilt(low, DType::kF64, std::move(lows)),
            Rebuilt(high, DType::kF64, std::move(highs))};
  }
  Literal lows(DType::kF64, low.dims()), highs(DType::kF64, low.dims());
  const std::span<double> l = lows.mutable_values<double>(),
                          h = highs.mutable_values<double>();
  for (int64_t i = 0; i < low.element_count(); ++i) {
    l[i] = low.AsDouble(i);
    h[i] = high.AsDouble(i);
    change(&l[i], &h[i]);
    *exact = *exact && (l[i] == h[i] || (std::isnan(l[i]) && std::isnan(h[i])));
  }
  return {std::move(lows), std::move(highs)};
}

}  // namespace

Interval Exactly(const Literal& value) {
  const Literal end =
      IsFloat(value.dtype()) ? InDType(value, DType::kF64) : value;
  return {value.dtype(), end, end};
}

std::optional<Literal> ExactLiteral(const Interval& x) {
  if (!x.exact) return std::nullopt;
  if (!IsFloat(x.dtype)) return x.low;
  Literal literal = InDType(x.low, x.dtype);
  bool same = true;
  Changed(x.low, InDType(literal, DType::kF64), [](double*, double*) {}, &same);
  if (!same) return std::nullopt;
  return literal;
}

Interval WithEnds(const Interval& x, const Change& change) {
  Interval result = x;
  result.exact = true;
  std::tie(result.low, result.high) =
      Changed(x.low, x.high, change, &result.exact);
  return result;
}

Interval MaybeRounded(const Interval& x) {
  if (!x.computed || !IsFloat(x.dtype)) return x;
  return WithEnds(x, [dtype = x.dtype](double* low, double* high) {
    if (dtype == DType::kF64) {
      // What was kept in more precision lies beside the f64 at hand.
      *low = std::nextafter(*low, -INFINITY);
      *high = std::nextafter(*high, INFINITY);
      return;
    }
    IncludeRounded(dtype, low, high);
  });
}

Interval Rounded(const Interval& x) {
  if (!IsFloat(x.dtype)) return x;
  return WithEnds(x, [dtype = x.dtype](double* low, double* high) {
    if (IsUnknown(*low, *high)) return;
    *low = RoundToDType(dtype, *low);
    *high = RoundToDType(dtype, *high);
    if (std::isnan(*low) != std::isnan(*high)) {
      *low = -INFINITY;
      *high = INFINITY;
    }
  });
}

void Include(double value, double* low, double* high) {
  if (std::isnan(value) && std::isnan(*low)) return;
  if (std::isnan(value) || std::isnan(*low)) {
    *low = -INFINITY;
    *high = INFINITY;
    return;
  }
  *low = std::min(*low, value);
  *high = std::max(*high, value);
}

void IncludeRounded(DType dtype, double* low, double* high) {
  const double ends[] = {RoundToDType(dtype, *low), RoundToDType(dtype, *high)};
  for (const double end : ends) Include(end, low, high);
}

double UnitInTheLastPlace(DType dtype, double x) {
  if (!std::isfinite(x)) return 0;
  const FloatFormat& format = FormatOf(dtype);
  const double least = std::ldexp(1.0, 1 - format.bias - format.mantissa_bits);
  if (x == 0) return least;
  return std::max(least,
                  std::ldexp(1.0, std::ilogb(x) + 1 - SignificandBits(dtype)));
}

}  // namespace encore::backends
