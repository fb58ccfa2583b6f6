#include "encore/ir/host/images/pixels.h"

#include <utility>

#include "encore/ir/support/strings.h"

namespace encore::host {
namespace {

Literal Luma(const Literal& rgb) {
  Literal gray = NewPixels(rgb.dims()[0], rgb.dims()[1], 1);
  const uint8_t* from = rgb.values<uint8_t>().data();
  for (uint8_t& value : gray.mutable_values<uint8_t>()) {
    const uint32_t sum =
        from[0] * 19595u + from[1] * 38470u + from[2] * 7471u + 0x8000u;
    value = static_cast<uint8_t>(sum >> 16);
    from += 3;
  }
  return gray;
}

Literal Replicated(const Literal& gray) {
  Literal rgb = NewPixels(gray.dims()[0], gray.dims()[1], 3);
  uint8_t* to = rgb.mutable_values<uint8_t>().data();
  for (const uint8_t value : gray.values<uint8_t>()) {
    to = std::fill_n(to, 3, value);
  }
  return rgb;
}

// a * b / 255, rounded.
uint32_t Share(uint32_t a, uint32_t b) {
  const uint32_t product = a * b + 128;
  return ((product >> 8) + product) >> 8;
}

}  // namespace

Status CheckSize(int64_t height, int64_t width, const ImageLimits& limits) {
  if (height <= 0 || width <= 0) {
    return InvalidArgumentError(
        StrCat("the header says ", width, " x ", height, " pixels"));
  }
  if (width > limits.max_pixels / height) {
    return ResourceExhaustedError(StrCat("the header says ", width, " x ",
                                         height, " pixels, more than ",
                                         limits.max_pixels));
  }
  return OkStatus();
}

Literal NewPixels(int64_t height, int64_t width, int64_t channels) {
  return Literal(DType::kU8, {height, width, channels});
}

Literal CmykAsRgb(const Literal& cmyk) {
  Literal rgb = NewPixels(cmyk.dims()[0], cmyk.dims()[1], 3);
  const uint8_t* from = cmyk.values<uint8_t>().data();
  const std::span<uint8_t> to = rgb.mutable_values<uint8_t>();
  for (size_t i = 0; i < to.size(); i += 3, from += 4) {
    const uint32_t light = 255u - from[3];
    for (int c = 0; c < 3; ++c) {
      to[i + c] = static_cast<uint8_t>(light - Share(from[c], light));
    }
  }
  return rgb;
}

Literal InFormat(Literal pixels, PixelFormat format) {
  const bool is_gray = pixels.dims()[2] == 1;
  if (format == PixelFormat::kGrayscale) {
    return is_gray ? std::move(pixels) : Luma(pixels);
  }
  if (is_gray) return Replicated(pixels);
  if (format == PixelFormat::kBgr) {
    const std::span<uint8_t> values = pixels.mutable_values<uint8_t>();
    for (size_t i = 0; i < values.size(); i += 3) {
      std::swap(values[i], values[i + 2]);
    }
  }
  return pixels;
}

}  // namespace encore::host
