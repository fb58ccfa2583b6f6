// Image files as pixels.
//
// The format is what the first bytes say: BMP, JPEG, JPEG 2000, PNG, PNM (P1 to
// P6), TIFF or WebP. Pixels are those that Pillow gives with convert("RGB") and
// convert("L"), after which ONNX's reference decodes:
// * gray becomes three equal channels; colours become gray by ITU-R 601-2, L =
//   (19595 R + 38470 G + 7471 B + 2^15) >> 16;
// * alpha is dropped, neither multiplied in nor blended;
// * of 16 bits of a colour's channel the high byte counts; gray of more than 8
//   bits is clipped at 255;
// * CMYK is converted without a profile, c' = (255 - c) (255 - k) / 255; no
//   colour profile and no gamma is applied;
// * the orientation that EXIF data give is not applied; that of TIFF's own tag
//   is;
// * of several images in a file the first counts, of an animated PNG the still.
// Pillow shows less of some files than they have; what is in doubt is refused:
// animated WebP, TIFF whose colours are multiplied by alpha, floats, Lab, and
// JPEG 2000 in other colour spaces than gray and sRGB.
//
// BMP and PNM are read here: they are a page each, and every size in them can
// be held against the file before memory is taken. For the others libraries are
// loaded when the first file of their format comes (library.h).
#ifndef ENCORE_IR_HOST_IMAGES_DECODE_H_
#define ENCORE_IR_HOST_IMAGES_DECODE_H_

#include <cstddef>
#include <span>

#include "encore/ir/host/images/limits.h"
#include "encore/ir/ops/attributes.h"
#include "encore/ir/support/status.h"
#include "encore/ir/types/literal.h"

namespace encore {

// The pixels u8 [height, width, 3], for grayscale [height, width, 1].
//
// `file` may be anything. InvalidArgument "PNG: …" for what is no image, is
// truncated, damaged (where the format has checksums, they are checked) or of
// an unsupported kind; ResourceExhausted where the header says more pixels than
// the limit, before memory is taken for them; FailedPrecondition where a
// library is not installed, with the name of Debian's package. Thread-safe.
StatusOr<Literal> DecodeImageFile(std::span<const std::byte> file,
                                  PixelFormat format,
                                  const ImageLimits& limits = {});

}  // namespace encore

#endif  // ENCORE_IR_HOST_IMAGES_DECODE_H_
