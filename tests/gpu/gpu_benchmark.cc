// What kernels on a GPU reach: of the bandwidth of a copy where memory bounds
// them, and beside cuBLASLt where products do; and what a replay costs the
// host. README.md says how to run it.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "encore/backends/options.h"
#include "encore/ir/support/parse_number.h"
#include "encore/ir/support/status.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/testing/parsed_graph.h"
#include "encore/ir/testing/random_graph.h"
#include "encore/runtime/device/device.h"
#include "encore/runtime/plan/compiled_graph.h"
#include "encore/runtime/replay/executable.h"
#include "encore/runtime/replay/replayer.h"
#include "encore/tests/gpu/benchmark_cases.h"
#include "encore/tests/gpu/device_under_test.h"
#include "encore/tests/gpu/on_device.h"

namespace encore::gpu {
namespace {

constexpr int64_t kLeastElements = 1024, kMostElements = int64_t{1} << 32;

struct Settings {
  std::string target = "cuda";
  int64_t elements = int64_t{1} << 26;  // of the largest tensor of a kernel
  double seconds = 0.2;                 // that a kernel is measured for
  std::string only;  // what names of measured cases have in them
};

// Seconds of a launch, of many that are enqueued one after the other.
StatusOr<double> SecondsOf(const Settings& settings,
                           const std::function<Status()>& launch,
                           const std::function<Status()>& wait) {
  constexpr int kWarmup = 3, kMost = 1000;
  for (int i = 0; i < kWarmup; ++i) ENCORE_RETURN_IF_ERROR(launch());
  ENCORE_RETURN_IF_ERROR(wait());
  const auto measure = [&](int times) -> StatusOr<double> {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < times; ++i) ENCORE_RETURN_IF_ERROR(launch());
    ENCORE_RETURN_IF_ERROR(wait());
    const std::chrono::duration<double> time =
        std::chrono::steady_clock::now() - begin;
    return time.count() / times;
  };
  ENCORE_ASSIGN_OR_RETURN(const double once, measure(1));
  // A clock may stand still.
  const double times = settings.seconds / std::max(once, 1e-9);
  return measure(static_cast<int>(std::clamp<double>(times, 1, kMost)));
}

double BytesOf(const runtime::CompiledGraph& graph) {
  double bytes = 0;
  for (const auto& slots : {graph.inputs, graph.outputs}) {
    for (const runtime::SlotId slot : slots) {
      bytes += static_cast<double>(graph.slot(slot).bytes.constant());
    }
  }
  return bytes;
}

class Benchmark {
 public:
  explicit Benchmark(Settings settings) : settings_(std::move(settings)) {}

  Status Run() {
    if (Wanted(MemoryBound(settings_.elements)).empty() &&
        Wanted(Products(settings_.elements)).empty()) {
      return InvalidArgumentError(
          StrCat("--only: no kernel has ", settings_.only,
                 " in its name; without it all are measured"));
    }
    std::printf("| kernel | us | GB/s | of a copy |\n|---|---|---|---|\n");
    for (const BenchmarkCase& c : Wanted(MemoryBound(settings_.elements))) {
      ENCORE_RETURN_IF_ERROR(Annotate(RunMemoryBound(c), c.name));
    }
    std::printf(
        "\n| product | us | Tflop/s | cuBLASLt's us | of cuBLASLt |\n"
        "|---|---|---|---|---|\n");
    for (const BenchmarkCase& c : Wanted(Products(settings_.elements))) {
      ENCORE_RETURN_IF_ERROR(Annotate(RunProduct(c), c.name));
    }
    if (!settings_.only.empty()) return OkStatus();
    std::printf(
        "\n| kernels of a replay | us of the host | with another input | "
        "recordings |\n|---|---|---|---|\n");
    for (const int kernels : {2, 100}) {
      ENCORE_RETURN_IF_ERROR(
          Annotate(RunHostTime(kernels), StrCat(kernels, " kernels")));
    }
    return OkStatus();
  }

