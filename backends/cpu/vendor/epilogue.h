// The epilogue of a convolution or product: what of a region is left behind the
// sums.
#ifndef ENCORE_BACKENDS_CPU_VENDOR_EPILOGUE_H_
#define ENCORE_BACKENDS_CPU_VENDOR_EPILOGUE_H_

#include <cstdint>

#include "encore/backends/cpu/vendor/program.h"
#include "encore/backends/cpu/vendor/sum_region.h"
#include "encore/backends/region/flat/flat_region.h"
#include "encore/backends/region/region.h"

namespace encore::backends::cpu {

// Reads the region's inputs and then the sums, each as a flat list of elements,
// `elements` of the sums, which lie at `sums` of its variables: those of
// sum.flat(), by the same numbers.
Region EpilogueOf(const SumRegion& sum, const Affine& sums, int64_t elements);

// The same of a vendor's program. It is of one piece, and sets
// program.epilogue_steps, where each buffer moves evenly from piece to piece.
// `variable`: what runs along the dim that the program, otherwise complete, is
// cut in; -1: none alone.
Region MakeEpilogue(const SumRegion& sum, int variable, VendorProgram* program);

}  // namespace encore::backends::cpu

#endif  // ENCORE_BACKENDS_CPU_VENDOR_EPILOGUE_H_
