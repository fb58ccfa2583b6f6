#include "encore/ir/ops/checks.h"
#include "encore/ir/ops/families.h"
#include "encore/ir/support/status_macros.h"

namespace encore::ops {

Types InferRelu(const InferContext& context) { return SameAsOperand(context); }

Types InferLeakyRelu(const InferContext& context) {
  return SameAsOperand(context);
}

Types InferElu(const InferContext& context) { return SameAsOperand(context); }

Types InferCelu(const InferContext& context) { return SameAsOperand(context); }

Types InferSelu(const InferContext& context) { return SameAsOperand(context); }

Types InferGelu(const InferContext& context) { return SameAsOperand(context); }

Types InferSilu(const InferContext& context) { return SameAsOperand(context); }

Types InferMish(const InferContext& context) { return SameAsOperand(context); }

Types InferSoftplus(const InferContext& context) {
  return SameAsOperand(context);
}

Types InferSoftsign(const InferContext& context) {
  return SameAsOperand(context);
}

Types InferHardSigmoid(const InferContext& context) {
  return SameAsOperand(context);
}

Types InferHardSwish(const InferContext& context) {
  return SameAsOperand(context);
}

Types InferThresholdedRelu(const InferContext& context) {
  return SameAsOperand(context);
}

Types InferPrelu(const InferContext& context) {
  ENCORE_RETURN_IF_ERROR(CheckShape(context, 1, context.shape(0)));
  return SameAsOperand(context);
}

Types InferClamp(const InferContext& context) {
  ENCORE_RETURN_IF_ERROR(CheckRank(context, 1, 0));
  ENCORE_RETURN_IF_ERROR(CheckRank(context, 2, 0));
  return SameAsOperand(context);
}

}  // namespace encore::ops
