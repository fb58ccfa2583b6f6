// Approximate functions: div, rcp, sqrt, rsqrt, sin, cos, ex2, lg2, tanh.
//
// A result is the exact one off by at most the error that the PTX ISA documents
// ("maximum error" of each instruction), drawn from the seed and the operands.
// What is exact by the tables there (zeros, infinities, NaN) stays exact, and
// so do the powers of two that ex2 gives for whole numbers: f64 functions of
// the device's own library rest on that.
#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

#include "encore/backends/cuda/emulator/ops/bits.h"
#include "encore/backends/cuda/emulator/ops/families.h"
#include "encore/backends/cuda/emulator/ops/rounding.h"
#include "encore/ir/types/dtype.h"
#include "encore/ir/types/float_formats.h"

namespace encore::ptx {
namespace {

// In -1 to 1, from the seed, the instruction and its operands.
double Draw(const LaneContext& context, uint64_t operands) {
  uint64_t x = operands + context.options.seed * 0x9e3779b97f4a7c15u +
               static_cast<uint64_t>(context.instruction.op);
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  x ^= x >> 31;
  return static_cast<double>(x >> 11) * 0x1p-52 - 1.0;
}

// What an instruction's result may be off by.
struct Error {
  double relative = 0;
  double absolute = 0;
  double units = 0;  // in the last place
};

// The distance of the f32 numbers around `value`.
double UnitAt(double value) {
  return std::ldexp(1.0, std::max(std::ilogb(value), -126) - 23);
}

float Finish(const LaneContext& context, double exact, Error error,
             uint64_t operands) {
  const Instruction& i = context.instruction;
  if (std::isnan(exact)) return std::bit_cast<float>(0x7fffffffu);
  const bool special = exact == 0 || std::isinf(exact);
  // The error includes that of rounding to f32, half a unit.
  double room = 0;
  if (!special) {
    const double allowed =
        std::max({error.relative * std::fabs(exact), error.absolute,
                  error.units * UnitAt(exact)});
    room = std::max(allowed - UnitAt(exact) / 2, 0.0);
  }
  double value = exact;
  if (context.options.perturb_approximations && room > 0) {
    value += room * Draw(context, operands);
  }
  const auto out = static_cast<float>(value);
  return i.Has(Modifier::kFtz) ? Flush(out) : out;
}

float In(const LaneContext& context, float a) {
  return context.instruction.Has(Modifier::kFtz) ? Flush(a) : a;
}

using Real = double (*)(double);

template <Real kFunction, Error (*kError)(double a, double exact)>
float Approximate(const LaneContext& context, float a) {
  const float x = In(context, a);
  const double exact = kFunction(x);
  return Finish(context, exact, kError(x, exact), ToBits(x));
}

double Reciprocal(double a) { return 1 / a; }
double Root(double a) { return std::sqrt(a); }
double RootReciprocal(double a) { return 1 / std::sqrt(a); }
double Sine(double a) { return std::sin(a); }
double Cosine(double a) { return std::cos(a); }
double Exp2(double a) { return std::exp2(a); }
double Log2(double a) { return std::log2(a); }
double Tanh(double a) { return std::tanh(a); }

Error UnitError(double, double) { return {0, 0, 1}; }
Error RootError(double, double) { return {0x1p-23, 0}; }
Error RootReciprocalError(double, double) { return {0x1.1p-23, 0}; }
Error PowerError(double a, double) {
  return {0, 0, std::trunc(a) == a ? 0.0 : 2.0};
}
Error TanhError(double, double) { return {0x1p-11, 0}; }
// Absolute within half a turn and a hundred; beyond, the argument is reduced
// with ever fewer bits.
Error TurnError(double a, double) {
  const double turns = std::fabs(a) / std::numbers::pi;
  if (turns <= 2) return {0, 0x1.6a09p-21};  // 2^-20.5
  return {0, turns <= 100 ? 0x1.3cp-15 : std::min(0x1p-21 * std::fabs(a), 1.0)};
}
Error LogError(double a, double) {
  return a >= 0.5 && a <= 2 ? Error{0, 0x1p-22} : Error{0x1p-22, 0};
}

float Divide(const LaneContext& context, float a, float b) {
  const float x = In(context, a), y = In(context, b);
  const double exact = static_cast<double>(x) / y;
  const bool full = context.instruction.Has(Modifier::kFull);
  // div.approx with a divisor beyond 2^126 gives zero, or NaN for infinity.
  if (!full && std::fabs(y) > 0x1p126f && std::isfinite(y)) {
    const float out = std::isinf(x)
                          ? std::bit_cast<float>(0x7fffffffu)
                          : std::copysign(0.0f, x) * std::copysign(1.0f, y);
    return out;
  }
  return Finish(context, exact, {0, 0, 2}, ToBits(x) << 32 | ToBits(y));
}

// rcp.approx.ftz.f64 and rsqrt: the upper 20 bits of the mantissa are right,
// the lower word is zero.
template <Real kFunction>
double Coarse(double a) {
  if (std::fpclassify(a) == FP_SUBNORMAL) a = std::copysign(0.0, a);
  const double exact = kFunction(a);
  if (std::isnan(exact)) return exact;
  const auto bits = std::bit_cast<uint64_t>(exact);
  const double cut = std::bit_cast<double>(bits >> 32 << 32);
  return std::fpclassify(cut) == FP_SUBNORMAL ? std::copysign(0.0, cut) : cut;
}

template <typename H>
constexpr DType kFormat = std::is_same_v<H, F16> ? DType::kF16 : DType::kBF16;

template <typename H, Real kFunction>
H Narrow(const LaneContext& context, H a) {
  const DType dtype = kFormat<H>;
  const double x = DecodeFloat(dtype, a.bits);
  const double exact = kFunction(x);
  if (std::isnan(exact)) return H{0x7fff};
  // f16: 2^-9.9 of ex2, 2^-10.987 of tanh; bf16: 2^-7 and 2^-8.
  const bool tanh = context.instruction.op == Op::kTanh;
  const bool half = dtype == DType::kF16;
  const double error =
      half ? (tanh ? 0x1.02p-11 : 0x1.1p-10) : (tanh ? 0x1p-8 : 0x1p-7);
  const double rounding = Epsilon(dtype) / 2;
  double value = exact;
  if (context.options.perturb_approximations && exact != 0 &&
      std::isfinite(exact) && error > rounding) {
    value *= 1 + (error - rounding) * Draw(context, a.bits);
  }
  return H{EncodeFloat(dtype, value)};
}

template <typename H, Real kFunction>
uint32_t NarrowPair(const LaneContext& context, uint32_t a) {
  const auto low = Narrow<H, kFunction>(context, H{static_cast<uint16_t>(a)});
  const auto high =
      Narrow<H, kFunction>(context, H{static_cast<uint16_t>(a >> 16)});
  return low.bits | uint32_t{high.bits} << 16;
}

template <Real kFunction>
Handler SelectNarrow(Type type) {
  switch (type) {
    case Type::kF16:
      return &Map<Narrow<F16, kFunction>>;
    case Type::kBF16:
      return &Map<Narrow<BF16, kFunction>>;
    case Type::kF16x2:
      return &Map<NarrowPair<F16, kFunction>>;
    case Type::kBF16x2:
      return &Map<NarrowPair<BF16, kFunction>>;
    default:
      return nullptr;
  }
}

Handler SelectSingle(const Instruction& i) {
  switch (i.op) {
    case Op::kDiv:
      return &Map<Divide>;
    case Op::kRcp:
      return &Map<Approximate<Reciprocal, UnitError>>;
    case Op::kSqrt:
      return &Map<Approximate<Root, RootError>>;
    case Op::kRsqrt:
      return &Map<Approximate<RootReciprocal, RootReciprocalError>>;
    case Op::kSin:
      return &Map<Approximate<Sine, TurnError>>;
    case Op::kCos:
      return &Map<Approximate<Cosine, TurnError>>;
    case Op::kEx2:
      return &Map<Approximate<Exp2, PowerError>>;
    case Op::kLg2:
      return &Map<Approximate<Log2, LogError>>;
    case Op::kTanh:
      return &Map<Approximate<Tanh, TanhError>>;
    default:
      return nullptr;
  }
}

}  // namespace

Handler SelectSpecial(const Instruction& i) {
  using enum Modifier;
  const bool full = i.op == Op::kDiv && i.Has(kFull);
  if (!i.Has(kApprox) && !full) return nullptr;
  if (i.Has(kRn) || i.Has(kRz) || i.Has(kRm) || i.Has(kRp)) return nullptr;
  if (i.type == Type::kF32) return SelectSingle(i);
  if (i.op == Op::kEx2) return SelectNarrow<Exp2>(i.type);
  if (i.op == Op::kTanh) return SelectNarrow<Tanh>(i.type);
  if (i.type == Type::kF64 && i.Has(kFtz)) {
    if (i.op == Op::kRcp) return &Map<Coarse<Reciprocal>>;
    if (i.op == Op::kRsqrt) return &Map<Coarse<RootReciprocal>>;
  }
  return nullptr;
}

}  // namespace encore::ptx
