// What products and convolutions cost, by family of kernels.
//
// A launch on one thread takes
//
//   flops / (peak * efficiency)  +  bytes / bandwidth
//
// where efficiency is the family's in the problem's class. Flops are what it
// computes, padding included: generated kernels pad the points of a result to
// vectors, the library the columns (channels of a convolution's result, the
// last dim of a product's) to its blocks. Bytes are those of the tensors, which
// the library brings into its own layout, but for packed weights.
//
// The table is efficiency.def; the command that measured it is written there.
// Costs depend on the table and the problem alone. What counts is their ratio
// between the families: peak is of one machine per ISA.
#ifndef ENCORE_BACKENDS_CPU_VENDOR_EFFICIENCY_H_
#define ENCORE_BACKENDS_CPU_VENDOR_EFFICIENCY_H_

#include <cstdint>
#include <string_view>

#include "encore/backends/cpu/cpu_features.h"
#include "encore/backends/cpu/vendor/program.h"

namespace encore::backends::cpu {

enum class ShapeClass : uint8_t {
  kVector,   // a product with weights, at most 4 rows
  kThin,     // at most 31 rows
  kMatmul,   // more rows
  kRows,     // a product of one matrix whose second factor is no weight:
             // convolutions with windows of 1 are among them
  kBatched,  // products of several matrices
  // Convolutions.
  kWindow,              // 400 or more points per channel
  kDeep,                // fewer points
  kLine,                // along one dim
  kPoint,               // windows of 1, with strides
  kFewChannels,         // fewer than 16 input channels per group
  kStridedFewChannels,  // the same, with a stride along the last dim
  kFewResults,          // fewer than 4 output channels per group
  kDepthwise,           // one input channel per group
  kStridedDepthwise,    // the same, with a stride along the last dim
};
inline constexpr int kShapeClasses = 14;

enum class KernelFamily : uint8_t { kGenerated, kVendor };

std::string_view Name(ShapeClass shape);  // "vector"

// `pack`: the weights are had in a form of the kernel's own.
ShapeClass ClassOf(const VendorProgram& program, bool pack);

// The parts of the formula above.
double Flops(KernelFamily family, Isa isa, const VendorProgram& program);
double MovedBytes(const VendorProgram& program, bool pack);
double PeakFlops(Isa isa);                       // per second
double Bandwidth(KernelFamily family, Isa isa);  // bytes per second
double Efficiency(KernelFamily family, Isa isa, ShapeClass shape);

// The formula: seconds of a launch on one thread.
double LaunchSeconds(KernelFamily family, Isa isa, const VendorProgram& program,
                     bool pack);

// Seconds that a process needs to have the program's primitives, its share of
// loading the library included.
double VendorLoadSeconds(const VendorProgram& program);

}  // namespace encore::backends::cpu

#endif  // ENCORE_BACKENDS_CPU_VENDOR_EFFICIENCY_H_
