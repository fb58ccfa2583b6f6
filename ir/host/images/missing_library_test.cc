// A machine without the libraries of image formats.
#include <dlfcn.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <string_view>

#include "encore/ir/host/images/decode.h"
#include "encore/ir/support/strings.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

// Stands for the C library's in this program: nothing is installed.
void* dlopen(const char* file, int mode) noexcept { return nullptr; }

namespace encore {
namespace {

using ::testing::HasSubstr;

std::string AnyFileOf(std::string_view extension) {
  for (const auto& entry :
       std::filesystem::directory_iterator("ir/host/images/testdata/files")) {
    if (entry.path().extension() != extension) continue;
    std::ifstream stream(entry.path(), std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  return "";
}

StatusOr<Literal> Decode(std::string_view file) {
  return DecodeImageFile(std::as_bytes(std::span(file)), PixelFormat::kRgb);
}

TEST(MissingLibraryTest, TheErrorNamesLibraryAndPackage) {
  const struct {
    std::string_view extension, library, package;
  } kFormats[] = {{".jpg", "libturbojpeg.so.0", "libturbojpeg0"},
                  {".jp2", "libopenjp2.so.7", "libopenjp2-7"},
                  {".png", "libpng16.so.16", "libpng16-16"},
                  {".tif", "libtiff.so.6", "libtiff6"},
                  {".webp", "libwebp.so.7", "libwebp7"}};
  for (const auto& [extension, library, package] : kFormats) {
    const std::string file = AnyFileOf(extension);
    ASSERT_NE(file, "") << extension;
    // It is looked for once, and the answer stays.
    for (int i = 0; i < 2; ++i) {
      const Status status = Decode(file).status();
      EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition) << extension;
      EXPECT_THAT(Message(status), HasSubstr(StrCat("cannot load ", library)));
      EXPECT_THAT(Message(status),
                  HasSubstr(StrCat("install Debian's package ", package)));
    }
  }
}

TEST(MissingLibraryTest, FormatsThatNeedNoneAreRead) {
  for (const std::string_view extension : {".bmp", ".ppm"}) {
    const auto pixels = Decode(AnyFileOf(extension));
    EXPECT_TRUE(pixels.ok()) << extension << ": " << pixels.status();
  }
}

}  // namespace
}  // namespace encore
