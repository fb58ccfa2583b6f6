#include "encore/ir/host/images/decode.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "encore/ir/support/strings.h"
#include "gtest/gtest.h"

namespace encore {
namespace {

using std::filesystem::path;

path TestData(std::string_view folder) {
  return path("ir/host/images/testdata") / folder;
}

std::vector<path> Files(std::string_view folder) {
  std::vector<path> files;
  for (const auto& entry :
       std::filesystem::directory_iterator(TestData(folder))) {
    files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

std::string Read(const path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

StatusOr<Literal> Decode(std::string_view file, PixelFormat format,
                         const ImageLimits& limits = {}) {
  return DecodeImageFile(std::as_bytes(std::span(file)), format, limits);
}

// What make_cases.py wrote: the header "P6\n21 10\n255\n" and the pixels.
Literal Expected(const path& file, int64_t channels) {
  std::ifstream stream(file, std::ios::binary);
  std::string kind;
  int64_t width = 0, height = 0, most = 0;
  stream >> kind >> width >> height >> most;
  EXPECT_EQ(most, 255) << file;
  EXPECT_EQ(kind, channels == 3 ? "P6" : "P5") << file;
  stream.get();
  Literal pixels(DType::kU8, {height, width, channels});
  const std::span<std::byte> bytes = pixels.mutable_bytes();
  stream.read(reinterpret_cast<char*>(bytes.data()),
              static_cast<std::streamsize>(bytes.size()));
  EXPECT_EQ(static_cast<size_t>(stream.gcount()), bytes.size()) << file;
  return pixels;
}

// How many values differ, and by how much at most.
std::string Difference(const Literal& a, const Literal& b) {
  if (a.dims() != b.dims()) return "other sizes";
  int64_t count = 0, most = 0;
  for (int64_t i = 0; i < a.element_count(); ++i) {
    const int64_t by = std::abs(a.AsInt(i) - b.AsInt(i));
    count += by != 0;
    most = std::max(most, by);
  }
  return StrCat(count, " of ", a.element_count(), " by up to ", most);
}

Literal Reversed(const Literal& rgb) {
  Literal bgr(DType::kU8, rgb.dims());
  for (int64_t i = 0; i < rgb.element_count(); ++i) {
    bgr.SetInt(i - i % 3 + (2 - i % 3), rgb.AsInt(i));
  }
  return bgr;
}

TEST(DecodeImage, GivesThePixelsOfPillow) {
  const std::vector<path> files = Files("files");
  EXPECT_GE(files.size(), 90u);
  for (const path& file : files) {
    const std::string name = file.filename(), bytes = Read(file);
    const auto rgb = Decode(bytes, PixelFormat::kRgb);
    const auto bgr = Decode(bytes, PixelFormat::kBgr);
    const auto gray = Decode(bytes, PixelFormat::kGrayscale);
    ASSERT_TRUE(rgb.ok() && bgr.ok() && gray.ok())
        << name << ": " << rgb.status();
    const Literal colors = Expected(TestData("expected") / (name + ".ppm"), 3);
    const Literal levels = Expected(TestData("expected") / (name + ".pgm"), 1);
    EXPECT_EQ(*rgb, colors) << name << ": " << Difference(*rgb, colors);
    EXPECT_EQ(*gray, levels) << name << ": " << Difference(*gray, levels);
    EXPECT_EQ(*bgr, Reversed(colors)) << name;
  }
}

struct Refused {
  std::string_view file;
  std::string_view message;
  StatusCode code = StatusCode::kInvalidArgument;
};

constexpr Refused kRefused[] = {
    {"animation.webp", "WebP: animations are not supported"},
    {"checksum.png", "PNG: IDAT: CRC error"},
    {"float.tif", "TIFF: samples that are not unsigned integers"},
    {"huge.bmp", "BMP: the header says", StatusCode::kResourceExhausted},
    {"huge.j2k", "JPEG 2000: the header says", StatusCode::kResourceExhausted},
    {"huge.png", "PNG: the header says 60000 x 60000 pixels, more than",
     StatusCode::kResourceExhausted},
    {"huge.ppm", "PNM: the header says", StatusCode::kResourceExhausted},
    {"huge.tif", "TIFF: the header says", StatusCode::kResourceExhausted},
    {"large.png", "PNG: the file is too short for its pixels"},
    {"maximum.pgm", "PNM: a value is not between 0 and 100"},
    {"palette.bmp", "BMP: a pixel's colour is not among the 4 of the palette"},
    {"palette.png", "PNG: a pixel has colour 4 of a palette of 4"},
    {"picture.gif", "the first bytes are not those of"},
    {"premultiplied.tif", "TIFF: colours that are multiplied by alpha"},
    {"runs.bmp", "BMP: a run is longer than its row"},
    {"tiles.j2k", "JPEG 2000: the header says more than 4096 tiles",
     StatusCode::kResourceExhausted},
    {"truncated.bmp", "BMP: the file is truncated"},
    {"truncated.jp2", "JPEG 2000: "},
    {"truncated.jpg", "JPEG: "},
    {"truncated.png", "PNG: truncated"},
    {"truncated.ppm", "PNM: the file is truncated"},
    {"truncated.tif", "TIFF: "},
    {"truncated.webp", "WebP: the data are damaged or truncated"},
};

TEST(DecodeImage, RefusesByName) {
  EXPECT_EQ(Files("refused").size(), std::size(kRefused));
  for (const Refused& refused : kRefused) {
    const auto pixels =
        Decode(Read(TestData("refused") / refused.file), PixelFormat::kRgb);
    EXPECT_EQ(pixels.status().code(), refused.code)
        << refused.file << ": " << pixels.status();
    EXPECT_TRUE(StrCat(pixels.status()).find(refused.message) !=
                std::string::npos)
        << refused.file << ": " << pixels.status();
  }
}

// A prefix of a file never has all of its pixels, but for what stands after
// them; no length of it is read beyond its end.
TEST(DecodeImage, EveryPrefixIsReadOrRefused) {
  for (const path& file : Files("files")) {
    const std::string bytes = Read(file);
    for (size_t length = 0; length < bytes.size();
         length += 1 + bytes.size() / 97) {
      // At an end of its own, so that sanitizers see what lies behind it.
      const std::vector<char> prefix(bytes.begin(), bytes.begin() + length);
      const auto pixels =
          Decode({prefix.data(), prefix.size()}, PixelFormat::kRgb);
      if (pixels.ok()) continue;
      EXPECT_EQ(pixels.status().code(), StatusCode::kInvalidArgument)
          << file << " to " << length << ": " << pixels.status();
    }
    EXPECT_FALSE(
        Decode({bytes.data(), bytes.size() / 3}, PixelFormat::kRgb).ok())
        << file;
  }
}

// Each byte changed in turn: pixels of a size within the limit, or an error.
TEST(DecodeImage, ChangedBytesAreReadOrRefused) {
  const ImageLimits limits = {.max_pixels = 1 << 16};
  for (const path& file : Files("files")) {
    std::string bytes = Read(file);
    for (size_t i = 0; i < bytes.size(); i += 1 + bytes.size() / 211) {
      for (const char flip : {'\x01', '\x80', '\xFF'}) {
        bytes[i] ^= flip;
        const auto pixels = Decode(bytes, PixelFormat::kRgb, limits);
        bytes[i] ^= flip;
        if (pixels.ok()) {
          EXPECT_LE(pixels->element_count(), 3 * limits.max_pixels) << file;
        }
      }
    }
  }
}

TEST(DecodeImage, TheLimitIsOfPixels) {
  for (const path& file : Files("files")) {
    const std::string bytes = Read(file);
    EXPECT_TRUE(Decode(bytes, PixelFormat::kRgb, {.max_pixels = 210}).ok())
        << file;
    const auto pixels = Decode(bytes, PixelFormat::kRgb, {.max_pixels = 209});
    EXPECT_EQ(pixels.status().code(), StatusCode::kResourceExhausted)
        << file << ": " << pixels.status();
  }
}

TEST(DecodeImage, NothingIsNoImage) {
  for (const std::string_view file : {"", "B", "BM", "P6", "\x89PNG", "II*"}) {
    EXPECT_EQ(Decode(file, PixelFormat::kRgb).status().code(),
              StatusCode::kInvalidArgument)
        << file;
  }
}

}  // namespace
}  // namespace encore
