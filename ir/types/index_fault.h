// An index of the data that is out of range, and the error that says so: the
// same from the evaluator and from every backend.
#ifndef ENCORE_IR_TYPES_INDEX_FAULT_H_
#define ENCORE_IR_TYPES_INDEX_FAULT_H_

#include <cstdint>
#include <string_view>

#include "encore/ir/support/status.h"

namespace encore {

// Of gather and scatter: the tensor of indices holds vectors, in row-major
// order of its other dims; one entry of each for each indexed axis.
struct IndexFault {
  int64_t axis = 0;      // of the indexed operand
  int64_t index = 0;     // counted from the start of the axis
  int64_t position = 0;  // which of the vectors, from 0
  int64_t count = 0;     // an index is in [0, count)
  int64_t extent = 0;    // of the axis
};

// OutOfRange, "gather: index 7 at position 3 of the indices, expected [0, 5):
// axis 0 has the extent 5". `op` is the mnemonic.
Status IndexError(std::string_view op, const IndexFault& fault);

}  // namespace encore

#endif  // ENCORE_IR_TYPES_INDEX_FAULT_H_
