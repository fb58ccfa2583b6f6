#include "encore/runtime/testing/deferred_device.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <mutex>
#include <optional>
#include <random>
#include <span>
#include <utility>

#include "encore/ir/support/check.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/runtime/testing/deferred_work.h"

namespace encore::runtime {
std::shared_ptr<DeferredWork> NewDeferredWork(uint32_t seed) {
  return std::make_shared<DeferredWork>(seed);
}

namespace {

using deferred::Job;
using deferred::Line;
using deferred::Place;
using deferred::Recorder;

class DeferredEvent : public Event {
 public:
  explicit DeferredEvent(std::shared_ptr<DeferredWork> work)
      : work_(std::move(work)) {}
  Status Synchronize() override { return work_->Complete(place_); }

  void Set(Place place) { place_ = std::move(place); }
  const Place& place() const { return place_; }
  void SetRecorded(std::shared_ptr<Recorder> recorder,
                   std::vector<size_t> entries) {
    recorder_ = std::move(recorder);
    entries_ = std::move(entries);
  }
  const std::shared_ptr<Recorder>& recorder() const { return recorder_; }
  const std::vector<size_t>& entries() const { return entries_; }

 private:
  const std::shared_ptr<DeferredWork> work_;
  Place place_;
  // Of a place in a recording.
  std::shared_ptr<Recorder> recorder_;
  std::vector<size_t> entries_;
};

class DeferredQueue : public Queue {
 public:
  DeferredQueue(DeferredDevice* device, std::shared_ptr<DeferredWork> work)
      : device_(device), work_(std::move(work)), line_(work_->NewLine()) {}

  Status Synchronize() override { return work_->Complete(work_->Here(line_)); }

  Status Record(Event& event) override {
    ENCORE_RETURN_IF_ERROR(device_->CountCall());
    auto& own = static_cast<DeferredEvent&>(event);
    own.Set(work_->Here(line_));
    own.SetRecorded(line_->recorder, line_->last);
    return OkStatus();
  }

  Status Wait(const Event& event) override {
    ENCORE_RETURN_IF_ERROR(device_->CountCall());
    const auto& own = static_cast<const DeferredEvent&>(event);
    if (own.recorder() != nullptr) {
      if (!own.recorder()->active) {
        return InternalError("a wait for what was recorded and not done");
      }
      work_->Join(line_, own.recorder(), own.entries());
      return OkStatus();
    }
    if (line_->recorder != nullptr) {
      return InternalError("a recording waits for what is not in it");
    }
    work_->Add(line_, {nullptr, own.place(), 0});
    return OkStatus();
  }

  const std::shared_ptr<Line>& line() const { return line_; }

  std::optional<Fault> fault() const override { return work_->FaultOf(*line_); }

  void Add(Job run) {
    if (replaced_ == nullptr) {
      work_->Add(line_, {std::move(run), {}, tag()});
    } else {
      replaced_->run = std::move(run);
    }
  }
  void SetReplaced(Recorder::Entry* replaced) { replaced_ = replaced; }

 private:
  DeferredDevice* const device_;
  const std::shared_ptr<DeferredWork> work_;
  const std::shared_ptr<Line> line_;
  Recorder::Entry* replaced_ = nullptr;  // in whose place all work goes
};

class DeferredRecording : public Recording {
 public:
  DeferredRecording(DeferredDevice* device, std::shared_ptr<DeferredWork> work,
                    std::shared_ptr<Recorder> recorder)
      : work_(work), recorder_(std::move(recorder)), changes_(device, work) {}

  // As one piece of work: as it is now, in an order drawn when its turn comes.
  Status Run(Queue& queue) override {
    static_cast<DeferredQueue&>(queue).Add(
        [entries = recorder_->entries, work = work_](uint32_t* origin) mutable {
          std::vector<bool> done(entries.size());
          for (size_t count = 0; count < entries.size(); ++count) {
            std::vector<size_t> ready;
            for (size_t i = 0; i < entries.size(); ++i) {
              if (!done[i] &&
                  std::ranges::all_of(entries[i].after,
                                      [&](size_t j) { return done[j]; })) {
                ready.push_back(i);
              }
            }
            const size_t next = ready[work->Draw(ready.size())];
            done[next] = true;
            ENCORE_RETURN_IF_ERROR(entries[next].run(origin));
          }
          return OkStatus();
        });
    return OkStatus();
  }

  Queue& Replace(uint32_t number) override {
    changes_.SetReplaced(&recorder_->entries[number]);
    return changes_;
  }

 private:
  const std::shared_ptr<DeferredWork> work_;
  const std::shared_ptr<Recorder> recorder_;
  DeferredQueue changes_;
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
        [this, call = std::move(call)](uint32_t* origin) {
          return Run(call, origin);
        },
        context.failed_origin);
  }

 private:
  Status Run(Call call, uint32_t* origin) const {
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

Status DeferredDevice::BeginRecording(Queue& queue) {
  ENCORE_RETURN_IF_ERROR(CountCall());
  work_->Join(static_cast<DeferredQueue&>(queue).line(),
              std::make_shared<Recorder>(), {});
  return OkStatus();
}

StatusOr<std::unique_ptr<Recording>> DeferredDevice::EndRecording(
    Queue& queue, std::unique_ptr<Recording> replaced) {
  std::shared_ptr<Recorder> recorder =
      work_->Leave(*static_cast<DeferredQueue&>(queue).line());
  ENCORE_RETURN_IF_ERROR(CountCall());
  return std::make_unique<DeferredRecording>(this, work_, std::move(recorder));
}

bool DeferredDevice::WaitsFor(const Device& other) const {
  const auto* deferred = dynamic_cast<const DeferredDevice*>(&other);
  return deferred != nullptr && deferred->work_ == work_;
}

bool DeferredDevice::CopiesFrom(const Device& other) const {
  return options_.peers && &other != this && WaitsFor(other);
}

}  // namespace encore::runtime
