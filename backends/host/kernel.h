// Kernels on host objects, made from their programs.
#ifndef ENCORE_BACKENDS_HOST_KERNEL_H_
#define ENCORE_BACKENDS_HOST_KERNEL_H_

#include <memory>

#include "encore/ir/support/status.h"
#include "encore/runtime/device/device.h"

namespace encore::backends::host {

// DataLoss where the program is not one of program.h, or of another arity.
// Launches allocate; they check what they are given, and return
// InvalidArgument where it does not fit the operator (an index out of range, an
// optional without value). Thread-safe.
StatusOr<std::unique_ptr<runtime::Kernel>> LoadHostKernel(
    const runtime::LoadRequest& request);

}  // namespace encore::backends::host

#endif  // ENCORE_BACKENDS_HOST_KERNEL_H_
