#include "encore/ir/host/host_ops.h"

#include <utility>

#include "encore/ir/host/families.h"

namespace encore {

StatusOr<std::vector<Literal>> ApplyHostOp(Op op, const Attributes& attributes,
                                           std::vector<Literal> operands) {
  const host::HostContext context{op, attributes, operands};
  switch (op) {
    case Op::kSequence:
    case Op::kSequenceAt:
    case Op::kSequenceInsert:
    case Op::kSequenceErase:
    case Op::kSequenceLength:
    case Op::kSequenceConcat:
    case Op::kSequenceSplit:
    case Op::kOptional:
    case Op::kOptionalHas:
    case Op::kOptionalGet:
      return host::ApplySequenceOp(context);
    case Op::kDecodeImage:
      return host::DecodeImage(context);
    default:
      return host::ApplyStringOp(context);
  }
}

}  // namespace encore
