#include "encore/runtime/testing/deferred_device.h"

#include <cstring>
#include <functional>
#include <mutex>
#include <optional>
#include <random>
#include <utility>

#include "encore/ir/support/check.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::runtime {
namespace {

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

// The state of a queue.
struct Line {
  std::vector<Item> items;
  size_t done = 0;
  // The first fault, from item `faulty_from` on.
  Status fault;
  size_t faulty_from = SIZE_MAX;
  std::optional<Queue::Fault> at;  // where it is the line's own
};

bool Place::Done() const { return line == nullptr || line->done >= end; }

Status Place::status() const {
  if (line == nullptr || line->faulty_from >= end) return OkStatus();
  return line->fault;
}

}  // namespace

class DeferredWork {
 public:
  explicit DeferredWork(uint32_t seed) : random_(seed) {}

  std::shared_ptr<Line> NewLine() {
    const std::lock_guard lock(mutex_);
    auto line = std::make_shared<Line>();
    lines_.push_back(line);
    return line;
  }

  void Add(const std::shared_ptr<Line>& line, Item item) {
    const std::lock_guard lock(mutex_);
    line->items.push_back(std::move(item));
  }

  Place Here(const std::shared_ptr<Line>& line) {
    const std::lock_guard lock(mutex_);
    return {line, line->items.size()};
  }

  std::optional<Queue::Fault> FaultOf(const Line& line) {
    const std::lock_guard lock(mutex_);
    return line.at;
  }

  Status Complete(const Place& place) {
    const std::lock_guard lock(mutex_);
    while (!place.Done()) {
      std::shared_ptr<Line> next = random_() % 3 == 0 ? AnyReady() : nullptr;
      if (next == nullptr) next = Needed(place.line);
      RunNext(*next);
    }
    return place.status();
  }

 private:
  static bool IsReady(const Line& line) {
    return line.done < line.items.size() && line.items[line.done].wait.Done();
  }

  // Whose next item has to be done first for the next of `line`. Waits are for
  // what was there before them, so that this ends.
  static std::shared_ptr<Line> Needed(std::shared_ptr<Line> line) {
    while (!IsReady(*line)) line = line->items[line->done].wait.line;
    return line;
  }

  std::shared_ptr<Line> AnyReady() {
    std::vector<std::shared_ptr<Line>> ready;
    std::erase_if(lines_, [](const auto& line) { return line.expired(); });
    for (const std::weak_ptr<Line>& one : lines_) {
      const std::shared_ptr<Line> line = one.lock();
      if (line != nullptr && IsReady(*line)) ready.push_back(line);
    }
    return ready.empty() ? nullptr : ready[random_() % ready.size()];
  }

  static void RunNext(Line& line) {
    Item& item = line.items[line.done];
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
  std::vector<std::weak_ptr<Line>> lines_;
};

std::shared_ptr<DeferredWork> NewDeferredWork(uint32_t seed) {
  return std::make_shared<DeferredWork>(seed);
}

namespace {

class DeferredEvent : public Event {
 public:
  explicit DeferredEvent(std::shared_ptr<DeferredWork> work)
      : work_(std::move(work)) {}
  Status Synchronize() override { return work_->Complete(place_); }

  void Set(Place place) { place_ = std::move(place); }
  const Place& place() const { return place_; }

 private:
  const std::shared_ptr<DeferredWork> work_;
  Place place_;
};

class DeferredQueue : public Queue {
 public:
  DeferredQueue(DeferredDevice* device, std::shared_ptr<DeferredWork> work)
      : device_(device), work_(std::move(work)), line_(work_->NewLine()) {}

  Status Synchronize() override { return work_->Complete(work_->Here(line_)); }

  Status Record(Event& event) override {
    ENCORE_RETURN_IF_ERROR(device_->CountCall());
    static_cast<DeferredEvent&>(event).Set(work_->Here(line_));
    return OkStatus();
  }

  Status Wait(const Event& event) override {
    ENCORE_RETURN_IF_ERROR(device_->CountCall());
    work_->Add(line_,
               {nullptr, static_cast<const DeferredEvent&>(event).place(), 0});
    return OkStatus();
  }

