#include "encore/ir/ops/checks.h"

#include <algorithm>
#include <cmath>

#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::ops {
namespace {

std::string List(std::span<const int64_t> list) {
  return StrCat("[", StrJoin(list, ", "), "]");
}

}  // namespace

Status CheckAxis(const InferContext& context, std::string_view name,
                 int64_t axis, int rank) {
  if (axis >= 0 && axis < rank) return OkStatus();
  return context.Error(StrCat("attribute ", name, " is ", axis,
                              ", expected an axis in [0, ", rank, ")"));
}

Status CheckDistinctAxes(const InferContext& context, std::string_view name,
                         std::span<const int64_t> axes, int rank) {
  bool seen[kMaxRank] = {};
  for (const int64_t axis : axes) {
    if (axis < 0 || axis >= std::min(rank, kMaxRank) || seen[axis]) {
      return context.Error(StrCat("attribute ", name, " is ", List(axes),
                                  ", expected distinct axes in [0, ", rank,
                                  ")"));
    }
    seen[axis] = true;
  }
  return OkStatus();
}

Status CheckAscendingAxes(const InferContext& context, std::string_view name,
                          std::span<const int64_t> axes, int rank) {
  ENCORE_RETURN_IF_ERROR(CheckDistinctAxes(context, name, axes, rank));
  if (std::is_sorted(axes.begin(), axes.end())) return OkStatus();
  return context.Error(
      StrCat("attribute ", name, " is ", List(axes), ", expected ascending"));
}

Status CheckLength(const InferContext& context, std::string_view name,
                   size_t length, size_t expected) {
  if (length == expected) return OkStatus();
  return context.Error(StrCat("attribute ", name, " has ", length,
                              " entries, expected ", expected));
}

Status CheckEach(const InferContext& context, std::string_view name,
                 std::span<const int64_t> list, size_t length, int64_t least) {
  ENCORE_RETURN_IF_ERROR(CheckLength(context, name, list.size(), length));
  for (const int64_t entry : list) {
    if (entry < least) {
      return context.Error(StrCat("attribute ", name, " is ", List(list),
                                  ", expected entries of at least ", least));
    }
  }
  return OkStatus();
}

Status CheckPadding(const InferContext& context, std::string_view name,
                    std::span<const int64_t> list, size_t length) {
  ENCORE_RETURN_IF_ERROR(CheckEach(context, name, list, length, -kMaxPadding));
  for (const int64_t entry : list) {
    if (entry > kMaxPadding) {
      return context.Error(StrCat("attribute ", name, " is ", List(list),
                                  ", expected entries of at most ",
                                  kMaxPadding));
    }
  }
  return OkStatus();
}

Status CheckEpsilon(const InferContext& context, double epsilon) {
  if (std::isfinite(epsilon) && epsilon >= 0) return OkStatus();
  return context.Error(StrCat("attribute epsilon is ", epsilon,
                              ", expected a finite number of at least 0"));
}

Status CheckRank(const InferContext& context, int operand, int rank) {
  if (context.shape(operand).rank() == rank) return OkStatus();
  return context.Error(
      StrCat("operand ", operand, " is ",
             context.operand(operand).ToString(context.symbols),
             ", expected rank ", rank));
}

Status CheckMinRank(const InferContext& context, int operand, int rank) {
  if (context.shape(operand).rank() >= rank) return OkStatus();
  return context.Error(
      StrCat("operand ", operand, " is ",
             context.operand(operand).ToString(context.symbols),
             ", expected a rank of at least ", rank));
}

Status CheckShape(const InferContext& context, int operand,
                  const Shape& expected) {
  if (context.shape(operand) == expected) return OkStatus();
  return context.Error(StrCat("operand ", operand, " has the shape ",
                              context.shape(operand).ToString(context.symbols),
                              ", expected ",
                              expected.ToString(context.symbols)));
}

Status CheckCombiner(const InferContext& context, Combiner combiner,
                     DType dtype) {
  const bool arithmetic =
      combiner == Combiner::kSum || combiner == Combiner::kProduct;
  const bool logical = combiner == Combiner::kAnd || combiner == Combiner::kOr;
  if ((arithmetic && dtype == DType::kBool) || (logical && IsFloat(dtype))) {
    return context.Error(StrCat("attribute combiner is ", EnumText(combiner),
                                ", which ", dtype, " does not have"));
  }
  return OkStatus();
}

void RequirePositive(const InferContext& context, const Dim& dim) {
  if (context.open == nullptr || dim.LowerBound(context.symbols) > 0) return;
  context.open->push_back(dim);
}

bool NeverEqual(const InferContext& context, const Dim& a, const Dim& b) {
  const Dim difference = a - b;
  if (difference.valid() && (difference.LowerBound(context.symbols) > 0 ||
                             difference.UpperBound(context.symbols) < 0)) {
    return true;
  }
  RequirePositive(context, difference + 1);
  RequirePositive(context, Dim(1) - difference);
  return false;
}

bool AlwaysLess(const InferContext& context, const Dim& a, const Dim& b) {
  const Dim difference = a - b;
  if (difference.valid() && difference.UpperBound(context.symbols) < 0) {
    return true;
  }
  RequirePositive(context, difference + 1);
  return false;
}

Status CheckExtents(const InferContext& context, std::string_view name,
                    std::span<const Dim> dims) {
  for (const Dim& dim : dims) {
    if (!AlwaysLess(context, dim, 0)) continue;
    return context.Error(
        StrCat("attribute ", name, " is ",
               Shape(std::vector<Dim>(dims.begin(), dims.end()))
                   .ToString(context.symbols),
               ", expected extents of at least 0"));
  }
  return OkStatus();
}

Dim AtLeastZero(const InferContext& context, const Dim& dim) {
  if (dim.LowerBound(context.symbols) >= 0) return dim;
  if (dim.UpperBound(context.symbols) <= 0) return Dim(0);
  return Max(dim, Dim(0));
}

Shape WithoutAxes(const Shape& shape, std::span<const int64_t> axes) {
  std::vector<Dim> dims;
  for (int i = 0; i < shape.rank(); ++i) {
    if (std::find(axes.begin(), axes.end(), i) == axes.end()) {
      dims.push_back(shape[i]);
    }
  }
  return Shape(std::move(dims));
}

Dim WindowCount(const InferContext& context, const Dim& extent,
                const WindowDim& window) {
  Dim base = extent;
  if (window.base_dilation != 1) {
    base = AtLeastZero(context, (extent - 1) * window.base_dilation + 1);
  }
  const Dim padded = base + window.padding_low + window.padding_high;
  const Dim reach = (window.size - 1) * window.dilation + 1;
  const Dim count = FloorDiv(padded - reach, window.stride) + 1;
  return count.valid() ? AtLeastZero(context, count) : count;
}

StatusOr<std::vector<TensorType>> SameAsOperand(const InferContext& context) {
  return Like(context, context.shape(0));
}

}  // namespace encore::ops
