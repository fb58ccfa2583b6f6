// WriteBehind: writes of a session that nobody waits for.
//
// What a miss makes is of use before it is on disk, and syncing it takes as
// long as the disk does. So a session may hand its writes over: they run one
// after the other, in order, on a thread of their own that is there while there
// is something to write. Who looks into the store for what may be under way
// waits for it first.
#ifndef ENCORE_CACHE_SESSION_WRITE_BEHIND_H_
#define ENCORE_CACHE_SESSION_WRITE_BEHIND_H_

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace encore::cache {

// Thread-safe.
class WriteBehind {
 public:
  using Write = std::function<void()>;

  // Not `enabled`: every write is done where it is asked for.
  explicit WriteBehind(bool enabled) : enabled_(enabled) {}
  // Waits for all writes.
  ~WriteBehind();

  // Writes that are handed over and not begun, at most: each holds what it
  // writes, and a lock.
  static constexpr size_t kMostPending = 8;

  // Does `write` after those that were handed over before, now where it is not
  // enabled or where there is no thread to be had; waits while kMostPending
  // are. It owns what it needs. A write that runs out of memory is as good as
  // one that failed.
  void Do(Write write);

  // Returns once all that was handed over before is done.
  void Wait();

 private:
  void Run();

  const bool enabled_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Write> writes_;
  uint64_t given_ = 0, done_ = 0;  // writes, to the thread
  bool running_ = false;
  std::thread thread_;
};

}  // namespace encore::cache

#endif  // ENCORE_CACHE_SESSION_WRITE_BEHIND_H_
