// Several threads and processes in one store: locks, entries that others
// replace meanwhile, and what is set aside of them.
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "encore/cache/store/disk_store.h"
#include "encore/cache/store/disk_store_test_fixture.h"
#include "encore/ir/support/sha256.h"
#include "encore/ir/support/staged_file.h"
#include "encore/ir/support/status.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/support/system_calls.h"
#include "encore/ir/support/testing/child_process.h"
#include "encore/ir/testing/faulty_system.h"
#include "gtest/gtest.h"

namespace encore::cache {
namespace {

TEST_F(DiskStoreTest, OneThreadAtATimeHoldsAKey) {
  const auto store = Open();
  std::atomic<int> inside = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        const auto lock = store->LockKey(key_, std::chrono::minutes(1));
        ASSERT_NE(lock, nullptr);
        EXPECT_EQ(inside.fetch_add(1), 0);
        inside.fetch_sub(1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// Two processes write and read the same entries under locks and without.
TEST_F(DiskStoreTest, SeveralProcesses) {
  const auto work = [this] {
    const auto store = Open(50'000);
    for (int i = 0; i < 100; ++i) {
      const Digest key = Sha256Of(StrCat(i % 7));
      const std::string text = StrCat("text ", i % 7, std::string(2000, 'x'));
      const auto lock =
          i % 2 == 0 ? store->LockKey(key, std::chrono::minutes(1)) : nullptr;
      if (!store->Put("graph", key, Writer(text))) return 1;
      const auto container = store->Get("graph", key);
      if (container != nullptr && TextOf(*container) != text) return 2;
    }
    return log_.empty() ? 0 : 3;
  };
  const pid_t child = StartChild(work);
  EXPECT_EQ(work(), 0);
  EXPECT_EQ(WaitForChild(child), 0);
}

// Before the rename that puts an entry in its place: one that puts a short text
// has looked, and found nothing, when another one comes with a longer text,
// which a short one may not replace.
TEST_F(DiskStoreTest, NobodyComesBetweenALookAndItsReplacement) {
  const auto first = Open(), second = Open();
  const auto put = [&](DiskStore& store, const std::string& text) {
    return store.PutUnless("graph", key_, Writer(text),
                           [&](const Container& there) {
                             return TextOf(there).size() > text.size();
                           });
  };
  std::thread other;
  std::atomic<bool> ended = false;
  BeforeTheFirst system(SystemCall::kRename, [&] {
    other = std::thread([&] {
      EXPECT_TRUE(put(*second, "longer"));
      ended = true;
    });
    for (int i = 0; i < 100 && !ended; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  {
    const ScopedSystemCalls scope(&system);
    EXPECT_TRUE(put(*first, "short"));
    other.join();
  }
  EXPECT_EQ(TextOf(*first->Get("graph", key_)), "longer");
  EXPECT_FALSE(put(*first, "short"));
  EXPECT_EQ(TextOf(*first->Get("graph", key_)), "longer");
  EXPECT_TRUE(put(*first, "longest"));
  EXPECT_EQ(TextOf(*first->Get("graph", key_)), "longest");
  EXPECT_TRUE(log_.empty());
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_ + "/v1/locks"), {}),
            0);
}

// Two have read one damaged entry. The first sets it aside and puts another,
// which is none of the second's business.
TEST_F(DiskStoreTest, OnlyWhatWasReadIsSetAside) {
  const auto first = Open(), second = Open();
  ASSERT_TRUE(first->Put("graph", key_, Writer("bad")));
  const auto read = first->Get("graph", key_),
             again = second->Get("graph", key_);
  const Status why = DataLossError("a test");
  first->Quarantine("graph", key_, *read, why);
  EXPECT_EQ(log_.size(), 1u);
  ASSERT_TRUE(first->Put("graph", key_, Writer("good")));
  second->Quarantine("graph", key_, *again, why);
  ASSERT_TRUE(second->Contains("graph", key_));
  EXPECT_EQ(TextOf(*second->Get("graph", key_)), "good");
  EXPECT_EQ(first->Bad().size(), 1u);
  EXPECT_EQ(log_.size(), 1u) << log_.back();
}

// Likewise of an entry whose head is damaged: it is replaced once it was read.
TEST_F(DiskStoreTest, WhatReplacesADamagedHeadStays) {
  const auto store = Open();
  ASSERT_TRUE(store->Put("graph", key_, Writer("bad")));
  const std::string path = PathOf(*store);
  fs::resize_file(path, fs::file_size(path) - 1);
  BeforeTheFirst system(SystemCall::kFLock, [&] {
    EXPECT_TRUE(store->Put("graph", key_, Writer("good")));
  });
  {
    const ScopedSystemCalls scope(&system);
    EXPECT_EQ(store->Get("graph", key_), nullptr);
  }
  const auto there = store->Get("graph", key_);
  ASSERT_NE(there, nullptr);
  EXPECT_EQ(TextOf(*there), "good");
  EXPECT_TRUE(store->Bad().empty());
  EXPECT_TRUE(log_.empty()) << log_.back();
}

// And of one that is replaced at the very last moment, without a lock.
TEST_F(DiskStoreTest, WhatWasSetAsideInsteadComesBack) {
  const auto store = Open();
  ASSERT_TRUE(store->Put("graph", key_, Writer("bad")));
  const auto read = store->Get("graph", key_);
  BeforeTheFirst system(SystemCall::kRename, [&] {
    EXPECT_TRUE(store->Put("graph", key_, Writer("good")));
  });
  {
    const ScopedSystemCalls scope(&system);
    store->Quarantine("graph", key_, *read, DataLossError("a test"));
  }
  const auto there = store->Get("graph", key_);
  ASSERT_NE(there, nullptr);
  EXPECT_EQ(TextOf(*there), "good");
  EXPECT_TRUE(store->Bad().empty());
  EXPECT_TRUE(log_.empty()) << log_.back();
}

// Two processes put numbers in any order, each only over smaller ones: what is
// there never becomes smaller.
TEST_F(DiskStoreTest, SeveralProcessesPutOnlyOverLess) {
  const auto work = [this](int factor) {
    const auto store = Open();
    int last = 0;
    for (int i = 1; i <= 200; ++i) {
      const int mine = i * factor % 211;
      store->PutUnless("graph", key_, Writer(StrCat(mine)),
                       [&](const Container& there) {
                         return std::stoi(TextOf(there)) > mine;
                       });
      const int there = std::stoi(TextOf(*store->Get("graph", key_)));
      if (there < std::max(mine, last)) return 1;
      last = there;
    }
    for (const std::string& line : log_) ADD_FAILURE() << line;
    return log_.empty() ? 0 : 2;
  };
  const pid_t child = StartChild([&] { return work(1); });
  EXPECT_EQ(work(2), 0);
  EXPECT_EQ(WaitForChild(child), 0);
}

size_t FilesIn(const std::string& folder) {
  return static_cast<size_t>(std::distance(fs::directory_iterator(folder), {}));
}

TEST_F(DiskStoreTest, LocksThatCannotBeHadLeaveNoFiles) {
  const auto store = Open();
  const std::string locks = folder_ + "/v1/locks";
  FaultySystem system;
  const ScopedSystemCalls scope(&system);
  system.FailAll(SystemCall::kFLock, ENOLCK);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(store->LockKey(Sha256Of(StrCat(i)), std::chrono::seconds(1)),
              nullptr);
  }
  EXPECT_TRUE(store->PutUnless("graph", key_, Writer("text"),
                               [](const auto&) { return false; }));
  store->Quarantine("graph", key_, *store->Get("graph", key_),
                    DataLossError("a test"));
  EXPECT_EQ(store->Bad().size(), 1u);
  EXPECT_EQ(FilesIn(locks), 0u);
}

// There nobody knows whose they are. A day is long enough.
TEST_F(DiskStoreTest, WithoutLocksWhatIsADayOldIsNobodys) {
  const auto store = Open();
  const std::string locks = folder_ + "/v1/locks",
                    staging = folder_ + "/v1/staging";
  const std::vector<std::string> left = {locks + "/left",
                                         staging + "/.left.tmp"};
  for (const std::string& path : left) std::ofstream(path) << "x";
  const auto living = StagedFile::Create(folder_ + "/x", {.folder = staging});
  ASSERT_TRUE(living.ok());
  const auto lock = store->LockKey(key_, std::chrono::seconds(1));
  const auto age = [&](const std::string& path, int hours) {
    fs::last_write_time(
        path, fs::file_time_type::clock::now() - std::chrono::hours(hours));
  };
  FaultySystem system;
  const ScopedSystemCalls scope(&system);
  system.FailAll(SystemCall::kFLock, ENOLCK);
  for (const std::string& path : left) age(path, 23);
  store->Collect(1 << 20);
  for (const std::string& path : left) EXPECT_TRUE(fs::exists(path)) << path;
  for (const std::string& path : left) age(path, 25);
  store->Collect(1 << 20);
  for (const std::string& path : left) EXPECT_FALSE(fs::exists(path)) << path;
  // With locks it is known who lives, however long.
  age(living->staging(), 25);
  age(StrCat(locks, "/", key_.ToHex()), 25);
  system.Stop();
  std::ofstream(left[0]) << "x";
  std::ofstream(left[1]) << "x";
  store->Clear();
  EXPECT_TRUE(fs::exists(living->staging()));
  EXPECT_EQ(FilesIn(locks), 1u);
  EXPECT_EQ(FilesIn(staging), 1u);
}

}  // namespace
}  // namespace encore::cache
