#include "encore/runtime/device/thread_pool.h"

#include <atomic>
#include <chrono>
#include <set>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace encore::runtime {
namespace {

TEST(ThreadPool, EveryPartitionRunsOnce) {
  for (const int threads : {1, 2, 5}) {
    ThreadPool pool(threads);
    for (const int64_t partitions : {0, 1, 2, 3, 17, 1000}) {
      std::vector<std::atomic<int>> runs(partitions);
      pool.ParallelFor(partitions, [&](int64_t p) { ++runs[p]; });
      for (const auto& count : runs) EXPECT_EQ(count, 1);
    }
  }
}

TEST(ThreadPool, SizeOneRunsInOrderOnTheCaller) {
  ThreadPool pool(1);
  std::vector<int64_t> order;
  const auto self = std::this_thread::get_id();
  pool.ParallelFor(5, [&](int64_t p) {
    EXPECT_EQ(std::this_thread::get_id(), self);
    order.push_back(p);
  });
  EXPECT_EQ(order, (std::vector<int64_t>{0, 1, 2, 3, 4}));
}

TEST(ThreadPool, HelpersJoinAndWakeFromSleep) {
  ThreadPool pool(3);
  // Partitions that wait for each other: done only when three threads work.
  for (int round = 0; round < 3; ++round) {
    std::atomic<int> present = 0;
    pool.ParallelFor(3, [&](int64_t) {
      ++present;
      while (present < 3) std::this_thread::yield();
    });
    EXPECT_EQ(present, 3);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

TEST(ThreadPool, CallersAtOnceAndNestedCalls) {
  ThreadPool pool(4);
  std::atomic<int64_t> total = 0;
  std::vector<std::thread> callers;
  for (int c = 0; c < 6; ++c) {
    callers.emplace_back([&] {
      for (int round = 0; round < 200; ++round) {
        ThreadPool::Caller scope(pool);
        pool.ParallelFor(5, [&](int64_t p) {
          pool.ParallelFor(3, [&](int64_t q) { total += p * 3 + q; });
        });
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(total, 6 * 200 * (14 * 15 / 2));
}

// Partitions that wait for each other: done only when `threads` work at once.
void ExpectWorking(ThreadPool& pool, int threads) {
  std::atomic<int> present = 0;
  pool.ParallelFor(threads, [&](int64_t) {
    ++present;
    const auto begin = std::chrono::steady_clock::now();
    while (present < threads) {
      std::this_thread::yield();
      ASSERT_LT(std::chrono::steady_clock::now() - begin,
                std::chrono::seconds(60));
    }
  });
}

// Each partition gives another thread time to take the next one.
void ExpectAlone(ThreadPool& pool) {
  const auto wait = std::chrono::milliseconds(20);
  std::this_thread::sleep_for(wait);  // helpers end what they looked at before
  const auto self = std::this_thread::get_id();
  pool.ParallelFor(3, [&](int64_t) {
    EXPECT_EQ(std::this_thread::get_id(), self);
    std::this_thread::sleep_for(wait);
  });
}

// A caller of `pool` on a thread of its own, from construction on.
class OtherCaller {
 public:
  explicit OtherCaller(ThreadPool& pool)
      : thread_([this, &pool] {
          const ThreadPool::Caller caller(pool);
          there_ = true;
          there_.notify_one();
          done_.wait(false);
        }) {
    there_.wait(false);
  }
  ~OtherCaller() {
    done_ = true;
    done_.notify_one();
    thread_.join();
  }

 private:
  std::atomic<bool> there_ = false, done_ = false;
  std::thread thread_;
};

TEST(ThreadPool, AsManyCallersAsThreadsLeaveNoHelper) {
  ThreadPool pool(2);
  const ThreadPool::Caller here(pool);
  {
    const OtherCaller there(pool);
    ExpectAlone(pool);
  }
  ExpectWorking(pool, 2);
}

// A thread that measures holds one, and each replay in it another.
TEST(ThreadPool, NestedCallersOfOneThreadCountOnce) {
  ThreadPool pool(2), other(3);
  const ThreadPool::Caller outer(pool);
  for (int round = 0; round < 3; ++round) {
    const ThreadPool::Caller inner(pool), innermost(pool);
    ExpectWorking(pool, 2);
  }
  ExpectWorking(pool, 2);
  {
    const ThreadPool::Caller between(other);
    const ThreadPool::Caller inner(pool);
    ExpectWorking(pool, 2);
    ExpectWorking(other, 3);
    // Those within do not end what the outermost one began.
    {
      const ThreadPool::Caller again(other);
    }
    const OtherCaller second(other), third(other);
    ExpectAlone(other);
    ExpectWorking(pool, 2);
  }
  const OtherCaller there(pool);
  ExpectAlone(pool);
}

TEST(ThreadPool, NestedCallersOnManyThreads) {
  ThreadPool pool(3), other(2);
  std::atomic<int64_t> total = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int round = 0; round < 200; ++round) {
        const ThreadPool::Caller outer(t % 2 == 0 ? pool : other);
        const ThreadPool::Caller second(pool), third(other), fourth(pool);
        pool.ParallelFor(4, [&](int64_t p) { total += p; });
        other.ParallelFor(3, [&](int64_t p) { total += p; });
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(total, 4 * 200 * (6 + 3));
  // All of them have left.
  ExpectWorking(pool, 3);
  ExpectWorking(other, 2);
}

TEST(ThreadPool, ResultsOfEarlierWorkAreSeen) {
  ThreadPool pool(3);
  std::vector<int64_t> values(64, 1);  // plain memory: tsan checks the handover
  for (int round = 0; round < 500; ++round) {
    pool.ParallelFor(8, [&](int64_t p) {
      for (int i = 0; i < 8; ++i) values[p * 8 + i] += values[p * 8 + i] & 7;
    });
    pool.ParallelFor(4, [&](int64_t p) {
      for (int i = 0; i < 16; ++i) values[p * 16 + i] ^= 3;
    });
  }
  EXPECT_EQ(std::set<int64_t>(values.begin(), values.end()).size(), 1u);
}

}  // namespace
}  // namespace encore::runtime
