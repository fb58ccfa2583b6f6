// Arithmetic of f16, bf16 and pairs of them.
#include <cmath>
#include <type_traits>

#include "encore/backends/cuda/emulator/ops/bits.h"
#include "encore/backends/cuda/emulator/ops/families.h"
#include "encore/backends/cuda/emulator/ops/rounding.h"
#include "encore/ir/types/dtype.h"
#include "encore/ir/types/float_formats.h"

namespace encore::ptx {
namespace {

template <typename H>
struct Format;
template <>
struct Format<F16> {
  static constexpr DType kDType = DType::kF16;
  static constexpr double kLeastNormal = 0x1p-14;
};
template <>
struct Format<BF16> {
  static constexpr DType kDType = DType::kBF16;
  static constexpr double kLeastNormal = 0x1p-126;
};

constexpr uint16_t kNan = 0x7fff;

double FlushBelow(double value, double least) {
  return std::fabs(value) < least ? std::copysign(0.0, value) : value;
}

template <typename H>
double In(const Instruction& i, H a) {
  const double value = DecodeFloat(Format<H>::kDType, a.bits);
  return i.Has(Modifier::kFtz) ? FlushBelow(value, Format<H>::kLeastNormal)
                               : value;
}

template <typename H>
H Out(const Instruction& i, double value) {
  if (i.Has(Modifier::kSat)) value = value > 0 ? std::fmin(value, 1.0) : 0.0;
  if (std::isnan(value)) return H{kNan};
  if (i.Has(Modifier::kRelu) && value <= 0) value = 0;
  const H rounded{EncodeFloat(Format<H>::kDType, value)};
  if (!i.Has(Modifier::kFtz)) return rounded;
  return H{EncodeFloat(Format<H>::kDType, In(i, rounded))};
}

template <typename H>
H Add(const LaneContext& c, H a, H b) {
  const Instruction& i = c.instruction;
  return Out<H>(i, AddToOdd(In(i, a), In(i, b)));
}
template <typename H>
H Sub(const LaneContext& c, H a, H b) {
  const Instruction& i = c.instruction;
  return Out<H>(i, AddToOdd(In(i, a), -In(i, b)));
}
// Products of two significands of 11 bits are exact in a double.
template <typename H>
H Mul(const LaneContext& c, H a, H b) {
  const Instruction& i = c.instruction;
  return Out<H>(i, In(i, a) * In(i, b));
}
template <typename H>
H Fma(const LaneContext& context, H a, H b, H c) {
  const Instruction& i = context.instruction;
  return Out<H>(i, AddToOdd(In(i, a) * In(i, b), In(i, c)));
}
template <typename H, bool kMax>
H Extreme(const LaneContext& context, H a, H b) {
  const Instruction& i = context.instruction;
  double x = In(i, a), y = In(i, b);
  const bool flip =
      i.Has(Modifier::kXorSign) && std::signbit(x) != std::signbit(y);
  if (i.Has(Modifier::kAbs)) {
    x = std::fabs(x);
    y = std::fabs(y);
  }
  double out;
  if (std::isnan(x) || std::isnan(y)) {
    const bool none = i.Has(Modifier::kNaN) || (std::isnan(x) && std::isnan(y));
    if (none) return H{kNan};
    out = std::isnan(x) ? y : x;
  } else if (x == y) {
    out = std::signbit(x) == kMax ? y : x;
  } else {
    out = (x < y) == kMax ? y : x;
  }
  return Out<H>(i, flip ? -std::fabs(out) : out);
}
template <typename H>
H Neg(const LaneContext& context, H a) {
  const H out{static_cast<uint16_t>(a.bits ^ 0x8000)};
  if (!context.instruction.Has(Modifier::kFtz)) return out;
  return Out<H>(context.instruction, In(context.instruction, out));
}
template <typename H>
H Abs(const LaneContext& context, H a) {
  const H out{static_cast<uint16_t>(a.bits & 0x7fff)};
  if (!context.instruction.Has(Modifier::kFtz)) return out;
  return Out<H>(context.instruction, In(context.instruction, out));
}

// Each half of a word by itself.
template <typename H, auto kFunction, typename... Words>
uint32_t Each(const LaneContext& context, Words... words) {
  uint32_t out = 0;
  for (int shift = 0; shift < 32; shift += 16) {
    const H part =
        kFunction(context, H{static_cast<uint16_t>(words >> shift)}...);
    out |= uint32_t{part.bits} << shift;
  }
  return out;
}

template <typename H, bool kPairs, auto kFunction>
Handler Choose() {
  if constexpr (!kPairs) {
    return &Map<kFunction>;
  } else {
    using Function = decltype(kFunction);
    if constexpr (std::is_invocable_v<Function, const LaneContext&, H>) {
      return &Map<static_cast<uint32_t (*)(const LaneContext&, uint32_t)>(
          &Each<H, kFunction, uint32_t>)>;
    } else if constexpr (std::is_invocable_v<Function, const LaneContext&, H,
                                             H>) {
      return &Map<
          static_cast<uint32_t (*)(const LaneContext&, uint32_t, uint32_t)>(
              &Each<H, kFunction, uint32_t, uint32_t>)>;
    } else {
      return &Map<static_cast<uint32_t (*)(const LaneContext&, uint32_t,
                                           uint32_t, uint32_t)>(
          &Each<H, kFunction, uint32_t, uint32_t, uint32_t>)>;
    }
  }
}

template <typename H, bool kPairs>
Handler SelectFormat(const Instruction& i) {
  switch (i.op) {
    case Op::kAdd:
      return Choose<H, kPairs, &Add<H>>();
    case Op::kSub:
      return Choose<H, kPairs, &Sub<H>>();
    case Op::kMul:
      return Choose<H, kPairs, &Mul<H>>();
    case Op::kFma:
      return Choose<H, kPairs, &Fma<H>>();
    case Op::kMin:
      return Choose<H, kPairs, &Extreme<H, false>>();
    case Op::kMax:
      return Choose<H, kPairs, &Extreme<H, true>>();
    case Op::kNeg:
      return Choose<H, kPairs, &Neg<H>>();
    case Op::kAbs:
      return Choose<H, kPairs, &Abs<H>>();
    default:
      return nullptr;
  }
}

}  // namespace

Handler SelectHalf(const Instruction& i) {
  using enum Modifier;
  if (i.Has(kRz) || i.Has(kRm) || i.Has(kRp) || i.Has(kCc) || i.Has(kLo) ||
      i.Has(kHi) || i.Has(kWide) || i.Has(kApprox) || i.Has(kFull)) {
    return nullptr;
  }
  const bool fma = i.op == Op::kFma;
  if (fma != i.Has(kRn) && fma) return nullptr;
  if (i.Has(kRelu) && !fma) return nullptr;
  switch (i.type) {
    case Type::kF16:
      return SelectFormat<F16, false>(i);
    case Type::kF16x2:
      return SelectFormat<F16, true>(i);
    case Type::kBF16:
      return i.Has(kFtz) ? nullptr : SelectFormat<BF16, false>(i);
    case Type::kBF16x2:
      return i.Has(kFtz) ? nullptr : SelectFormat<BF16, true>(i);
    default:
      return nullptr;
  }
}

}  // namespace encore::ptx
