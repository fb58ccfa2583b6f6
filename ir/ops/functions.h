// The functions of the C library among the operators: functions.def as data.
#ifndef ENCORE_IR_OPS_FUNCTIONS_H_
#define ENCORE_IR_OPS_FUNCTIONS_H_

#include <cstdint>
#include <span>
#include <string_view>

#include "encore/ir/ops/op.h"

namespace encore {

// How the cpu backend computes one on f32: vector code, or a call an element.
enum class FunctionCode : uint8_t { kVector, kCalled };

struct FunctionInfo {
  Op op;
  std::string_view name;  // in <cmath>
  uint32_t number;        // in images of generated code
  FunctionCode code;
  // One of the two; pure and thread-safe.
  double (*unary)(double) = nullptr;
  double (*binary)(double, double) = nullptr;
};

// In the order of the table.
std::span<const FunctionInfo> Functions();

// Null for an operator that is none of them. Constant time.
const FunctionInfo* FindFunction(Op op);

}  // namespace encore

#endif  // ENCORE_IR_OPS_FUNCTIONS_H_
