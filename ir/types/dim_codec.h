// Dims as bytes: what every binary format that holds dims shares.
//
//   dim = S constant, V count, per term S coefficient, V count, per factor byte
//   op and V symbol, or two dims
//
// in the words of support/bytes.h (V a variable-length integer, S a signed
// one).
#ifndef ENCORE_IR_TYPES_DIM_CODEC_H_
#define ENCORE_IR_TYPES_DIM_CODEC_H_

#include <cstdint>

#include "encore/ir/support/bytes.h"
#include "encore/ir/types/dim.h"

namespace encore {

// REQUIRES a valid dim.
void WriteDim(const Dim& dim, ByteWriter* out);

// The dim at the front, over symbols below `symbols`. Anything else makes `in`
// fail, and gives 0; safe on any bytes, nesting at most kMaxDimDepth deep.
Dim ReadDim(ByteReader* in, uint32_t symbols);

}  // namespace encore

#endif  // ENCORE_IR_TYPES_DIM_CODEC_H_
