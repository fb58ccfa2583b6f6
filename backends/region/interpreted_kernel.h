// A kernel that interprets a region, for any device on host memory.
#ifndef ENCORE_BACKENDS_REGION_INTERPRETED_KERNEL_H_
#define ENCORE_BACKENDS_REGION_INTERPRETED_KERNEL_H_

#include <memory>

#include "encore/ir/support/status.h"
#include "encore/runtime/device/device.h"

namespace encore::backends {

// The kernel of a program whose artifact is EncodeRegion(region), whose reads
// and writes are the region's inputs and outputs and whose args are its
// symbols. DataLoss where the artifact is no region or one of another arity.
StatusOr<std::unique_ptr<runtime::Kernel>> LoadInterpretedKernel(
    const runtime::LoadRequest& request);

}  // namespace encore::backends

#endif  // ENCORE_BACKENDS_REGION_INTERPRETED_KERNEL_H_
