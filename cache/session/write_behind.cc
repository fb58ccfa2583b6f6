#include "encore/cache/session/write_behind.h"

#include <exception>
#include <new>
#include <utility>

#include "encore/ir/support/thread.h"

namespace encore::cache {

WriteBehind::~WriteBehind() {
  if (thread_.joinable()) thread_.join();
}

void WriteBehind::Do(Write write) {
  if (!enabled_) return write();
  {
    const std::lock_guard lock(mutex_);
    writes_.push_back(std::move(write));
    if (running_) return;
    if (thread_.joinable()) thread_.join();  // it has left Run's last lock
    try {
      thread_ = std::thread(InThread([this] { Run(); }));
      running_ = true;
      return;
    } catch (const std::exception&) {  // no thread or no memory to be had
      write = std::move(writes_.back());
      writes_.pop_back();
    }
  }
  write();
}

void WriteBehind::Wait() {
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [this] { return !running_; });
}

void WriteBehind::Run() {
  std::unique_lock lock(mutex_);
  while (!writes_.empty()) {
    Write write = std::move(writes_.front());
    writes_.pop_front();
    lock.unlock();
    try {
      write();
    } catch (const std::bad_alloc&) {
      // Nothing is kept.
    }
    write = nullptr;  // what it owns goes while nobody waits for the lock
    lock.lock();
  }
  running_ = false;
  idle_.notify_all();
}

}  // namespace encore::cache
