#include "encore/tools/opt/extract_command.h"

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "encore/ir/support/status.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/opt/extract/egraph_json.h"
#include "encore/opt/extract/extract.h"
#include "encore/tools/command.h"
#include "encore/tools/command_files.h"
#include "encore/tools/io/write_output.h"
#include "encore/tools/progress.h"
#include "encore/tools/terminal.h"

namespace encore::tools {
namespace {

namespace ex = ::encore::opt::extract;
using Clock = std::chrono::steady_clock;

std::atomic<bool> g_interrupted = false;

void OnInterrupt(int) { g_interrupted = true; }

double SecondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

struct Arguments {
  std::vector<std::string> files;
  double seconds = 10;
  std::optional<uint64_t> work;
  uint64_t seed = 1;
  std::string output = "-";
};

std::string LabelOf(const std::string& file, const ex::Progress& progress) {
  std::string label = StrCat(file, ": cost ", progress.cost);
  if (progress.lower_bound) {
    StrAppend(&label, ", bound ", *progress.lower_bound);
  }
  return label;
}

// The result of one file as a JSON object.
StatusOr<std::string> ExtractFile(const std::string& file,
                                  const Arguments& arguments) {
  ex::Options options;
  options.begin = Clock::now();
  options.seconds = arguments.seconds;
  options.work = arguments.work;
  options.seed = arguments.seed;
  options.interrupt = &g_interrupted;
  Progress progress(file);
  options.progress = [&](const ex::Progress& p) {
    progress.SetLabel(LabelOf(file, p));
  };
  ENCORE_ASSIGN_OR_RETURN(const ex::NamedProblem named,
                          ex::ReadEgraphJson(file));
  StatusOr<ex::Result> result = ex::Extract(named.problem, options);
  if (!result.ok()) return Annotate(result.status(), file);
  // A reproducible run writes reproducible bytes: no times.
  std::optional<double> seconds;
  if (!arguments.work) seconds = SecondsSince(options.begin);
  return ex::ResultJson(file, named, *result, seconds);
}

StatusOr<std::string> ExtractFiles(const Arguments& arguments) {
  CommandFiles files;
  files.WritesData("-o", arguments.output);
  for (const std::string& file : arguments.files) {
    files.Reads("the e-graph", file);
  }
  ENCORE_RETURN_IF_ERROR(files.CheckApart());
  std::string text = "{\"results\": [";
  bool first = true;
  for (const std::string& file : arguments.files) {
    ENCORE_ASSIGN_OR_RETURN(const std::string result,
                            ExtractFile(file, arguments));
    StrAppend(&text, std::exchange(first, false) ? "\n" : ",\n", result);
  }
  return text + "\n]}\n";
}

}  // namespace

int ExtractMain(int argc, char** argv) {
  Arguments arguments;
  CLI::App app(
      "Chooses from each e-graph the cheapest acyclic selection, every chosen "
      "node paid for once.",
      "encore extract");
  app.add_option("files", arguments.files,
                 "e-graphs in extraction-gym's JSON form")
      ->required();
  app.add_option("--seconds", arguments.seconds,
                 "time per file, reading included; 0: the quick methods only")
      ->check(NonNegativeNumber())
      ->capture_default_str();
  app.add_option("--work", arguments.work,
                 "evaluations of a move or a node's cost, in place of seconds: "
                 "the result is reproducible")
      ->check(WholeNumber(0));
  app.add_option("--seed", arguments.seed, "of the random choices")
      ->check(WholeNumber(0))
      ->capture_default_str();
  app.add_option("-o,--output", arguments.output,
                 "where the choices go; - is standard output")
      ->capture_default_str();
  if (const auto exit = ParseArguments(app, argc, argv)) return *exit;
  // Interrupted, it ends soon with the best it has.
  std::signal(SIGINT, OnInterrupt);
  const StatusOr<std::string> text = ExtractFiles(arguments);
  if (!text.ok()) return Fail(app, text.status());
  const Status written = WriteOutput(arguments.output, *text);
  if (!written.ok()) return Fail(app, written);
  // Everything is written: a solver past its deadline is not waited for.
  if (ex::SolverStillRunning()) std::_Exit(kExitOk);
  return kExitOk;
}

}  // namespace encore::tools
