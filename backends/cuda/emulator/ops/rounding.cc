#include "encore/backends/cuda/emulator/ops/rounding.h"

#include <bit>
#include <cfenv>
#include <cmath>
#include <limits>

#include "encore/ir/types/float_formats.h"

namespace encore::ptx {
namespace {

int HostMode(Rounding rounding) {
  switch (rounding) {
    case Rounding::kNearest:
      return FE_TONEAREST;
    case Rounding::kZero:
      return FE_TOWARDZERO;
    case Rounding::kDown:
      return FE_DOWNWARD;
    case Rounding::kUp:
      return FE_UPWARD;
  }
  return FE_TONEAREST;
}

template <typename T>
T Plain(Arithmetic op, T a, T b, T c) {
  switch (op) {
    case Arithmetic::kAdd:
      return a + b;
    case Arithmetic::kSub:
      return a - b;
    case Arithmetic::kMul:
      return a * b;
    case Arithmetic::kDiv:
      return a / b;
    case Arithmetic::kFma:
      return std::fma(a, b, c);
    case Arithmetic::kSqrt:
      return std::sqrt(a);
  }
  return a;
}

// The host's unit in another mode for one operation; the values are volatile so
// that it is done there and then.
template <typename T>
T InMode(Arithmetic op, Rounding rounding, T a, T b, T c) {
  const int before = std::fegetround();
  volatile T x = a, y = b, z = c;
  std::fesetround(HostMode(rounding));
  volatile T out = Plain<T>(op, x, y, z);
  std::fesetround(before);
  return out;
}

}  // namespace

Rounding RoundingOf(const Instruction& i) {
  if (i.Has(Modifier::kRz)) return Rounding::kZero;
  if (i.Has(Modifier::kRm)) return Rounding::kDown;
  if (i.Has(Modifier::kRp)) return Rounding::kUp;
  return Rounding::kNearest;
}

float Compute(Arithmetic op, Rounding rounding, float a, float b, float c) {
  if (rounding == Rounding::kNearest) return Plain(op, a, b, c);
  return InMode(op, rounding, a, b, c);
}

double Compute(Arithmetic op, Rounding rounding, double a, double b, double c) {
  if (rounding == Rounding::kNearest) return Plain(op, a, b, c);
  return InMode(op, rounding, a, b, c);
}

double AddToOdd(double a, double b) {
  const double sum = a + b;
  if (!std::isfinite(sum)) return sum;
  // What rounding took away, exactly (D. Knuth's two-sum).
  const double part = sum - a;
  const double lost = (a - (sum - part)) + (b - part);
  const auto bits = std::bit_cast<uint64_t>(sum);
  if (lost == 0 || (bits & 1) != 0) return sum;
  return std::nextafter(sum, lost > 0
                                 ? std::numeric_limits<double>::infinity()
                                 : -std::numeric_limits<double>::infinity());
}

uint16_t Encode(DType dtype, double value, Rounding rounding, bool saturate) {
  const uint16_t nearest = EncodeFloat(dtype, value, saturate);
  if (rounding == Rounding::kNearest || !std::isfinite(value)) return nearest;
  const double rounded = DecodeFloat(dtype, nearest);
  const auto sign = static_cast<uint16_t>(FormatOf(dtype).sign_bit());
  const bool away = std::fabs(rounded) > std::fabs(value);
  const bool toward = std::fabs(rounded) < std::fabs(value);
  const bool up = rounding == Rounding::kUp && value > 0;
  const bool down = rounding == Rounding::kDown && value < 0;
  const bool wants_away = up || down;
  // Neighbours have neighbouring bits; a zero keeps its sign.
  if (away && !wants_away) return static_cast<uint16_t>(nearest - 1);
  const bool at_end = (nearest & (sign - 1)) == FormatOf(dtype).largest();
  if (toward && wants_away && !(saturate && at_end)) {
    return static_cast<uint16_t>(nearest + 1);
  }
  return nearest;
}

float ToFloat(double value, Rounding rounding) {
  const auto nearest = static_cast<float>(value);
  if (rounding == Rounding::kNearest || !std::isfinite(value)) return nearest;
  const double rounded = nearest;
  const float infinity = std::numeric_limits<float>::infinity();
  const bool up =
      rounding == Rounding::kUp || (rounding == Rounding::kZero && value < 0);
  if (up && rounded < value) return std::nextafter(nearest, infinity);
  if (!up && rounded > value) return std::nextafter(nearest, -infinity);
  return nearest;
}

float Flush(float value) {
  return std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(0.0f, value)
                                                : value;
}

}  // namespace encore::ptx
