#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "encore/cache/store/container_writer.h"
#include "encore/cache/store/disk_store.h"
#include "encore/cache/store/disk_store_test_fixture.h"
#include "encore/cache/store/memory_store.h"
#include "encore/ir/support/file_stamp.h"
#include "encore/ir/support/staged_file.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/support/testing/child_process.h"
#include "gtest/gtest.h"

namespace encore::cache {
namespace {

std::shared_ptr<const std::string> Value(std::string text) {
  return std::make_shared<const std::string>(std::move(text));
}

TEST(MemoryStore, KeepsWhatWasUsedLast) {
  MemoryStore store(16 * 100);  // 100 bytes a shard
  store.Put("a", Value("1"), 10);
  ASSERT_NE(store.Get("a"), nullptr);
  EXPECT_EQ(*store.GetAs<std::string>("a"), "1");
  store.Put("a", Value("2"), 20);
  EXPECT_EQ(*store.GetAs<std::string>("a"), "2");
  EXPECT_EQ(store.bytes(), 20);
  store.Put("big", Value("3"), 101);
  EXPECT_EQ(store.Get("big"), nullptr);
  for (int i = 0; i < 1000; ++i) {
    store.Put(StrCat("key", i), Value("x"), 30);
  }
  EXPECT_LE(store.bytes(), 1600);
  EXPECT_GT(store.evictions(), 900);
  EXPECT_NE(store.Get("key999"), nullptr);
  store.Erase("key999");
  EXPECT_EQ(store.Get("key999"), nullptr);
  store.Clear();
  EXPECT_EQ(store.bytes(), 0);
}

TEST(MemoryStore, ManyThreads) {
  MemoryStore store(16 * 200);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&store, t] {
      for (int i = 0; i < 2000; ++i) {
        const std::string key = StrCat("key", (i * 7 + t) % 50);
        store.Put(key, Value(key), 20);
        const auto value = store.GetAs<std::string>(key);
        if (value != nullptr) EXPECT_EQ(*value, key);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(DiskStoreTest, KeepsEntriesForTheUserAlone) {
  {
    const auto store = Open();
    EXPECT_EQ(store->Get("graph", key_), nullptr);
    EXPECT_TRUE(store->Put("graph", key_, Writer("one")));
    EXPECT_TRUE(store->Put("graph", key_, Writer("two")));
  }
  const auto store = Open();
  ASSERT_NE(store->Get("graph", key_), nullptr);
  EXPECT_EQ(TextOf(*store->Get("graph", key_)), "two");
  EXPECT_TRUE(store->Contains("graph", key_));
  EXPECT_EQ(store->Get("other", key_), nullptr);
  ASSERT_EQ(store->List().size(), 1u);
  EXPECT_EQ(store->List()[0].kind, "graph");
  struct stat info;
  ASSERT_EQ(stat(folder_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
  EXPECT_TRUE(log_.empty());
}

TEST_F(DiskStoreTest, AFolderThatIsOpenToOthersIsRefused) {
  fs::create_directories(folder_);
  fs::permissions(folder_, fs::perms::owner_all | fs::perms::others_write);
  EXPECT_EQ(DiskStore::Open({.folder = folder_}).status().code(),
            StatusCode::kPermissionDenied);
  EXPECT_FALSE(DiskStore::Open({.folder = "/proc/none/cache"}).ok());
  std::ofstream(folder_ + "-file") << "x";
  EXPECT_FALSE(DiskStore::Open({.folder = folder_ + "-file"}).ok());
}

TEST_F(DiskStoreTest, ADamagedEntryIsSetAsideAndCanBeWrittenAgain) {
  const auto store = Open();
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(store->Put("graph", key_, Writer("text")));
    std::fstream file(PathOf(*store), std::ios::in | std::ios::out);
    file.seekp(20);
    file.put('x');
    file.close();
    EXPECT_EQ(store->Get("graph", key_), nullptr);
    EXPECT_FALSE(store->Contains("graph", key_));
  }
  EXPECT_EQ(log_.size(), 1u);
  EXPECT_TRUE(store->List().empty());
}

TEST_F(DiskStoreTest, FailuresAreLoggedOnceAndBreakNothing) {
  const auto store = Open();
  // A file where the folder of the kind should be: fails for root too.
  std::ofstream(folder_ + "/v1/graph") << "in the way";
  EXPECT_FALSE(store->Put("graph", key_, Writer("text")));
  EXPECT_FALSE(store->Put("graph", key_, Writer("text")));
  EXPECT_EQ(store->Get("graph", key_), nullptr);
  EXPECT_EQ(log_.size(), 1u) << log_.back();
}

TEST_F(DiskStoreTest, ClearRemovesEntriesDamagedOnesAndLeftovers) {
  const auto store = Open();
  ASSERT_TRUE(store->Put("graph", key_, Writer("one")));
  ASSERT_TRUE(store->Put("memo", key_, Writer("two")));
  ASSERT_TRUE(store->Put("named", key_, Writer("three")));
  store->Quarantine("named", key_, *store->Get("named", key_),
                    DataLossError("a test"));
  EXPECT_EQ(store->Bad().size(), 1u);
  // What a writer that died left, and what one is writing now.
  const std::string left = PathOf(*store) + ".1.0.tmp";
  std::ofstream(left) << "x";
  const auto writing =
      StagedFile::Create(PathOf(*store), {.folder = folder_ + "/v1/staging"});
  ASSERT_TRUE(writing.ok());
  const DiskStore::Cleared cleared = store->Clear();
  EXPECT_EQ(cleared.entries.size(), 2u);
  EXPECT_EQ(cleared.bad, 1);
  EXPECT_TRUE(store->List().empty());
  EXPECT_TRUE(store->Bad().empty());
  EXPECT_FALSE(fs::exists(left));
  EXPECT_TRUE(fs::exists(writing->staging()));
  EXPECT_TRUE(store->Put("graph", key_, Writer("again")));
  EXPECT_NE(store->Get("graph", key_), nullptr);
}

TEST_F(DiskStoreTest, TheLeastRecentlyUsedGoFirst) {
  const auto store = Open(20'000);
  std::vector<Digest> keys;
  for (int i = 0; i < 30; ++i) {
    keys.push_back(Sha256Of(StrCat(i)));
    ASSERT_TRUE(store->Put("graph", keys[i], Writer(std::string(1000, 'x'))));
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  uint64_t total = 0;
  for (const DiskStore::Entry& entry : store->List()) total += entry.bytes;
  EXPECT_LE(total, 20'000u);
  EXPECT_TRUE(store->Contains("graph", keys[29]));
  EXPECT_FALSE(store->Contains("graph", keys[0]));
  EXPECT_FALSE(store->Put("graph", key_, Writer(std::string(30'000, 'x'))));
  EXPECT_GT(store->Collect(0), 10);
  EXPECT_TRUE(store->List().empty());
}

// A use a minute at most, and who only looks is none.
TEST_F(DiskStoreTest, UsesAreCounted) {
  const auto store = Open();
  ASSERT_TRUE(store->Put("graph", key_, Writer("one")));
  const auto uses = [&] { return store->ListKind("graph").at(0).uses; };
  const std::string path = store->List().at(0).path;
  ASSERT_NE(store->Get("graph", key_), nullptr);
  EXPECT_EQ(uses(), 0);  // it is new
  const auto earlier = [] {
    return fs::file_time_type::clock::now() - std::chrono::hours(1);
  };
  fs::last_write_time(path, earlier());
  const std::string used = fs::path(path).replace_extension("used");
  for (int i = 1; i <= 3; ++i) {
    ASSERT_NE(store->Peek("graph", key_), nullptr);
    ASSERT_NE(store->Get("graph", key_), nullptr);
    ASSERT_NE(store->Get("graph", key_), nullptr);
    EXPECT_EQ(uses(), i);
    EXPECT_GT(store->List().at(0).used_ns, NowNs() - 60'000'000'000);
    fs::last_write_time(used, earlier());
  }
  EXPECT_TRUE(store->ListKind("weights").empty());
}

TEST_F(DiskStoreTest, WhatWasUsedLastStays) {
  const auto store = Open();
  const Digest other = Sha256Of("other");
  ASSERT_TRUE(store->Put("graph", key_, Writer("one")));
  ASSERT_TRUE(store->Put("graph", other, Writer("two")));
  const auto ago = [&](int hours) {
    return fs::file_time_type::clock::now() - std::chrono::hours(hours);
  };
  std::string used, unused;
  for (const DiskStore::Entry& entry : store->List()) {
    (entry.key == key_ ? used : unused) = entry.path;
  }
  fs::last_write_time(used, ago(2));
  fs::last_write_time(unused, ago(1));
  const auto stamp = StampOf(used);
  ASSERT_NE(store->Get("graph", key_), nullptr);
  // Using an entry does not change it.
  EXPECT_EQ(*StampOf(used), *stamp);
  EXPECT_EQ(store->Collect(fs::file_size(used)), 1);
  EXPECT_TRUE(store->Contains("graph", key_));
  EXPECT_FALSE(store->Contains("graph", other));
  store->Clear();
  size_t files = 0;
  for (const auto& file : fs::recursive_directory_iterator(folder_)) {
    files += file.is_regular_file();
  }
  EXPECT_EQ(files, 0u);
}

TEST_F(DiskStoreTest, TheBoundCountsWhatIsSetAsideAndBeingWritten) {
  const auto store = Open(20'000);
  ASSERT_TRUE(store->Put("graph", key_, Writer(std::string(8'000, 'x'))));
  store->Quarantine("graph", key_, *store->Get("graph", key_),
                    DataLossError("a test"));
  ASSERT_TRUE(store->Put("graph", key_, Writer(std::string(8'000, 'x'))));
  EXPECT_EQ(store->Bad().size(), 1u);
  ASSERT_TRUE(store->Put("named", key_, Writer(std::string(8'000, 'x'))));
  EXPECT_TRUE(store->Bad().empty());
  EXPECT_TRUE(store->Contains("graph", key_));
}

TEST_F(DiskStoreTest, OpeningRemovesWhatAKilledWriterLeft) {
  const auto store = Open();
  const std::string staging = folder_ + "/v1/staging";
  const int status = WaitForChild(StartChild([&] {
    const auto file = StagedFile::Create(folder_ + "/x", {.folder = staging});
    kill(getpid(), SIGKILL);
    return int{file.ok()};
  }));
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(std::distance(fs::directory_iterator(staging), {}), 1);
  const auto living = StagedFile::Create(folder_ + "/x", {.folder = staging});
  Open();
  EXPECT_EQ(std::distance(fs::directory_iterator(staging), {}), 1);
  EXPECT_TRUE(fs::exists(living->staging()));
}

TEST_F(DiskStoreTest, AStoreThatIsRemovedWhileInUseIsMadeAnew) {
  const auto store = Open();
  fs::remove_all(folder_);
  EXPECT_TRUE(store->Put("graph", key_, Writer("text")));
  EXPECT_NE(Open()->Get("graph", key_), nullptr);
  EXPECT_TRUE(log_.empty());
}

// Through a link or from a file that others can write, nothing is read.
TEST_F(DiskStoreTest, OnlyEntriesOfOnesOwnAreRead) {
  const auto store = Open();
  ASSERT_TRUE(store->Put("graph", key_, Writer("text")));
  const std::string path = PathOf(*store);
  fs::permissions(path, fs::perms::owner_all | fs::perms::group_write);
  EXPECT_EQ(store->Get("graph", key_), nullptr);
  fs::permissions(path, fs::perms::owner_read);
  EXPECT_NE(store->Get("graph", key_), nullptr);
  fs::rename(path, folder_ + "-elsewhere");
  fs::create_symlink(folder_ + "-elsewhere", path);
  EXPECT_EQ(store->Get("graph", key_), nullptr);
  fs::remove(path);
  fs::rename(folder_ + "-elsewhere", path);
  const fs::path kind = fs::path(folder_) / "v1/graph";
  fs::remove_all(folder_ + "-kind");
  fs::rename(kind, folder_ + "-kind");
  fs::create_directory_symlink(folder_ + "-kind", kind);
  EXPECT_EQ(store->Get("graph", key_), nullptr);
}

TEST_F(DiskStoreTest, AnEvictedEntryInUseStaysReadable) {
  const auto store = Open();
  ASSERT_TRUE(store->Put("graph", key_, Writer("text")));
  const auto container = store->Get("graph", key_);
  store->Collect(0);
  EXPECT_EQ(TextOf(*container), "text");
}

}  // namespace
}  // namespace encore::cache
