// What products and convolutions cost: a roofline of the machine times the
// measured efficiency of each family of kernels, by ISA and class of shape.
//
// The table is efficiency.def; the command that measured it is written there.
// Costs depend on the table and the problem alone. What counts is their ratio
// between the families: peak and bandwidth are of one machine per ISA.
#ifndef ENCORE_BACKENDS_CPU_VENDOR_EFFICIENCY_H_
#define ENCORE_BACKENDS_CPU_VENDOR_EFFICIENCY_H_

#include <cstdint>
#include <string_view>

#include "encore/backends/cpu/cpu_features.h"
#include "encore/backends/cpu/vendor/program.h"

namespace encore::backends::cpu {

enum class ShapeClass : uint8_t {
  kVector,       // a product with weights, at most 4 rows
  kThin,         // at most 31 rows
  kMatmul,       // more rows
  kRows,         // a product of one matrix whose second factor is no weight:
                 // convolutions with windows of 1 are among them
  kBatched,      // products of several matrices
  kWindow,       // convolution, 400 or more points per channel
  kDeep,         // fewer points
  kFewChannels,  // fewer than 16 input channels per group
  kDepthwise,    // one input channel per group
};
inline constexpr int kShapeClasses = 9;

enum class KernelFamily : uint8_t { kGenerated, kVendor };

std::string_view Name(ShapeClass shape);  // "vector"

// `pack`: the weights are had in a form of the kernel's own.
ShapeClass ClassOf(const VendorProgram& program, bool pack);

// Seconds of a launch on one thread at the machine's peak and bandwidth.
double RooflineSeconds(const VendorProgram& program, Isa isa);

// The share of that speed which the family reaches.
double Efficiency(KernelFamily family, Isa isa, ShapeClass shape);

// Seconds that a process needs to have the program's primitives, its share of
// loading the library included.
double VendorLoadSeconds(const VendorProgram& program);

}  // namespace encore::backends::cpu

#endif  // ENCORE_BACKENDS_CPU_VENDOR_EFFICIENCY_H_