  std::optional<Fault> fault() const override { return work_->FaultOf(*line_); }

  void Add(Job run) { work_->Add(line_, {std::move(run), {}, tag()}); }

 private:
  DeferredDevice* const device_;
  const std::shared_ptr<DeferredWork> work_;
  const std::shared_ptr<Line> line_;
};

Status Enqueue(Queue* queue, Job run, uint32_t* origin = nullptr) {
  uint32_t unused;
  if (queue == nullptr) return run(origin == nullptr ? &unused : origin);
  static_cast<DeferredQueue*>(queue)->Add(std::move(run));
  return OkStatus();
}

// A launch that outlives its LaunchContext.
struct Call {
  std::vector<void*> buffers;
  std::vector<int64_t> sizes, args;
  ThreadPool* threads = nullptr;
};

class DeferredKernel : public Kernel {
 public:
  DeferredKernel(DeferredDevice* device, std::unique_ptr<Kernel> kernel,
                 const KernelBinary& binary)
      : device_(device),
        kernel_(std::move(kernel)),
        buffers_(binary.reads + binary.writes),
        args_(binary.args) {}

  Status Launch(const LaunchContext& context) const override {
    ENCORE_RETURN_IF_ERROR(device_->CountCall());
    Call call{{context.buffers, context.buffers + buffers_},
              {context.sizes, context.sizes + buffers_},
              {context.args, context.args + args_},
              context.threads};
    return Enqueue(
        context.queue,
        [this, call = std::move(call)](uint32_t* origin) mutable {
          return Run(call, origin);
        },
        context.failed_origin);
  }

 private:
  Status Run(Call& call, uint32_t* origin) const {
    ENCORE_RETURN_IF_ERROR(device_->CountWork());
    for (size_t i = 0; i < buffers_; ++i) {
      if (call.sizes[i] <= 0) continue;
      ENCORE_ASSIGN_OR_RETURN(
          call.buffers[i],
          device_->memory().DeviceSide(call.buffers[i], call.sizes[i]));
    }
    LaunchContext context;
    context.buffers = call.buffers.data();
    context.sizes = call.sizes.data();
    context.args = call.args.data();
    context.threads = call.threads;
    context.failed_origin = origin;
    return kernel_->Launch(context);
  }

