#include "encore/cache/session/weight_identity.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "encore/ir/support/check.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/support/system_calls.h"
#include "encore/ir/testing/faulty_system.h"
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

// A file server whose clock is an hour behind and says a new time once a
// second: the file system of the weights' folder, not that of the store in it.
class FileServer final : public SystemCalls {
 public:
  FileServer(std::string folder, bool has_nameless)
      : folder_(std::move(folder)), has_nameless_(has_nameless) {}

  int OpenAt(int folder, const char* path, int flags, mode_t mode) override {
    const bool nameless = (flags & O_TMPFILE) == O_TMPFILE;
    if (nameless && path == folder_ && !has_nameless_) {
      errno = EOPNOTSUPP;
      return -1;
    }
    const int fd = SystemCalls::OpenAt(folder, path, flags, mode);
    if (fd >= 0 && IsServed(path)) served_.insert(fd);
    return fd;
  }
  int Close(int fd) override {
    served_.erase(fd);
    return SystemCalls::Close(fd);
  }
  int FStat(int fd, struct stat* info) override {
    return Served(SystemCalls::FStat(fd, info), served_.contains(fd), info);
  }
  int FStatAt(int folder, const char* path, struct stat* info,
              int flags) override {
    return Served(SystemCalls::FStatAt(folder, path, info, flags),
                  IsServed(path), info);
  }

 private:
  bool IsServed(std::string_view path) const {
    return path.starts_with(folder_) && !path.starts_with(folder_ + "/store");
  }
  static int Served(int result, bool is_served, struct stat* info) {
    if (result != 0 || !is_served) return result;
    info->st_dev = 0x12345;
    for (timespec* time : {&info->st_mtim, &info->st_ctim}) {
      *time = {time->tv_sec - 3600, 0};
    }
    return result;
  }

  const std::string folder_;
  const bool has_nameless_;
  std::set<int> served_;
};

// Two writes in place within a tick of the clock of the files: both stamps are
// the same.
class WithinATick : public WeightIdentityTest {
 protected:
  // What is remembered of the former may not stand for the latter.
  void ExpectBoth() const {
    for (;;) {
      const std::string path = Write("a", 1);
      const auto former = Map(path);
      const std::vector<Literal> weights = {Part(former, 0, 10)};
      EXPECT_EQ(DigestOf(weights, {former}), Expected(weights));
      std::fstream(path, std::ios::in | std::ios::out) << "new";
      const auto latter = Map(path);
      const std::vector<Literal> other = {Part(latter, 0, 10)};
      EXPECT_EQ(DigestOf(other, {latter}), Expected(other));
      if (former->stamp() == latter->stamp()) return;
    }
  }
  // After so many runs more than a tick apart the digest is remembered.
  void ExpectRememberedAfter(int runs) const {
    for (int run = 0; run <= runs; ++run) {
      Settle();
      const auto file = Map(folder_ + "/a");
      const std::vector<Literal> weights = {Part(file, 0, 10)};
      const WeightIdentity identity(weights, {file}, store_.get());
      EXPECT_EQ(identity.is_remembered(), run == runs) << run;
      EXPECT_EQ(identity.digest(), Expected(weights));
    }
  }
};

TEST_F(WithinATick, TheClockOfThisMachineSaysNothing) {
  FaultySystem system;
  const ScopedSystemCalls scope(&system);
  system.set_file_tick_ns(1'000'000'000);
  for (const int64_t hours : {1, -1}) {
    system.set_clock_offset_ns(hours * 3600 * 1'000'000'000);
    ExpectBoth();
    ExpectRememberedAfter(1);
  }
}

TEST_F(WithinATick, OnAServerTheServersClockIsAsked) {
  FileServer server(folder_, true);
  const ScopedSystemCalls scope(&server);
  ExpectBoth();
  ExpectRememberedAfter(1);
}

// The stamp is seen, seen again, and remembered.
TEST_F(WithinATick, WithoutThatClockAStampIsSeenTwice) {
  FileServer server(folder_, false);
  const ScopedSystemCalls scope(&server);
  ExpectBoth();
  ExpectRememberedAfter(1);
  // A new one likewise.
  Write("a", 3);
  ExpectRememberedAfter(2);
}

}  // namespace
}  // namespace encore::cache
