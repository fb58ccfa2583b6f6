#include "encore/runtime/device/thread_pool.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <climits>
#include <system_error>

#include "encore/ir/support/check.h"
#include "encore/ir/support/thread.h"

namespace encore::runtime {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kSpinIdle = std::chrono::microseconds(30);
constexpr auto kSpinCalled = std::chrono::microseconds(200);
constexpr int kPausesPerLook = 32;
constexpr int kPausesBeforeYield = 4096;

inline void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t));

void FutexWait(std::atomic<uint32_t>& word, uint32_t expected) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAIT_PRIVATE,
          expected, nullptr, nullptr, 0);
}

void FutexWake(std::atomic<uint32_t>& word, int threads) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAKE_PRIVATE,
          threads, nullptr, nullptr, 0);
}

}  // namespace

ThreadPool::ThreadPool(int threads) : size_(threads) {
  ENCORE_CHECK(threads >= 1 && threads <= 1024) << threads << " threads";
  threads_.reserve(threads - 1);
  for (int helper = 0; helper < threads - 1; ++helper) {
    try {
      threads_.emplace_back(InThread([this, helper] { Help(helper); }));
    } catch (const std::system_error&) {
      break;
    }
  }
}

ThreadPool::~ThreadPool() {
  stop_.store(true);
  Wake(INT_MAX);
  for (std::thread& thread : threads_) thread.join();
}

constinit thread_local const ThreadPool::Caller*
    ThreadPool::Caller::innermost_ = nullptr;

ThreadPool::Caller::Caller(ThreadPool& pool)
    : pool_(pool), outer_(innermost_), counts_(pool.size_ > 1 && [&] {
        const Caller* around = innermost_;
        while (around != nullptr && &around->pool_ != &pool) {
          around = around->outer_;
        }
        return around == nullptr;
      }()) {
  innermost_ = this;
  if (counts_) pool_.callers_.fetch_add(1, std::memory_order_relaxed);
}

ThreadPool::Caller::~Caller() {
  ENCORE_CHECK(innermost_ == this) << "callers end in the reverse order";
  innermost_ = outer_;
  if (counts_) pool_.callers_.fetch_sub(1, std::memory_order_relaxed);
}

void ThreadPool::Wake(int64_t helpers) {
  // Ordered with the sleeper's count-then-look: one of the two sees the other.
  signal_.fetch_add(1, std::memory_order_seq_cst);
  if (sleepers_.load(std::memory_order_seq_cst) > 0) {
    FutexWake(signal_, static_cast<int>(std::min<int64_t>(helpers, INT_MAX)));
  }
}

ThreadPool::Job* ThreadPool::TakeJob() {
  for (Job& job : jobs_) {
    if (!job.taken.load(std::memory_order_relaxed) &&
        !job.taken.exchange(true, std::memory_order_acquire)) {
      return &job;
    }
  }
  return nullptr;
}

bool ThreadPool::RunPartitions(Job& job) {
  bool ran = false;
  uint64_t claims = job.claims.load(std::memory_order_acquire);
  while ((claims >> 32) < (claims & UINT32_MAX)) {
    if (!job.claims.compare_exchange_weak(claims, claims + (uint64_t{1} << 32),
                                          std::memory_order_acq_rel,
                                          std::memory_order_acquire)) {
      continue;
    }
    job.task(job.context, static_cast<int64_t>(claims >> 32));
    job.done.fetch_add(1, std::memory_order_release);
    ran = true;
    claims = job.claims.load(std::memory_order_acquire);
  }
  return ran;
}

void ThreadPool::ParallelFor(int64_t partitions, Task task, void* context) {
  const int callers = size_ == 1 ? 1 : callers_.load(std::memory_order_relaxed);
  const int64_t helpers =
      std::min<int64_t>(size_ - std::max(1, callers), partitions - 1);
  Job* job = helpers > 0 && partitions < kMostPartitions ? TakeJob() : nullptr;
  if (job == nullptr) {
    for (int64_t p = 0; p < partitions; ++p) task(context, p);
    return;
  }
  job->task = task;
  job->context = context;
  job->done.store(0, std::memory_order_relaxed);
  job->claims.store(static_cast<uint64_t>(partitions),
                    std::memory_order_release);
  Wake(helpers);
  RunPartitions(*job);
  for (int spin = 0; job->done.load(std::memory_order_acquire) != partitions;) {
    if (++spin < kPausesBeforeYield) {
      Pause();
    } else {
      sched_yield();
    }
  }
  job->taken.store(false, std::memory_order_release);
}

bool ThreadPool::RunJobs(int helper) {
  bool ran = false;
  for (Job& job : jobs_) {
    const int callers = std::max(1, callers_.load(std::memory_order_relaxed));
    if (helper >= size_ - callers) return ran;
    ran |= RunPartitions(job);
  }
  return ran;
}

void ThreadPool::Help(int helper) {
  Clock::time_point last_work = Clock::now();
  for (;;) {
    const uint32_t seen = signal_.load(std::memory_order_seq_cst);
    if (stop_.load(std::memory_order_relaxed)) return;
    if (RunJobs(helper)) {
      last_work = Clock::now();
      continue;
    }
    bool moved = false;
    for (int i = 0; i < kPausesPerLook && !moved; ++i) {
      Pause();
      moved = signal_.load(std::memory_order_relaxed) != seen;
    }
    if (moved) continue;
    const bool called = callers_.load(std::memory_order_relaxed) > 0;
    if (Clock::now() - last_work < (called ? kSpinCalled : kSpinIdle)) continue;
    sleepers_.fetch_add(1, std::memory_order_seq_cst);
    if (signal_.load(std::memory_order_seq_cst) == seen) {
      FutexWait(signal_, seen);
    }
    sleepers_.fetch_sub(1, std::memory_order_relaxed);
    last_work = Clock::now();
  }
}

}  // namespace encore::runtime
