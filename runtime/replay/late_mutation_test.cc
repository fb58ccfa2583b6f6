// Breaks sound plans over several devices at random: a mutant that the plan
// verifier accepts does the same on devices that do everything as late as they
// may, in memory that the host cannot touch, as on devices that work at once.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iostream>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "encore/ir/support/status.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/types/literal.h"
#include "encore/runtime/device/device.h"
#include "encore/runtime/device/thread_pool.h"
#include "encore/runtime/plan/compiled_graph_text.h"
#include "encore/runtime/plan/plan_verifier.h"
#include "encore/runtime/replay/executable.h"
#include "encore/runtime/replay/replayer.h"
#include "encore/runtime/replay/weights.h"
#include "encore/runtime/testing/deferred_device.h"
#include "encore/runtime/testing/device_plans.h"
#include "encore/runtime/testing/plan_mutations.h"
#include "encore/runtime/testing/sample_plans.h"
#include "encore/runtime/testing/test_device.h"
#include "gtest/gtest.h"

namespace encore::runtime {
namespace {

using Devices = std::vector<std::shared_ptr<Device>>;

constexpr int64_t kMostLaunches = 2000;

// A kernel of TestDevice that stays within its buffers whatever their sizes,
// and whose results depend on what it reads alone: it works on copies, padded
// with zeros. Beyond kMostLaunches of all of them it fails.
class CarefulKernel : public Kernel {
 public:
  CarefulKernel(std::unique_ptr<Kernel> kernel, const KernelBinary& binary,
                std::shared_ptr<std::atomic<int64_t>> launches)
      : kernel_(std::move(kernel)),
        reads_(binary.reads),
        buffers_(binary.reads + binary.writes),
        launches_(std::move(launches)) {}

  Status Launch(const LaunchContext& context) const override {
    if (++*launches_ > kMostLaunches) {
      return ResourceExhaustedError("a loop without end");
    }
    const std::span<void* const> given(context.buffers, buffers_);
    const std::span<const int64_t> sizes(context.sizes, buffers_);
    int64_t most = 64;
    for (const int64_t size : sizes) most = std::max(most, size);
    std::vector<std::vector<std::byte>> copies(
        buffers_, std::vector<std::byte>(static_cast<size_t>(most)));
    std::vector<void*> padded(buffers_);
    for (size_t i = 0; i < buffers_; ++i) {
      size_t same = 0;  // the first that is the same memory
      while (given[same] != given[i] || sizes[same] != sizes[i]) ++same;
      padded[i] = copies[same].data();
      if (i < reads_ && sizes[i] > 0) {
        std::memcpy(padded[i], given[i], static_cast<size_t>(sizes[i]));
      }
    }
    LaunchContext careful = context;
    careful.buffers = padded.data();
    const Status status = kernel_->Launch(careful);
    for (size_t i = reads_; i < buffers_; ++i) {
      if (sizes[i] == 0) continue;
      std::memcpy(given[i], padded[i], static_cast<size_t>(sizes[i]));
    }
    return status;
  }

 private:
  const std::unique_ptr<Kernel> kernel_;
  const size_t reads_, buffers_;
  const std::shared_ptr<std::atomic<int64_t>> launches_;
};

class CarefulDevice : public TestDevice {
 public:
  CarefulDevice(const std::string& name,
                std::shared_ptr<std::atomic<int64_t>> launches)
      : TestDevice(name), launches_(std::move(launches)) {}

  StatusOr<std::vector<std::unique_ptr<Kernel>>> Load(
      std::span<const LoadRequest> requests, ThreadPool* threads) override {
    ENCORE_ASSIGN_OR_RETURN(std::vector<std::unique_ptr<Kernel>> kernels,
                            TestDevice::Load(requests, threads));
    for (size_t i = 0; i < kernels.size(); ++i) {
      kernels[i] = std::make_unique<CarefulKernel>(
          std::move(kernels[i]), *requests[i].binary, launches_);
    }
    return kernels;
  }

 private:
  const std::shared_ptr<std::atomic<int64_t>> launches_;
};

// Of a plan; with `queues` all but the first are late.
struct LateDevices {
  Devices devices;
  std::vector<DeferredDevice*> late;

