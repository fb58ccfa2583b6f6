// Which regions the vendor library can compute, and how they are cut in two:
// the sum, which becomes a VendorProgram, and the region of its epilogue.
//
// A region fits where its one sum is a product of two f32 loads whose addresses
// are those of a (batched, strided) matrix product or of a convolution, and the
// accesses of the epilogue have linear addresses. Looked at are the accesses,
// not the ops they came from, so that fused transposes, slices and pads count
// as what they are.
#ifndef ENCORE_BACKENDS_CPU_VENDOR_MATCH_H_
#define ENCORE_BACKENDS_CPU_VENDOR_MATCH_H_

#include <optional>
#include <vector>

#include "encore/backends/cpu/vendor/program.h"
#include "encore/backends/region/region.h"

namespace encore::backends::cpu {

struct VendorMatch {
  // Without epilogue, packed_bytes and scratch_bytes.
  VendorProgram program;
  // The weights depend on parameters only and may be packed.
  bool pack = false;
  // The epilogue, of one piece where program.epilogue_steps says so:
  // reads the region's inputs and then the sums, each as a flat list of
  // elements. Nothing where the sums are the output.
  std::optional<Region> epilogue;
};

// `weights`: inputs that may be packed.
std::optional<VendorMatch> MatchVendor(const Region& region,
                                       const std::vector<bool>& weights);

}  // namespace encore::backends::cpu

#endif  // ENCORE_BACKENDS_CPU_VENDOR_MATCH_H_
