// What the cores of this machine do in a second: multiply-adds by dtype, and
// bytes read and written in each level of its memory.
//
// Each function works for some milliseconds and gives the best rate of parts of
// them: closest to what the machine can do where it does other things, too.
#ifndef ENCORE_BACKENDS_CPU_MEASURE_RATES_H_
#define ENCORE_BACKENDS_CPU_MEASURE_RATES_H_

#include <cstdint>
#include <string_view>

#include "encore/backends/cpu/cpu_features.h"
#include "encore/runtime/device/thread_pool.h"

namespace encore::backends::cpu {

// Seconds since some time: of this thread's own work where it works `alone`, so
// that what else the machine does counts less, else by the clock.
double WorkSeconds(bool alone);

// Vector instructions that multiply and add: of f32 and f64, of pairs of bf16
// into f32, of groups of four i8 into i32.
enum class Product : uint8_t { kF32, kF64, kBf16, kI8 };
inline constexpr Product kProducts[] = {Product::kF32, Product::kF64,
                                        Product::kBf16, Product::kI8};

// "f32".
std::string_view Name(Product product);
// Whether this machine has such instructions among those of `isa`.
bool Has(Isa isa, Product product);

// Operations per second, two for each multiply-add, on registers alone, of all
// threads together. REQUIRES Has.
double ProductRate(Isa isa, Product product, runtime::ThreadPool* threads);

// What is done with a buffer.
enum class Traffic : uint8_t {
  kRead,
  kUpdate,  // a number is added to each f32 in place
  kCopy,    // the first half is copied to the second
  kStream,  // likewise, by stores past the caches
};

// Bytes per second that all threads together read and write, both counted, each
// in a buffer of `bytes` of its own again and again. Each has been written once
// before. REQUIRES that this machine has `isa`, which is not kNone, and that
// `bytes` is at least a page.
double TrafficRate(Isa isa, Traffic traffic, int64_t bytes,
                   runtime::ThreadPool* threads);

// Seconds from handing a pool as many empty partitions as it has threads until
// all are done, helpers awake; for a pool of one thread what a call costs.
double DispatchSeconds(runtime::ThreadPool* threads);

}  // namespace encore::backends::cpu

#endif  // ENCORE_BACKENDS_CPU_MEASURE_RATES_H_
