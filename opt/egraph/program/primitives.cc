#include "encore/opt/egraph/program/primitives.h"

#include <bit>
#include <cmath>
#include <compare>
#include <limits>
#include <string>

#include "encore/ir/support/check.h"
#include "encore/ir/support/strings.h"

namespace encore::opt::program {
namespace {

using enum Primitive;

constexpr uint8_t kI64 = 1 << kI64Sort;
constexpr uint8_t kF64 = 1 << kF64Sort;
constexpr uint8_t kText = 1 << kStringSort;
constexpr uint8_t kTruth = 1 << kBoolSort;
constexpr uint8_t kNumber = kI64 | kF64;
constexpr uint8_t kLiteral = kNumber | kText | kTruth | 1 << kUnitSort;
constexpr uint8_t kAny = kLiteral | 1 << kNumBuiltinSorts;
constexpr auto kSame = PrimitiveResult::kOperand;
constexpr auto kHolds = PrimitiveResult::kUnit;
constexpr auto kBool = PrimitiveResult::kBool;

constexpr PrimitiveInfo kPrimitives[] = {
    {"+", kAdd, 2, kNumber | kText, kSame},
    {"-", kSubtract, 2, kNumber, kSame},
    {"*", kMultiply, 2, kNumber, kSame},
    {"/", kDivide, 2, kNumber, kSame},
    {"%", kRemainder, 2, kNumber, kSame},
    {"<", kLess, 2, kNumber, kHolds},
    {">", kGreater, 2, kNumber, kHolds},
    {"<=", kLessEqual, 2, kNumber, kHolds},
    {">=", kGreaterEqual, 2, kNumber, kHolds},
    {"min", kMin, 2, kNumber, kSame},
    {"max", kMax, 2, kNumber, kSame},
    {"abs", kAbs, 1, kNumber, kSame},
    {"neg", kNegate, 1, kF64, kSame},
    {"&", kBitAnd, 2, kI64, kSame},
    {"|", kBitOr, 2, kI64, kSame},
    {"^", kBitXor, 2, kI64, kSame},
    {"<<", kShiftLeft, 2, kI64, kSame},
    {">>", kShiftRight, 2, kI64, kSame},
    {"not-i64", kBitNot, 1, kI64, kSame},
    {"log2", kLog2, 1, kI64, kSame},
    {"!=", kNotEqual, 2, kAny, kHolds},
    {"and", kAnd, 2, kTruth, kBool},
    {"or", kOr, 2, kTruth, kBool},
    {"not", kNot, 1, kTruth, kBool},
    {"xor", kXor, 2, kTruth, kBool},
    {"bool-=", kBoolEqual, 2, kLiteral, kBool},
    {"bool-!=", kBoolNotEqual, 2, kAny, kBool},
    {"bool-<", kBoolLess, 2, kNumber, kBool},
    {"bool->", kBoolGreater, 2, kNumber, kBool},
    {"bool-<=", kBoolLessEqual, 2, kNumber, kBool},
    {"bool->=", kBoolGreaterEqual, 2, kNumber, kBool},
    {"guard", kGuard, 1, kTruth, kHolds},
};

std::optional<uint64_t> Holds(bool holds) {
  return holds ? std::optional<uint64_t>(0) : std::nullopt;
}

// Comparisons, on any ordered representation.
std::optional<uint64_t> Compare(Primitive primitive,
                                std::strong_ordering order) {
  switch (primitive) {
    case kLess:
      return Holds(order < 0);
    case kGreater:
      return Holds(order > 0);
    case kLessEqual:
      return Holds(order <= 0);
    case kGreaterEqual:
      return Holds(order >= 0);
    case kBoolLess:
      return order < 0;
    case kBoolGreater:
      return order > 0;
    case kBoolLessEqual:
      return order <= 0;
    default:
      ENCORE_CHECK(primitive == kBoolGreaterEqual);
      return order >= 0;
  }
}

std::optional<uint64_t> Shift(Primitive primitive, int64_t a, int64_t b) {
  if (b < 0 || b > 63) return std::nullopt;
  if (primitive == kShiftLeft) return static_cast<uint64_t>(a) << b;
  return static_cast<uint64_t>(a >> b);
}

std::optional<uint64_t> Divide(Primitive primitive, int64_t a, int64_t b) {
  if (b == 0 || (a == std::numeric_limits<int64_t>::min() && b == -1)) {
    return std::nullopt;
  }
  return static_cast<uint64_t>(primitive == kDivide ? a / b : a % b);
}

std::optional<uint64_t> EvaluateI64(Primitive primitive, int64_t a, int64_t b) {
  int64_t result = 0;
  bool overflow = false;
  switch (primitive) {
    case kAdd:
      overflow = __builtin_add_overflow(a, b, &result);
      break;
    case kSubtract:
      overflow = __builtin_sub_overflow(a, b, &result);
      break;
    case kMultiply:
      overflow = __builtin_mul_overflow(a, b, &result);
      break;
    case kAbs:
      overflow = a < 0 && __builtin_sub_overflow(int64_t{0}, a, &result);
      if (a >= 0) result = a;
      break;
    case kMin:
      result = a < b ? a : b;
      break;
    case kMax:
      result = a < b ? b : a;
      break;
    case kBitAnd:
      result = a & b;
      break;
    case kBitOr:
      result = a | b;
      break;
    case kBitXor:
      result = a ^ b;
      break;
    case kBitNot:
      result = ~a;
      break;
    case kLog2:
      overflow = a <= 0;
      result = 63 - std::countl_zero(static_cast<uint64_t>(a | 1));
      break;
    case kDivide:
    case kRemainder:
      return Divide(primitive, a, b);
    case kShiftLeft:
    case kShiftRight:
      return Shift(primitive, a, b);
    default:
      return Compare(primitive, a <=> b);
  }
  if (overflow) return std::nullopt;
  return static_cast<uint64_t>(result);
}

std::strong_ordering OrderF64(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) <=> std::isnan(b);
  if (a == b) return std::strong_ordering::equal;
  return a < b ? std::strong_ordering::less : std::strong_ordering::greater;
}

std::optional<uint64_t> EvaluateF64(Primitive primitive, double a, double b) {
  switch (primitive) {
    case kAdd:
      return F64Bits(a + b);
    case kSubtract:
      return F64Bits(a - b);
    case kMultiply:
      return F64Bits(a * b);
    case kDivide:
      if (b == 0) return std::nullopt;
      return F64Bits(a / b);
    case kRemainder:
      if (b == 0) return std::nullopt;
      return F64Bits(std::fmod(a, b));
    case kAbs:
      return F64Bits(std::fabs(a));
    case kNegate:
      return F64Bits(-a);
    case kMin:
      return F64Bits(OrderF64(a, b) <= 0 ? a : b);
    case kMax:
      return F64Bits(OrderF64(a, b) <= 0 ? b : a);
    default:
      return Compare(primitive, OrderF64(a, b));
  }
}

std::optional<uint64_t> EvaluateBool(Primitive primitive, bool a, bool b) {
  switch (primitive) {
    case kAnd:
      return a && b;
    case kOr:
      return a || b;
    case kXor:
      return a != b;
    case kNot:
      return !a;
    default:
      ENCORE_CHECK(primitive == kGuard);
      return Holds(a);
  }
}

std::optional<uint64_t> Join(std::string_view a, std::string_view b,
                             Interner* names) {
  if (a.size() + b.size() > kMaxStringBytes) return std::nullopt;
  return names->Intern(StrCat(a, b));
}

}  // namespace

std::span<const PrimitiveInfo> Primitives() { return kPrimitives; }

std::optional<uint64_t> Evaluate(Primitive primitive, SortId operands,
                                 std::span<const uint64_t> arguments,
                                 Interner* names) {
  const uint64_t a = arguments[0];
  const uint64_t b = arguments.back();
  if (primitive == kNotEqual) return Holds(a != b);
  if (primitive == kBoolEqual) return a == b;
  if (primitive == kBoolNotEqual) return a != b;
  switch (operands) {
    case kI64Sort:
      return EvaluateI64(primitive, static_cast<int64_t>(a),
                         static_cast<int64_t>(b));
    case kF64Sort:
      return EvaluateF64(primitive, F64Value(a), F64Value(b));
    case kBoolSort:
      return EvaluateBool(primitive, a != 0, b != 0);
    default:
      ENCORE_CHECK(operands == kStringSort && primitive == kAdd);
      return Join(names->Text(static_cast<uint32_t>(a)),
                  names->Text(static_cast<uint32_t>(b)), names);
  }
}

}  // namespace encore::opt::program