  LateDevices(uint32_t seed, int queues) {
    const auto launches = std::make_shared<std::atomic<int64_t>>(0);
    const auto work = NewDeferredWork(seed);
    for (const std::string& name : kPlanDevices) {
      auto kernels = std::make_shared<CarefulDevice>(name, launches);
      if (queues == 0 || devices.empty()) {
        devices.push_back(std::move(kernels));
        continue;
      }
      auto device = std::make_shared<DeferredDevice>(
          std::move(kernels), work,
          DeferredOptions{name, queues, seed % 2 == 0});
      late.push_back(device.get());
      devices.push_back(std::move(device));
    }
  }
};

// Cancels a replay that takes too long: a loop may have neither an end nor a
// launch.
class Watch {
 public:
  Watch(Replayer* replayer, std::chrono::milliseconds most)
      : thread_([this, replayer, most] {
          std::unique_lock lock(mutex_);
          if (!changed_.wait_for(lock, most, [this] { return over_; })) {
            replayer->Cancel();
          }
        }) {}
  ~Watch() {
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  std::thread thread_;
};

// Lets a launch read another value of the same size in the same memory.
void Rewire(CompiledGraph* graph, Random& random) {
  std::vector<Step>& steps = Pick(graph->plans, random).steps;
  for (int attempt = 0; attempt < 100 && !steps.empty(); ++attempt) {
    auto* launch = std::get_if<Launch>(&Pick(steps, random).op);
    if (launch == nullptr || launch->reads.empty()) continue;
    SlotId& read = Pick(launch->reads, random);
    const SlotId other(random() % graph->slots.size());
    const Slot& slot = graph->slot(other);
    if (other == read || slot.is_arena || slot.pool != graph->slot(read).pool ||
        !(slot.bytes == graph->slot(read).bytes)) {
      continue;
    }
    read = other;
    return;
  }
}

// The outputs, each as bytes.
StatusOr<std::vector<std::string>> Run(const CompiledGraph& graph,
                                       const Devices& devices, uint32_t seed,
                                       std::chrono::milliseconds most,
                                       ThreadPool* threads) {
  ENCORE_ASSIGN_OR_RETURN(
      auto executable, Executable::Load(std::make_shared<CompiledGraph>(graph),
                                        devices, threads));
  ENCORE_ASSIGN_OR_RETURN(auto weights,
                          Weights::Prepare(executable, {}, threads));
  ENCORE_ASSIGN_OR_RETURN(auto replayer,
                          Replayer::Create(executable, weights, threads));
  std::vector<float> x(16), y(16);
  for (uint32_t i = 0; i < 16; ++i) {
    x[i] = static_cast<float>((seed + i) % 5);
    y[i] = static_cast<float>(i % 3) - 1;
  }
  const int64_t limit = seed % 4;
  ENCORE_RETURN_IF_ERROR(replayer->BindInput(0, x.data(), 64));
  ENCORE_RETURN_IF_ERROR(replayer->BindInput(1, y.data(), 64));
  ENCORE_RETURN_IF_ERROR(replayer->BindInput(2, &limit, 8));
  {
    const Watch watch(replayer.get(), most);
    ENCORE_RETURN_IF_ERROR(replayer->Replay());
  }
  std::vector<std::string> outputs;
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    ENCORE_ASSIGN_OR_RETURN(const Literal output, replayer->CopyOutput(i));
    outputs.emplace_back(reinterpret_cast<const char*>(output.bytes().data()),
                         output.bytes().size());
  }
  return outputs;
}

// How many mutants that were accepted met which fate.
struct Fates {
  int same = 0, other = 0, failed = 0, endless = 0;
};

void MutateOften(uint32_t seed, int rounds, Fates* fates) {
  ThreadPool threads(1);
  const CompiledGraph sound = RandomDevicePlan(seed, {.kernels = 4});
  const auto at_once = [&](const CompiledGraph& graph) {
    return Run(graph, LateDevices(seed, 0).devices, seed,
               std::chrono::milliseconds(250), &threads);
  };
  const auto unchanged = at_once(sound);
  ASSERT_TRUE(unchanged.ok()) << unchanged.status();
  Random random(seed);
  for (int round = 0; round < rounds; ++round) {
    CompiledGraph mutant = sound;
    for (int i = 0; i <= round % 2; ++i) {
      round % 6 < 4 ? Rewire(&mutant, random) : MutatePlan(&mutant, random);
    }
    if (!VerifyPlan(mutant).ok()) continue;
    const auto expected = at_once(mutant);
    const StatusCode code = expected.status().code();
    if (code == StatusCode::kResourceExhausted ||
        code == StatusCode::kCancelled) {
      ++fates->endless;
      continue;
    }
    const bool same = expected.ok() && *expected == *unchanged;
    ++(same ? fates->same : expected.ok() ? fates->other : fates->failed);
    for (int queues = 1; queues <= 4; ++queues) {
      if (same && queues != round / 2 % 4 + 1) continue;
      const LateDevices late(seed + round, queues);
      const auto actual =
          Run(mutant, late.devices, seed, std::chrono::minutes(1), &threads);
      ASSERT_EQ(actual.status().code(), code)
          << actual.status() << ", not " << expected.status() << "\n"
          << CompiledGraphText(mutant);
      if (actual.ok()) {
        ASSERT_EQ(*actual, *expected) << queues << " queues\n"
                                      << CompiledGraphText(mutant);
      }
      for (const DeferredDevice* device : late.late) {
        ASSERT_EQ(device->live_blocks(), 0);
      }
    }
  }
}

TEST(LateMutation, AcceptedMutantsDoTheSameOnLateDevices) {
  Fates fates;
  for (uint32_t seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE(seed);
    MutateOften(seed, 90, &fates);
    if (HasFatalFailure()) return;
  }
  std::cout << "accepted mutants: " << fates.same << " as before, "
            << fates.other << " with other outputs, " << fates.failed
            << " with an error, " << fates.endless << " without end\n";
  EXPECT_GT(fates.same, 100);
  EXPECT_GT(fates.other, 50);
}

}  // namespace
}  // namespace encore::runtime
