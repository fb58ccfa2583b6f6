// What kernels are estimated to take on a machine.
//
// A launch takes what it costs to start it, and the longer one of computing and
// of moving the bytes of its tensors. Computing is a schedule's count of
// cycles, in which a vector multiply-add is one, at the rate that the machine
// has for those, times what was measured of that template
// (profile/costs.def); for the vendor's kernels, what vendor/efficiency.h says.
#ifndef ENCORE_BACKENDS_CPU_ESTIMATES_H_
#define ENCORE_BACKENDS_CPU_ESTIMATES_H_

#include <cstdint>

#include "encore/backends/cpu/attention/schedule.h"
#include "encore/backends/cpu/codegen/tile_schedule.h"
#include "encore/backends/cpu/loops/plan.h"
#include "encore/backends/cpu/profile/machine_profile.h"
#include "encore/backends/cpu/vendor/program.h"
#include "encore/backends/cpu/winograd/schedule.h"
#include "encore/backends/cpu/winograd/windowed_sum.h"
#include "encore/backends/region/region.h"

namespace encore::backends::cpu {

// Seconds of launches for one region; views of what it is given.
class Estimates {
 public:
  // A region of data-dependent sizes is as if it moved no bytes.
  Estimates(const Region& region, const MachineProfile& machine, int threads);

  double Loops(const LoopPlan& plan) const;
  double Tiles(const TileSchedule& schedule) const;
  double Winograd(const WindowedSum& sum,
                  const WinogradSchedule& schedule) const;
  double Attention(const AttentionSchedule& schedule) const;
  double Vendor(const VendorProgram& program, bool pack) const;
  // `flops` operations of the interpreter, on one thread.
  double Interpreted(double flops) const;

 private:
  // Of a launch whose work takes so long on one core.
  double Launch(double seconds, int64_t partitions) const;
  // Reading and writing all operands, each from where one of its size lies.
  double MovedSeconds(int threads) const;

  const Region& region_;
  const MachineProfile& machine_;
  int threads_;
  bool products_;  // whether the region is a sum of products
};

}  // namespace encore::backends::cpu

#endif  // ENCORE_BACKENDS_CPU_ESTIMATES_H_
