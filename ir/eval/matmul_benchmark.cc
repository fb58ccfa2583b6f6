// The evaluator's matrix product on a layer of BERT-base:
//   bazel run //ir/eval:matmul_benchmark
#include <benchmark/benchmark.h>

#include <vector>

#include "encore/ir/eval/matmul.h"

namespace encore::eval {
namespace {

void BM_MatMul(benchmark::State& state) {
  const int64_t m = 128, k = 768, n = 3072;
  const std::vector<double> a(m * k, 0.5), b(k * n, 0.25);
  std::vector<double> c(m * n);
  for (auto _ : state) {
    MatMul(m, k, n, a.data(), b.data(), c.data());
    benchmark::DoNotOptimize(c.data());
  }
  state.counters["flops"] =
      benchmark::Counter(static_cast<double>(2 * m * k * n),
                         benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(BM_MatMul);

}  // namespace
}  // namespace encore::eval
