#include "encore/cache/session/write_behind.h"

#include <exception>
#include <new>
#include <utility>

#include "encore/ir/support/thread.h"

namespace encore::cache {
namespace {

void Try(const WriteBehind::Write& write) {
  try {
    write();
  } catch (const std::bad_alloc&) {
    // Nothing is kept.
  }
}

}  // namespace

WriteBehind::~WriteBehind() {
  if (thread_.joinable()) thread_.join();
}

void WriteBehind::Do(Write write) {
  if (!enabled_) return Try(write);
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return writes_.size() < kMostPending; });
    try {
      writes_.push_back(std::move(write));
    } catch (const std::bad_alloc&) {
      return;  // done now, it would come before those that are pending
    }
    ++given_;
    if (running_) return;
    if (thread_.joinable()) thread_.join();  // it has left Run's last lock
    try {
      thread_ = std::thread(InThread([this] { Run(); }));
      running_ = true;
      return;
    } catch (const std::exception&) {  // no thread or no memory to be had
      write = std::move(writes_.back());
      writes_.pop_back();
      --given_;
    }
  }
  Try(write);
}

void WriteBehind::Wait() {
  std::unique_lock lock(mutex_);
  const uint64_t given = given_;
  changed_.wait(lock, [&] { return done_ >= given; });
}

void WriteBehind::Run() {
  std::unique_lock lock(mutex_);
  while (!writes_.empty()) {
    Write write = std::move(writes_.front());
    writes_.pop_front();
    changed_.notify_all();
    lock.unlock();
    Try(write);
    write = nullptr;  // what it owns goes while nobody waits for the lock
    lock.lock();
    ++done_;
    changed_.notify_all();
  }
  running_ = false;
}

}  // namespace encore::cache
