// Reading and checking a program of about a megabyte: terms, rules and
// comments in the proportions of hand-written programs.

#include <optional>
#include <string>

#include "benchmark/benchmark.h"
#include "encore/ir/support/check.h"
#include "encore/ir/support/strings.h"
#include "encore/opt/egraph/program/ast.h"
#include "encore/opt/egraph/program/checker.h"
#include "encore/opt/egraph/program/diagnostics.h"

namespace encore::opt::program {
namespace {

std::string LongProgram() {
  std::string text =
      "(datatype Math (Num i64) (Var String) (Add Math Math) (Mul Math "
      "Math))\n";
  for (int i = 0; text.size() < 1000000; ++i) {
    StrAppend(&text, "; part ", i, "\n(let $x", i, " (Add (Mul (Num ", i,
              ") (Var \"v", i % 100, "\")) (Num -1)))\n",
              "(rewrite (Add (Mul a", i, " b) (Num ", i, ")) (Mul b (Add a", i,
              " $x", i, ")) :when ((!= b (Num 0))))\n");
  }
  return text;
}

void BM_CheckMegabyte(benchmark::State& state) {
  const std::string text = LongProgram();
  for (auto _ : state) {
    Diagnostics diagnostics;
    const Program program = CheckProgram(
        "long.egg", text, [](const std::string&) { return std::nullopt; },
        &diagnostics);
    ENCORE_CHECK(!diagnostics.rejected().has_value());
    benchmark::DoNotOptimize(program.exprs.data());
  }
  state.SetBytesProcessed(state.iterations() * text.size());
}
BENCHMARK(BM_CheckMegabyte)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace encore::opt::program
