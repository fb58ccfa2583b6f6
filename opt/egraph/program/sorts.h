// Sorts of a program, and literals as 64 bits.
//
// A literal of a built-in sort is a uint64_t such that equal bits are equal
// values: i64 in two's complement; f64 in IEEE bits with one NaN and one zero;
// String as id in the program's interner; bool as 0 or 1; Unit as 0.
#ifndef ENCORE_OPT_EGRAPH_PROGRAM_SORTS_H_
#define ENCORE_OPT_EGRAPH_PROGRAM_SORTS_H_

#include <cstdint>
#include <string>

#include "encore/opt/egraph/program/interner.h"

namespace encore::opt::program {

using SortId = uint32_t;

enum BuiltinSort : SortId {
  kI64Sort,
  kF64Sort,
  kStringSort,
  kBoolSort,
  kUnitSort,
  kNumBuiltinSorts
};

inline constexpr const char* kBuiltinSortNames[kNumBuiltinSorts] = {
    "i64", "f64", "String", "bool", "Unit"};

inline bool IsClassSort(SortId sort) { return sort >= kNumBuiltinSorts; }

uint64_t F64Bits(double value);
double F64Value(uint64_t bits);

// As the literal is written in a program: f64 always with a point (or NaN,
// inf, -inf), strings quoted with " and \ escaped.
void AppendLiteral(SortId sort, uint64_t bits, const Interner& names,
                   std::string* out);

}  // namespace encore::opt::program

#endif  // ENCORE_OPT_EGRAPH_PROGRAM_SORTS_H_
