#include "encore/backends/conformance/mutants.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <string>
#include <vector>

#include "encore/backends/conformance/interval.h"
#include "encore/ir/types/float_formats.h"

namespace encore::backends {
namespace {

// The first element of `dtype` from 1.01 x on away from 0.
double OffByOnePercent(DType dtype, double x) {
  if (!std::isfinite(x) || x == 0) return x;
  const double least = 1.01 * x;
  const double nearest = RoundToDType(dtype, least);
  if (!(std::abs(nearest) < std::abs(least))) return nearest;
  return RoundToDType(
      dtype,
      nearest + std::copysign(UnitInTheLastPlace(dtype, nearest), nearest));
}

int64_t OffByOnePercent(int64_t x) {
  // |x| / 100 of the least of all fits.
  const int64_t off = std::max<int64_t>(1, std::abs(x / 100));
  return static_cast<int64_t>(static_cast<uint64_t>(x) +
                              static_cast<uint64_t>(off));
}

Literal OffByOnePercent(const Literal& value) {
  Literal result(value.dtype(), value.dims());
  if (IsString(value.dtype())) {
    result.mutable_strings() = value.strings();
    for (std::string& text : result.mutable_strings()) text += '?';
    return result;
  }
  for (int64_t i = 0; i < value.element_count(); ++i) {
    if (IsFloat(value.dtype())) {
      result.SetDouble(i, OffByOnePercent(value.dtype(), value.AsDouble(i)));
    } else if (value.dtype() == DType::kBool) {
      result.SetInt(i, value.AsInt(i) == 0);
    } else {
      result.SetInt(i, OffByOnePercent(value.AsInt(i)));
    }
  }
  return result;
}

}  // namespace

std::string_view Name(Mutant mutant) {
  return mutant == Mutant::kZero ? "gives 0" : "is 1 % off";
}

Literal Mutate(Mutant mutant, const Literal& value) {
  if (value.kind() == ValueKind::kTensor) {
    return mutant == Mutant::kZero ? Literal(value.dtype(), value.dims())
                                   : OffByOnePercent(value);
  }
  std::vector<Literal> elements;
  for (const Literal& element : value.elements()) {
    elements.push_back(Mutate(mutant, element));
  }
  if (value.kind() == ValueKind::kSequence) {
    return Literal::Sequence(value.dtype(), std::move(elements));
  }
  if (elements.empty()) return value;
  return Literal::Optional(std::move(elements[0]));
}

bool Fails(Mutant mutant, std::span<const Literal> right,
           std::span<const Bounds> bounds) {
  for (size_t i = 0; i < bounds.size(); ++i) {
    if (Difference(Mutate(mutant, right[i]), bounds[i])) return true;
  }
  return false;
}

}  // namespace encore::backends
