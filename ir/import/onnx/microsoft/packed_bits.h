// Integers of a few bits, packed in bytes.
#ifndef ENCORE_IR_IMPORT_ONNX_MICROSOFT_PACKED_BITS_H_
#define ENCORE_IR_IMPORT_ONNX_MICROSOFT_PACKED_BITS_H_

#include <cstdint>

#include "encore/ir/build/builder.h"
#include "encore/ir/import/onnx/scope/context.h"
#include "encore/ir/support/status.h"

namespace encore::onnx {

// The integers, u8, of `bits` each that the bytes along the last dim hold, the
// low bits of a byte first: [.., n] becomes [.., n * 8 / bits]. REQUIRES bits
// of 2, 4 or 8.
Value UnpackBits(GraphBuilder& g, Value bytes, int64_t bits);

// The attribute bits, 4 where it is left out. Unimplemented where it is not 2,
// 4 or 8.
StatusOr<int64_t> ReadBits(NodeContext& context);

// The attribute block_size. InvalidArgument where it is no power of two from
// 16 to 2^30, unless it is 0 and that is allowed.
StatusOr<int64_t> ReadBlockSize(NodeContext& context, bool zero_allowed);

}  // namespace encore::onnx

#endif  // ENCORE_IR_IMPORT_ONNX_MICROSOFT_PACKED_BITS_H_
