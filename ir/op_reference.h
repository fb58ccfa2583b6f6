// The operator reference, made from the op table.
#ifndef ENCORE_IR_OP_REFERENCE_H_
#define ENCORE_IR_OP_REFERENCE_H_

#include <string>

namespace encore {

// Every operator: level, signature, dtypes, attributes with their types and
// defaults, and what it computes. OPS.md is this text; a test keeps it current.
std::string OpReferenceMarkdown();

}  // namespace encore

#endif  // ENCORE_IR_OP_REFERENCE_H_
