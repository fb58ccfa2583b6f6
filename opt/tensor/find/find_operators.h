// The operators that rules are looked for over: each with the attributes that
// it has on operands of given shapes, so that an expression has a meaning at
// any extents.
#ifndef ENCORE_OPT_TENSOR_FIND_FIND_OPERATORS_H_
#define ENCORE_OPT_TENSOR_FIND_FIND_OPERATORS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "encore/ir/ops/attributes.h"
#include "encore/ir/ops/op.h"
#include "encore/ir/types/shape.h"

namespace encore::opt {

// What the letters of shapes stand for.
struct Extents {
  int64_t a = 0, b = 0;
};

struct FindOperator {
  // "transpose", "sum(0)": of the operator and the attribute values.
  std::string_view name;
  Op op = Op::kInput;
  int operands = 1;
  // Nothing is known of it but that it is a function: in exact arithmetic it is
  // a random polynomial.
  bool opaque = false;
  // On operands of these shapes; nothing where there are none that fit.
  std::optional<Attributes> (*attributes)(std::span<const Shape> operands,
                                          const Extents& extents) = nullptr;
};

struct FindInput {
  std::string_view name;
  Shape (*shape)(const Extents& extents) = nullptr;
};

// In the order in which they are tried; the first ones come with fewer.
std::span<const FindOperator> FindOperators();
std::span<const FindInput> FindInputs();

}  // namespace encore::opt

#endif  // ENCORE_OPT_TENSOR_FIND_FIND_OPERATORS_H_
