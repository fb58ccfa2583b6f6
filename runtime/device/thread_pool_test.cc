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

TEST(ThreadPool, AsManyCallersAsThreadsLeaveNoHelper) {
  ThreadPool pool(2);
  ThreadPool::Caller here(pool), there(pool);
  const auto self = std::this_thread::get_id();
  pool.ParallelFor(
      100, [&](int64_t) { EXPECT_EQ(std::this_thread::get_id(), self); });
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
