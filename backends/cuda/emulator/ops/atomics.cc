// atom and red.
//
// Lanes take turns in an order drawn from the seed, each without interruption.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "encore/backends/cuda/emulator/access.h"
#include "encore/backends/cuda/emulator/ops/bits.h"
#include "encore/backends/cuda/emulator/ops/families.h"
#include "encore/backends/cuda/emulator/ops/rounding.h"
#include "encore/ir/types/dtype.h"
#include "encore/ir/types/float_formats.h"

namespace encore::ptx {
namespace {

// What is updated.
struct Target {
  Type type;
  Space space;
};

// What memory holds afterwards; c is the third operand of cas.
using Update = uint64_t (*)(const Target& target, uint64_t old, uint64_t b,
                            uint64_t c);

// Subnormals are zeros of their sign.
float Flushed(float x) {
  return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x;
}
// Global memory flushes subnormals of f32, shared memory does not.
// Source: PTX ISA 9.0, atom and red.
uint64_t AddF32(const Target& target, uint64_t old, uint64_t b, uint64_t) {
  const float x = FromBits<float>(old), y = FromBits<float>(b);
  const float sum =
      target.space == Space::kGlobal ? Flushed(Flushed(x) + Flushed(y)) : x + y;
  return std::isnan(sum) ? 0x7fffffff : ToBits(sum);
}
template <typename T>
uint64_t Add(const Target&, uint64_t old, uint64_t b, uint64_t) {
  if constexpr (std::is_floating_point_v<T>) {
    return ToBits(FromBits<T>(old) + FromBits<T>(b));
  } else {
    return old + b;
  }
}
uint16_t AddHalf(DType dtype, uint16_t a, uint16_t b) {
  const double sum = AddToOdd(DecodeFloat(dtype, a), DecodeFloat(dtype, b));
  return std::isnan(sum) ? 0x7fff : EncodeFloat(dtype, sum);
}
template <DType kDType, int kParts>
uint64_t AddHalves(const Target&, uint64_t old, uint64_t b, uint64_t) {
  uint64_t out = 0;
  for (int shift = 0; shift < 16 * kParts; shift += 16) {
    out |= uint64_t{AddHalf(kDType, static_cast<uint16_t>(old >> shift),
                            static_cast<uint16_t>(b >> shift))}
           << shift;
  }
  return out;
}
template <typename T>
uint64_t Least(const Target&, uint64_t old, uint64_t b, uint64_t) {
  return ToBits(std::min(FromBits<T>(old), FromBits<T>(b)));
}
template <typename T>
uint64_t Largest(const Target&, uint64_t old, uint64_t b, uint64_t) {
  return ToBits(std::max(FromBits<T>(old), FromBits<T>(b)));
}
template <DType kDType, int kParts, bool kMax>
uint64_t HalfExtremes(const Target&, uint64_t old, uint64_t b, uint64_t) {
  uint64_t out = 0;
  for (int shift = 0; shift < 16 * kParts; shift += 16) {
    const auto x = static_cast<uint16_t>(old >> shift);
    const auto y = static_cast<uint16_t>(b >> shift);
    const float u = DecodeFloat(kDType, x), v = DecodeFloat(kDType, y);
    const bool second = std::isnan(u) || (u < v) == kMax;
    const bool nans = std::isnan(u) && std::isnan(v);
    const uint16_t part = nans            ? uint16_t{0x7fff}
                          : std::isnan(v) ? x
                          : u == v        ? (std::signbit(u) == kMax ? y : x)
                          : second        ? y
                                          : x;
    out |= uint64_t{part} << shift;
  }
  return out;
}
uint64_t And(const Target&, uint64_t old, uint64_t b, uint64_t) {
  return old & b;
}
uint64_t Or(const Target&, uint64_t old, uint64_t b, uint64_t) {
  return old | b;
}
uint64_t Xor(const Target&, uint64_t old, uint64_t b, uint64_t) {
  return old ^ b;
}
uint64_t Exchange(const Target&, uint64_t, uint64_t b, uint64_t) { return b; }
uint64_t CompareAndSwap(const Target& target, uint64_t old, uint64_t b,
                        uint64_t c) {
  const int shift = 64 - BitWidth(target.type);
  return old << shift == b << shift ? c : old;
}
uint64_t Increment(const Target&, uint64_t old, uint64_t b, uint64_t) {
  return old >= b ? 0 : old + 1;
}
uint64_t Decrement(const Target&, uint64_t old, uint64_t b, uint64_t) {
  return old == 0 || old > b ? b : old - 1;
}

template <Update kUpdate>
void Atomic(Warp& warp, const Instruction& i, uint32_t mask) {
  const bool returns = i.op == Op::kAtom;
  const uint32_t address = returns ? i.vector : 0;
  const bool three = returns && warp.HasOperand(i, 1 + 2u * i.vector);
  const auto width = static_cast<uint32_t>(ByteWidth(i.type));
  const uint32_t bytes = width * i.vector;
  const auto addresses = Addresses(warp, i, address);
  CountAccess(warp, i.space, addresses, mask, bytes, AccessKind::kAtomic);
  const auto first = static_cast<uint32_t>(warp.launch->random.Below(32));
  for (uint32_t n = 0; n < 32; ++n) {
    const uint32_t lane = (first + n) & 31;
    if ((mask >> lane & 1) == 0) continue;
    Publish(warp, i, i.space, addresses[lane]);
    std::byte* at = Access(warp, i, lane, i.space, addresses[lane], bytes,
                           AccessKind::kAtomic);
    if (at == nullptr) return;
    Acquire(warp, i, i.space, addresses[lane]);
    const Target target{i.type, Resolve(i.space, addresses[lane]).space};
    for (uint32_t e = 0; e < i.vector; ++e) {
      uint64_t old = 0;
      std::memcpy(&old, at + e * width, width);
      const uint64_t b = warp.Source(i, address + 1 + e)[lane];
      const uint64_t c =
          three ? warp.Source(i, address + 1 + i.vector)[lane] : 0;
      const uint64_t next = kUpdate(target, old, b, c);
      std::memcpy(at + e * width, &next, width);
      if (returns) warp.Destination(i, e)[lane] = old;
    }
  }
}

Handler SelectAdd(Type type) {
  switch (type) {
    case Type::kU32:
    case Type::kS32:
    case Type::kU64:
    case Type::kS64:
      return &Atomic<Add<uint64_t>>;
    case Type::kF32:
      return &Atomic<AddF32>;
    case Type::kF64:
      return &Atomic<Add<double>>;
    case Type::kF16:
      return &Atomic<AddHalves<DType::kF16, 1>>;
    case Type::kF16x2:
      return &Atomic<AddHalves<DType::kF16, 2>>;
    case Type::kBF16:
      return &Atomic<AddHalves<DType::kBF16, 1>>;
    case Type::kBF16x2:
      return &Atomic<AddHalves<DType::kBF16, 2>>;
    default:
      return nullptr;
  }
}

template <bool kMax>
Handler SelectExtreme(Type type) {
  switch (type) {
    case Type::kF16:
      return &Atomic<HalfExtremes<DType::kF16, 1, kMax>>;
    case Type::kF16x2:
      return &Atomic<HalfExtremes<DType::kF16, 2, kMax>>;
    case Type::kBF16:
      return &Atomic<HalfExtremes<DType::kBF16, 1, kMax>>;
    case Type::kBF16x2:
      return &Atomic<HalfExtremes<DType::kBF16, 2, kMax>>;
    default:
      break;
  }
  if (!IsInteger(type) || BitWidth(type) < 32) return nullptr;
  return VisitInteger(type, [](auto x) -> Handler {
    using T = decltype(x);
    return kMax ? &Atomic<Largest<T>> : &Atomic<Least<T>>;
  });
}

Handler SelectBits(const Instruction& i) {
  using enum Modifier;
  const int bits = BitWidth(i.type);
  if (i.Has(kCas)) {
    return i.operand_count == 4 && bits >= 16 ? &Atomic<CompareAndSwap>
                                              : nullptr;
  }
  if (bits < 32) return nullptr;
  if (i.Has(kExch)) return i.op == Op::kAtom ? &Atomic<Exchange> : nullptr;
  if (i.Has(kAnd)) return &Atomic<And>;
  if (i.Has(kOr)) return &Atomic<Or>;
  return i.Has(kXor) ? &Atomic<Xor> : nullptr;
}

}  // namespace

Handler SelectAtomic(const Instruction& i) {
  using enum Modifier;
  if (i.op != Op::kAtom && i.op != Op::kRed) return nullptr;
  const bool memory = i.space == Space::kGeneric || i.space == Space::kGlobal ||
                      i.space == Space::kShared;
  const int operations = static_cast<int>(i.Has(kAnd)) + i.Has(kOr) +
                         i.Has(kXor) + i.Has(kCas) + i.Has(kExch) +
                         i.Has(kAdd) + i.Has(kInc) + i.Has(kDec) + i.Has(kMin) +
                         i.Has(kMax);
  const bool vector = i.vector > 1;
  if (!memory || operations != 1 || i.type == Type::kPred) return nullptr;
  if (vector && (!i.Has(kAdd) && !i.Has(kMin) && !i.Has(kMax))) return nullptr;
  if (vector && ByteWidth(i.type) * i.vector > 16) return nullptr;
  if (IsBits(i.type)) return SelectBits(i);
  if (i.Has(kAdd)) return SelectAdd(i.type);
  if (i.Has(kMin)) return SelectExtreme<false>(i.type);
  if (i.Has(kMax)) return SelectExtreme<true>(i.type);
  if (i.type != Type::kU32) return nullptr;
  if (i.Has(kInc)) return &Atomic<Increment>;
  return i.Has(kDec) ? &Atomic<Decrement> : nullptr;
}

}  // namespace encore::ptx
