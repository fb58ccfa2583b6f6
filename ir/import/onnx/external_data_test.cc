// External data: where they may lie and what of a file they are.

#include <filesystem>
#include <fstream>
#include <memory>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "encore/ir/import/onnx/test_models.h"
#include "encore/ir/support/strings.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace encore::onnx {
namespace {

using ::testing::HasSubstr;

// A model with a weight "w" of two floats in a file beside it.
std::string ErrorOfExternal(
    std::vector<std::pair<std::string, std::string>> data) {
  Proto tensor;
  tensor.Int(1, 2).Int(2, 1).Bytes(8, "w").Int(14, 1);
  for (const auto& [key, value] : data) {
    tensor.Sub(13, Proto().Bytes(1, key).Bytes(2, value));
  }
  Proto graph;
  graph.Sub(1, Node("Identity", {"w"}, {"y"})).Bytes(2, "g").Sub(5, tensor);
  graph.Sub(12, Proto().Bytes(1, "y"));
  auto bytes = std::make_shared<const std::string>(
      Proto()
          .Int(1, 8)
          .Sub(8, Proto().Bytes(1, "").Int(2, 21))
          .Sub(7, graph)
          .bytes());
  const auto imported = Import(std::as_bytes(std::span(*bytes)), bytes,
                               testing::TempDir() + "/model", {});
  if (!imported.ok()) return encore::Message(imported.status());
  const auto& literal = imported->arguments()[0].data;
  return literal
             ? encore::StrCat(literal->AsDouble(0), " ", literal->AsDouble(1))
             : "no data";
}

TEST(ExternalData, AreMappedAndChecked) {
  const std::filesystem::path folder = testing::TempDir() + "/model";
  std::filesystem::create_directories(folder);
  const float values[] = {1, 2, 3, 4};
  std::ofstream(folder / "weights.bin", std::ios::binary)
      .write(reinterpret_cast<const char*>(values), sizeof(values));
  std::ofstream(folder / ".." / "outside.bin") << "12345678";
  std::error_code ignored;
  std::filesystem::create_symlink("../outside.bin", folder / "link.bin",
                                  ignored);

  EXPECT_EQ(ErrorOfExternal({{"location", "weights.bin"}, {"length", "8"}}),
            "1 2");
  EXPECT_EQ(ErrorOfExternal({{"location", "weights.bin"}, {"offset", "8"}}),
            "3 4");
  EXPECT_THAT(ErrorOfExternal({{"location", "weights.bin"}}),
              HasSubstr("has 8 bytes, not 16"));
  EXPECT_THAT(ErrorOfExternal({{"location", "weights.bin"}, {"offset", "17"}}),
              HasSubstr("the offset leaves"));
  EXPECT_THAT(ErrorOfExternal({{"location", "weights.bin"},
                               {"offset", "12"},
                               {"length", "9223372036854775807"}}),
              HasSubstr("bytes from 12 leave"));
  EXPECT_THAT(ErrorOfExternal({{"location", "weights.bin"}, {"offset", "x"}}),
              HasSubstr("the offset leaves"));
  EXPECT_THAT(ErrorOfExternal({{"location", "missing.bin"}}),
              HasSubstr("missing.bin"));
  for (const char* outside : {"../outside.bin", "/etc/passwd", "",
                              "a/../../outside.bin", "link.bin"}) {
    EXPECT_THAT(ErrorOfExternal({{"location", outside}, {"length", "8"}}),
                HasSubstr("lies outside the model's folder"))
        << outside;
  }
}

}  // namespace
}  // namespace encore::onnx
