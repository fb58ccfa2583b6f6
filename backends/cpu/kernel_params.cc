#include "encore/backends/cpu/kernel_params.h"

#include <bit>
#include <cstring>

namespace encore::backends::cpu {

static_assert(sizeof(GeneratedParams) == 32);
static_assert(std::endian::native == std::endian::little);

std::vector<std::byte> Encode(const GeneratedParams& params) {
  std::vector<std::byte> bytes(sizeof(params));
  std::memcpy(bytes.data(), &params, sizeof(params));
  return bytes;
}

StatusOr<GeneratedParams> DecodeGenerated(std::span<const std::byte> bytes) {
  GeneratedParams params;
  if (bytes.size() != sizeof(params)) {
    return DataLossError("the params of a generated kernel have a wrong size");
  }
  std::memcpy(&params, bytes.data(), sizeof(params));
  if (params.kind != GeneratedParams::kKind || params.any_partitions < 0 ||
      params.any_partitions > 1 || params.partitions < 1 ||
      params.partitions > (int64_t{1} << 30)) {
    return DataLossError("the params of a generated kernel are not sound");
  }
  return params;
}

}  // namespace encore::backends::cpu
