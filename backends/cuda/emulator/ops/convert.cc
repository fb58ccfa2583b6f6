// cvt and cvt.pack.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>

#include "encore/backends/cuda/emulator/ops/bits.h"
#include "encore/backends/cuda/emulator/ops/families.h"
#include "encore/backends/cuda/emulator/ops/rounding.h"
#include "encore/backends/cuda/emulator/types.h"
#include "encore/ir/types/dtype.h"
#include "encore/ir/types/float_formats.h"

namespace encore::ptx {
namespace {

bool RoundsToInteger(const Instruction& i) {
  using enum Modifier;
  return i.Has(kRni) || i.Has(kRzi) || i.Has(kRmi) || i.Has(kRpi);
}

double ToInteger(const Instruction& i, double value) {
  if (i.Has(Modifier::kRni)) return std::nearbyint(value);
  if (i.Has(Modifier::kRzi)) return std::trunc(value);
  if (i.Has(Modifier::kRmi)) return std::floor(value);
  return std::ceil(value);
}

// The narrow format of a type; nothing for the host's own.
std::optional<DType> NarrowFormat(Type type) {
  switch (type) {
    case Type::kF16:
    case Type::kF16x2:
      return DType::kF16;
    case Type::kBF16:
    case Type::kBF16x2:
      return DType::kBF16;
    case Type::kE4M3:
    case Type::kE4M3x2:
      return DType::kF8E4M3;
    case Type::kE5M2:
    case Type::kE5M2x2:
      return DType::kF8E5M2;
    default:
      return std::nullopt;
  }
}

double DecodeValue(const Instruction& i, Type type, uint64_t bits) {
  if (type == Type::kF64) return FromBits<double>(bits);
  if (const auto format = NarrowFormat(type)) {
    const auto narrow = static_cast<uint16_t>(bits);
    return DecodeFloat(*format, BitWidth(type) == 8 ? narrow & 0xff : narrow);
  }
  const auto value = FromBits<float>(bits);
  return i.Has(Modifier::kFtz) ? Flush(value) : value;
}

// The nearest value of .tf32, halfway ones away from zero or to the even one.
uint64_t EncodeTf32(const Instruction& i, double value) {
  constexpr uint32_t kCut = 1u << 13;
  const auto bits = std::bit_cast<uint32_t>(static_cast<float>(value));
  if (std::isnan(value)) return 0x7fffffff;
  if (std::isinf(value) || i.Has(Modifier::kRz)) return bits & ~(kCut - 1);
  const uint32_t half =
      i.Has(Modifier::kRna) ? kCut / 2 : kCut / 2 - 1 + (bits / kCut & 1);
  return (bits + half) & ~(kCut - 1);
}

uint64_t EncodeValue(const Instruction& i, Type type, double value) {
  using enum Modifier;
  if (i.Has(kSat)) value = value > 0 ? std::fmin(value, 1.0) : 0.0;
  if (i.Has(kRelu) && value <= 0) value = 0;
  const Rounding rounding = RoundingOf(i);
  if (type == Type::kF64) return ToBits(value);
  if (type == Type::kTF32) return EncodeTf32(i, value);
  if (const auto format = NarrowFormat(type)) {
    if (std::isnan(value)) {
      const bool byte = FormatOf(*format).sign_bit() == 0x80;
      return byte ? 0x7f : 0x7fff;
    }
    return Encode(*format, value, rounding, i.Has(kSatfinite));
  }
  if (std::isnan(value)) return 0x7fffffff;
  const float out = ToFloat(value, rounding);
  return ToBits(i.Has(kFtz) ? Flush(out) : out);
}

uint64_t Widen(uint64_t value, Type type) {
  const int shift = 64 - BitWidth(type);
  const uint64_t high = value << shift;
  return IsSigned(type)
             ? static_cast<uint64_t>(static_cast<int64_t>(high) >> shift)
             : high >> shift;
}

// The least and largest values of an integer type.
__int128 Least(Type type) {
  return IsSigned(type) ? -(__int128{1} << (BitWidth(type) - 1)) : 0;
}
__int128 Largest(Type type) {
  return (__int128{1} << (BitWidth(type) - (IsSigned(type) ? 1 : 0))) - 1;
}

__int128 IntegerValue(uint64_t bits, Type type) {
  const uint64_t wide = Widen(bits, type);
  return IsSigned(type) ? __int128{static_cast<int64_t>(wide)} : __int128{wide};
}

uint64_t IntegerToInteger(const Instruction& i, uint64_t bits) {
  __int128 value = IntegerValue(bits, i.source_type);
  if (i.Has(Modifier::kSat)) {
    value = std::clamp(value, Least(i.type), Largest(i.type));
  }
  return LowBits(Widen(static_cast<uint64_t>(value), i.type),
                 i.register_bytes * 8);
}

uint64_t IntegerToFloat(const Instruction& i, uint64_t bits) {
  const __int128 value = IntegerValue(bits, i.source_type);
  const auto high =
      static_cast<double>(static_cast<int64_t>(value >> 32)) * 0x1p32;
  const auto low = static_cast<double>(static_cast<uint32_t>(value));
  if (i.type == Type::kF64) {
    return ToBits(Compute(Arithmetic::kAdd, RoundingOf(i), high, low, 0.0));
  }
  return EncodeValue(i, i.type, AddToOdd(high, low));
}

uint64_t FloatToInteger(const Instruction& i, uint64_t bits) {
  const double value = DecodeValue(i, i.source_type, bits);
  const int width = BitWidth(i.type);
  if (std::isnan(value)) {
    const bool wide = i.source_type == Type::kF64 || width == 64;
    const uint64_t nan = wide ? uint64_t{1} << (width - 1) : 0;
    return LowBits(Widen(nan, i.type), i.register_bytes * 8);
  }
  const double whole = ToInteger(i, value);
  __int128 out;
  if (whole >= 0x1p64) {
    out = Largest(i.type);
  } else if (whole <= -0x1p64) {
    out = Least(i.type);
  } else {
    out = std::clamp(static_cast<__int128>(whole), Least(i.type),
                     Largest(i.type));
  }
  return LowBits(Widen(static_cast<uint64_t>(out), i.type),
                 i.register_bytes * 8);
}

uint64_t FloatToFloat(const Instruction& i, uint64_t bits) {
  double value = DecodeValue(i, i.source_type, bits);
  if (RoundsToInteger(i)) value = ToInteger(i, value);
  return EncodeValue(i, i.type, value);
}

using Conversion = uint64_t (*)(const Instruction&, uint64_t);

template <Conversion kConversion>
void Convert(Warp& warp, const Instruction& i, uint32_t mask) {
  uint64_t* out = warp.Destination(i, 0);
  const uint64_t* in = warp.Source(i, 1);
  ForEachLane(mask,
              [&](uint32_t lane) { out[lane] = kConversion(i, in[lane]); });
}

// Two floats, the first to the upper half.
void Pack(Warp& warp, const Instruction& i, uint32_t mask) {
  uint64_t* out = warp.Destination(i, 0);
  const uint64_t* high = warp.Source(i, 1);
  const uint64_t* low = warp.Source(i, 2);
  const int shift = BitWidth(i.type) / 2;
  ForEachLane(mask, [&](uint32_t lane) {
    const auto part = [&](uint64_t bits) {
      return EncodeValue(i, i.type, DecodeValue(i, Type::kF32, bits));
    };
    out[lane] = part(high[lane]) << shift | part(low[lane]);
  });
}

// Pairs to pairs: f16x2 to f8 and back.
void Repack(Warp& warp, const Instruction& i, uint32_t mask) {
  uint64_t* out = warp.Destination(i, 0);
  const uint64_t* in = warp.Source(i, 1);
  const int to = BitWidth(i.type) / 2, from = BitWidth(i.source_type) / 2;
  const auto format = *NarrowFormat(i.source_type);
  ForEachLane(mask, [&](uint32_t lane) {
    uint64_t packed = 0;
    for (int n = 0; n < 2; ++n) {
      const uint64_t bits = in[lane] >> n * from & ((1u << from) - 1);
      packed |= EncodeValue(i, i.type,
                            DecodeFloat(format, static_cast<uint16_t>(bits)))
                << n * to;
    }
    out[lane] = packed;
  });
}

// Integers with saturation: 16 bits each, or 8 bits each above what c brings.
void PackIntegers(Warp& warp, const Instruction& i, uint32_t mask) {
  uint64_t* out = warp.Destination(i, 0);
  const uint64_t* a = warp.Source(i, 1);
  const uint64_t* b = warp.Source(i, 2);
  const uint64_t* c = warp.HasOperand(i, 3) ? warp.Source(i, 3) : nullptr;
  const int bits = BitWidth(i.type);
  ForEachLane(mask, [&](uint32_t lane) {
    const auto part = [&](uint64_t source) {
      const __int128 value = IntegerValue(source, i.source_type);
      const auto clamped = static_cast<uint64_t>(
          std::clamp(value, Least(i.type), Largest(i.type)));
      return clamped & ((1u << bits) - 1);
    };
    uint64_t packed = part(a[lane]) << bits | part(b[lane]);
    if (c != nullptr) packed |= c[lane] << 2 * bits;
    out[lane] = packed & 0xffffffffu;
  });
}

Handler SelectPairs(const Instruction& i) {
  const bool bytes = i.type == Type::kE4M3x2 || i.type == Type::kE5M2x2;
  const bool halves = i.type == Type::kF16x2 || i.type == Type::kBF16x2;
  if (!bytes && !halves) return nullptr;
  const bool rounded = i.Has(Modifier::kRn) || i.Has(Modifier::kRz);
  if (!rounded || (bytes && !i.Has(Modifier::kSatfinite))) return nullptr;
  // A second source is there exactly where it is f32.
  if (i.source_type == Type::kF32) {
    return i.operand_count == 3 ? &Pack : nullptr;
  }
  const bool from_bytes =
      i.source_type == Type::kE4M3x2 || i.source_type == Type::kE5M2x2;
  if (bytes && i.source_type == Type::kF16x2) return &Repack;
  return i.type == Type::kF16x2 && from_bytes ? &Repack : nullptr;
}

bool IsWhole(Type type) { return IsInteger(type); }
// f8 comes in pairs only.
bool IsReal(Type type) {
  return IsFloat(type) && BitWidth(type) >= 16 && type != Type::kTF32;
}

Handler SelectFloats(const Instruction& i) {
  using enum Modifier;
  const int from = BitWidth(i.source_type), to = BitWidth(i.type);
  const bool rounded = i.Has(kRn) || i.Has(kRz) || i.Has(kRm) || i.Has(kRp);
  if (i.type == Type::kTF32) {
    const bool can = i.source_type == Type::kF32 &&
                     (i.Has(kRna) || i.Has(kRn) || i.Has(kRz));
    return can ? &Convert<FloatToFloat> : nullptr;
  }
  // Losing bits needs a rounding, and only that.
  const bool loses = to < from || (to == from && i.type != i.source_type);
  if (loses != rounded && loses) return nullptr;
  if (RoundsToInteger(i) && i.type != i.source_type) return nullptr;
  return &Convert<FloatToFloat>;
}

}  // namespace

Handler SelectConvert(const Instruction& i) {
  if (i.op == Op::kCvtPack) {
    const int bits = BitWidth(i.type);
    const bool fits = IsWhole(i.type) && i.source_type == Type::kS32 &&
                      (bits == 8 || bits == 16);
    return fits ? &PackIntegers : nullptr;
  }
  if (i.op != Op::kCvt) return nullptr;
  if (KindOf(i.type) == TypeKind::kPacked) return SelectPairs(i);
  if (IsWhole(i.type) && IsWhole(i.source_type)) {
    return &Convert<IntegerToInteger>;
  }
  if (IsReal(i.type) && IsWhole(i.source_type)) {
    return &Convert<IntegerToFloat>;
  }
  if (IsWhole(i.type) && IsReal(i.source_type)) {
    return RoundsToInteger(i) ? &Convert<FloatToInteger> : nullptr;
  }
  const bool reals =
      (IsReal(i.type) || i.type == Type::kTF32) && IsReal(i.source_type);
  return reals ? SelectFloats(i) : nullptr;
}

}  // namespace encore::ptx
