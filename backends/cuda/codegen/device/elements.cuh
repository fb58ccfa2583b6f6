// Elements: casts, and how elements lie in memory. For each dtype
//
//   mem_<dtype>            what an array of it is made of
//   ld_<dtype>(p, i)       element i
//   st_<dtype>(p, i, x)    writes it
//   cast_<dtype>(x)        from the C type of any dtype, rounded once
//   round_<dtype>(x)       a result in the C type that the dtype may not hold

// f64 to f32, so that rounding the result to fewer bits rounds x once: toward
// zero, with the last bit set where that loses something.
// Source: S. Boldo, G. Melquiond, When double rounding is odd, 2005.
FN f32 RoundToOdd(f64 x) {
  const f32 below = __double2float_rz(x);
  return (f64)below == x ? below : __int_as_float(__float_as_int(below) | 1);
}
// A number as an f32 that a narrower float is then rounded from.
FN f32 ToRound(f32 x) { return x; }
FN f32 ToRound(f64 x) { return RoundToOdd(x); }
FN f32 ToRound(bool x) { return x ? 1.0f : 0.0f; }
FN f32 ToRound(i8 x) { return (f32)x; }
FN f32 ToRound(u8 x) { return (f32)x; }
FN f32 ToRound(i16 x) { return (f32)x; }
FN f32 ToRound(u16 x) { return (f32)x; }
FN f32 ToRound(i32 x) { return RoundToOdd((f64)x); }
FN f32 ToRound(u32 x) { return RoundToOdd((f64)x); }
FN f32 ToRound(i64 x) { return RoundToOdd((f64)x); }
FN f32 ToRound(u64 x) { return RoundToOdd((f64)x); }

FN i64 TruncateSigned(f32 x, i32*) { return x != x ? 0 : __float2int_rz(x); }
FN i64 TruncateSigned(f64 x, i32*) { return x != x ? 0 : __double2int_rz(x); }
FN i64 TruncateSigned(f32 x, i64*) { return x != x ? 0 : __float2ll_rz(x); }
FN i64 TruncateSigned(f64 x, i64*) { return x != x ? 0 : __double2ll_rz(x); }
FN u64 TruncateUnsigned(f32 x, u32*) { return x != x ? 0 : __float2uint_rz(x); }
FN u64 TruncateUnsigned(f64 x, u32*) { return x != x ? 0 : __double2uint_rz(x); }
FN u64 TruncateUnsigned(f32 x, u64*) { return x != x ? 0 : __float2ull_rz(x); }
FN u64 TruncateUnsigned(f64 x, u64*) { return x != x ? 0 : __double2ull_rz(x); }

// Integers of `bits` in T; P: what floats are truncated to first.
#define ENCORE_SIGNED(name, T, P, bits)                                       \
  FN T round_##name(T x) {                                                    \
    return (T)((T)((W(T))x << (8 * sizeof(T) - bits)) >> (8 * sizeof(T) - bits)); \
  }                                                                           \
  FN T decode_##name(u32 x) { return round_##name((T)x); }                    \
  FN u32 encode_##name(T x) { return (u32)x & (u32)(~(u64)0 >> (64 - bits)); } \
  template <class X> FN T cast_##name(X x) { return round_##name((T)x); }     \
  template <class X> FN T Truncated_##name(X x) {                             \
    const i64 most = (i64)(((u64)1 << (bits - 1)) - 1);                       \
    const i64 y = TruncateSigned(x, (P*)0);                                   \
    return (T)(y > most ? most : y < -most - 1 ? -most - 1 : y);              \
  }                                                                           \
  FN T cast_##name(f32 x) { return Truncated_##name(x); }                     \
  FN T cast_##name(f64 x) { return Truncated_##name(x); }
