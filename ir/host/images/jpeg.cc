// JPEG by libjpeg-turbo's TurboJPEG, which turns libjpeg's jumps into return
// values: the accurate integer DCT and smooth upsampling of chroma, libjpeg's
// defaults.

#include <algorithm>
#include <string_view>

#include "encore/ir/host/images/decoders.h"
#include "encore/ir/host/images/library.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "turbojpeg.h"

namespace encore::host {
namespace {

// Of headers that contradict each other, and of bytes between the parts.
constexpr std::string_view kHarmless[] = {
    "extraneous bytes before marker",
    "Unknown Adobe color transform code",
    "unknown JFIF revision number",
    "Inconsistent progression sequence",
    "Invalid SOS parameters for sequential JPEG",
};

struct TurboJpeg {
  decltype(&tjInitDecompress) init;
  decltype(&tjDestroy) destroy;
  decltype(&tjDecompressHeader3) header;
  decltype(&tjDecompress2) decompress;
  decltype(&tjGetErrorStr2) error;
  decltype(&tjGetErrorCode) error_code;
};

StatusOr<TurboJpeg> Load() {
  Library library("libturbojpeg.so.0", "libturbojpeg0");
  TurboJpeg tj;
  library.Bind("tjInitDecompress", &tj.init);
  library.Bind("tjDestroy", &tj.destroy);
  library.Bind("tjDecompressHeader3", &tj.header);
  library.Bind("tjDecompress2", &tj.decompress);
  library.Bind("tjGetErrorStr2", &tj.error);
  library.Bind("tjGetErrorCode", &tj.error_code);
  return library.Found(tj);
}

class Decompressor {
 public:
  explicit Decompressor(const TurboJpeg& tj) : tj_(tj), handle_(tj.init()) {}
  ~Decompressor() {
    if (handle_ != nullptr) tj_.destroy(handle_);
  }
  Decompressor(const Decompressor&) = delete;
  Decompressor& operator=(const Decompressor&) = delete;

  StatusOr<Literal> Decode(ImageBytes file, const ImageLimits& limits);

 private:
  std::string_view Message() const { return tj_.error(handle_); }
  // Whether a call that did not succeed has given all pixels nevertheless. A
  // failure after a warning has the code of a warning, so the last message
  // decides.
  bool IsComplete() const {
    return tj_.error_code(handle_) == TJERR_WARNING &&
           std::ranges::any_of(kHarmless, [&](std::string_view warning) {
             return Message().find(warning) != std::string_view::npos;
           });
  }

  const TurboJpeg& tj_;
  const tjhandle handle_;
};

StatusOr<Literal> Decompressor::Decode(ImageBytes file,
                                       const ImageLimits& limits) {
  if (handle_ == nullptr) {
    return ResourceExhaustedError(
        "the decoder takes more memory than there is");
  }
  int width = 0, height = 0, subsampling = 0, space = -1;
  // It fails for rare subsamplings, after it has given the size.
  const int header = tj_.header(handle_, file.data(), file.size(), &width,
                                &height, &subsampling, &space);
  if (header != 0 && (width <= 0 || height <= 0)) {
    return InvalidArgumentError(Message());
  }
  ENCORE_RETURN_IF_ERROR(CheckSize(height, width, limits));
  int64_t channels = 3;
  int format = TJPF_RGB;
  if (space == TJCS_GRAY) {
    channels = 1;
    format = TJPF_GRAY;
  } else if (space == TJCS_CMYK || space == TJCS_YCCK) {
    channels = 4;
    format = TJPF_CMYK;
  }
  Literal pixels = NewPixels(height, width, channels);
  const std::span<uint8_t> values = pixels.mutable_values<uint8_t>();
  const int flags = TJFLAG_ACCURATEDCT | TJFLAG_LIMITSCANS;
  if (tj_.decompress(handle_, file.data(), file.size(), values.data(), width,
                     static_cast<int>(width * channels), height, format,
                     flags) != 0 &&
      !IsComplete()) {
    return InvalidArgumentError(Message());
  }
  if (channels != 4) return pixels;
  // By Adobe's convention 255 is no ink.
  for (uint8_t& value : values) value = 255 - value;
  return CmykAsRgb(pixels);
}

}  // namespace

StatusOr<Literal> DecodeJpeg(ImageBytes file, const ImageLimits& limits) {
  static const auto* const library = new StatusOr<TurboJpeg>(Load());
  ENCORE_RETURN_IF_ERROR(library->status());
  return Decompressor(**library).Decode(file, limits);
}

}  // namespace encore::host
