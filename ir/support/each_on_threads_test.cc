#include "encore/ir/support/each_on_threads.h"

#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace encore {
namespace {

TEST(ForEachOnThreads, EachOnce) {
  for (const int threads : {-1, 0, 1, 2, 7}) {
    for (const size_t count : {size_t{0}, size_t{1}, size_t{2}, size_t{100}}) {
      std::vector<std::atomic<int>> calls(count);
      ForEachOnThreads(count, threads, [&](size_t i) { ++calls[i]; });
      for (size_t i = 0; i < count; ++i) EXPECT_EQ(calls[i], 1) << i;
    }
  }
}

// Two pieces that wait for each other are done on two threads.
TEST(ForEachOnThreads, AtOnce) {
  std::atomic<int> there = 0;
  ForEachOnThreads(2, 2, [&](size_t) {
    ++there;
    while (there < 2) std::this_thread::yield();
  });
  EXPECT_EQ(there, 2);
}

TEST(ForEachOnThreads, OneThreadIsTheCallers) {
  ForEachOnThreads(3, 1, [caller = std::this_thread::get_id()](size_t) {
    EXPECT_EQ(std::this_thread::get_id(), caller);
  });
}

}  // namespace
}  // namespace encore
