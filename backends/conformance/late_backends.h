// Backends for tests whose devices do everything as late as they may
// (deferred_device.h), with the kernels of ref and of cpu.
#ifndef ENCORE_BACKENDS_CONFORMANCE_LATE_BACKENDS_H_
#define ENCORE_BACKENDS_CONFORMANCE_LATE_BACKENDS_H_

#include <span>

#include "encore/backends/backend.h"

namespace encore::backends {

// Those that are built in, "late_ref" and "late_cpu". All devices of these two
// wait for each other's events; the environment's ENCORE_LATE_SEED, a number,
// is the seed of their order. They live as long as the process.
std::span<const Backend* const> BackendsUnderTest();

}  // namespace encore::backends

#endif  // ENCORE_BACKENDS_CONFORMANCE_LATE_BACKENDS_H_