 private:
  // A case on the device, with inputs, ready to be enqueued.
  struct Ready {
    std::unique_ptr<OnDevice> here;
    std::unique_ptr<runtime::Queue> queue;
    std::vector<std::unique_ptr<DeviceMemory>> inputs;
  };
  StatusOr<Ready> Prepare(const std::string& text,
                          backends::CompileOptions options) const {
    const Graph graph = ParsedGraph(text);
    options.target = settings_.target;
    const std::vector<Literal> arguments = RandomArguments(graph, 1);
    Ready ready;
    ENCORE_ASSIGN_OR_RETURN(ready.here,
                            OnDevice::New(graph, arguments, options));
    ENCORE_ASSIGN_OR_RETURN(ready.queue, ready.here->device().NewQueue());
    for (size_t i = 0; i < arguments.size(); ++i) {
      ENCORE_ASSIGN_OR_RETURN(
          ready.inputs.emplace_back(),
          DeviceMemory::New(ready.here->device(), arguments[i]));
      ENCORE_RETURN_IF_ERROR(ready.here->replayer().BindInput(
          i, ready.inputs.back()->data(), ready.inputs.back()->bytes()));
    }
    return ready;
  }

  std::vector<BenchmarkCase> Wanted(std::vector<BenchmarkCase> cases) const {
    std::erase_if(cases, [&](const BenchmarkCase& c) {
      return c.name.find(settings_.only) == std::string::npos;
    });
    return cases;
  }

  StatusOr<double> SecondsOfReplay(const Ready& ready) const {
    return SecondsOf(
        settings_,
        [&] {
          return ready.here->replayer().Enqueue(runtime::DeviceId(0),
                                                *ready.queue);
        },
        [&]() -> Status {
          ENCORE_RETURN_IF_ERROR(ready.queue->Synchronize());
          return ready.here->replayer().Synchronize();
        });
  }

  // Bytes read and written per second by a copy that moves as many.
  StatusOr<double> CopyRate(const Ready& ready, double moved) const {
    const int64_t bytes = std::max<int64_t>(static_cast<int64_t>(moved / 2), 1);
    runtime::Device& device = ready.here->device();
    ENCORE_ASSIGN_OR_RETURN(const auto from, DeviceMemory::New(device, bytes));
    ENCORE_ASSIGN_OR_RETURN(const auto to, DeviceMemory::New(device, bytes));
    ENCORE_ASSIGN_OR_RETURN(const double seconds,
                            SecondsOf(
                                settings_,
                                [&] {
                                  return device.CopyWithin(to->data(),
                                                           from->data(), bytes,
                                                           ready.queue.get());
                                },
                                [&] { return ready.queue->Synchronize(); }));
    return moved / seconds;
  }

  Status RunMemoryBound(const BenchmarkCase& c) const {
    ENCORE_ASSIGN_OR_RETURN(const Ready ready, Prepare(c.text, {}));
    ENCORE_ASSIGN_OR_RETURN(const double seconds, SecondsOfReplay(ready));
    const double bytes = BytesOf(ready.here->graph());
    ENCORE_ASSIGN_OR_RETURN(const double copied, CopyRate(ready, bytes));
    std::printf("| %s | %.2f | %.1f | %.2f |\n", c.name.c_str(), seconds * 1e6,
                bytes / seconds * 1e-9, bytes / seconds / copied);
    return OkStatus();
  }

  // Nothing where a generated kernel stands in for the library's.
  StatusOr<std::optional<double>> SecondsOfCublasLt(const BenchmarkCase& c) {
    backends::CompileOptions options;
    options.precision = c.precision;
    options.cuda_kernels = backends::CudaKernels::kLibrary;
    ENCORE_ASSIGN_OR_RETURN(const Ready ready,
                            Prepare(c.library_text, options));
    const std::vector<std::string> notes =
        ready.here->replayer().executable().Notes();
    const bool by_library =
        !notes.empty() && notes[0].find(": cuBLASLt ") != std::string::npos;
    if (!by_library) {
      if (!said_ && !notes.empty()) {
        std::cerr << "gpu_benchmark: " << notes[0] << "\n";
      }
      said_ = true;
      return std::optional<double>();
    }
    ENCORE_ASSIGN_OR_RETURN(const double seconds, SecondsOfReplay(ready));
    return std::optional(seconds);
  }

