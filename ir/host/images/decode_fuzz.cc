#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <utility>

#include "encore/ir/host/images/decode.h"
#include "encore/ir/support/check.h"
#include "encore/ir/support/testing/byte_mutations.h"
#include "encore/ir/support/testing/fuzz_target.h"

namespace {

uint32_t WordAt(const std::string& bytes, size_t at) {
  uint32_t word = 0;
  for (size_t i = 0; i < 4; ++i) {
    word = word << 8 | static_cast<uint8_t>(bytes[at + i]);
  }
  return word;
}

// CRC-32 of ISO 3309, as PNG's annex D has it.
uint32_t Crc(const std::string& bytes, size_t begin, size_t end) {
  uint32_t crc = 0xFFFFFFFF;
  for (size_t at = begin; at < end; ++at) {
    crc ^= static_cast<uint8_t>(bytes[at]);
    for (int bit = 0; bit < 8; ++bit) {
      crc = crc >> 1 ^ (crc % 2 != 0 ? 0xEDB88320 : 0);
    }
  }
  return ~crc;
}

// A PNG's chunks (length, type, data, checksum) get the right checksums.
std::string WithRightChecksums(std::string bytes) {
  if (!bytes.starts_with("\x89PNG\r\n\x1A\n")) return bytes;
  constexpr size_t kAround = 12;
  for (size_t at = 8; at + kAround <= bytes.size();) {
    const size_t length = WordAt(bytes, at);
    if (length > bytes.size() - at - kAround) break;
    const size_t end = at + kAround + length;
    const uint32_t crc = Crc(bytes, at + 4, end - 4);
    for (size_t i = 0; i < 4; ++i) {
      bytes[end - 4 + i] = static_cast<char>(crc >> (24 - 8 * i));
    }
    at = end;
  }
  return bytes;
}

std::string MutateImage(std::string bytes, size_t max_size,
                        std::mt19937& random) {
  encore::MutateBytes(&bytes, max_size, random);
  return WithRightChecksums(std::move(bytes));
}

std::string CrossImages(const std::string& a, const std::string& b,
                        size_t max_size, std::mt19937& random) {
  return WithRightChecksums(encore::CrossBytes(a, b, max_size, random));
}

}  // namespace

// Any bytes are refused or give pixels of a size within the limit. The
// libraries are not instrumented: what is found is in how they are used.
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

ENCORE_FUZZ_MUTATORS(MutateImage, CrossImages)
