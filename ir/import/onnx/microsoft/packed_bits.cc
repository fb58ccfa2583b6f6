#include "encore/ir/import/onnx/microsoft/packed_bits.h"

#include <bit>
#include <utility>

#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::onnx {

Value UnpackBits(GraphBuilder& g, Value bytes, int64_t bits) {
  const int64_t per_byte = 8 / bits;
  if (per_byte == 1 || bytes.rank() == 0) return bytes;
  const Value shifts = g.Mul(g.Iota(DType::kU8, Shape({per_byte}), 0), bits);
  const int64_t mask = (int64_t{1} << bits) - 1;
  const Value parts =
      g.And(g.ShiftRight(g.Unsqueeze(bytes, {bytes.rank()}), shifts), mask);
  Dims dims = bytes.shape().dims();
  dims.back() = dims.back() * per_byte;
  return g.Reshape(parts, Shape(std::move(dims)));
}

StatusOr<int64_t> ReadBits(NodeContext& context) {
  ENCORE_ASSIGN_OR_RETURN(const int64_t bits,
                          context.attributes().Int("bits", 4));
  if (bits == 2 || bits == 4 || bits == 8) return bits;
  return UnimplementedError(
      StrCat("attribute bits is ", bits, ", expected 2, 4 or 8"));
}

StatusOr<int64_t> ReadBlockSize(NodeContext& context, bool zero_allowed) {
  ENCORE_ASSIGN_OR_RETURN(const int64_t size,
                          context.attributes().Int("block_size", 128));
  const bool is_power = size >= 16 && size <= int64_t{1} << 30 &&
                        std::has_single_bit(static_cast<uint64_t>(size));
  if (is_power || (size == 0 && zero_allowed)) return size;
  return NodeContext::Error(StrCat("attribute block_size is ", size,
                                   ", expected a power of two from 16"));
}

}  // namespace encore::onnx
