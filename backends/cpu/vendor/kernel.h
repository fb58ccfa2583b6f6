// Vendor programs on the device: primitives of the library as kernels.
//
// Making a primitive costs 0.15 to 0.9 ms; equal programs that are loaded at
// the same time, in any number of executables of the process, share theirs. The
// primitives that pack weights are made at their first launch, so that a start
// with prepared weights does without.
//
// A launch does not allocate: what it passes to the library is kept from launch
// to launch, one set per launch under way, and the library's own small objects
// come from blocks that are kept (small_blocks.h). What a thread needs that
// calls the library for the first time: OpenMP decides.
#ifndef ENCORE_BACKENDS_CPU_VENDOR_KERNEL_H_
#define ENCORE_BACKENDS_CPU_VENDOR_KERNEL_H_

#include <cstdint>
#include <memory>
#include <span>

#include "encore/backends/cpu/helpers.h"
#include "encore/backends/cpu/vendor/program.h"
#include "encore/ir/support/status.h"
#include "encore/runtime/device/device.h"

namespace encore::backends::cpu {

// A kernel for a program, which reads `reads` buffers. `epilogue` is its
// function in an image that `image` keeps alive; null where there is none.
// Errors are those of LoadVendorLibrary; FailedPrecondition where the library
// wants other layouts or more scratch than when the program was compiled;
// DataLoss where the program does not fit its buffers.
StatusOr<std::unique_ptr<runtime::Kernel>> LoadVendor(
    const DecodedVendor& decoded, const runtime::KernelBinary& program,
    KernelFunction epilogue, std::shared_ptr<const void> image);

// Asks the library what it needs for the program: fills in packed_bytes (where
// `pack`) and scratch_bytes, the epilogue's included. Unimplemented where the
// library has nothing but its reference code for it. Cost: the first time as
// long as making the primitives, which it does; then a lookup.
Status CompleteVendor(bool pack, VendorProgram* program);

// Whether CompleteVendor would, without making primitives: its errors. Cost: a
// description of each primitive, some ten microseconds, the first time.
Status CheckVendor(bool pack, const VendorProgram& program);

// Sets of primitives that this process has made so far, and how many are alive.
struct VendorCounts {
  int64_t made = 0;
  int64_t alive = 0;
};
VendorCounts CountVendorPrimitives();

}  // namespace encore::backends::cpu

#endif  // ENCORE_BACKENDS_CPU_VENDOR_KERNEL_H_
