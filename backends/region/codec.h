// Bytes of a region and back: the artifact of the ref backend, and a key for
// kernels.
#ifndef ENCORE_BACKENDS_REGION_CODEC_H_
#define ENCORE_BACKENDS_REGION_CODEC_H_

#include <cstddef>
#include <span>
#include <vector>

#include "encore/backends/region/region.h"
#include "encore/ir/support/status.h"

namespace encore::backends {

// Equal bytes for equal regions only, the same in every process.
std::vector<std::byte> EncodeRegion(const Region& region);

// The region of those bytes, verified (verify.h). DataLoss for bytes that are
// none; memory and time are bounded by their number.
StatusOr<Region> DecodeRegion(std::span<const std::byte> bytes);

}  // namespace encore::backends

#endif  // ENCORE_BACKENDS_REGION_CODEC_H_
