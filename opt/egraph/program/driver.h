// RunProgramFile: reads, checks and runs a program; what `encore egraph` does.
#ifndef ENCORE_OPT_EGRAPH_PROGRAM_DRIVER_H_
#define ENCORE_OPT_EGRAPH_PROGRAM_DRIVER_H_

#include <optional>
#include <string>

#include "encore/opt/egraph/program/checker.h"
#include "encore/opt/egraph/program/executor.h"

namespace encore::opt::program {

// The values are exit codes.
enum class ProgramOutcome {
  kSucceeded = 0,
  kFailed = 1,       // a command failed
  kRejected = 2,     // before it ran
  kUnsupported = 3,  // outside the language of README.md; wins over rejected
};

struct ProgramResult {
  ProgramOutcome outcome;
  std::string message;  // "FILE:LINE:COLUMN: ...", but for kSucceeded
  std::optional<ExecutorStats> stats;  // where it ran
};

ProgramResult RunProgramFile(const std::string& path,
                             const ReadFileFn& read_file,
                             const ExecutorOptions& options,
                             Executor::Output output);

}  // namespace encore::opt::program

#endif  // ENCORE_OPT_EGRAPH_PROGRAM_DRIVER_H_
