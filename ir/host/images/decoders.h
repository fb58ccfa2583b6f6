// The decoders of one format each; decode.h says what their pixels are.
#ifndef ENCORE_IR_HOST_IMAGES_DECODERS_H_
#define ENCORE_IR_HOST_IMAGES_DECODERS_H_

#include "encore/ir/host/images/limits.h"
#include "encore/ir/host/images/pixels.h"
#include "encore/ir/support/status.h"
#include "encore/ir/types/literal.h"

namespace encore::host {

// u8 [height, width, channels] with 1 (gray) or 3 (R, G, B) channels. Errors as
// DecodeImageFile's, without the format's name. REQUIRES a file that begins as
// the format does.
StatusOr<Literal> DecodeBmp(ImageBytes file, const ImageLimits& limits);
StatusOr<Literal> DecodeJpeg(ImageBytes file, const ImageLimits& limits);
StatusOr<Literal> DecodeJpeg2000(ImageBytes file, const ImageLimits& limits);
StatusOr<Literal> DecodePng(ImageBytes file, const ImageLimits& limits);
StatusOr<Literal> DecodePnm(ImageBytes file, const ImageLimits& limits);
StatusOr<Literal> DecodeTiff(ImageBytes file, const ImageLimits& limits);
StatusOr<Literal> DecodeWebp(ImageBytes file, const ImageLimits& limits);

}  // namespace encore::host

#endif  // ENCORE_IR_HOST_IMAGES_DECODERS_H_
