#include "encore/cache/store/trust.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>

#include "encore/cache/store/container.h"
#include "encore/cache/store/container_writer.h"
#include "encore/ir/support/status.h"
#include "gtest/gtest.h"

namespace encore::cache {
namespace {

namespace fs = std::filesystem;

// A container at `path`, closed to everyone else.
std::shared_ptr<const Container> Written(const std::string& path) {
  ContainerWriter writer;
  writer.AddOwned(SectionType::kHeadline, "code");
  EXPECT_TRUE(WriteFile(writer, path).ok());
  EXPECT_EQ(chmod(path.c_str(), 0600), 0);
  const auto container = Container::Open(path);
  EXPECT_TRUE(container.ok()) << container.status();
  return container.ok() ? *container : nullptr;
}

class TrustTest : public testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(folder_);
    fs::create_directories(store_ + "/below");
    chmod(store_.c_str(), 0700);
    chmod((store_ + "/below").c_str(), 0700);
    container_ = Written(file_);
    ASSERT_NE(container_, nullptr);
  }
  bool Lies(const std::string& path) const {
    const Status status = CheckLiesInStore(*container_, path, store_);
    EXPECT_TRUE(status.ok() || status.code() == StatusCode::kPermissionDenied);
    return status.ok();
  }
  const std::string folder_ = testing::TempDir() + "/trust";
  const std::string store_ = folder_ + "/store";
  const std::string file_ = store_ + "/below/file";
  std::shared_ptr<const Container> container_;
};

TEST_F(TrustTest, AFileOfOnesOwnInAStoreOfOnesOwn) {
  EXPECT_TRUE(Lies(file_));
  EXPECT_TRUE(Lies(store_ + "/below/../below/file"));
  fs::create_directory_symlink(store_, folder_ + "/other_name");
  EXPECT_TRUE(Lies(folder_ + "/other_name/below/file"));
  EXPECT_TRUE(
      CheckLiesInStore(*container_, file_, folder_ + "/other_name").ok());
}

TEST_F(TrustTest, OpenToOthersAnywhereIsNotTrusted) {
  for (const std::string& path : {store_, store_ + "/below", file_}) {
    struct stat info;
    ASSERT_EQ(stat(path.c_str(), &info), 0);
    for (const mode_t bit : {S_IWOTH, S_IROTH, S_IWGRP, S_IXGRP}) {
      chmod(path.c_str(), info.st_mode | bit);
      EXPECT_FALSE(Lies(file_)) << path;
      chmod(path.c_str(), info.st_mode);
    }
    EXPECT_TRUE(Lies(file_)) << path;
  }
}

TEST_F(TrustTest, OutsideTheStoreIsNotTrusted) {
  const std::string outside = folder_ + "/outside";
  container_ = Written(outside);
  EXPECT_FALSE(Lies(outside));
  EXPECT_FALSE(Lies(store_ + "/../outside"));
  fs::create_symlink(outside, store_ + "/link");
  EXPECT_FALSE(Lies(store_ + "/link"));
  container_ = Written(file_);
  for (const std::string& store :
       {std::string(), store_ + "-none", store_ + "/belo", file_}) {
    EXPECT_EQ(CheckLiesInStore(*container_, file_, store).code(),
              StatusCode::kPermissionDenied)
        << store;
  }
  EXPECT_FALSE(Lies(store_ + "/below"));
  EXPECT_FALSE(Lies(store_));
  EXPECT_FALSE(Lies(store_ + "/below/none"));
}

// What was mapped is what is judged, not what lies at its path.
TEST_F(TrustTest, AnotherFileAtThePathIsNotTheOneThatWasMapped) {
  const auto before = container_;
  fs::rename(file_, store_ + "/below/moved");
  container_ = Written(file_);
  EXPECT_TRUE(Lies(file_));
  container_ = before;
  EXPECT_FALSE(Lies(file_));
  EXPECT_TRUE(Lies(store_ + "/below/moved"));
  fs::remove(file_);
  EXPECT_FALSE(Lies(file_));
}

TEST_F(TrustTest, BytesInMemoryAreNot) {
  ContainerWriter writer;
  writer.AddOwned(SectionType::kHeadline, "code");
  const auto container = Container::FromBytes(*writer.ToBytes());
  ASSERT_TRUE(container.ok());
  EXPECT_EQ(CheckLiesInStore(**container, file_, store_).code(),
            StatusCode::kPermissionDenied);
}

TEST_F(TrustTest, DescriptorsOfOnesOwn) {
  const int fd = open(file_.c_str(), O_RDONLY);
  ASSERT_GE(fd, 0);
  EXPECT_TRUE(CheckOwnerOnly(fd, file_).ok());
  fchmod(fd, 0640);
  EXPECT_EQ(CheckOwnerOnly(fd, file_).code(), StatusCode::kPermissionDenied);
  close(fd);
  EXPECT_EQ(CheckOwnerOnly(fd, file_).code(), StatusCode::kPermissionDenied);
}

}  // namespace
}  // namespace encore::cache
