// Integer arithmetic.
#include <algorithm>
#include <limits>
#include <type_traits>

#include "encore/backends/cuda/emulator/ops/bits.h"
#include "encore/backends/cuda/emulator/ops/families.h"

namespace encore::ptx {
namespace {

// Arithmetic is that of residues; U is wide enough that C++ does not promote to
// a signed type.
template <typename T>
using U = std::conditional_t<sizeof(T) < 8, uint32_t, uint64_t>;
template <typename T>
using Wide = std::conditional_t<
    sizeof(T) == 8,
    std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>,
    std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>>;
// What mul.wide gives: twice the width, in a register of that width.
template <typename T>
using Double = std::conditional_t<
    sizeof(T) == 2, std::conditional_t<std::is_signed_v<T>, int32_t, uint32_t>,
    std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>>;

template <typename T>
T Add(T a, T b) {
  return static_cast<T>(static_cast<U<T>>(a) + static_cast<U<T>>(b));
}
template <typename T>
T Sub(T a, T b) {
  return static_cast<T>(static_cast<U<T>>(a) - static_cast<U<T>>(b));
}
int32_t Saturate(int64_t value) {
  return static_cast<int32_t>(
      std::clamp<int64_t>(value, std::numeric_limits<int32_t>::min(),
                          std::numeric_limits<int32_t>::max()));
}
int32_t AddSat(int32_t a, int32_t b) { return Saturate(int64_t{a} + b); }
int32_t SubSat(int32_t a, int32_t b) { return Saturate(int64_t{a} - b); }

template <typename T>
T MulLow(T a, T b) {
  return static_cast<T>(static_cast<U<T>>(a) * static_cast<U<T>>(b));
}
template <typename T>
T MulHigh(T a, T b) {
  return static_cast<T>(static_cast<Wide<T>>(a) * static_cast<Wide<T>>(b) >>
                        sizeof(T) * 8);
}
template <typename T>
Double<T> MulWide(T a, T b) {
  return static_cast<Double<T>>(static_cast<Double<T>>(a) *
                                static_cast<Wide<T>>(b));
}
template <typename T>
T MadLow(T a, T b, T c) {
  return Add(MulLow(a, b), c);
}
template <typename T>
T MadHigh(T a, T b, T c) {
  return Add(MulHigh(a, b), c);
}
template <typename T>
Double<T> MadWide(T a, T b, Double<T> c) {
  return Add(MulWide(a, b), c);
}
int32_t MadHighSat(int32_t a, int32_t b, int32_t c) {
  return Saturate(int64_t{MulHigh(a, b)} + c);
}

// Division by zero is unspecified, and all ones on devices; so is the rest, the
// dividend.
template <typename T>
T Div(T a, T b) {
  if (b == 0) return static_cast<T>(~T{0});
  if (std::is_signed_v<T> && b == static_cast<T>(-1)) return Sub(T{0}, a);
  return static_cast<T>(a / b);
}
template <typename T>
T Rem(T a, T b) {
  if (b == 0) return a;
  if (std::is_signed_v<T> && b == static_cast<T>(-1)) return 0;
  return static_cast<T>(a % b);
}
template <typename T>
T Neg(T a) {
  return Sub(T{0}, a);
}
template <typename T>
T Abs(T a) {
  return a < 0 ? Neg(a) : a;
}
template <typename T>
T Min(T a, T b) {
  return std::min(a, b);
}
template <typename T>
T Max(T a, T b) {
  return std::max(a, b);
}
int32_t MinRelu(int32_t a, int32_t b) { return std::max(std::min(a, b), 0); }
int32_t MaxRelu(int32_t a, int32_t b) { return std::max({a, b, 0}); }
template <typename T>
T Sad(T a, T b, T c) {
  return Add(c, a < b ? Sub(b, a) : Sub(a, b));
}

// Halves of a word each by itself.
template <typename T, T (*kFunction)(T, T)>
uint32_t Halves(uint32_t a, uint32_t b) {
  const auto low =
      static_cast<uint16_t>(kFunction(static_cast<T>(a), static_cast<T>(b)));
  const auto high = static_cast<uint16_t>(
      kFunction(static_cast<T>(a >> 16), static_cast<T>(b >> 16)));
  return low | uint32_t{high} << 16;
}

int64_t Part(uint32_t word, int bits, int index, bool is_signed) {
  const uint32_t part = word >> bits * index & ((1u << bits) - 1);
  if (!is_signed) return part;
  return static_cast<int32_t>(part << (32 - bits)) >> (32 - bits);
}
uint32_t DotBytes(const LaneContext& context, uint32_t a, uint32_t b,
                  uint32_t c) {
  const Instruction& i = context.instruction;
  int64_t sum = 0;
  for (int n = 0; n < 4; ++n) {
    sum += Part(a, 8, n, IsSigned(i.type)) *
           Part(b, 8, n, IsSigned(i.source_type));
  }
  return static_cast<uint32_t>(sum) + c;
}
uint32_t DotHalves(const LaneContext& context, uint32_t a, uint32_t b,
                   uint32_t c) {
  const Instruction& i = context.instruction;
  const int first = i.Has(Modifier::kHi) ? 2 : 0;
  int64_t sum = 0;
  for (int n = 0; n < 2; ++n) {
    sum += Part(a, 16, n, IsSigned(i.type)) *
           Part(b, 8, first + n, IsSigned(i.source_type));
  }
  return static_cast<uint32_t>(sum) + c;
}

// add.cc and its kin: sums of up to three terms and the carry, per lane.
template <typename T>
void WithCarry(Warp& warp, const Instruction& i, uint32_t mask) {
  using Sum = unsigned __int128;
  const bool multiplies = i.op == Op::kMad || i.op == Op::kMadc;
  const bool subtracts = i.op == Op::kSub || i.op == Op::kSubc;
  const bool takes =
      i.op == Op::kAddc || i.op == Op::kSubc || i.op == Op::kMadc;
  const uint64_t* a = warp.Source(i, 1);
  const uint64_t* b = warp.Source(i, 2);
  const uint64_t* c = multiplies ? warp.Source(i, 3) : nullptr;
  uint64_t* out = warp.Destination(i, 0);
  ForEachLane(mask, [&](uint32_t lane) {
    T left = static_cast<T>(a[lane]), right = static_cast<T>(b[lane]);
    if (multiplies) {
      left = i.Has(Modifier::kHi) ? MulHigh(left, right) : MulLow(left, right);
      right = static_cast<T>(c[lane]);
    }
    const Sum carry = takes ? warp.carry >> lane & 1 : 0;
    using V = std::make_unsigned_t<T>;
    const Sum x = static_cast<V>(left), y = static_cast<V>(right);
    // A borrow shows above the width, too.
    const Sum sum = subtracts ? x - y - carry : x + y + carry;
    out[lane] = static_cast<V>(sum);
    if (!i.Has(Modifier::kCc)) return;
    const bool over = (sum >> sizeof(T) * 8 & 1) != 0;
    warp.carry = (warp.carry & ~(1u << lane)) | (over ? 1u : 0u) << lane;
  });
}

Handler SelectCarry(const Instruction& i) {
  return VisitInteger(i.type, [&](auto x) -> Handler {
    using T = decltype(x);
    if constexpr (sizeof(T) == 2) {
      return nullptr;
    } else {
      return IsInteger(i.type) ? &WithCarry<T> : nullptr;
    }
  });
}

Handler SelectPacked(const Instruction& i) {
  const bool is_signed = i.type == Type::kS16x2;
  switch (i.op) {
    case Op::kAdd:
      return &Map<Halves<uint16_t, Add<uint16_t>>>;
    case Op::kMin:
      return is_signed ? &Map<Halves<int16_t, Min<int16_t>>>
                       : &Map<Halves<uint16_t, Min<uint16_t>>>;
    case Op::kMax:
      return is_signed ? &Map<Halves<int16_t, Max<int16_t>>>
                       : &Map<Halves<uint16_t, Max<uint16_t>>>;
    default:
      return nullptr;
  }
}

template <typename T>
Handler SelectMul(const Instruction& i) {
  const bool mad = i.op == Op::kMad;
  if (i.Has(Modifier::kLo)) return mad ? &Map<MadLow<T>> : &Map<MulLow<T>>;
  if (i.Has(Modifier::kHi)) return mad ? &Map<MadHigh<T>> : &Map<MulHigh<T>>;
  if constexpr (sizeof(T) < 8) {
    if (i.Has(Modifier::kWide))
      return mad ? &Map<MadWide<T>> : &Map<MulWide<T>>;
  }
  return nullptr;
}

template <typename T>
Handler SelectPlain(const Instruction& i) {
  switch (i.op) {
    case Op::kAdd:
      return &Map<Add<T>>;
    case Op::kSub:
      return &Map<Sub<T>>;
    case Op::kMul:
    case Op::kMad:
      return SelectMul<T>(i);
    case Op::kDiv:
      return &Map<Div<T>>;
    case Op::kRem:
      return &Map<Rem<T>>;
    case Op::kMin:
      return &Map<Min<T>>;
    case Op::kMax:
      return &Map<Max<T>>;
    case Op::kSad:
      return &Map<Sad<T>>;
    case Op::kNeg:
      return std::is_signed_v<T> ? &Map<Neg<T>> : nullptr;
    case Op::kAbs:
      return std::is_signed_v<T> ? &Map<Abs<T>> : nullptr;
    default:
      return nullptr;
  }
}

Handler SelectModified(const Instruction& i) {
  if (i.type != Type::kS32) return nullptr;
  const bool sat = i.Has(Modifier::kSat), relu = i.Has(Modifier::kRelu);
  if (i.op == Op::kAdd && sat) return &Map<AddSat>;
  if (i.op == Op::kSub && sat) return &Map<SubSat>;
  if (i.op == Op::kMad && sat && i.Has(Modifier::kHi)) return &Map<MadHighSat>;
  if (i.op == Op::kMin && relu) return &Map<MinRelu>;
  if (i.op == Op::kMax && relu) return &Map<MaxRelu>;
  return nullptr;
}

}  // namespace

Handler SelectInteger(const Instruction& i) {
  using enum Modifier;
  const bool dot = i.op == Op::kDp4a || i.op == Op::kDp2a;
  if (dot) {
    const auto fits = [](Type t) { return t == Type::kU32 || t == Type::kS32; };
    if (!fits(i.type) || !fits(i.source_type)) return nullptr;
    if (i.op == Op::kDp4a) return &Map<DotBytes>;
    return i.Has(kLo) || i.Has(kHi) ? &Map<DotHalves> : nullptr;
  }
  // Words that only floats have.
  if (i.Has(kRn) || i.Has(kRz) || i.Has(kRm) || i.Has(kRp) || i.Has(kFtz) ||
      i.Has(kApprox) || i.Has(kFull) || i.Has(kNaN) || i.Has(kXorSign)) {
    return nullptr;
  }
  if (i.Has(kCc) || i.op == Op::kAddc || i.op == Op::kSubc ||
      i.op == Op::kMadc) {
    return SelectCarry(i);
  }
  if (i.Has(kSat) || i.Has(kRelu)) return SelectModified(i);
  if (i.type == Type::kU16x2 || i.type == Type::kS16x2) return SelectPacked(i);
  if (!IsInteger(i.type)) return nullptr;
  return VisitInteger(
      i.type, [&](auto x) -> Handler { return SelectPlain<decltype(x)>(i); });
}

}  // namespace encore::ptx
