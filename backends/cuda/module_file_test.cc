#include "encore/backends/cuda/module_file.h"

#include <algorithm>
#include <string>

#include "gtest/gtest.h"

namespace encore::backends::cuda {
namespace {

using Kind = ModuleImage::Kind;

ModuleImage Image(Kind kind, std::string_view architecture, uint32_t driver,
                  std::string_view text) {
  return {kind, *ParseArchitecture(architecture), driver,
          std::as_bytes(std::span(text))};
}

std::string TextOf(const ModuleImage& image) {
  return {reinterpret_cast<const char*>(image.bytes.data()),
          image.bytes.size()};
}

TEST(Architecture, Names) {
  for (const char* name : {"sm_80", "sm_90a", "sm_100a", "sm_120"}) {
    const auto architecture = ParseArchitecture(name);
    ASSERT_TRUE(architecture) << name;
    EXPECT_EQ(Name(*architecture), name);
  }
  EXPECT_EQ(ParseArchitecture("sm_100a")->major, 10u);
  for (const char* name :
       {"", "sm_", "sm_75", "sm_80b", "compute_80", "sm_9999", "sm_-80"}) {
    EXPECT_FALSE(ParseArchitecture(name)) << name;
  }
}

TEST(ModuleFile, RoundTrip) {
  const std::vector<ModuleImage> images = {
      Image(Kind::kCubin, "sm_90a", 13000, "machine code"),
      Image(Kind::kPtx, "sm_80", 12080, "")};
  const auto file = EncodeModule(images);
  const auto read = DecodeModule(file);
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_EQ(read->size(), 2u);
  for (size_t i = 0; i < images.size(); ++i) {
    EXPECT_EQ((*read)[i].kind, images[i].kind);
    EXPECT_EQ((*read)[i].architecture, images[i].architecture);
    EXPECT_EQ((*read)[i].driver, images[i].driver);
    EXPECT_EQ(TextOf((*read)[i]), TextOf(images[i]));
  }
}

// Whatever is wrong with the bytes is an error, or images within the file.
TEST(ModuleFile, AnyBytes) {
  const auto whole =
      EncodeModule(std::vector{Image(Kind::kCubin, "sm_90a", 13000, "code"),
                               Image(Kind::kPtx, "sm_80", 12080, "text")});
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_EQ(DecodeModule(std::span(whole).first(size)).status().code(),
              StatusCode::kDataLoss);
  }
  for (size_t at = 0; at < whole.size(); ++at) {
    for (int value = 0; value < 256; ++value) {
      auto bytes = whole;
      bytes[at] = static_cast<std::byte>(value);
      const auto read = DecodeModule(bytes);
      if (!read.ok()) continue;
      for (const ModuleImage& image : *read) {
        EXPECT_GE(image.bytes.data(), bytes.data());
        EXPECT_LE(image.bytes.data() + image.bytes.size(),
                  bytes.data() + bytes.size());
        EXPECT_TRUE(ParseArchitecture(Name(image.architecture)));
      }
    }
  }
}

TEST(ModuleFile, Choice) {
  const std::vector<ModuleImage> images = {
      Image(Kind::kPtx, "sm_80", 12000, "ptx 80"),
      Image(Kind::kCubin, "sm_80", 12000, "cubin 80"),
      Image(Kind::kPtx, "sm_90", 13000, "ptx 90"),
      Image(Kind::kPtx, "sm_90a", 13000, "ptx 90a"),
      Image(Kind::kCubin, "sm_90", 12000, "cubin 90"),
      Image(Kind::kCubin, "sm_90a", 12000, "cubin 90a")};
  const auto choice = [&](uint32_t major, uint32_t minor, uint32_t driver) {
    const ModuleImage* image = ChooseImage(images, {major, minor}, driver);
    return image == nullptr ? "none" : TextOf(*image);
  };
  EXPECT_EQ(choice(8, 0, 13000), "cubin 80");
  EXPECT_EQ(choice(8, 9, 13000), "cubin 80");
  EXPECT_EQ(choice(9, 0, 13000), "cubin 90a");
  EXPECT_EQ(choice(10, 0, 13000), "ptx 90");
  EXPECT_EQ(choice(10, 0, 12000), "ptx 80");
  EXPECT_EQ(choice(8, 0, 11000), "none");
  EXPECT_EQ(choice(7, 5, 13000), "none");
}

}  // namespace
}  // namespace encore::backends::cuda
