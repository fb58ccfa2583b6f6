// Several threads and processes in one store: locks, entries that others
// replace meanwhile, and what is set aside of them.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "encore/cache/store/disk_store.h"
#include "encore/cache/store/disk_store_test_fixture.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/support/system_calls.h"
#include "encore/ir/support/testing/child_process.h"
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

}  // namespace
}  // namespace encore::cache
