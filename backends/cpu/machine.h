// What schedules are made for: one x86-64 server core of recent years, by round
// figures, so that what is generated for a region depends on the instruction
// set alone. What kernels are chosen by is the machine's profile
// (profile/machine_profile.h).
#ifndef ENCORE_BACKENDS_CPU_MACHINE_H_
#define ENCORE_BACKENDS_CPU_MACHINE_H_

#include <cstdint>

namespace encore::backends::cpu {

// What passes through a core that uses it once, in bytes per cycle: from its
// second level of cache or the third.
inline constexpr double kBytesPerCycle = 32;
// The same from memory, whose latency bounds what one core has under way; two
// cores get close to twice as much. What many partitions are worth is counted
// by it: weights lie in no core's cache when their turn comes.
inline constexpr double kMemoryBytesPerCycle = 8;

// An operation of the interpreter, in seconds.
inline constexpr double kInterpretedSeconds = 50e-9;
// Making one of the vendor's primitives again when a plan is loaded, in
// seconds.
inline constexpr double kMatmulLoadSeconds = 0.7e-3;
inline constexpr double kConvolutionLoadSeconds = 1e-3;

// The least work that is worth a thread: of a partition of generated code, in
// cycles; of a partition of data-dependent size, in bytes of its
// largest buffer; of a vendor's piece, in floating-point operations.
inline constexpr double kGrainCycles = 30000;
inline constexpr int64_t kGrainBytes = 32 << 10;
inline constexpr double kPieceFlops = 5e5;

// What one kernel may fill, in bytes: of a core's first-level data cache,
// beside what else it reads; of its second level; of a thread's stack. And a
// page; a line of the caches; all lines of the two levels that one way has.
inline constexpr int64_t kFirstCacheBytes = 24 << 10;
inline constexpr int64_t kSecondCacheBytes = 512 << 10;
inline constexpr int64_t kMaxStackBytes = 64 << 10;
inline constexpr int64_t kPageBytes = 4096;
inline constexpr int64_t kLineBytes = 64;
inline constexpr int64_t kFirstWayBytes = 4096;
inline constexpr int64_t kSecondWayBytes = 64 << 10;

}  // namespace encore::backends::cpu

#endif  // ENCORE_BACKENDS_CPU_MACHINE_H_
