// A profile of the machine at hand, by measurement.
#ifndef ENCORE_BACKENDS_CPU_MEASURE_MEASURE_MACHINE_H_
#define ENCORE_BACKENDS_CPU_MEASURE_MEASURE_MACHINE_H_

#include <cstdint>
#include <functional>
#include <string_view>

#include "encore/backends/cpu/profile/machine_profile.h"
#include "encore/ir/support/status.h"

namespace encore::backends::cpu {

// The nearest class as a frame for this machine: its CPU, its caches, `threads`
// cores. REQUIRES that code is generated for it.
MachineProfile HostFrame(int threads);

// Bytes that each of so many threads works on where a level is measured: they
// fit it with room to spare, those of all threads together where it is shared,
// but not the level above.
int64_t LevelBytes(const MachineProfile& frame, MemoryLevel level, int threads);

// Measures until two runs in a row give the same profile, each number the best
// of all runs so far and on a coarse scale; in a few seconds on a quiet
// machine. A number within a step of that of `kept`, a profile of this machine
// that was measured before, is left at that, so that measuring again gives the
// same profile; null where there is none. `threads` cores count as all. The
// fitted costs are those of the nearest class. `log` is told each run.
//
// FailedPrecondition where no code is generated for this machine, and where
// runs do not agree.
StatusOr<MachineProfile> MeasureMachine(
    const MachineProfile* kept, int threads,
    const std::function<void(std::string_view)>& log);

// A measured profile on the coarse scale, each number within a step of that of
// `kept`, which may be null, left at that.
MachineProfile Coarse(const MachineProfile& measured,
                      const MachineProfile* kept);

}  // namespace encore::backends::cpu

#endif  // ENCORE_BACKENDS_CPU_MEASURE_MEASURE_MACHINE_H_
