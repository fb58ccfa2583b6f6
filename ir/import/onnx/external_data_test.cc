// External data: where they may lie and what of a file they are.

#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "encore/ir/import/import.h"
#include "encore/ir/import/onnx/test_models.h"
#include "encore/ir/support/strings.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace encore::onnx {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A model with a weight "w" of two floats in a file beside it.
std::string ModelBytes(
    const std::vector<std::pair<std::string, std::string>>& data) {
  Proto tensor;
  tensor.Int(1, 2).Int(2, 1).Bytes(8, "w").Int(14, 1);
  for (const auto& [key, value] : data) {
    tensor.Sub(13, Proto().Bytes(1, key).Bytes(2, value));
  }
  Proto graph;
  graph.Sub(1, Node("Identity", {"w"}, {"y"})).Bytes(2, "g").Sub(5, tensor);
  graph.Sub(12, Proto().Bytes(1, "y"));
  return Proto()
      .Int(1, 8)
      .Sub(8, Proto().Bytes(1, "").Int(2, 21))
      .Sub(7, graph)
      .bytes();
}

// The weight, or the error.
std::string WeightOf(const StatusOr<encore::Graph>& imported) {
  if (!imported.ok()) return encore::Message(imported.status());
  const auto& literal = imported->arguments()[0].data;
  return literal
             ? encore::StrCat(literal->AsDouble(0), " ", literal->AsDouble(1))
             : "no data";
}

std::string ErrorOfExternal(
    const std::vector<std::pair<std::string, std::string>>& data) {
  auto bytes = std::make_shared<const std::string>(ModelBytes(data));
  const auto imported = Import(std::as_bytes(std::span(*bytes)), bytes,
                               {testing::TempDir() + "/model"}, {});
  return WeightOf(imported);
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

// A model that is reached by a link.
class LinkedModel : public testing::Test {
 protected:
  LinkedModel() {
    fs::remove_all(folder_);
    for (const char* name : {"real", "other", "links", "outside"}) {
      fs::create_directories(folder_ / name);
    }
    for (const char* name : {"real", "other"}) {
      std::ofstream(folder_ / name / "m.onnx", std::ios::binary)
          << ModelBytes({{"location", "sub/w.bin"}, {"length", "8"}});
    }
    fs::create_symlink("../real/m.onnx", folder_ / "links" / "m.onnx");
  }

  void Write(const fs::path& folder, float value) {
    fs::create_directories(folder_ / folder / "sub");
    // Another file, not other bytes in one that may be mapped.
    const fs::path file = folder_ / folder / "sub" / "w.bin";
    const float values[] = {value, value};
    std::ofstream(file.string() + ".new", std::ios::binary)
        .write(reinterpret_cast<const char*>(values), sizeof(values));
    fs::rename(file.string() + ".new", file);
  }
  std::string Weight() const { return WeightOf(ImportFile(Path())); }
  std::string Path() const { return folder_ / "links" / "m.onnx"; }
  std::vector<std::string> Files() const {
    auto files = ReadModelFiles(Path());
    EXPECT_TRUE(files.ok()) << files.status();
    return files.ok() ? *files : std::vector<std::string>();
  }

  const fs::path folder_ = fs::canonical(testing::TempDir()) / "linked_model";
};

TEST_F(LinkedModel, DataLieBesideTheFileThatTheLinkLeadsTo) {
  EXPECT_THAT(Weight(), HasSubstr("links/sub/w.bin"));  // is not there
  Write("real", 1);
  EXPECT_EQ(Weight(), "1 1");
  EXPECT_THAT(Files(), ElementsAre(Path(), folder_ / "real/sub/w.bin"));
  // Over several links, from a folder that is one.
  fs::create_symlink("links/m.onnx", folder_ / "again.onnx");
  fs::create_directory_symlink("links", folder_ / "folder");
  for (const char* name : {"again.onnx", "folder/m.onnx"}) {
    EXPECT_EQ(WeightOf(ImportFile(folder_ / name)), "1 1") << name;
  }
}

TEST_F(LinkedModel, DataBesideTheLinkComeFirst) {
  Write("real", 1);
  Write("links", 2);
  EXPECT_EQ(Weight(), "2 2");
  EXPECT_THAT(Files(), ElementsAre(Path(), folder_ / "links/sub/w.bin"));
}

// As stores of models have it: names are links to files in one folder.
TEST_F(LinkedModel, DataBesideTheLinkMayBeALinkToTheFilesFolder) {
  Write("real", 1);
  Write("outside", 3);
  fs::create_directory(folder_ / "links" / "sub");
  const fs::path link = folder_ / "links" / "sub" / "w.bin";
  fs::create_symlink("../../real/sub/w.bin", link);
  EXPECT_EQ(Weight(), "1 1");
  fs::remove(link);
  fs::create_symlink("../../outside/sub/w.bin", link);
  EXPECT_THAT(Weight(), HasSubstr("lies outside the model's folder"));
  // Nor may the data beside the file lead out.
  fs::remove(link);
  fs::remove(folder_ / "real/sub/w.bin");
  fs::create_symlink("../../outside/sub/w.bin", folder_ / "real/sub/w.bin");
  EXPECT_THAT(Weight(), HasSubstr("lies outside the model's folder"));
}

// By which an import notices that its files are not of one moment.
TEST_F(LinkedModel, ChangesOfLinkAndDataShow) {
  Write("real", 1);
  Write("other", 2);
  const auto changed = [&](const std::function<void()>& change) {
    const auto model = ImportModel(Path());
    EXPECT_TRUE(model.ok()) << model.status();
    if (!model.ok()) return std::vector<std::string>();
    EXPECT_EQ(model->files.size(), 2u);
    change();
    std::vector<std::string> paths;
    for (const auto& file : model->files) {
      if (!file->UnchangedSinceOpen()) paths.push_back(file->path());
    }
    return paths;
  };
  EXPECT_THAT(changed([] {}), ElementsAre());
  EXPECT_THAT(changed([&] { Write("real", 3); }),
              ElementsAre(HasSubstr("real/sub/w.bin")));
  EXPECT_EQ(Weight(), "3 3");
  EXPECT_THAT(changed([&] {
                fs::remove(Path());
                fs::create_symlink("../other/m.onnx", Path());
              }),
              ElementsAre(Path()));
  EXPECT_EQ(Weight(), "2 2");
}

}  // namespace
}  // namespace encore::onnx
