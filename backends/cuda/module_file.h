// ModuleFile: the artifact of CUDA kernels, the same code for one or more
// architectures.
//
//   "CUM1", V count, per image byte kind, string architecture, V driver, string
//   bytes
//
// in the words of support/bytes.h. Whose kernels share an artifact shares one
// module.
#ifndef ENCORE_BACKENDS_CUDA_MODULE_FILE_H_
#define ENCORE_BACKENDS_CUDA_MODULE_FILE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "encore/ir/support/status.h"

namespace encore::backends::cuda {

// "sm_90a": of compute capability 9.0, and of no other.
struct Architecture {
  uint32_t major = 0, minor = 0;
  bool specific = false;  // the suffix a

  // As one number: 90.
  uint32_t number() const { return 10 * major + minor; }
  bool operator==(const Architecture&) const = default;
};

// Nothing for what is no architecture of sm_80 or later.
std::optional<Architecture> ParseArchitecture(std::string_view name);
std::string Name(const Architecture& architecture);

struct ModuleImage {
  enum class Kind : uint8_t { kPtx, kCubin };
  Kind kind = Kind::kPtx;
  Architecture architecture;
  // As cuDriverGetVersion gives it (13000): the least that loads it.
  uint32_t driver = 0;
  // PTX without a zero behind it.
  std::span<const std::byte> bytes;
};

inline constexpr size_t kMostImages = 16;

// Whether a device of compute capability `device` (not `specific`) runs it:
// PTX and every later one, a cubin those of its major version, what is
// `specific` its own only.
bool RunsOn(const ModuleImage& image, const Architecture& device);

// The image that a device of compute capability `device` under a driver of that
// version is best given: a cubin before PTX, then the highest architecture,
// `specific` first. Null where none fits.
const ModuleImage* ChooseImage(std::span<const ModuleImage> images,
                               const Architecture& device, uint32_t driver);

std::vector<std::byte> EncodeModule(std::span<const ModuleImage> images);

// The images, whose bytes are parts of `file`. Safe on any bytes; what is in an
// image is not looked at. DataLoss where they are no such file.
StatusOr<std::vector<ModuleImage>> DecodeModule(
    std::span<const std::byte> file);

}  // namespace encore::backends::cuda

#endif  // ENCORE_BACKENDS_CUDA_MODULE_FILE_H_
