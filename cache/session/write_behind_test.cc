#include "encore/cache/session/write_behind.h"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <future>
#include <new>
#include <utility>
#include <vector>

#include "encore/cache/session/named_entries.h"
#include "encore/cache/session/session.h"
#include "encore/cache/session/session_test_fixture.h"
#include "encore/cache/store/file_lock.h"
#include "gtest/gtest.h"

namespace encore::cache {
namespace {

TEST(WriteBehindTest, WritesInOrderAndBehind) {
  constexpr size_t kCount = WriteBehind::kMostPending;
  std::vector<size_t> written;
  std::promise<void> began, open;
  WriteBehind writes(true);
  writes.Do([&] {
    began.set_value();
    open.get_future().wait();
  });
  began.get_future().wait();
  for (size_t i = 0; i < kCount; ++i) {
    writes.Do([&written, i] { written.push_back(i); });
  }
  open.set_value();  // reached while the first write waits for it
  writes.Wait();
  ASSERT_EQ(written.size(), kCount);
  for (size_t i = 0; i < kCount; ++i) EXPECT_EQ(written[i], i);
  writes.Wait();  // for nothing
}

TEST(WriteBehindTest, FewArePending) {
  std::atomic<size_t> given = 0, begun = 0, most = 0;
  {
    WriteBehind writes(true);
    for (int i = 0; i < 200; ++i) {
      ++given;  // one more than are pending, where it has to wait
      writes.Do([&] {
        const size_t pending = given - ++begun;
        if (pending > most) most = pending;
      });
    }
  }
  EXPECT_EQ(begun, 200u);
  EXPECT_LE(most, WriteBehind::kMostPending + 1);
}

TEST(WriteBehindTest, OnesThatComeLaterHaveAThreadOfTheirOwn) {
  int written = 0;
  WriteBehind writes(true);
  for (int i = 1; i <= 50; ++i) {
    writes.Do([&] { ++written; });
    writes.Wait();
    EXPECT_EQ(written, i);
  }
}

TEST(WriteBehindTest, ItsEndWaitsForAll) {
  int written = 0;
  {
    WriteBehind writes(true);
    for (int i = 0; i < 20; ++i) writes.Do([&] { ++written; });
  }
  EXPECT_EQ(written, 20);
}

TEST(WriteBehindTest, RunningOutOfMemoryStopsNoOther) {
  bool written = false;
  WriteBehind writes(true);
  writes.Do([] { throw std::bad_alloc(); });
  writes.Do([&] { written = true; });
  writes.Wait();
  EXPECT_TRUE(written);
}

TEST(WriteBehindTest, WithoutItWritesAreDoneAtOnce) {
  bool written = false;
  WriteBehind writes(false);
  writes.Do([&] { written = true; });
  EXPECT_TRUE(written);
  writes.Wait();
}

class WriteBehindSessionTest : public SessionTest {
 protected:
  std::unique_ptr<Session> NewBehind() {
    SessionOptions options;
    options.compiler = compiler_.compiler();
    options.disk = Disk();
    options.write_behind = true;
    options.log = Logger();
    return std::make_unique<Session>(std::move(options), &threads_);
  }
};

TEST_F(WriteBehindSessionTest, WhatAMissMadeIsThereAfterFlushAndAfterItsEnd) {
  auto session = NewBehind();
  EXPECT_EQ(FirstAnticipated(*session, Model(3)), 7);
  session->Flush();
  for (const std::string_view kind : {"graph", "weights", "prefetch"}) {
    EXPECT_NE(EntryPath(kind), "") << kind;
  }
  EXPECT_EQ(First(*session, Model(4)), 6);
  session.reset();
  session = NewSession();
  EXPECT_EQ(FirstAnticipated(*session, Model(3)), 7);
  EXPECT_EQ(First(*session, Model(4)), 6);
  EXPECT_EQ(session->statistics().disk_hits, 1);
  EXPECT_EQ(session->statistics().weights_restored, 3);
  EXPECT_EQ(compiler_.compiles(), 1);
}

TEST_F(WriteBehindSessionTest, ANameHasItsGraph) {
  auto session = NewBehind();
  ASSERT_TRUE(PutNamed(*session, "mine", Model(3)).ok());
  EXPECT_TRUE(ContainsNamed(*session, "mine"));
}

// The key stays locked until its entry is there.
TEST_F(WriteBehindSessionTest, OthersWaitForWhatIsBeingWritten) {
  for (int i = 0; i < 20; ++i) {
    SetUp();
    const int before = compiler_.compiles();
    auto session = NewBehind();
    EXPECT_EQ(First(*session, Model(3)), 7);
    auto other = NewSession();
    EXPECT_EQ(First(*other, Model(3)), 7);
    EXPECT_EQ(compiler_.compiles(), before + 1);
  }
}

// Each load finds what the ones before it have yet to write.
TEST_F(WriteBehindSessionTest, LoadsFindWhatWasHandedOverBefore) {
  auto session = NewBehind();
  for (int i = 0; i < 20; ++i) EXPECT_EQ(First(*session, Model(3)), 7);
  EXPECT_EQ(session->statistics().weights_prepared, 1);
  EXPECT_EQ(session->statistics().weights_restored, 19);
}

}  // namespace
}  // namespace encore::cache
