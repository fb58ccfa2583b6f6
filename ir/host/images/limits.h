// How large an image may be.
#ifndef ENCORE_IR_HOST_IMAGES_LIMITS_H_
#define ENCORE_IR_HOST_IMAGES_LIMITS_H_

#include <cstdint>

namespace encore {

struct ImageLimits {
  // Height times width. The memory used is a small multiple of it: 3 bytes a
  // pixel for most formats, at most 32 for JPEG 2000.
  int64_t max_pixels = int64_t{1} << 28;
};

}  // namespace encore

#endif  // ENCORE_IR_HOST_IMAGES_LIMITS_H_
