// The helpers of one launch of a kernel with checks: what the kernel reports is
// kept here.
#ifndef ENCORE_BACKENDS_CPU_CHECKED_CALL_H_
#define ENCORE_BACKENDS_CPU_CHECKED_CALL_H_

#include <atomic>
#include <cstdint>

#include "encore/backends/cpu/helpers.h"
#include "encore/backends/region/first_fault.h"
#include "encore/ir/support/status.h"

namespace encore::backends::cpu {

// Made for each launch, on the stack. The partitions of a launch may report at
// once; one that reports nothing touches nothing here.
class CheckedCall {
 public:
  CheckedCall();
  CheckedCall(const CheckedCall&) = delete;
  CheckedCall& operator=(const CheckedCall&) = delete;

  // What the kernel is given.
  const HelperTable& helpers() const { return table_; }
  // The first fault as an error, and *node where that is not null; to be asked
  // when the kernel is done.
  Status Report(uint32_t* node) const { return faults_.first.Report(node); }

 private:
  struct Faults {
    std::atomic_flag busy;
    FirstFault first;
  };
  // Generated code knows the memory of its table, so faults lie elsewhere.
  struct Table : HelperTable {
    Faults* faults = nullptr;
  };

  static void OnFault(const HelperTable* self, int64_t site, int64_t lanes,
                      const int64_t* bad, const int64_t* indices,
                      const int64_t* positions, int64_t count, int64_t extent);

  Faults faults_;
  Table table_;
};

}  // namespace encore::backends::cpu

#endif  // ENCORE_BACKENDS_CPU_CHECKED_CALL_H_
