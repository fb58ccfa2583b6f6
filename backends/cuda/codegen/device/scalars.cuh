// Scalars: what the elementwise operators of the op table do, one function each,
// named op_<mnemonic>. bool and integers are held in the C type of their width
// (those of less than a byte in one of a byte), f64 in a double, all other floats
// in a float.
typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;
typedef float f32;
typedef double f64;

#define FN static __device__ __forceinline__

// The unsigned type that integers are computed in, so that they wrap.
template <class T> struct Unsigned { typedef u32 type; };
template <> struct Unsigned<i64> { typedef u64 type; };
template <> struct Unsigned<u64> { typedef u64 type; };
#define W(T) typename Unsigned<T>::type

template <class T> FN bool IsSigned() { return (T)-1 < (T)0; }

template <class T> FN T op_add(T x, T y) { return (T)((W(T))x + (W(T))y); }
template <class T> FN T op_sub(T x, T y) { return (T)((W(T))x - (W(T))y); }
template <class T> FN T op_mul(T x, T y) { return (T)((W(T))x * (W(T))y); }
template <class T> FN T op_neg(T x) { return (T)((W(T))0 - (W(T))x); }
template <class T> FN T op_abs(T x) { return IsSigned<T>() && x < (T)0 ? op_neg(x) : x; }
template <class T> FN T op_sign(T x) { return x == (T)0 ? (T)0 : IsSigned<T>() && x < (T)0 ? (T)-1 : (T)1; }
template <class T> FN T op_not(T x) { return (T)~x; }
FN bool op_not(bool x) { return !x; }
template <class T> FN T op_and(T x, T y) { return (T)(x & y); }
template <class T> FN T op_or(T x, T y) { return (T)(x | y); }
template <class T> FN T op_xor(T x, T y) { return (T)(x ^ y); }
template <class T> FN T op_max(T x, T y) { return x < y ? y : x; }
template <class T> FN T op_min(T x, T y) { return y < x ? y : x; }
template <class T> FN T op_div(T x, T y) {
  if (y == (T)0) return (T)-1;
  if (IsSigned<T>() && y == (T)-1) return op_neg(x);
  return (T)(x / y);
}
template <class T> FN T op_rem(T x, T y) {
  if (y == (T)0) return x;
  if (IsSigned<T>() && y == (T)-1) return (T)0;
  return (T)(x % y);
}
template <class T> FN T op_shift_left(T x, T y) {
  return (u64)y >= 8 * sizeof(T) ? (T)0 : (T)((W(T))x << (u32)y);
}
template <class T> FN T op_shift_right(T x, T y) {
  const bool out = (u64)y >= 8 * sizeof(T);
  if (!IsSigned<T>()) return out ? (T)0 : (T)(x >> (u32)y);
  return (T)(x >> (out ? (u32)(8 * sizeof(T) - 1) : (u32)y));
}
template <class T> FN T op_pow(T x, T y) {
  if (IsSigned<T>() && y < (T)0) {
    if (x == (T)1) return (T)1;
    if (x == (T)-1) return y % 2 == 0 ? (T)1 : (T)-1;
    return (T)0;
  }
  W(T) result = 1, base = (W(T))x;
  for (u64 exponent = (u64)y; exponent > 0; exponent >>= 1) {
    if (exponent & 1) result *= base;
    base *= base;
  }
  return (T)result;
}

#define FLOAT1(op, on_f32, on_f64)          \
  FN f32 op_##op(f32 x) { return on_f32; } \
  FN f64 op_##op(f64 x) { return on_f64; }
#define FLOAT2(op, on_f32, on_f64)                 \
  FN f32 op_##op(f32 x, f32 y) { return on_f32; } \
  FN f64 op_##op(f64 x, f64 y) { return on_f64; }

FN f32 Larger(f32 x, f32 y) {
  f32 result;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(x), "f"(y));
  return result;
}
FN f32 Smaller(f32 x, f32 y) {
  f32 result;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(x), "f"(y));
  return result;
}
// As of f32 one NaN, whichever was there: with that of an operand, results would
// depend on the order in which atomics combine.
FN f64 OneNaN() { return __longlong_as_double(0x7ff8000000000000ll); }
FN f64 Larger(f64 x, f64 y) {
  if (x != x || y != y) return OneNaN();
  return fmax(x, y);
}
FN f64 Smaller(f64 x, f64 y) {
  if (x != x || y != y) return OneNaN();
  return fmin(x, y);
}
// Of the two forms the one that does not overflow.
FN f32 Logistic(f32 x) {
  const f32 e = expf(-fabsf(x));
  return (x < 0 ? e : 1.0f) / (1.0f + e);
}
FN f64 Logistic(f64 x) {
  const f64 e = exp(-fabs(x));
  return (x < 0 ? e : 1.0) / (1.0 + e);
}

