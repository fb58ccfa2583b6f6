// Arithmetic of f32, f64 and f32x2.
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include "encore/backends/cuda/emulator/ops/bits.h"
#include "encore/backends/cuda/emulator/ops/families.h"
#include "encore/backends/cuda/emulator/ops/rounding.h"

namespace encore::ptx {
namespace {

// The one NaN that f32 instructions give.
const float kNan = std::bit_cast<float>(0x7fffffffu);

template <typename T>
T In(const Instruction& i, T value) {
  if constexpr (std::is_same_v<T, float>) {
    return i.Has(Modifier::kFtz) ? Flush(value) : value;
  }
  return value;
}

template <typename T>
T Out(const Instruction& i, T value) {
  if (i.Has(Modifier::kSat)) {
    // NaN becomes 0 too.
    value = value > 0 ? (value < 1 ? value : T{1}) : T{0};
  }
  if constexpr (std::is_same_v<T, float>) {
    if (std::isnan(value)) return kNan;
    return i.Has(Modifier::kFtz) ? Flush(value) : value;
  }
  return value;
}

template <typename T, Arithmetic kOp>
T One(const LaneContext& context, T a) {
  const Instruction& i = context.instruction;
  return Out(i, Compute(kOp, RoundingOf(i), In(i, a), T{1}, T{0}));
}
template <typename T>
T Reciprocal(const LaneContext& context, T a) {
  const Instruction& i = context.instruction;
  return Out(i, Compute(Arithmetic::kDiv, RoundingOf(i), T{1}, In(i, a), T{0}));
}
template <typename T, Arithmetic kOp>
T Two(const LaneContext& context, T a, T b) {
  const Instruction& i = context.instruction;
  return Out(i, Compute(kOp, RoundingOf(i), In(i, a), In(i, b), T{0}));
}
template <typename T>
T Fma(const LaneContext& context, T a, T b, T c) {
  const Instruction& i = context.instruction;
  return Out(i, Compute(Arithmetic::kFma, RoundingOf(i), In(i, a), In(i, b),
                        In(i, c)));
}

// Of two zeros the negative one is less; a number wins over NaN unless .NaN.
template <typename T, bool kMax>
T Extreme(const LaneContext& context, T a, T b) {
  const Instruction& i = context.instruction;
  a = In(i, a);
  b = In(i, b);
  const bool flip =
      i.Has(Modifier::kXorSign) && std::signbit(a) != std::signbit(b);
  if (i.Has(Modifier::kAbs)) {
    a = std::fabs(a);
    b = std::fabs(b);
  }
  T out;
  if (std::isnan(a) || std::isnan(b)) {
    const bool propagate = i.Has(Modifier::kNaN);
    out = propagate || std::isnan(a) ? (propagate && std::isnan(a) ? a : b) : a;
  } else if (a == b) {
    out = std::signbit(a) == kMax ? b : a;
  } else {
    out = (a < b) == kMax ? b : a;
  }
  if (flip) out = -std::fabs(out);
  return Out(i, out);
}

template <typename T>
T Neg(const LaneContext& context, T a) {
  return In(context.instruction, -a);
}
template <typename T>
T Abs(const LaneContext& context, T a) {
  return In(context.instruction, std::fabs(a));
}
// The sign of a, the magnitude of b.
template <typename T>
T Copysign(T a, T b) {
  return std::copysign(b, a);
}
template <typename T>
bool Test(const LaneContext& context, T a) {
  using enum Modifier;
  const Instruction& i = context.instruction;
  const int found = std::fpclassify(a);
  if (i.Has(kFinite)) return std::isfinite(a);
  if (i.Has(kInfinite)) return found == FP_INFINITE;
  if (i.Has(kNumber)) return found != FP_NAN;
  if (i.Has(kNotanumber)) return found == FP_NAN;
  if (i.Has(kNormal)) return found == FP_NORMAL || found == FP_ZERO;
  return found == FP_SUBNORMAL;
}

// Each half of a register of 64 bits by itself.
template <Arithmetic kOp>
uint64_t Pair(const LaneContext& context, uint64_t a, uint64_t b, uint64_t c) {
  uint64_t out = 0;
  for (int shift = 0; shift < 64; shift += 32) {
    const auto part = [&](uint64_t word) {
      return In(context.instruction, FromBits<float>(word >> shift));
    };
    const float value = Compute(kOp, RoundingOf(context.instruction), part(a),
                                part(b), part(c));
    out |= ToBits(Out(context.instruction, value)) << shift;
  }
  return out;
}
template <Arithmetic kOp>
uint64_t PairOfTwo(const LaneContext& context, uint64_t a, uint64_t b) {
  return Pair<kOp>(context, a, b, 0);
}

Handler SelectPairs(Op op) {
  switch (op) {
    case Op::kAdd:
      return &Map<PairOfTwo<Arithmetic::kAdd>>;
    case Op::kSub:
      return &Map<PairOfTwo<Arithmetic::kSub>>;
    case Op::kMul:
      return &Map<PairOfTwo<Arithmetic::kMul>>;
    case Op::kFma:
      return &Map<Pair<Arithmetic::kFma>>;
    default:
      return nullptr;
  }
}

template <typename T>
Handler SelectArithmetic(const Instruction& i) {
  switch (i.op) {
    case Op::kAdd:
      return &Map<Two<T, Arithmetic::kAdd>>;
    case Op::kSub:
      return &Map<Two<T, Arithmetic::kSub>>;
    case Op::kMul:
      return &Map<Two<T, Arithmetic::kMul>>;
    case Op::kDiv:
      return &Map<Two<T, Arithmetic::kDiv>>;
    case Op::kMad:
    case Op::kFma:
      return &Map<Fma<T>>;
    case Op::kMin:
      return &Map<Extreme<T, false>>;
    case Op::kMax:
      return &Map<Extreme<T, true>>;
    case Op::kNeg:
      return &Map<Neg<T>>;
    case Op::kAbs:
      return &Map<Abs<T>>;
    case Op::kCopysign:
      return &Map<Copysign<T>>;
    case Op::kTestp:
      return &Map<Test<T>>;
    case Op::kRcp:
      return &Map<Reciprocal<T>>;
    case Op::kSqrt:
      return &Map<One<T, Arithmetic::kSqrt>>;
    default:
      return nullptr;
  }
}

}  // namespace

Handler SelectFloating(const Instruction& i) {
  using enum Modifier;
  if (i.Has(kCc) || i.Has(kLo) || i.Has(kHi) || i.Has(kWide) || i.Has(kRelu) ||
      i.Has(kApprox) || i.Has(kFull) || i.op == Op::kRem || i.op == Op::kSad) {
    return nullptr;
  }
  // These must say how they round.
  const bool rounded = i.Has(kRn) || i.Has(kRz) || i.Has(kRm) || i.Has(kRp);
  const bool must = i.op == Op::kDiv || i.op == Op::kFma || i.op == Op::kRcp ||
                    i.op == Op::kSqrt || i.op == Op::kMad;
  if (must && !rounded) return nullptr;
  if (i.type == Type::kF32) return SelectArithmetic<float>(i);
  if (i.type == Type::kF32x2) return SelectPairs(i.op);
  const bool only_f32 =
      i.Has(kFtz) || i.Has(kSat) || i.Has(kNaN) || i.Has(kXorSign);
  if (i.type == Type::kF64 && !only_f32) return SelectArithmetic<double>(i);
  return nullptr;
}

}  // namespace encore::ptx
