// VendorProgram: a matrix product or convolution that a vendor's library
// (oneDNN) computes, as plain data.
//
// A vendor kernel is an opaque kind of program: its params are the bytes of a
// VendorProgram, from which the device makes the library's primitives at load
// (kernel.h). There is no code of the library in a compiled graph, so such a
// program needs no trust; it needs the library, which its requirements name.
//
// The result is cut into `pieces` along one dim. Every piece is one
// single-threaded primitive, and the replay's thread pool runs them: the
// library's own threads are not used. The cut depends on the problem only, so
// the bits do not depend on the number of threads.
//
// Steps of a launch, each spread over the pool:
//   1. the source is brought into the layout that the library wants, where that
//      is not the one it lies in (convolution);
//   2. each piece is computed, and brought into the result's layout;
//   3. generated code computes the epilogue from it,
//      piece by piece right after 2 where `epilogue_steps` says how.
#ifndef ENCORE_BACKENDS_CPU_VENDOR_PROGRAM_H_
#define ENCORE_BACKENDS_CPU_VENDOR_PROGRAM_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "encore/backends/cpu/kernel_params.h"
#include "encore/ir/support/integers.h"
#include "encore/ir/support/status.h"

namespace encore::backends::cpu {

// f32 elements of a buffer of the launch, in elements from its beginning.
struct VendorTensor {
  // Number of the launch's buffer: its reads, then its writes.
  uint32_t buffer = 0;
  int64_t offset = 0;
  std::vector<int64_t> dims = {}, strides = {};

  bool operator==(const VendorTensor&) const = default;
};

struct VendorProgram {
  enum class Kind : uint8_t { kMatmul, kConvolution };

  Kind kind = Kind::kMatmul;
  // Of kMatmul: [batch…, m, k], [batch…, k, n], [batch…, m, n], where a batch
  // extent of 1 is used for every element. Of kConvolution: [N, C, spatial…],
  // [O, C / groups, window…], [N, O, spatial…].
  VendorTensor source, weights, result;
  std::vector<int64_t> strides = {}, dilations = {};  // 1: dense
  std::vector<int64_t> padding_low = {}, padding_high = {};
  int64_t groups = 1;
  // The dim of the result that is cut, into pieces of `piece` elements each but
  // the last.
  uint32_t split = 0;
  int64_t piece = 1;
  // Bytes of the weights in the library's layout: one block per piece, or a
  // single one where the weights are the same for all. 0: they are plain.
  int64_t packed_bytes = 0;
  // Digest of that layout as the library described it when the program was
  // compiled; the one that loads it must mean the same.
  uint64_t packed_layout = 0;
  // Bytes of the buffer behind the outputs; 0: there is none.
  int64_t scratch_bytes = 0;
  // The sums, row-major, are at the beginning of the scratch buffer, not in
  // `result`'s buffer.
  bool sums_in_scratch = false;

  // The function of the artifact that computes the epilogue; its buffers are
  // the reads, the sums, the outputs and its own scratch.
  std::optional<GeneratedParams> epilogue = {};
  int64_t epilogue_scratch = 0;
  // Bytes to add to each of its buffers from piece to piece; empty: it runs
  // once, after all pieces.
  std::vector<int64_t> epilogue_steps = {};

  int64_t pieces() const {
    const int64_t extent = result.dims[split];
    return CeilDiv(extent, piece);
  }
};

inline constexpr uint32_t kVendorKind = 0x31444e56;  // "VND1"

// Whether params are those of a vendor program, of either role.
bool IsVendor(std::span<const std::byte> params);

// The params of the program, and of the one that packs its weights: a launch
// with one read, the weights, and one write of packed_bytes.
std::vector<std::byte> Encode(const VendorProgram& program, bool packs);

struct DecodedVendor {
  VendorProgram program;
  bool packs = false;
};
// DataLoss where `bytes` are not such params, or describe nothing that could
// be computed: shapes that do not fit each other, sizes that overflow.
StatusOr<DecodedVendor> DecodeVendor(std::span<const std::byte> bytes);

// Bytes of a buffer that holds all elements of `tensor` (f32).
int64_t BytesNeeded(const VendorTensor& tensor);

}  // namespace encore::backends::cpu

#endif  // ENCORE_BACKENDS_CPU_VENDOR_PROGRAM_H_