#define ENCORE_UNSIGNED(name, T, P, bits)                                     \
  FN T round_##name(T x) {                                                    \
    return (T)((T)((W(T))x << (8 * sizeof(T) - bits)) >> (8 * sizeof(T) - bits)); \
  }                                                                           \
  FN T decode_##name(u32 x) { return round_##name((T)x); }                    \
  FN u32 encode_##name(T x) { return (u32)x & (u32)(~(u64)0 >> (64 - bits)); } \
  template <class X> FN T cast_##name(X x) { return round_##name((T)x); }     \
  template <class X> FN T Truncated_##name(X x) {                             \
    const u64 most = ~(u64)0 >> (64 - bits);                                  \
    const u64 y = TruncateUnsigned(x, (P*)0);                                 \
    return (T)(y > most ? most : y);                                          \
  }                                                                           \
  FN T cast_##name(f32 x) { return Truncated_##name(x); }                     \
  FN T cast_##name(f64 x) { return Truncated_##name(x); }
#define ENCORE_PLAIN(name, T)                                                 \
  typedef T mem_##name;                                                       \
  template <class I> FN T ld_##name(const T* p, I i) { return p[i]; }         \
  template <class I> FN void st_##name(T* p, I i, T x) { p[i] = x; }
// Elements of `bits` that share bytes, in C type T. While a kernel computes them,
// each has a byte of its own (staged); `pack` puts them together.
#define ENCORE_PACKED(name, T, bits)                                          \
  typedef u8 mem_##name;                                                      \
  template <class I> FN T ld_##name(const u8* p, I i) {                       \
    const u32 byte = p[i / (8 / bits)];                                       \
    return decode_##name(byte >> (u32)(i % (8 / bits)) * bits & ((1u << bits) - 1)); \
  }                                                                           \
  template <class I> FN void st_##name(u8* p, I i, T x) { p[i] = (u8)encode_##name(x); } \
  template <class I> FN T staged_##name(const u8* p, I i) { return decode_##name((u32)p[i]); }
template <int bits> FN void Pack(u8* out, const u8* staged, i64 byte, i64 count) {
  u32 packed = 0;
  for (int k = 0; k < 8 / bits; ++k) {
    const i64 i = byte * (8 / bits) + k;
    if (i < count) packed |= (u32)staged[i] << k * bits;
  }
  out[byte] = (u8)packed;
}
// Floats of at most 8 bits in a byte of their own.
#define ENCORE_BYTE(name)                                                     \
  typedef u8 mem_##name;                                                      \
  template <class I> FN f32 ld_##name(const u8* p, I i) { return decode_##name(p[i]); } \
  template <class I> FN void st_##name(u8* p, I i, f32 x) { p[i] = (u8)encode_##name(x, false); }

typedef u8 mem_bool;
template <class I> FN bool ld_bool(const u8* p, I i) { return p[i] != 0; }
template <class I> FN void st_bool(u8* p, I i, bool x) { p[i] = x ? 1 : 0; }
template <class X> FN bool cast_bool(X x) { return x != (X)0; }
FN bool round_bool(bool x) { return x; }

template <class X> FN f32 cast_f32(X x) { return (f32)x; }
template <class X> FN f64 cast_f64(X x) { return (f64)x; }

// The bits of a float of 16 bits, and back.
FN f32 decode_f16(u32 bits) {
  f32 x;
  asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"((u16)bits));
  return x;
}
FN u32 encode_f16(f32 x) {
  u16 bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
  return bits;
}
FN f32 decode_bf16(u32 bits) { return __uint_as_float(bits << 16); }
FN u32 encode_bf16(f32 x) {
  u16 bits;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(x));
  return bits;
}
#define ENCORE_HALF(name)                                                     \
  typedef u16 mem_##name;                                                     \
  template <class I> FN f32 ld_##name(const u16* p, I i) { return decode_##name(p[i]); } \
  template <class I> FN void st_##name(u16* p, I i, f32 x) { p[i] = (u16)encode_##name(x); } \
  FN f32 round_##name(f32 x) { return decode_##name(encode_##name(x)); }      \
  template <class X> FN f32 cast_##name(X x) { return round_##name(ToRound(x)); }
ENCORE_HALF(f16)
ENCORE_HALF(bf16)

// Floats of at most 8 bits, by their row of float_formats.def.
enum Specials { kInfinityAndNan, kNan, kNanForNegativeZero, kFinite, kNanUnsigned };

