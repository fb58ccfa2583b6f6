// What a verb says of the passes of a compile (opt/passes/pipeline.h): how long
// each took, the graphs after some of them, and where one fails a file that
// shows it again.
#ifndef ENCORE_TOOLS_PASS_REPORT_H_
#define ENCORE_TOOLS_PASS_REPORT_H_

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "CLI/CLI.hpp"
#include "encore/opt/passes/pipeline.h"
#include "encore/tools/json_output.h"

namespace encore::tools {

class PassReport : public opt::PassObserver {
 public:
  struct Time {
    std::string_view name;
    std::chrono::steady_clock::time_point begin, end;
  };

  // --print-after PASS… and --verify-passes. The report outlives `app`.
  void AddFlags(CLI::App& app);

  // Whether a flag asks for passes to be run even where a cache has what they
  // lead to.
  bool wants_all() const { return verify_ || !print_after_.empty(); }

  bool verify() const override { return verify_; }
  // Prints the graph, without the data of parameters, on standard error where
  // --print-after names the pass. For one that failed writes a reproducer, the
  // graph that the pass was given and how to run it on that, into the folder
  // for temporary files (TMPDIR, else /tmp), whole and for the user alone, and
  // prints the command; where that fails, says why.
  void Ran(const opt::PassRun& run) override;

  // In the order in which they ran.
  const std::vector<Time>& times() const { return times_; }
  // Forgets the times, and prints no more graphs: what follows is the same
  // passes again, on the canonical graph.
  void Restart();
  // {name: ms}, and the sum; {} and null where none ran.
  Json PassesMs() const;
  Json OptimizeMs() const;

 private:
  bool verify_ = false;
  std::vector<std::string> print_after_;
  std::vector<Time> times_;
};

}  // namespace encore::tools

#endif  // ENCORE_TOOLS_PASS_REPORT_H_
