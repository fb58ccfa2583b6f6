// What kernels on a GPU reach: of the bandwidth of a copy where memory bounds
// them, and beside cuBLASLt where products do. README.md says how to run it.
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

#include "encore/backends/cuda/driver/driver.h"
#include "encore/backends/cuda/driver/types.h"
#include "encore/backends/options.h"
#include "encore/ir/support/parse_number.h"
#include "encore/ir/support/status.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/testing/parsed_graph.h"
#include "encore/ir/testing/random_graph.h"
#include "encore/runtime/device/device.h"
#include "encore/runtime/plan/compiled_graph.h"
#include "encore/tests/gpu/cublaslt.h"
#include "encore/tests/gpu/device_under_test.h"
#include "encore/tests/gpu/on_device.h"

namespace encore::gpu {
namespace {

using backends::cuda::Driver;

constexpr int64_t kWorkspaceBytes = 32 << 20;
constexpr int64_t kLeastElements = 1024, kMostElements = int64_t{1} << 32;

struct Settings {
  std::string target = "cuda";
  int64_t elements = int64_t{1} << 26;  // of the largest tensor of a kernel
  double seconds = 0.2;                 // that a kernel is measured for
};

// A kernel and, of a product, the same for cuBLASLt, without addresses.
struct Case {
  std::string name;
  std::string text;
  backends::Precision precision = backends::Precision::kF32;
  std::optional<Product> product = std::nullopt;
};

// Fills in "$r", "$c" and "$t": rows, columns, dtype.
std::string Filled(std::string text, int64_t rows, int64_t columns,
                   std::string_view dtype) {
  const auto fill = [&](std::string_view name, const std::string& value) {
    for (size_t at; (at = text.find(name)) != std::string::npos;) {
      text.replace(at, name.size(), value);
    }
  };
  fill("$r", StrCat(rows));
  fill("$c", StrCat(columns));
  fill("$t", std::string(dtype));
  return text;
}

std::vector<Case> MemoryBound(const Settings& settings) {
  constexpr std::string_view kTexts[][2] = {
      {"elementwise",
       "graph g(%x: $t[$r,$c], %y: $t[$r,$c]) -> $t[$r,$c] {\n"
       "  %s = add(%x, %y)\n  %r = relu(%s)\n  return %r\n}"},
      {"bias, tanh",
       "graph g(%x: $t[$r,$c], %b: $t[$c]) -> $t[$r,$c] {\n"
       "  %c = broadcast(%b) {shape = [$r,$c], axes = [1]}\n"
       "  %s = add(%x, %c)\n  %t = tanh(%s)\n  return %t\n}"},
      {"softmax",
       "graph g(%x: $t[$r,$c]) -> $t[$r,$c] {\n"
       "  %y = softmax(%x) {axis = 1}\n  return %y\n}"},
      {"layer_norm",
       "graph g(%x: $t[$r,$c], %s: $t[$c], %b: $t[$c]) -> $t[$r,$c] {\n"
       "  %y = layer_norm(%x, %s, %b) {axis = 1}\n  return %y\n}"},
      {"sum of rows",
       "graph g(%x: $t[$r,$c]) -> $t[$r] {\n"
       "  %y = reduce(%x) {axes = [1], combiner = sum}\n  return %y\n}"},
      {"sum of all",
       "graph g(%x: $t[$r,$c]) -> $t[] {\n"
       "  %y = reduce(%x) {axes = [0,1], combiner = sum}\n  return %y\n}"},
      {"transpose",
       "graph g(%x: $t[$r,$c]) -> $t[$c,$r] {\n"
       "  %y = transpose(%x) {permutation = [1,0]}\n  return %y\n}"},
  };
  const int64_t columns = std::min<int64_t>(4096, settings.elements / 4);
  std::vector<Case> cases;
  for (const std::string_view dtype : {"f32", "f16"}) {
    for (const auto& [name, text] : kTexts) {
      cases.push_back({StrCat(name, ", ", dtype),
                       Filled(std::string(text), settings.elements / columns,
                              columns, dtype)});
    }
  }
  return cases;
}

Case ProductCase(int64_t m, int64_t n, int64_t k, DType dtype, bool tf32) {
  Case c;
  c.name = StrCat(m, " x ", n, " x ", k, ", ", tf32 ? "tf32" : Name(dtype));
  c.text = StrCat("graph g(%x: ", dtype, "[", m, ",", k, "], %y: ", dtype, "[",
                  k, ",", n, "]) -> ", dtype, "[", m, ",", n,
                  "] {\n  %p = dot_general(%x, %y) {contract = [1]x[0]}\n"
                  "  return %p\n}");
  if (tf32) c.precision = backends::Precision::kTF32;
  c.product = Product{.m = m, .n = n, .k = k, .dtype = dtype, .tf32 = tf32};
  return c;
}

// A convolution of 3 x 3 beside the product of the same size.
Case ConvolutionCase(int64_t samples, int64_t channels, int64_t side) {
  Case c;
  const std::string image =
      StrCat("f16[", samples, ",", channels, ",", side, ",", side, "]");
  c.name = StrCat("convolution of ", channels, " channels, ", side, " x ", side,
                  ", f16");
  c.text = StrCat(
      "graph g(%x: ", image, ", %w: f16[", channels, ",", channels,
      ",3,3]) -> ", image,
      " {\n  %y = convolution(%x, %w) {strides = [1,1], padding_low = [1,1], "
      "padding_high = [1,1], lhs_dilation = [1,1], rhs_dilation = [1,1]}\n"
      "  return %y\n}");
  c.product = Product{.m = samples * side * side,
                      .n = channels,
                      .k = channels * 9,
                      .dtype = DType::kF16};
  return c;
}

std::vector<Case> Products(const Settings& settings) {
  // As large as squares of so many elements.
  int64_t side = 64;
  while (side < 4096 && 4 * side * side <= settings.elements) side *= 2;
  const int64_t few = std::max<int64_t>(side / 256, 16);
  std::vector<Case> cases;
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
    cases.push_back(ProductCase(side, side, side, dtype, false));
    cases.push_back(ProductCase(few, side, side, dtype, false));
  }
  cases.push_back(ProductCase(side, side, side, DType::kF32, true));
  cases.push_back(side > 1000 ? ConvolutionCase(32, 256, 14)
                              : ConvolutionCase(1, 16, 6));
  return cases;
}

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
    std::printf("| kernel | us | GB/s | of a copy |\n|---|---|---|---|\n");
    for (const Case& c : MemoryBound(settings_)) {
      ENCORE_RETURN_IF_ERROR(Annotate(RunMemoryBound(c), c.name));
    }
    OpenCublasLt();
    std::printf(
        "\n| product | us | Tflop/s | cuBLASLt's us | of cuBLASLt |\n"
        "|---|---|---|---|---|\n");
    for (const Case& c : Products(settings_)) {
      ENCORE_RETURN_IF_ERROR(Annotate(RunProduct(c), c.name));
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
  StatusOr<Ready> Prepare(const Case& c) const {
    const Graph graph = ParsedGraph(c.text);
    backends::CompileOptions options;
    options.target = settings_.target;
    options.precision = c.precision;
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

  Status RunMemoryBound(const Case& c) const {
    ENCORE_ASSIGN_OR_RETURN(const Ready ready, Prepare(c));
    ENCORE_ASSIGN_OR_RETURN(const double seconds, SecondsOfReplay(ready));
    const double bytes = BytesOf(ready.here->graph());
    ENCORE_ASSIGN_OR_RETURN(const double copied, CopyRate(ready, bytes));
    std::printf("| %s | %.2f | %.1f | %.2f |\n", c.name.c_str(), seconds * 1e6,
                bytes / seconds * 1e-9, bytes / seconds / copied);
    return OkStatus();
  }

  // Where it is there and the device is NVIDIA's.
  void OpenCublasLt() {
    const Status status = [&]() -> Status {
      if (settings_.target != "cuda") {
        return NotFoundError(
            StrCat("cuBLASLt does not run on ", settings_.target));
      }
      ENCORE_ASSIGN_OR_RETURN(driver_,
                              Driver::Load(backends::cuda::DriverLibrary()));
      const auto check = [&](backends::cuda::Result result, const char* what) {
        return driver_->ToStatus(result, what);
      };
      // The context that the device has, too.
      CUcontext context = nullptr;
      ENCORE_RETURN_IF_ERROR(
          check(driver_->api.cuDevicePrimaryCtxRetain(&context, 0),
                "cuDevicePrimaryCtxRetain"));
      ENCORE_RETURN_IF_ERROR(
          check(driver_->api.cuCtxSetCurrent(context), "cuCtxSetCurrent"));
      ENCORE_RETURN_IF_ERROR(
          check(driver_->api.cuStreamCreate(&stream_, 1), "cuStreamCreate"));
      ENCORE_ASSIGN_OR_RETURN(cublaslt_, CublasLt::Open());
      return OkStatus();
    }();
    if (!status.ok()) std::cerr << "gpu_benchmark: " << status << "\n";
  }

  StatusOr<double> SecondsOfCublasLt(const Ready& ready,
                                     Product product) const {
    runtime::Device& device = ready.here->device();
    const int64_t size = BitWidth(product.dtype) / 8;
    const auto make = [&](int64_t elements) {
      return DeviceMemory::New(device, elements * size);
    };
    ENCORE_ASSIGN_OR_RETURN(const auto a, make(product.m * product.k));
    ENCORE_ASSIGN_OR_RETURN(const auto b, make(product.k * product.n));
    ENCORE_ASSIGN_OR_RETURN(const auto d, make(product.m * product.n));
    ENCORE_ASSIGN_OR_RETURN(const auto workspace,
                            DeviceMemory::New(device, kWorkspaceBytes));
    product.a = a->data();
    product.b = b->data();
    product.d = d->data();
    ENCORE_ASSIGN_OR_RETURN(
        const CublasLt::Launch launch,
        cublaslt_->Plan(product, workspace->data(), kWorkspaceBytes));
    return SecondsOf(
        settings_, [&] { return launch(stream_); },
        [&] {
          return driver_->ToStatus(driver_->api.cuStreamSynchronize(stream_),
                                   "cuStreamSynchronize");
        });
  }

  Status RunProduct(const Case& c) const {
    ENCORE_ASSIGN_OR_RETURN(const Ready ready, Prepare(c));
    ENCORE_ASSIGN_OR_RETURN(const double seconds, SecondsOfReplay(ready));
    const Product& product = *c.product;
    const double flops = 2.0 * static_cast<double>(product.m) *
                         static_cast<double>(product.n) *
                         static_cast<double>(product.k);
    std::printf("| %s | %.2f | %.2f ", c.name.c_str(), seconds * 1e6,
                flops / seconds * 1e-12);
    if (cublaslt_ == nullptr) {
      std::printf("| | |\n");
      return OkStatus();
    }
    ENCORE_ASSIGN_OR_RETURN(const double theirs,
                            SecondsOfCublasLt(ready, product));
    std::printf("| %.2f | %.2f |\n", theirs * 1e6, theirs / seconds);
    return OkStatus();
  }

  const Settings settings_;
  std::shared_ptr<const Driver> driver_;
  CUstream stream_ = nullptr;
  std::unique_ptr<CublasLt> cublaslt_;
};

int Main(int argc, char** argv) {
  std::vector<char*> arguments(argv, argv + argc);
  Settings settings;
  settings.target = TakeArgument("target", &arguments).value_or("cuda");
  const auto elements = TakeArgument("elements", &arguments);
  const auto seconds = TakeArgument("seconds", &arguments);
  const auto count = ParseNumber<int64_t>(elements.value_or("67108864"));
  const auto time = ParseNumber<double>(seconds.value_or("0.2"));
  if (arguments.size() > 1 || !count || *count < kLeastElements ||
      *count > kMostElements || !time || !(*time >= 0)) {
    std::cerr << "gpu_benchmark: expected --target=T, --elements=N from "
              << kLeastElements << " to " << kMostElements
              << " and --seconds=S\n";
    return kExitWrongArguments;
  }
  settings.elements = *count;
  settings.seconds = *time;
  if (const Status there = CheckDevice(settings.target); !there.ok()) {
    std::cerr << "gpu_benchmark: nothing was measured: " << Message(there)
              << "\n";
    return kExitNoDevice;
  }
  const Status status = Benchmark(settings).Run();
  if (status.ok()) return kExitPassed;
  std::cerr << "gpu_benchmark: " << status << "\n";
  return kExitFailed;
}

}  // namespace
}  // namespace encore::gpu

int main(int argc, char** argv) { return encore::gpu::Main(argc, argv); }
