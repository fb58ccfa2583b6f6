#include "encore/ir/ops/checks.h"
#include "encore/ir/ops/families.h"
#include "encore/ir/support/status_macros.h"

namespace encore::ops {

Types InferArgSort(const InferContext& context) {
  ENCORE_RETURN_IF_ERROR(CheckAxis(context, "axis",
                                   context.attrs<ArgSortAttrs>().axis,
                                   context.shape(0).rank()));
  return std::vector<TensorType>{
      {DType::kI64, context.shape(0), ValueKind::kTensor}};
}

}  // namespace encore::ops
