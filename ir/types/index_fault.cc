#include "encore/ir/types/index_fault.h"

#include "encore/ir/support/strings.h"

namespace encore {

Status IndexError(std::string_view op, const IndexFault& fault) {
  return OutOfRangeError(
      StrCat(op, ": index ", fault.index, " at position ", fault.position,
             " of the indices, expected [0, ", fault.count, "): axis ",
             fault.axis, " has the extent ", fault.extent));
}

}  // namespace encore
