#include "encore/ir/support/folders.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "encore/ir/support/status.h"
#include "gtest/gtest.h"

namespace encore {
namespace {

namespace fs = std::filesystem;

class Folders : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::canonical(testing::TempDir()) / "folders_test";
    fs::remove_all(folder_);
    fs::create_directories(folder_ / "b/c");
    std::ofstream(folder_ / "b/c/file") << "four";
    std::ofstream(folder_ / "a") << "";
    fs::create_symlink("b", folder_ / "link");
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string Path(const std::string& name) const { return folder_ / name; }

  fs::path folder_;
};

TEST_F(Folders, NamesAreInOrder) {
  const auto names = ListFolder(folder_);
  ASSERT_TRUE(names.ok()) << names.status();
  EXPECT_EQ(*names, (std::vector<std::string>{"a", "b", "link"}));
  EXPECT_EQ(ListFolder(Path("none")).status().code(), StatusCode::kNotFound);
  EXPECT_NE(Message(ListFolder(Path("a")).status()).find(Path("a")),
            std::string::npos);
}

TEST_F(Folders, AWalkFindsWhatIsBelowAndFollowsNoLink) {
  const FolderContents contents = WalkFolder(folder_);
  EXPECT_TRUE(contents.status.ok()) << contents.status;
  EXPECT_EQ(contents.folders,
            (std::vector<std::string>{folder_, Path("b"), Path("b/c")}));
  ASSERT_EQ(contents.files.size(), 3u);
  EXPECT_EQ(contents.files[0].path, Path("a"));
  EXPECT_EQ(contents.files[1].path, Path("b/c/file"));
  EXPECT_EQ(contents.files[1].info.st_size, 4);
  EXPECT_EQ(contents.files[2].path, Path("link"));
  // What is not there has nothing in it.
  const FolderContents none = WalkFolder(Path("none"));
  EXPECT_TRUE(none.status.ok());
  EXPECT_TRUE(none.files.empty());
}

TEST_F(Folders, FoldersAreMadeWithThoseThatTheyLieIn) {
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(MakeFolders(Path("x/y/z")).ok());
    EXPECT_TRUE(fs::is_directory(Path("x/y/z")));
  }
  EXPECT_TRUE(MakeFolders(Path("link/d/")).ok());
  EXPECT_TRUE(fs::is_directory(Path("b/d")));
  EXPECT_TRUE(MakeFolders("").ok());
  const Status status = MakeFolders(Path("a/below"));
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_NE(Message(status).find(Path("a/below")), std::string::npos);
}

TEST_F(Folders, LinksAreFollowedToWhereAFileWouldBe) {
  fs::create_symlink("b/new", folder_ / "to_new");
  fs::create_symlink("to_new", folder_ / "twice");
  fs::create_symlink("round", folder_ / "round");
  EXPECT_EQ(FollowLinks(Path("twice")), Path("b/new"));
  EXPECT_EQ(FollowLinks(Path("a")), Path("a"));
  EXPECT_EQ(FollowLinks(Path("none")), Path("none"));
  EXPECT_EQ(FollowLinks(Path("round")), Path("round"));
}

TEST_F(Folders, RealPathsAreAsTheLibraryHasThem) {
  for (const char* name : {"link/c/file", "link/../a", "b//c/.", "."}) {
    const auto real = RealPath(Path(name));
    ASSERT_TRUE(real.ok()) << real.status();
    EXPECT_EQ(*real, fs::canonical(Path(name)));
  }
  EXPECT_EQ(RealPath(Path("none")).status().code(), StatusCode::kNotFound);
  for (const char* name :
       {"link/c/file", "link/none/of/it", "none", "link/.."}) {
    const auto real = RealPathOfExisting(Path(name));
    ASSERT_TRUE(real.ok()) << real.status();
    EXPECT_EQ(*real, fs::weakly_canonical(Path(name)));
  }
  fs::create_symlink("round", folder_ / "round");
  EXPECT_FALSE(RealPathOfExisting(Path("round/x")).ok());
  const auto here = RealPathOfExisting("none");
  ASSERT_TRUE(here.ok()) << here.status();
  EXPECT_EQ(*here, fs::current_path() / "none");
}

}  // namespace
}  // namespace encore
