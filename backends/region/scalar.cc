#include "encore/backends/region/scalar.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "encore/ir/ops/functions.h"
#include "encore/ir/support/check.h"
#include "encore/ir/types/float_formats.h"

namespace encore::backends {
namespace {

int64_t Wrap(DType dtype, int64_t value) {
  if (dtype == DType::kBool) return value != 0;
  const int shift = 64 - BitWidth(dtype);
  const uint64_t high = static_cast<uint64_t>(value) << shift;
  return IsSigned(dtype) ? static_cast<int64_t>(high) >> shift
                         : static_cast<int64_t>(high >> shift);
}

double Rounded(DType dtype, double value) {
  if (dtype == DType::kF64) return value;
  if (dtype == DType::kF32) return static_cast<float>(value);
  return RoundToDType(dtype, value);
}

uint64_t IntPow(uint64_t base, uint64_t exponent) {
  uint64_t result = 1;
  for (; exponent > 0; exponent >>= 1) {
    if (exponent & 1) result *= base;
    base *= base;
  }
  return result;
}

int64_t IntegerPow(DType dtype, int64_t x, int64_t y) {
  if (IsSigned(dtype) && y < 0) {
    if (x == 1) return 1;
    if (x == -1) return y % 2 == 0 ? 1 : -1;
    return 0;
  }
  return static_cast<int64_t>(
      IntPow(static_cast<uint64_t>(x), static_cast<uint64_t>(y)));
}

// Before wrapping.
int64_t IntegerQuotient(DType dtype, int64_t x, int64_t y) {
  if (y == 0) return -1;
  if (IsUnsigned(dtype)) {
    return static_cast<int64_t>(static_cast<uint64_t>(x) /
                                static_cast<uint64_t>(y));
  }
  return y == -1 ? static_cast<int64_t>(0 - static_cast<uint64_t>(x)) : x / y;
}

int64_t IntegerRemainder(DType dtype, int64_t x, int64_t y) {
  if (y == 0) return x;
  if (IsUnsigned(dtype)) {
    return static_cast<int64_t>(static_cast<uint64_t>(x) %
                                static_cast<uint64_t>(y));
  }
  return y == -1 ? 0 : x % y;
}

bool Less(DType dtype, int64_t x, int64_t y) {
  return IsUnsigned(dtype) ? static_cast<uint64_t>(x) < static_cast<uint64_t>(y)
                           : x < y;
}

int64_t Shift(Op op, DType dtype, int64_t x, int64_t y) {
  const bool out = !Less(DType::kU64, y, BitWidth(dtype));
  if (op == Op::kShiftLeft) {
    return out ? 0 : static_cast<int64_t>(static_cast<uint64_t>(x) << y);
  }
  if (IsUnsigned(dtype)) {
    return out ? 0 : static_cast<int64_t>(static_cast<uint64_t>(x) >> y);
  }
  return x >> (out ? 63 : y);
}

int64_t ApplyInteger(Op op, DType dtype, int64_t x, int64_t y) {
  const uint64_t ux = static_cast<uint64_t>(x), uy = static_cast<uint64_t>(y);
  switch (op) {
    case Op::kAbs:
      return !IsUnsigned(dtype) && x < 0 ? static_cast<int64_t>(0 - ux) : x;
    case Op::kNeg:
      return static_cast<int64_t>(0 - ux);
    case Op::kSign:
      return x == 0 ? 0 : !IsUnsigned(dtype) && x < 0 ? -1 : 1;
    case Op::kNot:
      return dtype == DType::kBool ? x == 0 : ~x;
    case Op::kAdd:
      return static_cast<int64_t>(ux + uy);
    case Op::kSub:
      return static_cast<int64_t>(ux - uy);
    case Op::kMul:
      return static_cast<int64_t>(ux * uy);
    case Op::kDiv:
      return IntegerQuotient(dtype, x, y);
    case Op::kRem:
      return IntegerRemainder(dtype, x, y);
    case Op::kPow:
      return IntegerPow(dtype, x, y);
    case Op::kMax:
      return Less(dtype, x, y) ? y : x;
    case Op::kMin:
      return Less(dtype, y, x) ? y : x;
    case Op::kAnd:
      return x & y;
    case Op::kOr:
      return x | y;
    case Op::kXor:
      return x ^ y;
    case Op::kShiftLeft:
    case Op::kShiftRight:
      return Shift(op, dtype, x, y);
    default:
      ENCORE_CHECK(false) << op << " on integers";
      return 0;
  }
}

double Sign(double x) {
  if (std::isnan(x) || x == 0) return x;
  return x < 0 ? -1 : 1;
}

double ApplyUnaryFloat(Op op, double x) {
  if (op == Op::kLogistic) return 1 / (1 + std::exp(-x));
  switch (op) {
    case Op::kAbs:
      return std::fabs(x);
    case Op::kNeg:
      return -x;
    case Op::kSign:
      return Sign(x);
    case Op::kCeil:
      return std::ceil(x);
    case Op::kFloor:
      return std::floor(x);
    case Op::kRound:
      return std::nearbyint(x);
    case Op::kSqrt:
      return std::sqrt(x);
    case Op::kRsqrt:
      return 1 / std::sqrt(x);
    case Op::kReciprocal:
      return 1 / x;
    default: {
      const FunctionInfo* function = FindFunction(op);
      ENCORE_CHECK(function != nullptr && function->unary != nullptr)
          << op << " on floats";
      return function->unary(x);
    }
  }
}

double ApplyBinaryFloat(Op op, double x, double y) {
  switch (op) {
    case Op::kAdd:
      return x + y;
    case Op::kSub:
      return x - y;
    case Op::kMul:
      return x * y;
    case Op::kDiv:
      return x / y;
    case Op::kMax:
      if (std::isnan(x) || std::isnan(y)) return std::nan("");
      return x == y ? (std::signbit(x) ? y : x) : std::fmax(x, y);
    case Op::kMin:
      if (std::isnan(x) || std::isnan(y)) return std::nan("");
      return x == y ? (std::signbit(x) ? x : y) : std::fmin(x, y);
    default: {
      const FunctionInfo* function = FindFunction(op);
      return function != nullptr && function->binary != nullptr
                 ? function->binary(x, y)
                 : ApplyUnaryFloat(op, x);
    }
  }
}

template <typename T>
bool Holds(Comparison comparison, T x, T y) {
  switch (comparison) {
    case Comparison::kEq:
      return x == y;
    case Comparison::kNe:
      return x != y;
    case Comparison::kLt:
      return x < y;
    case Comparison::kLe:
      return x <= y;
    case Comparison::kGt:
      return x > y;
    case Comparison::kGe:
      return x >= y;
  }
  return false;
}

bool Compare(DType dtype, Scalar x, Scalar y, Comparison comparison) {
  if (IsFloat(dtype)) return Holds(comparison, x.f, y.f);
  if (IsSigned(dtype)) return Holds(comparison, x.i, y.i);
  return Holds(comparison, static_cast<uint64_t>(x.i),
               static_cast<uint64_t>(y.i));
}

// What does not fit is the nearest bound, NaN is 0.
int64_t Truncated(DType dtype, double value) {
  if (std::isnan(value)) return 0;
  const int bits = BitWidth(dtype) - (IsSigned(dtype) ? 1 : 0);
  const double limit = std::ldexp(1.0, bits);  // one past the largest
  const int64_t largest =
      bits == 64 ? -1 : static_cast<int64_t>((uint64_t{1} << bits) - 1);
  if (value >= limit) return largest;
  if (!IsSigned(dtype)) {
    return value <= 0 ? 0 : static_cast<int64_t>(static_cast<uint64_t>(value));
  }
  return value <= -limit ? -largest - 1 : static_cast<int64_t>(value);
}

}  // namespace

Scalar OfInt(DType dtype, int64_t value) {
  if (IsFloat(dtype)) return OfDouble(dtype, static_cast<double>(value));
  return {.i = Wrap(dtype, value)};
}

Scalar OfDouble(DType dtype, double value) {
  Scalar result;
  result.f = Rounded(dtype, value);
  return result;
}

Scalar FromBits(DType dtype, uint64_t bits) {
  Scalar result;
  if (dtype == DType::kF64) {
    result.f = std::bit_cast<double>(bits);
  } else if (dtype == DType::kF32) {
    result.f = std::bit_cast<float>(static_cast<uint32_t>(bits));
  } else if (IsFloat(dtype)) {
    result.f = DecodeFloat(dtype, static_cast<uint16_t>(bits));
  } else {
    result.i = Wrap(dtype, static_cast<int64_t>(bits));
  }
  return result;
}

uint64_t ToBits(DType dtype, Scalar value) {
  if (dtype == DType::kF64) return std::bit_cast<uint64_t>(value.f);
  if (dtype == DType::kF32) {
    return std::bit_cast<uint32_t>(static_cast<float>(value.f));
  }
  if (IsFloat(dtype)) return EncodeFloat(dtype, value.f);
  const uint64_t bits = static_cast<uint64_t>(value.i);
  const int width = BitWidth(dtype);
  return width == 64 ? bits : bits & ((uint64_t{1} << width) - 1);
}

Scalar LoadElement(DType dtype, const void* data, int64_t index) {
  const auto* bytes = static_cast<const std::byte*>(data);
  uint64_t bits = 0;
  if (IsPacked(dtype)) {
    bits = LoadPacked(dtype, bytes, index);
  } else {
    const int size = BitWidth(dtype) / 8;
    std::memcpy(&bits, bytes + index * size, size);
  }
  return FromBits(dtype, bits);
}

void StoreElement(DType dtype, void* data, int64_t index, Scalar value) {
  auto* bytes = static_cast<std::byte*>(data);
  const uint64_t bits = ToBits(dtype, value);
  if (IsPacked(dtype)) {
    StorePacked(dtype, bytes, index, static_cast<uint8_t>(bits));
  } else {
    const int size = BitWidth(dtype) / 8;
    std::memcpy(bytes + index * size, &bits, size);
  }
}

Scalar CastScalar(DType from, DType to, Scalar value, bool saturate) {
  if (IsFloat(from)) {
    if (to == DType::kBool) return {.i = value.f != 0};
    if (!IsFloat(to)) return {.i = Truncated(to, value.f)};
    if (BitWidth(to) <= 8) {
      return FromBits(to, EncodeFloat(to, value.f, saturate));
    }
    return OfDouble(to, value.f);
  }
  if (!IsFloat(to)) return OfInt(to, value.i);
  const bool large = from == DType::kU64 && value.i < 0;
  if (to == DType::kF32) {  // once: f64 is no exact step for 64-bit integers
    return {.f = large ? static_cast<float>(static_cast<uint64_t>(value.i))
                       : static_cast<float>(value.i)};
  }
  const double exact = large
                           ? static_cast<double>(static_cast<uint64_t>(value.i))
                           : static_cast<double>(value.i);
  if (BitWidth(to) <= 8) return FromBits(to, EncodeFloat(to, exact, saturate));
  return OfDouble(to, exact);
}

Scalar ApplyOp(Op op, DType dtype, std::span<const Scalar> operands,
               Comparison comparison) {
  if (op == Op::kSelect) return operands[operands[0].i != 0 ? 1 : 2];
  const Scalar x = operands[0];
  const Scalar y = operands.size() > 1 ? operands[1] : Scalar{};
  if (op == Op::kCompare) return {.i = Compare(dtype, x, y, comparison)};
  if (op == Op::kIsNan) return {.i = std::isnan(x.f)};
  if (op == Op::kIsInf) return {.i = std::isinf(x.f)};
  if (IsFloat(dtype)) return OfDouble(dtype, ApplyBinaryFloat(op, x.f, y.f));
  return OfInt(dtype, ApplyInteger(op, dtype, x.i, y.i));
}

}  // namespace encore::backends
