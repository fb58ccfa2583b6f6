// What inference functions check again and again. Errors name the attribute or
// operand, its value and what was expected.
#ifndef ENCORE_IR_OPS_CHECKS_H_
#define ENCORE_IR_OPS_CHECKS_H_

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "encore/ir/ops/infer.h"
#include "encore/ir/support/status.h"
#include "encore/ir/types/shape.h"

namespace encore::ops {

// 0 <= axis < rank.
Status CheckAxis(const InferContext& context, std::string_view name,
                 int64_t axis, int rank);

// Each in [0, rank), none twice.
Status CheckDistinctAxes(const InferContext& context, std::string_view name,
                         std::span<const int64_t> axes, int rank);

// As above, and ascending.
Status CheckAscendingAxes(const InferContext& context, std::string_view name,
                          std::span<const int64_t> axes, int rank);

// A list attribute has `expected` entries.
Status CheckLength(const InferContext& context, std::string_view name,
                   size_t length, size_t expected);

// A list has `length` entries, each at least `least`.
Status CheckEach(const InferContext& context, std::string_view name,
                 std::span<const int64_t> list, size_t length, int64_t least);

// No padding is beyond this, so that offsets stay within int64.
inline constexpr int64_t kMaxPadding = int64_t{1} << 48;

// A list has `length` entries, each in [-kMaxPadding, kMaxPadding].
Status CheckPadding(const InferContext& context, std::string_view name,
                    std::span<const int64_t> list, size_t length);

// A number that is finite and not negative.
Status CheckEpsilon(const InferContext& context, double epsilon);

Status CheckRank(const InferContext& context, int operand, int rank);
Status CheckMinRank(const InferContext& context, int operand, int rank);
Status CheckShape(const InferContext& context, int operand,
                  const Shape& expected);

// The combiner has a meaning on the dtype: sums and products on numbers, and
// and or on bool and integers, max and min on both.
Status CheckCombiner(const InferContext& context, Combiner combiner,
                     DType dtype);

// Notes that `dim` must be positive, where its bounds leave that open.
void RequirePositive(const InferContext& context, const Dim& dim);

// Whether the dims differ under every value of the symbols, or a < b under
// every value. Otherwise it is required that they are equal, or that a >= b.
bool NeverEqual(const InferContext& context, const Dim& a, const Dim& b);
bool AlwaysLess(const InferContext& context, const Dim& a, const Dim& b);

// Each dim at least 0: what surely is not, an error of attribute `name`.
Status CheckExtents(const InferContext& context, std::string_view name,
                    std::span<const Dim> dims);

// Max(dim, 0), simplified where the symbols' bounds tell.
Dim AtLeastZero(const InferContext& context, const Dim& dim);

// `shape` without the dims at `axes`.
Shape WithoutAxes(const Shape& shape, std::span<const int64_t> axes);

// Windows along one dim. The size is a dim because a convolution's kernel may
// be data (backward-filter). REQUIRES positive strides and dilations.
struct WindowDim {
  Dim size = 1;
  int64_t stride = 1, padding_low = 0, padding_high = 0;
  int64_t dilation = 1, base_dilation = 1;
};

// How many windows fit into an extent: 0 where not even one does.
Dim WindowCount(const InferContext& context, const Dim& extent,
                const WindowDim& window);

// The result of an op that gives what its only operand is.
StatusOr<std::vector<TensorType>> SameAsOperand(const InferContext& context);

// One result of `shape` and the dtype of operand 0.
inline std::vector<TensorType> Like(const InferContext& context, Shape shape) {
  return {{context.dtype(0), std::move(shape), ValueKind::kTensor}};
}

}  // namespace encore::ops

#endif  // ENCORE_IR_OPS_CHECKS_H_
