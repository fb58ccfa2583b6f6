#include "encore/cache/session/weight_identity.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "encore/ir/support/check.h"
#include "encore/ir/support/strings.h"
#include "gtest/gtest.h"

namespace encore::cache {
namespace {

namespace fs = std::filesystem;

constexpr size_t kBytes = 4000;

class WeightIdentityTest : public testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    auto store = DiskStore::Open({.folder = folder_ + "/store"});
    ENCORE_CHECK_OK(store.status());
    store_ = *std::move(store);
  }

  std::string Write(const std::string& name, char byte) const {
    std::ofstream(folder_ + "/" + name, std::ios::binary)
        << std::string(kBytes, byte);
    return folder_ + "/" + name;
  }
  static void Settle() {
    std::this_thread::sleep_for(std::chrono::milliseconds(2100));
  }
  static std::shared_ptr<const MappedFile> Map(const std::string& path) {
    auto file = MappedFile::Open(path);
    ENCORE_CHECK_OK(file.status());
    return *std::move(file);
  }
  // A tensor over a part of the file.
  static Literal Part(const std::shared_ptr<const MappedFile>& file,
                      size_t begin, int64_t elements) {
    auto literal = Literal::Map(DType::kI8, {elements},
                                file->bytes().subspan(begin, elements), file);
    ENCORE_CHECK_OK(literal.status());
    return *std::move(literal);
  }
  Digest DigestOf(const std::vector<Literal>& weights,
                  const MappedFiles& files) const {
    return WeightIdentity(weights, files, store_.get()).digest();
  }
  // By definition, from copies that lie in no file.
  static Digest Expected(const std::vector<Literal>& weights) {
    std::vector<Literal> copies;
    for (const Literal& weight : weights) {
      copies.push_back(
          *Literal::Copy(weight.dtype(), weight.dims(), weight.bytes()));
    }
    return WeightIdentity(copies, {}, nullptr).digest();
  }
  size_t Remembered() const { return store_->List().size(); }

  const std::string folder_ = testing::TempDir() + "/identity";
  std::shared_ptr<DiskStore> store_;
};

TEST_F(WeightIdentityTest, IsRememberedForSettledFiles) {
  const std::string path = Write("a", 1);
  const auto fresh = Map(path);
  const std::vector<Literal> weights = {Part(fresh, 0, 100)};
  EXPECT_EQ(DigestOf(weights, {fresh}), Expected(weights));
  EXPECT_EQ(Remembered(), 0u) << "the file changed a moment ago";
  // The change time is now: it cannot be set.
  fs::last_write_time(path,
                      fs::file_time_type::clock::now() - std::chrono::hours(1));
  const auto moved = Map(path);
  EXPECT_EQ(DigestOf({Part(moved, 0, 100)}, {moved}), Expected(weights));
  EXPECT_EQ(Remembered(), 0u);
  Settle();
  const auto file = Map(path);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(DigestOf({Part(file, 0, 100)}, {file}), Expected(weights));
    EXPECT_EQ(Remembered(), 1u);
  }
}

TEST_F(WeightIdentityTest, IsThatOfThePlaceInTheFile) {
  const std::string path = Write("a", 1);
  std::fstream(path, std::ios::in | std::ios::out).seekp(2000) << "other";
  Settle();
  const auto file = Map(path);
  for (int i = 0; i < 2; ++i) {
    for (const size_t begin : {0, 100, 1990, 2000}) {
      const std::vector<Literal> weights = {Part(file, begin, 50)};
      EXPECT_EQ(DigestOf(weights, {file}), Expected(weights)) << begin;
    }
    const std::vector<Literal> longer = {Part(file, 1990, 60)};
    EXPECT_EQ(DigestOf(longer, {file}), Expected(longer));
    const std::vector<Literal> two = {Part(file, 2000, 50), Part(file, 0, 50)};
    EXPECT_EQ(DigestOf(two, {file}), Expected(two));
  }
}

TEST_F(WeightIdentityTest, EveryFileCountsAlsoWhereTheListIsShort) {
  Write("a", 1);
  Write("b", 2);
  Settle();
  const auto a = Map(folder_ + "/a"), b = Map(folder_ + "/b");
  const std::vector<Literal> weights = {Part(a, 0, 10), Part(b, 0, 10)};
  EXPECT_EQ(DigestOf(weights, {a, b}), Expected(weights));
  EXPECT_EQ(DigestOf(weights, {a}), Expected(weights));
  EXPECT_EQ(DigestOf(weights, {}), Expected(weights));
  // The second file is replaced: whatever list is given, its bytes count.
  fs::remove(folder_ + "/b");
  Write("b", 3);
  Settle();
  const auto c = Map(folder_ + "/b");
  const std::vector<Literal> other = {Part(a, 0, 10), Part(c, 0, 10)};
  EXPECT_EQ(DigestOf(other, {a}), Expected(other));
  EXPECT_EQ(DigestOf(other, {c, a}), Expected(other));
  EXPECT_EQ(DigestOf(other, {a, c}), Expected(other));
  EXPECT_NE(Expected(other), Expected(weights));
}

TEST_F(WeightIdentityTest, ALinkThatWasSwitchedTeachesNothing) {
  Write("v1", 1);
  Write("v2", 2);
  const std::string link = folder_ + "/link";
  fs::create_symlink("v1", link);
  Settle();
  const auto first = Map(link);
  // While the first version is compiled.
  fs::remove(link);
  fs::create_symlink("v2", link);
  const std::vector<Literal> weights = {Part(first, 0, 10)};
  EXPECT_EQ(DigestOf(weights, {first}), Expected(weights));
  const auto second = Map(link), same = Map(folder_ + "/v2");
  for (const auto& file : {second, same}) {
    const std::vector<Literal> other = {Part(file, 0, 10)};
    EXPECT_EQ(DigestOf(other, {file}), Expected(other));
    EXPECT_NE(Expected(other), Expected(weights));
  }
}

TEST_F(WeightIdentityTest, WritingInPlaceShowsAlsoWithTheTimesPutBack) {
  const std::string path = Write("a", 1);
  Settle();
  const auto before = Map(path);
  const std::vector<Literal> weights = {Part(before, 0, 10)};
  const Digest old = DigestOf(weights, {before});
  struct stat info;
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  const WeightIdentity identity(weights, {before}, store_.get());
  EXPECT_TRUE(identity.StillHolds());
  std::fstream(path, std::ios::in | std::ios::out) << "new";
  const timespec times[2] = {info.st_atim, info.st_mtim};
  ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
  EXPECT_FALSE(identity.StillHolds());
  Settle();
  const auto after = Map(path);
  EXPECT_NE(DigestOf({Part(after, 0, 10)}, {after}), old);
}

// In the granularity of the clock a stamp tells nothing: the bytes do.
TEST_F(WeightIdentityTest, OfAFileThatIsNotSettledTheBytesAreComparedAgain) {
  const std::string path = Write("a", 1);
  const auto file = Map(path);
  const std::vector<Literal> weights = {Part(file, 0, 10)};
  const WeightIdentity identity(weights, {file}, store_.get());
  EXPECT_TRUE(identity.StillHolds());
  std::fstream(path, std::ios::in | std::ios::out) << "new";
  EXPECT_FALSE(identity.StillHolds());
}

}  // namespace
}  // namespace encore::cache
