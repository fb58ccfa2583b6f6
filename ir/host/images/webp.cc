// WebP by libwebp: lossy with its default upsampling, as every program shows
// it.

#include <string_view>

#include "encore/ir/host/images/decoders.h"
#include "encore/ir/host/images/library.h"
#include "encore/ir/support/status_macros.h"
#include "webp/decode.h"

namespace encore::host {
namespace {

struct Webp {
  decltype(&WebPGetFeaturesInternal) get_features;
  decltype(&WebPDecodeRGBInto) decode_rgb;
};

StatusOr<Webp> Load() {
  Library library("libwebp.so.7", "libwebp7");
  Webp webp;
  library.Bind("WebPGetFeaturesInternal", &webp.get_features);
  library.Bind("WebPDecodeRGBInto", &webp.decode_rgb);
  return library.Found(webp);
}

}  // namespace

StatusOr<Literal> DecodeWebp(ImageBytes file, const ImageLimits& limits) {
  static const auto* const library = new StatusOr<Webp>(Load());
  ENCORE_ASSIGN_OR_RETURN(const Webp webp, *library);
  WebPBitstreamFeatures features;
  if (webp.get_features(file.data(), file.size(), &features,
                        WEBP_DECODER_ABI_VERSION) != VP8_STATUS_OK) {
    return InvalidArgumentError("the header is damaged or truncated");
  }
  if (features.has_animation != 0) {
    return InvalidArgumentError("animations are not supported");
  }
  ENCORE_RETURN_IF_ERROR(CheckSize(features.height, features.width, limits));
  Literal pixels = NewPixels(features.height, features.width, 3);
  const std::span<uint8_t> values = pixels.mutable_values<uint8_t>();
  if (webp.decode_rgb(file.data(), file.size(), values.data(), values.size(),
                      features.width * 3) == nullptr) {
    return InvalidArgumentError("the data are damaged or truncated");
  }
  return pixels;
}

}  // namespace encore::host
