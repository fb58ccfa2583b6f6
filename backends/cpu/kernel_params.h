// The params of the CPU backend's programs (runtime::KernelBinary::params):
// what the device must know of a kernel beside its code.
#ifndef ENCORE_BACKENDS_CPU_KERNEL_PARAMS_H_
#define ENCORE_BACKENDS_CPU_KERNEL_PARAMS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "encore/ir/support/status.h"

namespace encore::backends::cpu {

// The entry of a program without params, whose artifact is a region that is
// interpreted: regions of sizes that are known at run time only.
inline constexpr std::string_view kInterpretedEntry = "region";

// A function of an image. 32 bytes, little-endian, in this order.
struct GeneratedParams {
  static constexpr uint32_t kKind = 0x314e4547;  // "GEN1"
  uint32_t kind = kKind;
  // The function table it needs at least; it has checks where that is
  // kCheckHelperVersion.
  uint32_t helper_version = 0;
  uint64_t image_digest = 0;  // ImageDigest of the artifact
  int64_t partitions = 1;     // calls of the function per launch
  // 1: whoever launches chooses how many, up to `partitions`, and hands each
  // call its number + 2^32 * how many there are.
  int64_t any_partitions = 0;
};

std::vector<std::byte> Encode(const GeneratedParams& params);
// DataLoss where `bytes` are not such params.
StatusOr<GeneratedParams> DecodeGenerated(std::span<const std::byte> bytes);

}  // namespace encore::backends::cpu

#endif  // ENCORE_BACKENDS_CPU_KERNEL_PARAMS_H_
