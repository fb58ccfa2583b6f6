#include "encore/ir/host/images/decode.h"

#include <string_view>
#include <utility>

#include "encore/ir/host/images/decoders.h"
#include "encore/ir/host/images/pixels.h"
#include "encore/ir/support/status_macros.h"

namespace encore {
namespace {

using host::ImageBytes;
using std::string_view_literals::operator""sv;

struct Format {
  std::string_view name;
  StatusOr<Literal> (*decode)(ImageBytes, const ImageLimits&);
  // What a file begins with; `further` follows at byte 8.
  std::string_view start;
  std::string_view further = {};
};

constexpr Format kFormats[] = {
    {"BMP", host::DecodeBmp, "BM"sv},
    {"JPEG", host::DecodeJpeg, "\xFF\xD8\xFF"sv},
    {"JPEG 2000", host::DecodeJpeg2000, "\0\0\0\x0CjP  "sv, "\r\n\x87\n"sv},
    {"JPEG 2000", host::DecodeJpeg2000, "\xFF\x4F\xFF\x51"sv},
    {"PNG", host::DecodePng, "\x89PNG\r\n\x1A\n"sv},
    {"PNM", host::DecodePnm, "P1"sv},
    {"PNM", host::DecodePnm, "P2"sv},
    {"PNM", host::DecodePnm, "P3"sv},
    {"PNM", host::DecodePnm, "P4"sv},
    {"PNM", host::DecodePnm, "P5"sv},
    {"PNM", host::DecodePnm, "P6"sv},
    {"TIFF", host::DecodeTiff, "II*\0"sv},
    {"TIFF", host::DecodeTiff, "MM\0*"sv},
    {"TIFF", host::DecodeTiff, "II+\0"sv},
    {"TIFF", host::DecodeTiff, "MM\0+"sv},
    {"WebP", host::DecodeWebp, "RIFF"sv, "WEBP"sv},
};

bool Begins(ImageBytes file, const Format& format) {
  return host::StartsWith(file, format.start) &&
         (format.further.empty() ||
          (file.size() >= 8 &&
           host::StartsWith(file.subspan(8), format.further)));
}

}  // namespace

StatusOr<Literal> DecodeImageFile(std::span<const std::byte> file,
                                  PixelFormat format,
                                  const ImageLimits& limits) {
  const ImageBytes bytes(reinterpret_cast<const uint8_t*>(file.data()),
                         file.size());
  for (const Format& known : kFormats) {
    if (!Begins(bytes, known)) continue;
    StatusOr<Literal> pixels = known.decode(bytes, limits);
    if (!pixels.ok()) return Annotate(pixels.status(), known.name);
    return host::InFormat(*std::move(pixels), format);
  }
  return InvalidArgumentError(
      "the first bytes are not those of BMP, JPEG, JPEG 2000, PNG, PNM, TIFF "
      "or WebP");
}

}  // namespace encore