  Status RunProduct(const BenchmarkCase& c) {
    ENCORE_ASSIGN_OR_RETURN(const Ready ready,
                            Prepare(c.text, {.precision = c.precision}));
    ENCORE_ASSIGN_OR_RETURN(const double seconds, SecondsOfReplay(ready));
    std::printf("| %s | %.2f | %.2f ", c.name.c_str(), seconds * 1e6,
                c.flops / seconds * 1e-12);
    std::optional<double> theirs;
    if (!c.library_text.empty()) {
      ENCORE_ASSIGN_OR_RETURN(theirs, SecondsOfCublasLt(c));
    }
    if (theirs) {
      std::printf("| %.2f | %.2f |\n", *theirs * 1e6, *theirs / seconds);
    } else {
      std::printf("| | |\n");
    }
    return OkStatus();
  }

  // Of a call of Enqueue, in rounds that leave the device room, and of one
  // after an input was bound that lies elsewhere.
  Status RunHostTime(int kernels) const {
    ENCORE_ASSIGN_OR_RETURN(const Ready ready, Prepare(ChainText(kernels), {}));
    runtime::Replayer& replayer = ready.here->replayer();
    const DeviceMemory& input = *ready.inputs[0];
    ENCORE_ASSIGN_OR_RETURN(
        const auto elsewhere,
        DeviceMemory::New(ready.here->device(), input.bytes()));
    const auto wait = [&]() -> Status {
      ENCORE_RETURN_IF_ERROR(ready.queue->Synchronize());
      return replayer.Synchronize();
    };
    const auto least =
        [&](const std::function<Status(int)>& call) -> StatusOr<double> {
      using Clock = std::chrono::steady_clock;
      constexpr int kCalls = 16;
      const std::chrono::duration<double> most(settings_.seconds);
      double best = 1;
      const auto start = Clock::now();
      do {
        const auto begin = Clock::now();
        for (int i = 0; i < kCalls; ++i) ENCORE_RETURN_IF_ERROR(call(i));
        const std::chrono::duration<double> time = Clock::now() - begin;
        best = std::min(best, time.count() / kCalls);
        ENCORE_RETURN_IF_ERROR(wait());
      } while (Clock::now() - start < most);
      return best;
    };
    const auto enqueue = [&](int) {
      return replayer.Enqueue(runtime::DeviceId(0), *ready.queue);
    };
    ENCORE_ASSIGN_OR_RETURN(const double same, least(enqueue));
    ENCORE_ASSIGN_OR_RETURN(
        const double other, least([&](int i) -> Status {
          ENCORE_RETURN_IF_ERROR(replayer.BindInput(
              0, i % 2 == 0 ? elsewhere->data() : input.data(), input.bytes()));
          return enqueue(i);
        }));
    std::printf("| %d | %.2f | %.2f | %lld |\n", kernels, same * 1e6,
                other * 1e6,
                static_cast<long long>(replayer.recordings().recorded));
    return OkStatus();
  }

  const Settings settings_;
  bool said_ = false;  // why there is no library
};

int Main(int argc, char** argv) {
  std::vector<char*> arguments(argv, argv + argc);
  Settings settings;
  settings.target = TakeArgument("target", &arguments).value_or("cuda");
  const auto elements = TakeArgument("elements", &arguments);
  const auto seconds = TakeArgument("seconds", &arguments);
  settings.only = TakeArgument("only", &arguments).value_or("");
  const auto count = ParseNumber<int64_t>(elements.value_or("67108864"));
  const auto time = ParseNumber<double>(seconds.value_or("0.2"));
  if (arguments.size() > 1 || !count || *count < kLeastElements ||
      *count > kMostElements || !time || !(*time >= 0)) {
    std::cerr << "gpu_benchmark: expected --target=T, --elements=N from "
              << kLeastElements << " to " << kMostElements
              << ", --seconds=S and --only=PART-OF-A-NAME\n";
    return kExitWrongArguments;
  }
  settings.elements = *count;
  settings.seconds = *time;
  const auto device = OpenDevice(settings.target);
  if (!device.ok()) {
    std::cerr << "gpu_benchmark: nothing was measured: "
              << Message(device.status()) << "\n";
    return kExitNoDevice;
  }
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const Status status = Benchmark(settings).Run();
  if (status.ok()) return kExitPassed;
  std::cerr << "gpu_benchmark: " << status << "\n";
  return kExitFailed;
}

}  // namespace
}  // namespace encore::gpu

int main(int argc, char** argv) { return encore::gpu::Main(argc, argv); }
