#include "encore/backends/cpu/vendor/pieces.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>
#include <span>
#include <vector>

#include "encore/backends/cpu/machine.h"
#include "encore/ir/support/integers.h"

namespace encore::backends::cpu {
namespace {

// Pieces: as many as would be worth a thread each, never by the threads there
// are.
constexpr int64_t kMostPieces = 16;

int64_t Product(std::span<const int64_t> extents) {
  return std::accumulate(extents.begin(), extents.end(), int64_t{1},
                         std::multiplies<>());
}

// Chooses program.split; returns what a piece is to be a multiple of.
int64_t ChooseSplit(VendorProgram& p) {
  const std::vector<int64_t>& dims = p.result.dims;
  const size_t rank = dims.size();
  if (p.kind == VendorProgram::Kind::kConvolution) {
    p.split = dims[0] >= 4 ? 0 : 1;
    if (p.split == 0) return 1;
    return p.groups == 1 ? 32 : std::lcm(dims[1] / p.groups, int64_t{16});
  }
  // The longer one of rows and columns, or the batch where there are enough.
  constexpr int64_t kRows = 16, kColumns = 32;
  const bool rows = dims[rank - 2] / kRows > dims[rank - 1] / kColumns;
  const int64_t granule = rows ? kRows : kColumns;
  p.split = static_cast<uint32_t>(rows ? rank - 2 : rank - 1);
  const int64_t enough = std::min<int64_t>(dims[p.split] / granule, 4);
  for (size_t d = 0; d + 2 < rank; ++d) {
    if (dims[d] < enough) continue;
    p.split = static_cast<uint32_t>(d);
    return 1;
  }
  return granule;
}

}  // namespace

void CutPieces(bool epilogue, VendorProgram* program) {
  VendorProgram& p = *program;
  const int64_t granule = ChooseSplit(p);
  const bool matmul = p.kind == VendorProgram::Kind::kMatmul;
  const auto sums = static_cast<double>(Product(p.result.dims));
  const auto depth = static_cast<double>(
      matmul ? p.source.dims.back()
             : Product(std::span(p.weights.dims).subspan(1)));
  const double by_flops = 2 * sums * depth / kPieceFlops;
  const double by_bytes =
      // Sums should still be in a core's cache when the epilogue reads them.
      epilogue && matmul ? sums * sizeof(float) / kSecondCacheBytes : 0;
  const auto wanted = static_cast<int64_t>(std::clamp(
      std::max(by_flops, by_bytes), 1.0, static_cast<double>(kMostPieces)));
  const int64_t extent = p.result.dims[p.split];
  const int64_t units = CeilDiv<int64_t>(extent, granule);
  p.piece = std::min(CeilDiv<int64_t>(units, wanted) * granule, extent);
  // Pieces of one extent, where there are such of about that size.
  for (int64_t n = wanted; n <= 2 * wanted && n * granule <= extent; ++n) {
    if (extent % (n * granule) == 0) {
      p.piece = extent / n;
      break;
    }
  }
}

}  // namespace encore::backends::cpu
