// The operators on strings, sequences and optionals, on values.
//
// The evaluator and the host kernels of compiled graphs both compute by these
// functions: there is one meaning of what is done element by element on the
// host. What they are checked against is ONNX's own data and the tests beside
// this file.
#ifndef ENCORE_IR_HOST_HOST_OPS_H_
#define ENCORE_IR_HOST_HOST_OPS_H_

#include <string_view>
#include <vector>

#include "encore/ir/ops/attributes.h"
#include "encore/ir/ops/op.h"
#include "encore/ir/support/status.h"
#include "encore/ir/types/literal.h"

namespace encore {

// The results of an operator with the trait kNonFlatValues. Operands are taken:
// what nobody else shares is moved and not copied, so that a sequence that
// grows by one costs a constant. Elements of sequences are operands' own bytes,
// never copies. The dims of attributes do not count but for a stack of no
// elements, in which those that are not constant are 0: results have the shapes
// that they turn out to have, and the caller compares.
//
// REQUIRES operands of types and attributes that InferTypes accepts.
// InvalidArgument "mnemonic: …" where values do not fit: an index out of range,
// an optional without value, elements that cannot be joined, text that is no
// number. ResourceExhausted where a result would be too large. Thread-safe.
StatusOr<std::vector<Literal>> ApplyHostOp(Op op, const Attributes& attributes,
                                           std::vector<Literal> operands);

}  // namespace encore

#endif  // ENCORE_IR_HOST_HOST_OPS_H_
