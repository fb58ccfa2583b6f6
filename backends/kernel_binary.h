// From the code that a backend compiled to what a plan and a device take.
#ifndef ENCORE_BACKENDS_KERNEL_BINARY_H_
#define ENCORE_BACKENDS_KERNEL_BINARY_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "encore/backends/backend.h"
#include "encore/ir/support/status.h"
#include "encore/runtime/device/device.h"
#include "encore/runtime/plan/compiled_graph.h"

namespace encore::backends {

// How many buffers a launch reads and writes, and its args.
struct LaunchShape {
  size_t reads = 0, writes = 0, args = 0;
};

// That of a launch of `kernel`, which computes `region`: scratch memory, where
// it wants any, is a write.
LaunchShape ShapeOfLaunch(const Region& region, const CompiledKernel& kernel);

// That of a launch that packs an input.
inline constexpr LaunchShape kShapeOfPacking = {.reads = 1, .writes = 1};

// The binary of `code` for the device of `backend`. Its artifact, which a graph
// numbers in its own way, is not set.
runtime::KernelBinary KernelBinaryOf(std::string_view backend,
                                     const KernelCode& code,
                                     const LaunchShape& shape);

// What a device loads `binary`, that of `code`, from. Neither `binary` nor
// `module`, which has the artifact of `code`, may go before the request.
runtime::LoadRequest LoadRequestOf(const CompiledModule& module,
                                   const KernelCode& code,
                                   const runtime::KernelBinary& binary);

// The kernel of `code`, one of `module`, loaded by itself.
StatusOr<std::unique_ptr<runtime::Kernel>> LoadKernel(
    runtime::Device& device, const CompiledModule& module,
    const KernelCode& code, const LaunchShape& shape,
    runtime::ThreadPool* threads);

}  // namespace encore::backends

#endif  // ENCORE_BACKENDS_KERNEL_BINARY_H_
