// What it costs on the cpu device that indices out of range are errors: gathers
// and scatters that check, beside the same ones that clamp or drop.
//
//   bazel run -c opt //tests/benchmarks:index_check_benchmark
//
// Both are compiled and replayed in this process, on one thread, in turn, on
// the same data; a pair is a batch of replays of each. `ratio` is the median
// over the pairs of (time of the checking one / time of the other), `low` and
// `high` its quartiles.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
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
#include "encore/runtime/device/thread_pool.h"
#include "encore/runtime/plan/compiled_graph.h"
#include "encore/runtime/replay/executable.h"
#include "encore/runtime/replay/replayer.h"
#include "encore/runtime/replay/weights.h"

namespace encore {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kRows = 4096;  // of the operand that is indexed
constexpr int kPairs = 301;
// A batch takes about so long, well above what reading the clock takes.
constexpr double kBatchSeconds = 200e-6;

struct Moved {
  bool scatter = false;
  int64_t width = 1;  // elements of a row
  int64_t count = 0;  // rows that are moved
};

std::string Text(const Moved& moved, bool checked) {
  const std::string error = checked ? ", out_of_range = error" : "";
  const std::string operand =
      StrCat("%x: f32[", kRows, ",", moved.width, "], %i: i64[", moved.count,
             moved.scatter ? ",1]" : "]");
  if (moved.scatter) {
    return StrCat("graph move(", operand, ", %u: f32[", moved.count, ",",
                  moved.width,
                  "]) {\n  %y = scatter(%x, %i, %u) {update_window_dims = [1], "
                  "inserted_window_dims = [0], scatter_dims_to_operand_dims = "
                  "[0], index_vector_dim = 1",
                  error, "}\n  return %y as y\n}\n");
  }
  return StrCat("graph move(", operand,
                ") {\n  %y = gather(%x, %i) {offset_dims = [1], "
                "collapsed_slice_dims = [0], start_index_map = [0], "
                "index_vector_dim = 1, slice_sizes = [1,",
                moved.width, "]", error, "}\n  return %y as y\n}\n");
}

// One of a pair, with memory of its own for what it gives.
class Program {
 public:
  Program(const std::string& text, runtime::ThreadPool* pool) {
    const auto graph = ParseGraph(text);
    ENCORE_CHECK_OK(graph.status());
    auto compiled = backends::Compile(*graph, {}, backends::AllBackends());
    ENCORE_CHECK_OK(compiled.status());
    const auto plan =
        std::make_shared<runtime::CompiledGraph>(*std::move(compiled));
    const auto executable =
        *runtime::Executable::Load(plan, *backends::NewDevices(*plan), pool);
    const auto weights = *runtime::Weights::Prepare(executable, {}, pool);
    replayer_ = *runtime::Replayer::Create(executable, weights, pool);
  }

  template <typename T>
  void Bind(size_t input, const std::vector<T>& values) {
    ENCORE_CHECK_OK(replayer_->BindInput(
        input, values.data(), static_cast<int64_t>(values.size() * sizeof(T))));
  }

  // Seconds of `count` replays.
  double Time(int64_t count) {
    const Clock::time_point begin = Clock::now();
    for (int64_t i = 0; i < count; ++i) ENCORE_CHECK_OK(replayer_->Replay());
    return std::chrono::duration<double>(Clock::now() - begin).count();
  }

 private:
  std::unique_ptr<runtime::Replayer> replayer_;
};

void Measure(benchmark::State& state, const Moved& moved) {
  runtime::ThreadPool pool(1);
  const std::vector<float> x(kRows * moved.width, 1.0f);
  const std::vector<float> updates(moved.count * moved.width, 2.0f);
  std::vector<int64_t> indices(moved.count);
  uint64_t random = 1;
  for (int64_t& index : indices) {
    random = random * 6364136223846793005 + 1442695040888963407;
    index = static_cast<int64_t>(random >> 33) % kRows;
  }
  Program own(Text(moved, false), &pool), checked(Text(moved, true), &pool);
  for (Program* program : {&own, &checked}) {
    program->Bind(0, x);
    program->Bind(1, indices);
    if (moved.scatter) program->Bind(2, updates);
  }
  const double once = (own.Time(20) + checked.Time(20)) / 40;
  const int64_t batch =
      std::max<int64_t>(1, std::llround(kBatchSeconds / once));
  std::vector<double> ratios;
  for (auto _ : state) {
    for (int pair = 0; pair < kPairs; ++pair) {
      double seconds[2];
      const bool first = pair % 2 != 0;
      seconds[first] = (first ? checked : own).Time(batch);
      seconds[!first] = (first ? own : checked).Time(batch);
      ratios.push_back(seconds[1] / seconds[0]);
    }
  }
  std::ranges::sort(ratios);
  state.counters["ratio"] = ratios[ratios.size() / 2];
  state.counters["low"] = ratios[ratios.size() / 4];
  state.counters["high"] = ratios[ratios.size() * 3 / 4];
  state.counters["us"] = once * 1e6;
}

void BM_GatherRowsOf64Bytes(benchmark::State& state) {
  Measure(state, {.width = 16, .count = state.range(0) / 64});
}
BENCHMARK(BM_GatherRowsOf64Bytes)->Arg(64 << 10)->Arg(1 << 20)->Iterations(1);

void BM_GatherRowsOf4KiB(benchmark::State& state) {
  Measure(state, {.width = 1024, .count = state.range(0) / 4096});
}
BENCHMARK(BM_GatherRowsOf4KiB)->Arg(64 << 10)->Arg(1 << 20)->Iterations(1);

void BM_GatherElements(benchmark::State& state) {
  Measure(state, {.width = 1, .count = state.range(0) / 4});
}
BENCHMARK(BM_GatherElements)->Arg(64 << 10)->Arg(1 << 20)->Iterations(1);

void BM_ScatterRowsOf64Bytes(benchmark::State& state) {
  Measure(state, {.scatter = true, .width = 16, .count = state.range(0) / 64});
}
BENCHMARK(BM_ScatterRowsOf64Bytes)->Arg(64 << 10)->Iterations(1);

void BM_ScatterElements(benchmark::State& state) {
  Measure(state, {.scatter = true, .width = 1, .count = state.range(0) / 4});
}
BENCHMARK(BM_ScatterElements)->Arg(64 << 10)->Iterations(1);

}  // namespace
}  // namespace encore
