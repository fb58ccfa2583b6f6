#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "encore/ir/eval/families.h"
#include "encore/ir/eval/numbers.h"
#include "encore/ir/ops/functions.h"
#include "encore/ir/support/check.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/types/float_formats.h"

namespace encore::eval {
namespace {

constexpr int64_t kChunk = 1024;

// Result element i is f of the operands' elements i, chunk by chunk.
template <typename W, typename R, typename F>
Results Map(const EvalContext& context, F f) {
  Literal result = context.NewResult();
  const int arity = static_cast<int>(context.operands.size());
  std::array<W, kChunk> inputs[2];
  std::array<R, kChunk> outputs;
  for (int64_t at = 0; at < result.element_count(); at += kChunk) {
    const int64_t count = std::min(kChunk, result.element_count() - at);
    for (int i = 0; i < arity; ++i) {
      Decode<W>(context.operand(i), at, count, inputs[i].data());
    }
    for (int64_t i = 0; i < count; ++i) {
      if constexpr (std::is_invocable_v<F, W, W>) {
        outputs[i] = f(inputs[0][i], inputs[1][i]);
      } else {
        outputs[i] = f(inputs[0][i]);
      }
    }
    Encode<R>(outputs.data(), at, count, &result);
  }
  return Literals{std::move(result)};
}

using FloatUnary = double (*)(double);

double Logistic(double x) {
  const double e = std::exp(-std::abs(x));
  return x >= 0 ? 1 / (1 + e) : x != x ? x : e / (1 + e);
}

FloatUnary FloatUnaryOf(Op op) {
  switch (op) {
    case Op::kAbs:
      return [](double x) { return std::abs(x); };
    case Op::kNeg:
      return [](double x) { return -x; };
    case Op::kSign:
      return [](double x) { return x > 0 ? 1.0 : x < 0 ? -1.0 : x; };
    case Op::kCeil:
      return [](double x) { return std::ceil(x); };
    case Op::kFloor:
      return [](double x) { return std::floor(x); };
    case Op::kRound:
      return [](double x) { return std::nearbyint(x); };
    case Op::kSqrt:
      return [](double x) { return std::sqrt(x); };
    case Op::kRsqrt:
      return [](double x) { return 1 / std::sqrt(x); };
    case Op::kReciprocal:
      return [](double x) { return 1 / x; };
    case Op::kLogistic:
      return Logistic;
    default: {
      const FunctionInfo* function = FindFunction(op);
      return function == nullptr ? nullptr : function->unary;
    }
  }
}

template <typename W>
W IntPower(W x, W y) {
  if constexpr (std::is_signed_v<W>) {
    if (y < 0) {
      if (x == 1) return 1;
      if (x == -1) return y % 2 != 0 ? -1 : 1;
      return 0;
    }
  }
  W power = 1;
  for (auto n = static_cast<uint64_t>(y); n != 0; n >>= 1) {
    if (n & 1) power = WrapMul(power, x);
    x = WrapMul(x, x);
  }
  return power;
}

template <typename W>
W IntDivide(W x, W y) {
  if (y == 0) return static_cast<W>(-1);
  if constexpr (std::is_signed_v<W>) {
    if (y == -1) return WrapSub<W>(0, x);
  }
  return x / y;
}

template <typename W>
W IntRemainder(W x, W y) {
  if (y == 0) return x;
  if constexpr (std::is_signed_v<W>) {
    if (y == -1) return 0;
  }
  return x % y;
}

// Functions of integers; `width` is the dtype's.
template <typename W>
Results IntBinary(const EvalContext& context) {
  const int width = BitWidth(context.dtype());
  const auto beyond = [width](W y) {
    return static_cast<uint64_t>(y) >= static_cast<uint64_t>(width);
  };
  switch (context.op) {
    case Op::kDiv:
      return Map<W, W>(context, IntDivide<W>);
    case Op::kRem:
      return Map<W, W>(context, IntRemainder<W>);
    case Op::kPow:
      return Map<W, W>(context, IntPower<W>);
    case Op::kAnd:
      return Map<W, W>(context, [](W x, W y) { return x & y; });
    case Op::kOr:
      return Map<W, W>(context, [](W x, W y) { return x | y; });
    case Op::kXor:
      return Map<W, W>(context, [](W x, W y) { return x ^ y; });
    case Op::kShiftLeft:
      return Map<W, W>(context, [beyond](W x, W y) {
        return beyond(y) ? W{0} : static_cast<W>(static_cast<uint64_t>(x) << y);
      });
    case Op::kShiftRight:
      return Map<W, W>(context, [beyond](W x, W y) {
        return beyond(y) ? static_cast<W>(x < 0 ? -1 : 0) : x >> y;
      });
    default:
      break;
  }
  ENCORE_CHECK(false) << context.op;
  return Literals{};
}

Results FloatBinary(const EvalContext& context) {
  using Function = double (*)(double, double);
  Function f = nullptr;
  switch (context.op) {
    case Op::kDiv:
      f = [](double x, double y) { return x / y; };
      break;
    case Op::kRem:
      f = [](double x, double y) { return std::fmod(x, y); };
      break;
    case Op::kPow:
      f = [](double x, double y) { return std::pow(x, y); };
      break;
    case Op::kAtan2:
      f = [](double x, double y) { return std::atan2(x, y); };
      break;
    default:
      break;
  }
  ENCORE_CHECK(f != nullptr) << context.op;
  return Map<double, double>(context, f);
}

template <typename W>
Results Binary(const EvalContext& context) {
  switch (context.op) {
    case Op::kAdd:
      return Map<W, W>(context, WrapAdd<W>);
    case Op::kSub:
      return Map<W, W>(context, WrapSub<W>);
    case Op::kMul:
      return Map<W, W>(context, WrapMul<W>);
    case Op::kMax:
      return Map<W, W>(context, Larger<W>);
    case Op::kMin:
      return Map<W, W>(context, Smaller<W>);
    default:
      if constexpr (std::is_floating_point_v<W>) return FloatBinary(context);
      if constexpr (!std::is_floating_point_v<W>) return IntBinary<W>(context);
  }
}

template <typename W>
Results CompareAs(const EvalContext& context) {
  using R = int64_t;
  switch (context.attrs<CompareAttrs>().direction) {
    case Comparison::kEq:
      return Map<W, R>(context, [](W x, W y) { return R{x == y}; });
    case Comparison::kNe:
      return Map<W, R>(context, [](W x, W y) { return R{x != y}; });
    case Comparison::kLt:
      return Map<W, R>(context, [](W x, W y) { return R{x < y}; });
    case Comparison::kLe:
      return Map<W, R>(context, [](W x, W y) { return R{x <= y}; });
    case Comparison::kGt:
      return Map<W, R>(context, [](W x, W y) { return R{x > y}; });
    case Comparison::kGe:
      return Map<W, R>(context, [](W x, W y) { return R{x >= y}; });
  }
  return Literals{};
}

template <typename W>
Results IntUnary(const EvalContext& context) {
  const bool is_bool = context.dtype() == DType::kBool;
  switch (context.op) {
    case Op::kAbs:
      return Map<W, W>(context,
                       [](W x) { return x < 0 ? WrapSub<W>(0, x) : x; });
    case Op::kNeg:
      return Map<W, W>(context, [](W x) { return WrapSub<W>(0, x); });
    case Op::kSign:
      return Map<W, W>(context, [](W x) {
        return static_cast<W>(x > 0 ? 1 : x < 0 ? -1 : 0);
      });
    case Op::kNot:
      if (is_bool) return Map<W, W>(context, [](W x) { return W{x == 0}; });
      return Map<W, W>(context, [](W x) { return static_cast<W>(~x); });
    default:
      break;
  }
  ENCORE_CHECK(false) << context.op;
  return Literals{};
}

Results UnaryFloat(const EvalContext& context) {
  if (context.op == Op::kIsNan) {
    return Map<double, int64_t>(context,
                                [](double x) { return int64_t{x != x}; });
  }
  if (context.op == Op::kIsInf) {
    return Map<double, int64_t>(
        context, [](double x) { return int64_t{std::isinf(x)}; });
  }
  const FloatUnary f = FloatUnaryOf(context.op);
  ENCORE_CHECK(f != nullptr) << context.op;
  return Map<double, double>(context, f);
}

Results Select(const EvalContext& context) {
  Literal result = context.NewResult();
  const bool* condition = context.operand(0).values<bool>().data();
  const int64_t count = result.element_count();
  if (IsString(result.dtype())) {
    for (int64_t i = 0; i < count; ++i) {
      result.mutable_strings()[i] =
          context.operand(condition[i] ? 1 : 2).strings()[i];
    }
    return Literals{std::move(result)};
  }
  const size_t size = BitWidth(result.dtype()) / 8;
  std::byte* to = result.mutable_bytes().data();
  for (int64_t i = 0; i < count; ++i) {
    const Literal& from = context.operand(condition[i] ? 1 : 2);
    std::memcpy(to + i * size, from.bytes().data() + i * size, size);
  }
  return Literals{std::move(result)};
}

// The double that rounds to any narrower float as `value` does: beyond 53 bits
// the last one says whether anything was lost ("round to odd").
double Sticky(uint64_t value) {
  const int excess = 64 - __builtin_clzll(value | 1) - 53;
  if (excess <= 0) return static_cast<double>(value);
  const uint64_t lost = value & ((uint64_t{1} << excess) - 1);
  return static_cast<double>((value >> excess | (lost != 0)) << excess);
}

template <typename W>
double ToDouble(W value, DType to) {
  if constexpr (std::is_floating_point_v<W>) return value;
  if (to == DType::kF64) return static_cast<double>(value);
  const auto bits = static_cast<uint64_t>(value);
  return value < W{0} ? -Sticky(-bits) : Sticky(bits);
}

// Truncates; what does not fit is the nearest bound, NaN is 0.
template <typename R>
R ToInteger(double value, DType to) {
  if (value != value) return 0;
  const int bits = BitWidth(to);
  const double limit = std::ldexp(1.0, std::is_signed_v<R> ? bits - 1 : bits);
  const double low = std::is_signed_v<R> ? -limit : 0;
  value = std::trunc(value);
  if (value <= low) return Identity<R>(Combiner::kMax, to);
  if (value >= limit) return Identity<R>(Combiner::kMin, to);
  return static_cast<R>(value);
}

template <typename W>
Results CastFrom(const EvalContext& context) {
  const CastAttrs& attrs = context.attrs<CastAttrs>();
  const DType to = attrs.dtype;
  if (to == DType::kBool) {
    return Map<W, int64_t>(context, [](W x) { return int64_t{x != W{0}}; });
  }
  if (IsFloat(to)) {
    if (!attrs.saturate) {
      return Map<W, double>(context, [to](W x) { return ToDouble(x, to); });
    }
    // The value saturated beforehand rounds to itself.
    return Map<W, double>(context, [to](W x) -> double {
      return DecodeFloat(to, EncodeFloat(to, ToDouble(x, to), true));
    });
  }
  return WithDomain(to, [&](auto wide) -> Results {
    using R = decltype(wide);
    if constexpr (std::is_floating_point_v<R>) {
      return Literals{};
    } else if constexpr (std::is_floating_point_v<W>) {
      return Map<W, R>(context, [to](W x) { return ToInteger<R>(x, to); });
    } else {
      return Map<W, R>(context, [](W x) { return static_cast<R>(x); });
    }
  });
}

}  // namespace

Results EvaluateElementwise(const EvalContext& context) {
  if (context.op == Op::kSelect) return Select(context);
  return WithDomain(context.dtype(), [&](auto wide) -> Results {
    using W = decltype(wide);
    if (context.op == Op::kCompare) return CompareAs<W>(context);
    if (context.operands.size() == 2) return Binary<W>(context);
    if constexpr (std::is_floating_point_v<W>) return UnaryFloat(context);
    if constexpr (!std::is_floating_point_v<W>) return IntUnary<W>(context);
  });
}

Results EvaluateBitcast(const EvalContext& context) {
  const Literal& x = context.operands[0];
  ENCORE_ASSIGN_OR_RETURN(Literal result,
                          Literal::Copy(context.attrs<ElementTypeAttrs>().dtype,
                                        x.dims(), x.bytes()));
  return Literals{std::move(result)};
}

Results EvaluateCast(const EvalContext& context) {
  return WithDomain(context.dtype(), [&](auto wide) {
    return CastFrom<decltype(wide)>(context);
  });
}

}  // namespace encore::eval
