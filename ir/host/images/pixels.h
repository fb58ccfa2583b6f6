// Bytes of files and pixels, as the decoders of one format each share them.
#ifndef ENCORE_IR_HOST_IMAGES_PIXELS_H_
#define ENCORE_IR_HOST_IMAGES_PIXELS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "encore/ir/host/images/limits.h"
#include "encore/ir/ops/attributes.h"
#include "encore/ir/support/status.h"
#include "encore/ir/types/literal.h"

namespace encore::host {

using ImageBytes = std::span<const uint8_t>;

inline bool StartsWith(ImageBytes file, std::string_view prefix) {
  return file.size() >= prefix.size() &&
         std::equal(
             prefix.begin(), prefix.end(), file.begin(),
             [](char a, uint8_t b) { return static_cast<uint8_t>(a) == b; });
}

// Integers at a position. REQUIRES that they end within the file.
inline uint32_t Little16(ImageBytes file, size_t at) {
  return file[at] | uint32_t{file[at + 1]} << 8;
}
inline uint32_t Little32(ImageBytes file, size_t at) {
  return Little16(file, at) | Little16(file, at + 2) << 16;
}
inline uint32_t Big16(ImageBytes file, size_t at) {
  return uint32_t{file[at]} << 8 | file[at + 1];
}
inline uint32_t Big32(ImageBytes file, size_t at) {
  return Big16(file, at) << 16 | Big16(file, at + 2);
}

// InvalidArgument where a size is not positive, ResourceExhausted where the
// product is over the limit.
Status CheckSize(int64_t height, int64_t width, const ImageLimits& limits);

// u8 zeros [height, width, channels]. REQUIRES a size that CheckSize passed.
Literal NewPixels(int64_t height, int64_t width, int64_t channels);

// The value 0..255 of one of `bits` bits, 1 <= bits <= 8.
inline uint8_t Scaled(uint32_t value, int bits) {
  return static_cast<uint8_t>(value * 255 / ((1u << bits) - 1));
}

// Gray of more than 8 bits.
inline uint8_t Clipped(int64_t value) {
  return static_cast<uint8_t>(std::clamp<int64_t>(value, 0, 255));
}

// [.., 4] of cyan, magenta, yellow and black as [.., 3] of red, green, blue.
Literal CmykAsRgb(const Literal& cmyk);

// The pixels in the channels that a caller wants.
Literal InFormat(Literal pixels, PixelFormat format);

}  // namespace encore::host

#endif  // ENCORE_IR_HOST_IMAGES_PIXELS_H_
