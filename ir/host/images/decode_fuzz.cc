#include <cstddef>
#include <cstdint>
#include <span>

#include "encore/ir/host/images/decode.h"
#include "encore/ir/support/check.h"

// Any bytes are refused or give pixels of a size within the limit. The tests'
// files make a good corpus:
//   cp -r ir/host/images/testdata /tmp/corpus
//   bazel run --config=fuzz //ir/host/images:decode_fuzz -- /tmp/corpus
// The libraries are not instrumented: what is found is in how they are used.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr encore::ImageLimits kLimits = {.max_pixels = 1 << 16};
  const auto pixels =
      encore::DecodeImageFile(std::as_bytes(std::span(data, size)),
                              encore::PixelFormat::kGrayscale, kLimits);
  if (!pixels.ok()) return 0;
  ENCORE_CHECK_EQ(pixels->rank(), 3);
  ENCORE_CHECK_EQ(pixels->dims()[2], 1);
  ENCORE_CHECK(pixels->element_count() > 0);
  ENCORE_CHECK(pixels->element_count() <= kLimits.max_pixels);
  return 0;
}
