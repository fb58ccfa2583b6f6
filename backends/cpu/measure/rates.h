// What the cores of this machine do in a second: multiply-adds, and bytes read
// and written in each level of its memory.
//
// Each function works for some milliseconds and gives the best rate of parts of
// them: closest to what the machine can do where it does other things, too.
#ifndef ENCORE_BACKENDS_CPU_MEASURE_RATES_H_
#define ENCORE_BACKENDS_CPU_MEASURE_RATES_H_

#include <cstdint>

#include "encore/backends/cpu/cpu_features.h"
#include "encore/runtime/device/thread_pool.h"

namespace encore::backends::cpu {

// Seconds since some time: of this thread's own work where it works `alone`, so
// that what else the machine does counts less, else by the clock.
double WorkSeconds(bool alone);

// Floating-point operations per second of vector multiply-adds, two for each
// element, on one core. REQUIRES that this machine has `isa`, which is not
// kNone. `f64`: of f64 in place of f32.
double MultiplyAddRate(Isa isa, bool f64);

// Bytes per second of adding a number to each f32 of a buffer that stays in
// place, read and written counted: `threads->size()` buffers of `bytes` each,
// by a thread each. Each has been written once before. REQUIRES as above, and
// that `bytes` is at least a page.
double CopyRate(Isa isa, int64_t bytes, runtime::ThreadPool* threads);

// Seconds from handing a pool as many empty partitions as it has threads until
// all are done, helpers awake; for a pool of one thread what a call costs.
double DispatchSeconds(runtime::ThreadPool* threads);

}  // namespace encore::backends::cpu

#endif  // ENCORE_BACKENDS_CPU_MEASURE_RATES_H_