  DeferredDevice* const device_;
  const std::unique_ptr<Kernel> kernel_;
  const size_t buffers_, args_;
};

void CopyBytes(void* dst, const void* src, int64_t bytes) {
  if (bytes > 0) std::memmove(dst, src, bytes);
}

}  // namespace

DeferredDevice::DeferredDevice(std::shared_ptr<Device> kernels,
                               std::shared_ptr<DeferredWork> work,
                               DeferredOptions options)
    : kernels_(std::move(kernels)),
      work_(std::move(work)),
      options_(std::move(options)) {
  ENCORE_CHECK_GE(options_.queues, 1);
}

void DeferredDevice::FailCall(int64_t k) {
  const std::lock_guard lock(mutex_);
  call_ = {0, k};
}

void DeferredDevice::FailWork(int64_t k) {
  const std::lock_guard lock(mutex_);
  work_item_ = {0, k};
}

int64_t DeferredDevice::calls() const {
  const std::lock_guard lock(mutex_);
  return call_.count;
}

int64_t DeferredDevice::works() const {
  const std::lock_guard lock(mutex_);
  return work_item_.count;
}

Status DeferredDevice::CountCall() {
  const std::lock_guard lock(mutex_);
  if (call_.count++ != call_.at) return OkStatus();
  return InternalError(StrCat("call ", call_.at, " was asked to fail"));
}

Status DeferredDevice::CountWork() {
  const std::lock_guard lock(mutex_);
  if (work_item_.count++ != work_item_.at) return OkStatus();
  return InternalError(StrCat("work ", work_item_.at, " was asked to fail"));
}

StatusOr<void*> DeferredDevice::Allocate(int64_t bytes) {
  ENCORE_RETURN_IF_ERROR(CountCall());
  return memory_.Allocate(bytes);
}

void DeferredDevice::Deallocate(void* data, int64_t bytes) {
  memory_.Deallocate(data);
}

Status DeferredDevice::CopyFromHost(void* dst, const void* src, int64_t bytes,
                                    Queue* queue) {
  ENCORE_RETURN_IF_ERROR(CountCall());
  return Enqueue(queue, [this, dst, src, bytes](uint32_t*) -> Status {
    ENCORE_RETURN_IF_ERROR(CountWork());
    ENCORE_ASSIGN_OR_RETURN(void* to, memory_.DeviceSide(dst, bytes));
    CopyBytes(to, src, bytes);
    return OkStatus();
  });
}

Status DeferredDevice::CopyToHost(void* dst, const void* src, int64_t bytes,
                                  Queue* queue) {
  ENCORE_RETURN_IF_ERROR(CountCall());
  return Enqueue(queue, [this, dst, src, bytes](uint32_t*) -> Status {
    ENCORE_RETURN_IF_ERROR(CountWork());
    ENCORE_ASSIGN_OR_RETURN(const void* from, memory_.DeviceSide(src, bytes));
    CopyBytes(dst, from, bytes);
    return OkStatus();
  });
}

Status DeferredDevice::CopyWithin(void* dst, const void* src, int64_t bytes,
                                  Queue* queue) {
  ENCORE_RETURN_IF_ERROR(CountCall());
  return Enqueue(queue, [this, dst, src, bytes](uint32_t*) -> Status {
    ENCORE_RETURN_IF_ERROR(CountWork());
    ENCORE_ASSIGN_OR_RETURN(void* to, memory_.DeviceSide(dst, bytes));
    ENCORE_ASSIGN_OR_RETURN(const void* from, memory_.DeviceSide(src, bytes));
    CopyBytes(to, from, bytes);
    return OkStatus();
  });
}

Status DeferredDevice::CopyFromPeer(void* dst, Device& from, const void* src,
                                    int64_t bytes, Queue* queue) {
  ENCORE_RETURN_IF_ERROR(CountCall());
  auto* other = static_cast<DeferredDevice*>(&from);
  return Enqueue(queue, [this, other, dst, src, bytes](uint32_t*) -> Status {
    ENCORE_RETURN_IF_ERROR(CountWork());
    ENCORE_ASSIGN_OR_RETURN(void* to, memory_.DeviceSide(dst, bytes));
    ENCORE_ASSIGN_OR_RETURN(const void* at,
                            other->memory_.DeviceSide(src, bytes));
    CopyBytes(to, at, bytes);
    return OkStatus();
  });
}

StatusOr<std::vector<std::unique_ptr<Kernel>>> DeferredDevice::Load(
    std::span<const LoadRequest> requests, ThreadPool* threads) {
  // As its own, for the device that loads them.
  std::vector<KernelBinary> binaries;
  for (const LoadRequest& request : requests) {
    binaries.push_back(*request.binary);
    binaries.back().backend = kernels_->backend();
  }
  std::vector<LoadRequest> inner(requests.begin(), requests.end());
  for (size_t i = 0; i < inner.size(); ++i) inner[i].binary = &binaries[i];
  ENCORE_ASSIGN_OR_RETURN(auto kernels, kernels_->Load(inner, threads));
  for (size_t i = 0; i < kernels.size(); ++i) {
    kernels[i] = std::make_unique<DeferredKernel>(this, std::move(kernels[i]),
                                                  binaries[i]);
  }
  return kernels;
}

StatusOr<std::unique_ptr<Queue>> DeferredDevice::NewQueue() {
  ENCORE_RETURN_IF_ERROR(CountCall());
  return std::make_unique<DeferredQueue>(this, work_);
}

StatusOr<std::unique_ptr<Event>> DeferredDevice::NewEvent() {
  ENCORE_RETURN_IF_ERROR(CountCall());
  return std::make_unique<DeferredEvent>(work_);
}

bool DeferredDevice::WaitsFor(const Device& other) const {
  const auto* deferred = dynamic_cast<const DeferredDevice*>(&other);
  return deferred != nullptr && deferred->work_ == work_;
}

bool DeferredDevice::CopiesFrom(const Device& other) const {
  return options_.peers && &other != this && WaitsFor(other);
}

}  // namespace encore::runtime
