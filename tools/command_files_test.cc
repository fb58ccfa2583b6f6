#include "encore/tools/command_files.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace encore::tools {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

class CommandFilesTest : public testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(folder_);
    fs::create_directory(folder_);
    for (const char* name : {"model", "other"}) {
      std::ofstream(Path(name)) << name;
    }
  }
  std::string Path(const std::string& name) const {
    return folder_ + "/" + name;
  }
  // What reading the model and writing to `path` comes to.
  Status Write(const std::string& path) const {
    CommandFiles files;
    files.Reads("the model", Path("model"));
    files.Writes("--save", path);
    return files.CheckApart();
  }
  const std::string folder_ = testing::TempDir() + "/command_files";
};

TEST_F(CommandFilesTest, AnInputUnderAnyNameIsRefused) {
  fs::create_symlink("model", Path("link"));
  fs::create_symlink(Path("link"), Path("chain"));
  fs::create_hard_link(Path("model"), Path("hard"));
  fs::create_directory(Path("sub"));
  fs::create_directory_symlink("..", Path("sub/up"));
  for (const char* name : {"model", "./model", "sub/../model", "link", "chain",
                           "hard", "sub/up/model"}) {
    const Status status = Write(Path(name));
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << name;
    EXPECT_THAT(Message(status),
                AllOf(HasSubstr("--save " + Path(name)),
                      HasSubstr("the model " + Path("model"))));
  }
  const fs::path before = fs::current_path();
  fs::current_path(folder_);
  EXPECT_FALSE(Write("model").ok());
  EXPECT_TRUE(Write("mod").ok());
  fs::current_path(before);
}

TEST_F(CommandFilesTest, WhatIsApartIsNot) {
  fs::create_symlink("none", Path("dangling"));
  for (const std::string& path :
       {Path("other"), Path("new"), Path("none/x"), Path("dangling"), folder_,
        std::string(), std::string("-"), std::string("/dev/null")}) {
    EXPECT_TRUE(Write(path).ok()) << path;
  }
  CommandFiles files;
  files.Reads("a", "/dev/null");
  files.Writes("b", "/dev/null");
  files.Writes("c", "/dev/null");
  files.WritesData("d", "-");
  EXPECT_TRUE(files.CheckApart().ok());
}

TEST_F(CommandFilesTest, StandardOutputTakesOneThing) {
  CommandFiles files;
  files.WritesData("-o", "-");
  files.WritesData("--json", "-");
  EXPECT_THAT(Message(files.CheckApart()),
              AllOf(HasSubstr("-o"), HasSubstr("--json")));
}

TEST_F(CommandFilesTest, AnInputIsAFlagsFile) {
  for (const std::string& input : {"x=" + Path("other"), Path("other")}) {
    CommandFiles files;
    files.ReadsInput(input);
    files.Writes("--trace", Path("other"));
    EXPECT_THAT(Message(files.CheckApart()),
                HasSubstr("--input " + Path("other")));
  }
}

TEST_F(CommandFilesTest, TwoOutputsAreApart) {
  fs::create_symlink("new", Path("dangling"));
  fs::create_symlink(folder_, Path("same"));
  const std::pair<const char*, const char*> kSame[] = {{"other", "other"},
                                                       {"new", "./new"},
                                                       {"new", "dangling"},
                                                       {"dangling", "new"},
                                                       {"new", "same/new"}};
  for (const auto& [one, two] : kSame) {
    CommandFiles files;
    files.Writes("--save", Path(one));
    files.Writes("--trace", Path(two));
    EXPECT_THAT(Message(files.CheckApart()),
                AllOf(HasSubstr(Path(one)), HasSubstr(Path(two))))
        << one << " " << two;
  }
  CommandFiles files;
  files.Writes("--save", Path("new"));
  files.Writes("--trace", Path("newer"));
  EXPECT_TRUE(files.CheckApart().ok());
}

bool IsPart(std::string_view name) { return name.starts_with("part_"); }

TEST_F(CommandFilesTest, AFolderOfOutputs) {
  fs::create_hard_link(Path("model"), Path("part_7"));
  CommandFiles files;
  files.WritesInto("--save", folder_ + "/", IsPart);
  EXPECT_TRUE(files.CheckApart().ok());
  EXPECT_TRUE(files.replaces_any());
  CommandFiles with_model = files;
  with_model.Reads("the model", Path("model"));
  EXPECT_FALSE(with_model.CheckApart().ok());
  CommandFiles with_other = files;
  with_other.Reads("the model", Path("other"));
  EXPECT_TRUE(with_other.CheckApart().ok());
  for (const char* name : {"part_7", "part_8", "./part_9"}) {
    CommandFiles with_trace = files;
    with_trace.Writes("--trace", Path(name));
    EXPECT_THAT(Message(with_trace.CheckApart()),
                AllOf(HasSubstr("--trace"), HasSubstr("--save")));
  }
  files.Writes("--trace", Path("trace"));
  EXPECT_TRUE(files.CheckApart().ok());
}

TEST_F(CommandFilesTest, WhetherAnythingIsReplaced) {
  CommandFiles files;
  files.Reads("the model", Path("model"));
  files.Writes("--save", Path("new"));
  EXPECT_FALSE(files.replaces_any());
  files.Writes("--trace", Path("other"));
  EXPECT_TRUE(files.replaces_any());
}

}  // namespace
}  // namespace encore::tools
