#include "encore/opt/egraph/program/driver.h"

#include <string_view>
#include <utility>

#include "encore/ir/support/strings.h"
#include "encore/opt/egraph/program/ast.h"
#include "encore/opt/egraph/program/diagnostics.h"

namespace encore::opt::program {

ProgramResult RunProgramFile(const std::string& path,
                             const ReadFileFn& read_file,
                             const ExecutorOptions& options,
                             Executor::Output output) {
  std::optional<std::string> text = read_file(path);
  if (!text.has_value()) {
    return {ProgramOutcome::kRejected, StrCat("cannot read ", path), {}};
  }
  Diagnostics diagnostics;
  const Program program =
      CheckProgram(path, *std::move(text), read_file, &diagnostics);
  const auto describe = [&](const Finding& finding, std::string_view prefix) {
    return StrCat(Where(program, finding.position), ": ", prefix,
                  finding.message);
  };
  if (diagnostics.unsupported().has_value()) {
    return {ProgramOutcome::kUnsupported,
            describe(*diagnostics.unsupported(), "not supported: "),
            {}};
  }
  if (diagnostics.rejected().has_value()) {
    return {
        ProgramOutcome::kRejected, describe(*diagnostics.rejected(), ""), {}};
  }
  Executor executor(program, options, std::move(output));
  const std::optional<Finding> failure = executor.Run();
  if (!failure.has_value()) {
    return {ProgramOutcome::kSucceeded, "", executor.Stats()};
  }
  return {ProgramOutcome::kFailed, describe(*failure, ""), executor.Stats()};
}

}  // namespace encore::opt::program
