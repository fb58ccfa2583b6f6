// What the vendor's products and convolutions cost.
//
// A launch on one thread takes
//
//   flops / (peak * efficiency)  +  bytes / bandwidth  +  pieces * piece
//       +  turned bytes / turning
//
// where peak is the machine's, and the others are the machine class's for the
// problem's shape class. Flops are what the library computes, which pads the
// columns (channels of a convolution's result, the last dim of a product's) to
// its blocks; of a convolution in groups of several channels those of each
// group, of source and result. Bytes are those of the tensors, which it brings
// into its own layout, but for packed weights. Turned bytes are those of a
// second factor that is no weight and lies with its rows along the sum: each
// piece with rows enough to use it several times brings what it needs of it
// into panels first.
//
// The table is efficiency.def; how it was measured is written there. Costs
// depend on the machine's profile, the table and the problem alone.
#ifndef ENCORE_BACKENDS_CPU_VENDOR_EFFICIENCY_H_
#define ENCORE_BACKENDS_CPU_VENDOR_EFFICIENCY_H_

#include <cstdint>
#include <string_view>

#include "encore/backends/cpu/cpu_features.h"
#include "encore/backends/cpu/profile/machine_profile.h"
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

std::string_view Name(ShapeClass shape);  // "kVector"

// `pack`: the weights are had in a form of the kernel's own.
ShapeClass ClassOf(const VendorProgram& program, bool pack);

// The parts of the formula above.
double VendorFlops(Isa isa, const VendorProgram& program);
double MovedBytes(const VendorProgram& program, bool pack);
double TurnedBytes(const VendorProgram& program, bool pack);
bool IsCrowded(const VendorProgram& program, bool pack);
struct VendorCosts {
  double efficiency;
  double bytes_per_second;
  double piece_seconds;
};
// Null where the table has none for machine.costs.
const VendorCosts* FindVendorCosts(const MachineProfile& machine,
                                   ShapeClass shape);

// The formula: seconds of a launch on one thread.
double VendorSeconds(const MachineProfile& machine,
                     const VendorProgram& program, bool pack);

// Seconds that a process needs to have the program's primitives, its share of
// loading the library included.
double VendorLoadSeconds(const VendorProgram& program);

}  // namespace encore::backends::cpu

#endif  // ENCORE_BACKENDS_CPU_VENDOR_EFFICIENCY_H_
