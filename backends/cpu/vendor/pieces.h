// Where a vendor program is cut into pieces (program.h).
#ifndef ENCORE_BACKENDS_CPU_VENDOR_PIECES_H_
#define ENCORE_BACKENDS_CPU_VENDOR_PIECES_H_

#include "encore/backends/cpu/vendor/program.h"

namespace encore::backends::cpu {

// Chooses program.split and program.piece by the tensors. `epilogue`: generated
// code reads the sums.
void CutPieces(bool epilogue, VendorProgram* program);

}  // namespace encore::backends::cpu

#endif  // ENCORE_BACKENDS_CPU_VENDOR_PIECES_H_
