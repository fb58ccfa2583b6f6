#include "encore/cache/trust.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "gtest/gtest.h"

namespace encore::cache {
namespace {

namespace fs = std::filesystem;

class TrustTest : public testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(store_);
    fs::create_directories(store_ + "/below");
    std::ofstream(file_) << "code";
    chmod(store_.c_str(), 0700);
    chmod((store_ + "/below").c_str(), 0700);
    chmod(file_.c_str(), 0600);
  }
  bool Trusted(const std::string& path) {
    return CheckOwnerOnly(path, store_).ok();
  }
  const std::string store_ = testing::TempDir() + "/store";
  const std::string file_ = store_ + "/below/file";
};

TEST_F(TrustTest, AFileOfOnesOwnInAStoreOfOnesOwn) {
  EXPECT_TRUE(Trusted(file_));
  EXPECT_TRUE(Trusted(store_ + "/below/../below/file"));
}

TEST_F(TrustTest, OpenToOthersAnywhereIsNotTrusted) {
  for (const std::string& path : {store_, store_ + "/below", file_}) {
    struct stat info;
    ASSERT_EQ(stat(path.c_str(), &info), 0);
    for (const mode_t bit : {S_IWOTH, S_IROTH, S_IWGRP, S_IXGRP}) {
      chmod(path.c_str(), info.st_mode | bit);
      EXPECT_FALSE(Trusted(file_)) << path;
      chmod(path.c_str(), info.st_mode);
    }
    EXPECT_TRUE(Trusted(file_)) << path;
  }
}

TEST_F(TrustTest, OutsideTheStoreIsNotTrusted) {
  const std::string outside = testing::TempDir() + "/outside";
  std::ofstream(outside) << "code";
  chmod(outside.c_str(), 0600);
  EXPECT_FALSE(Trusted(outside));
  EXPECT_FALSE(Trusted(store_ + "/../outside"));
  fs::create_symlink(outside, store_ + "/link");
  EXPECT_FALSE(Trusted(store_ + "/link"));
  EXPECT_FALSE(CheckOwnerOnly(file_, "").ok());
  EXPECT_FALSE(CheckOwnerOnly(file_, store_ + "-none").ok());
  EXPECT_FALSE(CheckOwnerOnly(file_, store_ + "/belo").ok());
  EXPECT_FALSE(Trusted(store_ + "/below"));
  EXPECT_FALSE(Trusted(store_));
}

}  // namespace
}  // namespace encore::cache
