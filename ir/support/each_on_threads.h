// ForEachOnThreads: a loop over independent pieces of work, some at a time.
#ifndef ENCORE_IR_SUPPORT_EACH_ON_THREADS_H_
#define ENCORE_IR_SUPPORT_EACH_ON_THREADS_H_

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <thread>
#include <vector>

#include "encore/ir/support/thread.h"

namespace encore {

// Calls work(i) once for each i below `count`, on this thread and at most
// `threads` - 1 others that end before it returns. Fewer, down to this one
// alone, where none is to be had. REQUIRES that `work` does not throw.
template <typename Work>
void ForEachOnThreads(size_t count, int threads, const Work& work) {
  std::atomic<size_t> next = 0;
  const auto run = [&] {
    for (size_t i; (i = next.fetch_add(1)) < count;) work(i);
  };
  const size_t busy =
      std::min(static_cast<size_t>(std::max(threads, 1)), count);
  std::vector<std::thread> helpers;
  try {
    while (helpers.size() + 1 < busy) {
      helpers.emplace_back(InThread([&run] { run(); }));
    }
  } catch (const std::exception&) {  // no thread or no memory to be had
  }
  run();
  for (std::thread& helper : helpers) helper.join();
}

}  // namespace encore

#endif  // ENCORE_IR_SUPPORT_EACH_ON_THREADS_H_
