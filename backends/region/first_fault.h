// The first of the checks of a kernel that do not hold: what its error is
// about, whatever the order in which they were found.
#ifndef ENCORE_BACKENDS_REGION_FIRST_FAULT_H_
#define ENCORE_BACKENDS_REGION_FIRST_FAULT_H_

#include <cstdint>
#include <optional>

#include "encore/ir/ops/op.h"
#include "encore/ir/support/status.h"
#include "encore/ir/types/index_fault.h"

namespace encore::backends {

// A check that does not hold.
struct CheckFault {
  IndexFault index;
  uint32_t node = 0, component = 0;  // as Check has them
  Op op = Op::kGather;
};

// Not thread-safe.
class FirstFault {
 public:
  void Add(const CheckFault& fault);
  // OK where nothing was added; else the error, and *node where that is not
  // null.
  Status Report(uint32_t* node) const;

 private:
  std::optional<CheckFault> first_;
};

}  // namespace encore::backends

#endif  // ENCORE_BACKENDS_REGION_FIRST_FAULT_H_
