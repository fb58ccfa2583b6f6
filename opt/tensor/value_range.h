// ValueRange: between which integers the elements of a tensor lie.
#ifndef ENCORE_OPT_TENSOR_VALUE_RANGE_H_
#define ENCORE_OPT_TENSOR_VALUE_RANGE_H_

#include <cstdint>
#include <optional>
#include <span>

#include "encore/ir/ops/attributes.h"
#include "encore/ir/ops/op.h"
#include "encore/ir/types/dim.h"
#include "encore/ir/types/dtype.h"
#include "encore/ir/types/shape.h"

namespace encore::opt {

// Both included; of booleans 0 and 1. A tensor without elements has any.
struct ValueRange {
  int64_t lower = 0, upper = 0;

  bool operator==(const ValueRange&) const = default;
};

// All values of the dtype; nothing for floats and where int64 does not hold
// them.
std::optional<ValueRange> RangeOf(DType dtype);

// What a node of one result gives, for all sizes that the symbols may have:
// nothing where RangeOf(result.dtype) has nothing. ranges[i]: of operand i.
// What would wrap may be any value of the dtype.
std::optional<ValueRange> RangeOf(
    Op op, const Attributes& attributes,
    std::span<const std::optional<ValueRange>> ranges,
    std::span<const TensorType* const> operands, const TensorType& result,
    std::span<const Symbol> symbols);

}  // namespace encore::opt

#endif  // ENCORE_OPT_TENSOR_VALUE_RANGE_H_