template <int kExponent, int kMantissa, int kBias, int kSpecials> struct Narrow {
  static const u32 kSign = 1u << (kExponent + kMantissa);
  static const u32 kInfinity = ((1u << kExponent) - 1) << kMantissa;
  static const u32 kLargest = kSpecials == kInfinityAndNan ? kInfinity - 1
                              : kSpecials == kNan || kSpecials == kNanUnsigned ? kSign - 2
                                                                               : kSign - 1;
  static const u32 kNanBits = kSpecials == kInfinityAndNan ? kInfinity | 1u << (kMantissa > 0 ? kMantissa - 1 : 0)
                              : kSpecials == kNan || kSpecials == kNanUnsigned ? kSign - 1
                                                                               : kSign;

  FN f32 Decode(u32 bits) {
    const bool negative = (bits & kSign) != 0;
    const u32 magnitude = bits & (kSign - 1);
    const f32 nan = __int_as_float(0x7fffffff);
    if (kSpecials == kNanUnsigned) {
      if (magnitude == kNanBits) return nan;
      return __uint_as_float(magnitude == 0 ? 0x400000u : magnitude << 23);
    }
    if (kSpecials == kInfinityAndNan && magnitude > kInfinity) return nan;
    if (kSpecials == kNan && magnitude == kNanBits) return nan;
    if (kSpecials == kNanForNegativeZero && negative && magnitude == 0) return nan;
    f32 x;
    if (kSpecials == kInfinityAndNan && magnitude == kInfinity) {
      x = __int_as_float(0x7f800000);
    } else {
      const u32 field = magnitude >> kMantissa;
      const u32 mantissa = magnitude & ((1u << kMantissa) - 1);
      const u32 exponent = (field > 0 ? field : 1) - kBias - kMantissa + 127;
      x = (f32)(mantissa | (field > 0 ? 1u << kMantissa : 0)) * __uint_as_float(exponent << 23);
    }
    return negative ? -x : x;
  }

  FN u32 EncodeExponent(f32 x, bool saturate) {
    if (!(x > 0)) return kNanBits;
    const u32 bits = __float_as_uint(x);
    if (bits == 0x7f800000u) return saturate ? kLargest : kNanBits;
    const u32 code = (bits >> 23) + (bits >> 22 & 1);
    return code > kLargest ? (saturate ? kLargest : kNanBits) : bits < 0x800000u ? (bits >= 0x600000u ? 1 : 0) : code;
  }

  FN u32 Encode(f32 x, bool saturate) {
    if (kSpecials == kNanUnsigned) return EncodeExponent(x, saturate);
    const u32 sign = __float_as_uint(x) >> 31 ? kSign : 0;
    if (x != x) return sign | kNanBits;
    const f32 magnitude = fabsf(x);
    const u32 overflow = saturate || kSpecials == kFinite ? kLargest
                         : kSpecials == kInfinityAndNan   ? kInfinity
                                                          : kNanBits;
    u32 bits;
    if (magnitude == __int_as_float(0x7f800000)) {
      bits = overflow;
    } else {
      // In units of its last place; subnormals share the smallest unit.
      const int own = (int)(__float_as_uint(magnitude) >> 23) - 127;
      const int exponent = own > 1 - kBias ? own : 1 - kBias;
      const f32 units = rintf(magnitude * __int_as_float((kMantissa - exponent + 127) << 23));
      bits = ((u32)(exponent + kBias - 1) << kMantissa) + (u32)units;
      if (bits > kLargest) bits = overflow;
    }
    return bits == 0 && kSpecials == kNanForNegativeZero ? 0 : sign | bits;
  }
};

#define ENCORE_NARROW(name, exponent, mantissa, bias, specials)               \
  FN f32 decode_##name(u32 bits) { return Narrow<exponent, mantissa, bias, specials>::Decode(bits); } \
  FN u32 encode_##name(f32 x, bool saturate = false) {                        \
    return Narrow<exponent, mantissa, bias, specials>::Encode(x, saturate);   \
  }                                                                           \
  FN f32 round_##name(f32 x) { return decode_##name(encode_##name(x)); }      \
  template <class X> FN f32 cast_##name(X x, bool saturate = false) {         \
    return decode_##name(encode_##name(ToRound(x), saturate));                \
  }
