// The work of deferred devices (deferred_device.h): what is enqueued in lines,
// one a queue, what has been recorded, and the order in which it is done.
#ifndef ENCORE_RUNTIME_TESTING_DEFERRED_WORK_H_
#define ENCORE_RUNTIME_TESTING_DEFERRED_WORK_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "encore/ir/support/status.h"
#include "encore/runtime/device/device.h"

namespace encore::runtime {
namespace deferred {

struct Line;

// The work of a line before number `end`.
struct Place {
  std::shared_ptr<Line> line;
  size_t end = 0;

  bool Done() const;
  Status status() const;
};

// Does the work; says which of a kernel's nodes failed, as
// LaunchContext::failed_origin.
using Job = std::function<Status(uint32_t* origin)>;

struct Item {
  Job run;  // empty for a wait
  Place wait;
  uint32_t tag = 0;
};

// Work that is recorded, each piece after others.
struct Recorder {
  struct Entry {
    Job run;
    std::vector<size_t> after;
  };
  std::vector<Entry> entries;
  std::vector<Line*> lines;  // that take part
  bool active = true;
};

// The state of a queue.
struct Line {
  std::vector<Item> items;
  // While it is recorded: where, and the entries that the next is after.
  std::shared_ptr<Recorder> recorder;
  std::vector<size_t> last;
  size_t done = 0;
  // The first fault, from item `faulty_from` on.
  Status fault;
  size_t faulty_from = SIZE_MAX;
  std::optional<Queue::Fault> at;  // where it is the line's own
};

inline bool Place::Done() const { return line == nullptr || line->done >= end; }

inline Status Place::status() const {
  if (line == nullptr || line->faulty_from >= end) return OkStatus();
  return line->fault;
}

}  // namespace deferred

// Thread-safe; a line is used by one thread at a time.
class DeferredWork {
 public:
  explicit DeferredWork(uint32_t seed) : random_(seed) {}

  std::shared_ptr<deferred::Line> NewLine() {
    const std::lock_guard lock(mutex_);
    auto line = std::make_shared<deferred::Line>();
    lines_.push_back(line);
    return line;
  }

  void Add(const std::shared_ptr<deferred::Line>& line, deferred::Item item) {
    const std::lock_guard lock(mutex_);
    if (line->recorder == nullptr) {
      line->items.push_back(std::move(item));
      return;
    }
    std::vector<deferred::Recorder::Entry>& entries = line->recorder->entries;
    entries.push_back({std::move(item.run), std::move(line->last)});
    line->last = {entries.size() - 1};
  }

  void Join(const std::shared_ptr<deferred::Line>& line,
            const std::shared_ptr<deferred::Recorder>& recorder,
            std::span<const size_t> after) {
    const std::lock_guard lock(mutex_);
    if (line->recorder == nullptr) {
      line->recorder = recorder;
      recorder->lines.push_back(line.get());
    }
    line->last.insert(line->last.end(), after.begin(), after.end());
  }

  std::shared_ptr<deferred::Recorder> Leave(deferred::Line& line) {
    const std::lock_guard lock(mutex_);
    const std::shared_ptr<deferred::Recorder> recorder = line.recorder;
    recorder->active = false;
    for (deferred::Line* const one : recorder->lines) {
      one->recorder = nullptr;
      one->last.clear();
    }
    return recorder;
  }

  // The number of one of so many that may be next.
  size_t Draw(size_t count) { return random_() % count; }

  deferred::Place Here(const std::shared_ptr<deferred::Line>& line) {
    const std::lock_guard lock(mutex_);
    return {line, line->items.size()};
  }

  std::optional<Queue::Fault> FaultOf(const deferred::Line& line) {
    const std::lock_guard lock(mutex_);
    return line.at;
  }

  Status Complete(const deferred::Place& place) {
    const std::lock_guard lock(mutex_);
    while (!place.Done()) {
      std::shared_ptr<deferred::Line> next =
          random_() % 3 == 0 ? AnyReady() : nullptr;
      if (next == nullptr) next = Needed(place.line);
      RunNext(*next);
    }
    return place.status();
  }

 private:
  static bool IsReady(const deferred::Line& line) {
    return line.done < line.items.size() && line.items[line.done].wait.Done();
  }

  // Whose next item has to be done first for the next of `line`. Waits are for
  // what was there before them, so that this ends.
  static std::shared_ptr<deferred::Line> Needed(
      std::shared_ptr<deferred::Line> line) {
    while (!IsReady(*line)) line = line->items[line->done].wait.line;
    return line;
  }

  std::shared_ptr<deferred::Line> AnyReady() {
    std::vector<std::shared_ptr<deferred::Line>> ready;
    std::erase_if(lines_, [](const auto& line) { return line.expired(); });
    for (const std::weak_ptr<deferred::Line>& one : lines_) {
      const std::shared_ptr<deferred::Line> line = one.lock();
      if (line != nullptr && IsReady(*line)) ready.push_back(line);
    }
    return ready.empty() ? nullptr : ready[random_() % ready.size()];
  }

  static void RunNext(deferred::Line& line) {
    deferred::Item& item = line.items[line.done];
    if (line.fault.ok()) {
      const bool waits = item.run == nullptr;
      uint32_t origin = UINT32_MAX;
      const Status status = waits ? item.wait.status() : item.run(&origin);
      if (!status.ok()) {
        line.fault = status;
        line.faulty_from = line.done;
        if (!waits) line.at = Queue::Fault{item.tag, origin};
      }
    }
    item = {};
    ++line.done;
  }

  std::mutex mutex_;
  std::mt19937 random_;
  std::vector<std::weak_ptr<deferred::Line>> lines_;
};

}  // namespace encore::runtime

#endif  // ENCORE_RUNTIME_TESTING_DEFERRED_WORK_H_
