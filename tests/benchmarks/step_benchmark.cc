// What a step costs on the cpu device: a chain of 1,000 Add, Mul and Relu of 16
// floats, compiled for cpu with one step per node, replayed; beside it the same
// kernels launched in a loop, their addresses at hand.
//
//   bazel run //tests/benchmarks:step_benchmark
//
// A replay is what `Replayer::Replay` does after inputs and outputs are bound:
// its fixed part and 1,000 times walking to the step, its kernel's call and
// work. The loop has the calls and the work, no more.
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "benchmark/benchmark.h"
#include "encore/backends/backends.h"
#include "encore/backends/compile.h"
#include "encore/backends/devices.h"
#include "encore/backends/options.h"
#include "encore/ir/support/check.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/text/parser.h"
#include "encore/runtime/device/device.h"
#include "encore/runtime/device/thread_pool.h"
#include "encore/runtime/plan/compiled_graph.h"
#include "encore/runtime/plan/step_kinds.h"
#include "encore/runtime/replay/executable.h"
#include "encore/runtime/replay/replayer.h"
#include "encore/runtime/replay/weights.h"

namespace encore {
namespace {

constexpr int kSteps = 1000;
constexpr int kElements = 16;

struct alignas(runtime::kAlignment) Vector {
  float values[kElements] = {};
};

runtime::CompiledGraph Chain() {
  std::string text = StrCat("graph chain(%v0: f32[", kElements, "], %k: f32[",
                            kElements, "]) {\n");
  for (int i = 0; i < kSteps; ++i) {
    const std::string x = StrCat("%v", i), y = StrCat("%v", i + 1);
    StrAppend(&text, "  ", y, " = ",
              i % 3 == 0   ? StrCat("add(", x, ", %k)")
              : i % 3 == 1 ? StrCat("mul(", x, ", %k)")
                           : StrCat("relu(", x, ")"),
              "\n");
  }
  StrAppend(&text, "  return %v", kSteps, " as y\n}\n");
  backends::CompileOptions options;
  options.fuse = false;
  options.rewrites = backends::Rewrites::kExact;
  auto graph = *ParseGraph(text);
  auto compiled = backends::Compile(graph, options, backends::AllBackends());
  ENCORE_CHECK_OK(compiled.status());
  return *std::move(compiled);
}

std::vector<const runtime::Launch*> Launches(
    const runtime::CompiledGraph& graph) {
  std::vector<const runtime::Launch*> launches;
  for (const runtime::Step& step : graph.plan(graph.run).steps) {
    if (const runtime::Launch* launch = runtime::LaunchOf(step)) {
      launches.push_back(launch);
    }
  }
  ENCORE_CHECK(launches.size() == kSteps);
  return launches;
}

void BM_ReplayOnCpu(benchmark::State& state) {
  runtime::ThreadPool pool(static_cast<int>(state.range(0)));
  auto graph = std::make_shared<runtime::CompiledGraph>(Chain());
  Launches(*graph);
  const auto executable =
      *runtime::Executable::Load(graph, *backends::NewDevices(*graph), &pool);
  const auto weights = *runtime::Weights::Prepare(executable, {}, &pool);
  const auto replayer = *runtime::Replayer::Create(executable, weights, &pool);
  Vector x, k, y;
  ENCORE_CHECK_OK(replayer->BindInput(0, &x, sizeof(x)));
  ENCORE_CHECK_OK(replayer->BindInput(1, &k, sizeof(k)));
  ENCORE_CHECK_OK(replayer->BindOutput(0, &y, sizeof(y)));
  for (auto _ : state) ENCORE_CHECK_OK(replayer->Replay());
}
BENCHMARK(BM_ReplayOnCpu)->Arg(1)->Arg(2);

// The plan's kernels, by program.
std::vector<std::unique_ptr<runtime::Kernel>> Kernels(
    const runtime::CompiledGraph& graph, runtime::ThreadPool* pool) {
  std::vector<runtime::LoadRequest> requests;
  for (const runtime::KernelBinary& program : graph.kernel_binaries) {
    runtime::LoadRequest request{&program, {}};
    if (program.artifact.valid()) {
      request.artifact = graph.blobs[program.artifact.value()].bytes;
    }
    requests.push_back(request);
  }
  auto kernels = (*backends::NewDevice("cpu", 0))->Load(requests, pool);
  ENCORE_CHECK_OK(kernels.status());
  return *std::move(kernels);
}

void BM_KernelsByHand(benchmark::State& state) {
  runtime::ThreadPool pool(1);
  const runtime::CompiledGraph graph = Chain();
  const auto kernels = Kernels(graph, &pool);
  // Values go back and forth between two buffers; %k is a third.
  Vector values[2], k;
  struct Arguments {
    std::vector<void*> buffers;
    std::vector<int64_t> sizes, args;
  };
  std::deque<Arguments> arguments;
  std::vector<std::pair<const runtime::Kernel*, runtime::LaunchContext>> calls;
  for (const runtime::Launch* launch : Launches(graph)) {
    Arguments& given = arguments.emplace_back();
    for (const runtime::SlotId read : launch->reads) {
      given.buffers.push_back(
          read == graph.inputs[1] ? &k : &values[calls.size() % 2]);
    }
    ENCORE_CHECK(launch->writes.size() == 1);
    given.buffers.push_back(&values[(calls.size() + 1) % 2]);
    given.sizes.assign(given.buffers.size(), sizeof(Vector));
    for (const Dim& arg : launch->args) given.args.push_back(arg.constant());
    runtime::LaunchContext context;
    context.buffers = given.buffers.data();
    context.sizes = given.sizes.data();
    context.args = given.args.data();
    context.threads = &pool;
    calls.emplace_back(kernels[launch->binary.value()].get(), context);
  }
  for (auto _ : state) {
    for (const auto& [kernel, context] : calls) {
      ENCORE_CHECK_OK(kernel->Launch(context));
    }
  }
}
BENCHMARK(BM_KernelsByHand);

}  // namespace
}  // namespace encore
