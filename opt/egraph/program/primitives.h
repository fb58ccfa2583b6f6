// The primitives of the language: names, sorts and evaluation.
//
// Every primitive has operands of one sort T, out of a set, and a result that
// is of sort T, Unit or bool. A comparison has result Unit and is undefined
// where it does not hold, like any other primitive whose result does not
// exist (overflow, division by zero).
#ifndef ENCORE_OPT_EGRAPH_PROGRAM_PRIMITIVES_H_
#define ENCORE_OPT_EGRAPH_PROGRAM_PRIMITIVES_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "encore/opt/egraph/program/interner.h"
#include "encore/opt/egraph/program/sorts.h"

namespace encore::opt::program {

enum class Primitive : uint8_t {
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kRemainder,
  kLess,
  kGreater,
  kLessEqual,
  kGreaterEqual,
  kMin,
  kMax,
  kAbs,
  kNegate,
  kBitAnd,
  kBitOr,
  kBitXor,
  kShiftLeft,
  kShiftRight,
  kBitNot,
  kLog2,
  kNotEqual,
  kAnd,
  kOr,
  kNot,
  kXor,
  kBoolEqual,
  kBoolNotEqual,
  kBoolLess,
  kBoolGreater,
  kBoolLessEqual,
  kBoolGreaterEqual,
  kGuard,
};

enum class PrimitiveResult : uint8_t { kOperand, kUnit, kBool };

struct PrimitiveInfo {
  std::string_view name;
  Primitive primitive;
  uint8_t num_arguments;
  uint8_t operands;  // bit s for built-in sort s, bit kNumBuiltinSorts: classes
  PrimitiveResult result;

  bool Takes(SortId sort) const {
    const SortId bit = IsClassSort(sort) ? kNumBuiltinSorts : sort;
    return (operands >> bit & 1) != 0;
  }
};

// In the order of the enumeration.
std::span<const PrimitiveInfo> Primitives();

inline const PrimitiveInfo& Info(Primitive primitive) {
  return Primitives()[static_cast<size_t>(primitive)];
}

inline constexpr size_t kMaxStringBytes = size_t{1} << 26;

// The value of the primitive on arguments of sort `operands`, or nothing where
// it is undefined. Arguments of a class sort are canonical class ids. i64
// arithmetic is checked; shifts want an amount of 0 to 63; log2 rounds down.
// f64 is ordered totally: -inf < ... < inf < NaN, with one zero. Strings longer
// than kMaxStringBytes are not made: + on them is undefined.
// REQUIRES the right number of arguments and Info(primitive).Takes(operands).
// Adds the strings it makes to `names`.
std::optional<uint64_t> Evaluate(Primitive primitive, SortId operands,
                                 std::span<const uint64_t> arguments,
                                 Interner* names);

}  // namespace encore::opt::program

#endif  // ENCORE_OPT_EGRAPH_PROGRAM_PRIMITIVES_H_
