#include "encore/tools/opt/egraph_command.h"

#if __has_include(<malloc.h>)
#include <malloc.h>
#endif

#include <atomic>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>

#include "CLI/CLI.hpp"
#include "encore/ir/support/strings.h"
#include "encore/opt/egraph/program/driver.h"
#include "encore/opt/egraph/program/executor.h"
#include "encore/tools/command.h"
#include "encore/tools/terminal.h"

namespace encore::tools {
namespace {

namespace egg = ::encore::opt::program;

std::atomic<bool> g_interrupted = false;

void OnInterrupt(int) { g_interrupted = true; }

// The process ends with its program: the heap grows in large steps and gives
// nothing back before. Small programs spend a twentieth of their time
// otherwise.
void KeepHeap() {
#ifdef M_TOP_PAD
  mallopt(M_TOP_PAD, 1 << 20);
  mallopt(M_TRIM_THRESHOLD, 16 << 20);
  mallopt(M_MMAP_THRESHOLD, 4 << 20);
#endif
}

// CPU time of the process since then.
double CpuSecondsSince(std::clock_t begin) {
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

// A program is no longer: what has no end, as a device or a pipe may have none,
// does not fill the memory.
constexpr size_t kMostBytes = size_t{1} << 28;

std::optional<std::string> ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return std::nullopt;
  std::string text;
  char block[1 << 14];
  while (in.read(block, sizeof(block)) || in.gcount() > 0) {
    text.append(block, in.gcount());
    if (text.size() > kMostBytes) {
      PrintError(StrCat(PrintableName(path), ": more than ", kMostBytes,
                        " bytes, which no program of e-graphs needs\n"));
      return std::nullopt;
    }
  }
  if (in.bad()) return std::nullopt;
  return text;
}

void PrintStats(const egg::ExecutorStats& stats, double cpu_seconds) {
  const std::string line = StrCat(
      "{\"stats\": {\"enodes\": ", stats.enodes,
      ", \"classes\": ", stats.classes, ", \"iterations\": ", stats.iterations,
      ", \"seconds\": ", stats.seconds, ", \"peak_bytes\": ", stats.peak_bytes,
      ", \"stop\": ", Quote(stats.stop), ", \"cpu_seconds\": ", cpu_seconds,
      "}}\n");
  Print(line);
}

}  // namespace

int EgraphMain(int argc, char** argv) {
  KeepHeap();
  CLI::App app(
      "Runs a program of rewrites, rules, checks and extractions on an e-graph "
      "(grammar: opt/egraph/program/README.md).",
      "encore egraph");
  app.footer(
      "Exit codes: 0 every command succeeded, 1 a command failed, 2 the "
      "program or the arguments were rejected, 3 the program uses something "
      "that is not supported.");
  std::string path;
  bool print_stats = false;
  bool dag = false;
  uint64_t dag_work = 1'000'000;
  egg::ExecutorOptions options;
  app.add_option("FILE", path, "the program")->required();
  app.add_flag("--stats", print_stats,
               "print one line of JSON with sizes, time and stop reason");
  app.add_flag("--explain", options.explanations,
               "explain the equations of terms in checks that hold");
  app.add_option("--max-nodes", options.max_nodes,
                 "stop a run when there are more e-nodes and rows of relations")
      ->check(WholeNumber(0));
  app.add_option("--max-seconds", options.max_seconds,
                 "stop a run when the program has run this long")
      ->check(NonNegativeNumber());
  CLI::Option* const dag_flag = app.add_flag(
      "--dag", dag,
      "extract terms whose distinct subterms, not their occurrences, cost "
      "least; what is shared is printed as (let ...) ahead of the term");
  app.add_option("--work", dag_work,
                 "with --dag: evaluations of a node's cost for each (extract)")
      ->check(WholeNumber(0))
      ->needs(dag_flag)
      ->capture_default_str();
  if (const auto code = ParseArguments(app, argc, argv)) return *code;
  if (dag) options.dag_work = dag_work;
  g_interrupted = false;
  std::signal(SIGINT, OnInterrupt);
  options.interrupt = &g_interrupted;
  const std::clock_t begin = std::clock();
  const egg::ProgramResult result =
      egg::RunProgramFile(path, ReadFile, options, Print);
  if (print_stats && result.stats.has_value()) {
    PrintStats(*result.stats, CpuSecondsSince(begin));
  }
  std::fflush(stdout);
  if (!result.message.empty()) {
    PrintError(PrintableName(result.message) + "\n");
  }
  return static_cast<int>(result.outcome);
}

}  // namespace encore::tools
