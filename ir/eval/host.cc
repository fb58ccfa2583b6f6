// Strings, sequences and optionals.

#include "encore/ir/eval/families.h"
#include "encore/ir/host/host_ops.h"

namespace encore::eval {
namespace {

Results Apply(const EvalContext& context) {
  return ApplyHostOp(
      context.op, context.attributes,
      Literals(context.operands.begin(), context.operands.end()));
}

}  // namespace

#define ENCORE_ON_HOST(Family)                           \
  Results Evaluate##Family(const EvalContext& context) { \
    return Apply(context);                               \
  }
ENCORE_ON_HOST(Sequence)
ENCORE_ON_HOST(SequenceAt)
ENCORE_ON_HOST(SequenceInsert)
ENCORE_ON_HOST(SequenceErase)
ENCORE_ON_HOST(SequenceLength)
ENCORE_ON_HOST(SequenceConcat)
ENCORE_ON_HOST(SequenceSplit)
ENCORE_ON_HOST(Optional)
ENCORE_ON_HOST(OptionalHas)
ENCORE_ON_HOST(OptionalGet)
ENCORE_ON_HOST(TakeStrings)
ENCORE_ON_HOST(StringBinary)
ENCORE_ON_HOST(StringFormat)
ENCORE_ON_HOST(StringParse)
ENCORE_ON_HOST(StringSplit)
ENCORE_ON_HOST(StringNormalize)
ENCORE_ON_HOST(StringMatch)
ENCORE_ON_HOST(DecodeImage)
#undef ENCORE_ON_HOST

}  // namespace encore::eval
