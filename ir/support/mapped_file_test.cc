#include "encore/ir/support/mapped_file.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace encore {
namespace {

namespace fs = std::filesystem;

class MappedFileTest : public testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    Write(path_, "old bytes");
  }
  static void Write(const std::string& path, const std::string& text) {
    std::ofstream(path, std::ios::binary) << text;
  }
  static std::string TextOf(const MappedFile& file) {
    return {reinterpret_cast<const char*>(file.bytes().data()),
            file.bytes().size()};
  }
  std::shared_ptr<const MappedFile> Open() const {
    auto file = MappedFile::Open(path_);
    EXPECT_TRUE(file.ok()) << file.status();
    return *file;
  }
  // Gives the file the times that it had.
  static void PutTimesBack(const std::string& path, const struct stat& before) {
    const timespec times[2] = {before.st_atim, before.st_mtim};
    ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
  }

  const std::string folder_ = testing::TempDir() + "/mapped";
  const std::string path_ = folder_ + "/file";
};

TEST_F(MappedFileTest, IsWhatWasOpened) {
  const auto file = Open();
  EXPECT_EQ(TextOf(*file), "old bytes");
  EXPECT_EQ(file->stamp(), *StampOf(path_));
  EXPECT_TRUE(file->UnchangedSinceOpen());
  // Of that file system's clock.
  const auto now = StampOfNewFile(folder_);
  ASSERT_TRUE(now.ok()) << now.status();
  EXPECT_EQ(now->device, file->stamp().device);
  EXPECT_GE(now->changed_ns, file->stamp().changed_ns);
  EXPECT_FALSE(file->stamp().settled(now->changed_ns));
  EXPECT_TRUE(file->stamp().settled(now->changed_ns + FileStamp::kSettledNs));
  EXPECT_EQ(StampOfNewFile(folder_ + "/none").status().code(),
            StatusCode::kNotFound);
}

TEST_F(MappedFileTest, AReplacedFileHasChanged) {
  const auto file = Open();
  Write(path_ + ".new", "new bytes");
  fs::rename(path_ + ".new", path_);
  EXPECT_FALSE(file->UnchangedSinceOpen());
  EXPECT_EQ(TextOf(*file), "old bytes");
  fs::remove(path_);
  EXPECT_FALSE(file->UnchangedSinceOpen());
}

TEST_F(MappedFileTest, ALinkThatLeadsElsewhereHasChanged) {
  const std::string link = folder_ + "/link";
  fs::create_symlink(path_, link);
  const auto file = MappedFile::Open(link);
  ASSERT_TRUE(file.ok());
  EXPECT_TRUE((*file)->UnchangedSinceOpen());
  Write(folder_ + "/other", "old bytes");
  fs::remove(link);
  fs::create_symlink(folder_ + "/other", link);
  EXPECT_FALSE((*file)->UnchangedSinceOpen());
}

TEST_F(MappedFileTest, AWriteInPlaceShowsAlsoWithItsTimePutBack) {
  const auto file = Open();
  struct stat before;
  ASSERT_EQ(stat(path_.c_str(), &before), 0);
  // Past the granularity of the file system's clock.
  usleep(50'000);
  std::fstream(path_, std::ios::in | std::ios::out) << "OLD";
  PutTimesBack(path_, before);
  EXPECT_EQ(StampOf(path_)->modified_ns, file->stamp().modified_ns);
  EXPECT_FALSE(file->UnchangedSinceOpen());
}

TEST_F(MappedFileTest, ErrorsSayWhatIsWrong) {
  EXPECT_EQ(MappedFile::Open(folder_ + "/none").status().code(),
            StatusCode::kNotFound);
  EXPECT_EQ(MappedFile::Open(path_ + "/below").status().code(),
            StatusCode::kNotFound);
  EXPECT_EQ(MappedFile::Open(folder_).status().code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(MappedFile::Open("/dev/null").status().code(),
            StatusCode::kInvalidArgument);
  ASSERT_EQ(mkfifo((folder_ + "/pipe").c_str(), 0600), 0);
  EXPECT_EQ(MappedFile::Open(folder_ + "/pipe").status().code(),
            StatusCode::kInvalidArgument);
  fs::create_symlink("loop", folder_ + "/loop");
  EXPECT_EQ(MappedFile::Open(folder_ + "/loop").status().code(),
            StatusCode::kInvalidArgument);
  Write(folder_ + "/empty", "");
  const auto empty = MappedFile::Open(folder_ + "/empty");
  ASSERT_TRUE(empty.ok());
  EXPECT_TRUE((*empty)->bytes().empty());
}

TEST_F(MappedFileTest, NoDescriptorLeftIsNotAMissingFile) {
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{3, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  const auto file = MappedFile::Open(path_);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(file.status().code(), StatusCode::kResourceExhausted)
      << file.status();
}

}  // namespace
}  // namespace encore