FLOAT2(add, x + y, x + y)
FLOAT2(sub, x - y, x - y)
FLOAT2(mul, x * y, x * y)
FLOAT2(div, x / y, x / y)
FLOAT2(rem, fmodf(x, y), fmod(x, y))
FLOAT2(pow, powf(x, y), pow(x, y))
FLOAT2(atan2, atan2f(x, y), atan2(x, y))
FLOAT2(max, Larger(x, y), Larger(x, y))
FLOAT2(min, Smaller(x, y), Smaller(x, y))
FLOAT1(abs, fabsf(x), fabs(x))
FLOAT1(neg, -x, -x)
FLOAT1(sign, x == 0 || x != x ? x : x < 0 ? -1.0f : 1.0f, x == 0 || x != x ? x : x < 0 ? -1.0 : 1.0)
FLOAT1(ceil, ceilf(x), ceil(x))
FLOAT1(floor, floorf(x), floor(x))
FLOAT1(round, rintf(x), rint(x))
FLOAT1(exp, expf(x), exp(x))
FLOAT1(expm1, expm1f(x), expm1(x))
FLOAT1(log, logf(x), log(x))
FLOAT1(log1p, log1pf(x), log1p(x))
FLOAT1(sqrt, sqrtf(x), sqrt(x))
FLOAT1(rsqrt, rsqrtf(x), 1.0 / sqrt(x))
FLOAT1(reciprocal, 1.0f / x, 1.0 / x)
FLOAT1(sin, sinf(x), sin(x))
FLOAT1(cos, cosf(x), cos(x))
FLOAT1(tan, tanf(x), tan(x))
FLOAT1(asin, asinf(x), asin(x))
FLOAT1(acos, acosf(x), acos(x))
FLOAT1(atan, atanf(x), atan(x))
FLOAT1(sinh, sinhf(x), sinh(x))
FLOAT1(cosh, coshf(x), cosh(x))
FLOAT1(tanh, tanhf(x), tanh(x))
FLOAT1(asinh, asinhf(x), asinh(x))
FLOAT1(acosh, acoshf(x), acosh(x))
FLOAT1(atanh, atanhf(x), atanh(x))
FLOAT1(cbrt, cbrtf(x), cbrt(x))
FLOAT1(erf, erff(x), erf(x))
FLOAT1(logistic, Logistic(x), Logistic(x))

// Of results that are rounded to f16 at once, which has 11 bits and is 0 below
// 2^-25: off by less than 2^-18 of the result where it is not.
FN f32 PowerOfTwo(f32 x) {
  f32 result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}
FN f32 NearlyReciprocal(f32 x) {
  f32 result;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}
FN f32 nearly_exp(f32 x) { return PowerOfTwo(x * 1.44269504f); }
FN f32 nearly_logistic(f32 x) { return NearlyReciprocal(1.0f + PowerOfTwo(x * -1.44269504f)); }
// 1 - 2 / (e^(2|x|) + 1), of small ones the first terms of the series.
FN f32 nearly_tanh(f32 x) {
  const f32 magnitude = fabsf(x), square = x * x;
  const f32 inverse = NearlyReciprocal(PowerOfTwo(magnitude * 2.88539008f) + 1.0f);
  const f32 large = __fmaf_rn(-2.0f, inverse, 1.0f);
  const f32 series = (square * -0.0539682540f + 0.133333333f) * square - 0.333333333f;
  return magnitude < 0.25f ? x * (series * square + 1.0f) : copysignf(large, x);
}

// x / y, rounded as it is, where y is the same for many x: what depends on y
// alone is computed once. The quotient by a reciprocal is corrected once, which
// is exact where neither it nor the remainder is near an end of the range; a
// division does the others.
// Source: P. Markstein, Computation of elementary functions on the IBM RISC
// System/6000 processor, 1990.
FN f32 ScaleOfDivisor(f32 y) {
  const f32 magnitude = fabsf(y);
  return copysignf(magnitude > 0x1p100f ? 0x1p-100f : magnitude < 0x1p-100f ? 0x1p100f : 1.0f, y);
}
FN f32 DivideBySame(f32 x, f32 y) {
  const f32 scale = ScaleOfDivisor(y), divisor = y * scale, reciprocal = __frcp_rn(divisor);
  const f32 scaled = x * scale, quotient = scaled * reciprocal, magnitude = fabsf(quotient);
  if (fabsf(scaled) >= 0x1p-100f && magnitude >= 0x1p-126f && magnitude < 0x1p127f) {
    return __fmaf_rn(-__fmaf_rn(quotient, divisor, -scaled), reciprocal, quotient);
  }
  return x == 0 ? quotient : x / y;
}

FN bool op_is_nan(f32 x) { return x != x; }
FN bool op_is_nan(f64 x) { return x != x; }
FN bool op_is_inf(f32 x) { return fabsf(x) == __int_as_float(0x7f800000); }
FN bool op_is_inf(f64 x) { return fabs(x) == __longlong_as_double(0x7ff0000000000000ll); }

// Of Dims.
FN i64 FloorDiv(i64 a, i64 b) {
  const i64 q = a / b;
  return q * b > a ? q - 1 : q;
}
FN i64 Mod(i64 a, i64 b) { return a - FloorDiv(a, b) * b; }
FN i64 Max(i64 a, i64 b) { return a < b ? b : a; }
FN i64 Min(i64 a, i64 b) { return b < a ? b : a; }
