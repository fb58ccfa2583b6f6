// ThreadPool: the one set of threads that kernels run on.
//
// A kernel cuts its work into partitions whose number depends on the problem
// and never on the pool, and hands them to ParallelFor. Which thread runs a
// partition is not said, so a kernel whose partitions write disjoint results
// gives the same bits on one thread and on many.
//
// Several threads may call ParallelFor at once. A caller always works on its
// own partitions, and helpers join as long as callers and helpers together are
// at most size(): with as many replays in flight as threads, each runs alone
// and nothing is oversubscribed. Libraries that bring threads of their own
// (OpenMP) are called single-threaded from inside partitions.
//
// Cost: no allocation; a dispatch to awake helpers is about 0.2 us, waking a
// sleeping one a few us. Helpers stay awake for some tens of microseconds after
// work, longer while a Caller is in scope. A pool of size 1 has no threads and
// touches no atomic.
#ifndef ENCORE_RUNTIME_DEVICE_THREAD_POOL_H_
#define ENCORE_RUNTIME_DEVICE_THREAD_POOL_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <type_traits>
#include <vector>

namespace encore::runtime {

class ThreadPool {
 public:
  // A pool in which `threads` threads work, the caller of ParallelFor counted.
  // REQUIRES 1 <= threads <= 1024. Where the system gives fewer threads, the
  // pool works with those it got.
  explicit ThreadPool(int threads);
  // REQUIRES that no ParallelFor is under way.
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int size() const { return size_; }

  using Task = void (*)(void* context, int64_t partition);

  // Calls task(context, p) once for every p in [0, partitions), on this thread
  // and on helpers, and returns when all are done. Tasks may call ParallelFor
  // again; they must not throw.
  void ParallelFor(int64_t partitions, Task task, void* context);

  // As above for any callable that takes an int64_t.
  template <typename Function>
  void ParallelFor(int64_t partitions, Function&& function) {
    using Plain = std::remove_reference_t<Function>;
    ParallelFor(
        partitions,
        [](void* context, int64_t partition) {
          (*static_cast<Plain*>(context))(partition);
        },
        const_cast<std::remove_const_t<Plain>*>(&function));
  }

  // While in scope, its thread counts as a working one and helpers expect calls
  // soon. A replay holds one. Scopes of one thread nest, of one pool or of
  // several: however many of a pool there are, the thread counts once. They end
  // in the reverse order, on their thread.
  class Caller {
   public:
    explicit Caller(ThreadPool& pool);
    ~Caller();
    Caller(const Caller&) = delete;
    Caller& operator=(const Caller&) = delete;

   private:
    // The scopes of this thread, the last one first.
    static constinit thread_local const Caller* innermost_;

    ThreadPool& pool_;
    const Caller* const outer_;
    const bool counts_;  // no scope around it is of the same pool
  };

 private:
  // The partitions of one ParallelFor. `claims` holds the next partition in its
  // high and their number in its low half; a helper that moves it by one owns
  // that partition, and the owner leaves the other fields alone until all
  // partitions are done.
  struct alignas(64) Job {
    std::atomic<bool> taken = false;
    std::atomic<uint64_t> claims = 0;
    std::atomic<int64_t> done = 0;
    Task task = nullptr;
    void* context = nullptr;
  };
  static constexpr int kJobs = 8;
  static constexpr int64_t kMostPartitions = int64_t{1} << 31;

  void Help(int helper);
  // Runs what is left of any job; whether there was something.
  bool RunJobs(int helper);
  static bool RunPartitions(Job& job);
  Job* TakeJob();
  void Wake(int64_t helpers);

  int size_;
  Job jobs_[kJobs];
  alignas(64) std::atomic<uint32_t> signal_ = 0;  // moves with every new job
  alignas(64) std::atomic<int> sleepers_ = 0;
  std::atomic<int> callers_ = 0;
  std::atomic<bool> stop_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace encore::runtime

#endif  // ENCORE_RUNTIME_DEVICE_THREAD_POOL_H_
