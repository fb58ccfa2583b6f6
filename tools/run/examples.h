// The example models: what `encore run` without arguments runs.
//
// The models are trained ones from the wheels that `./encore setup` unpacked;
// their inputs and expected outputs are in tools/run/examples/MODEL/CALL.npz
// (its README says how they are made).
#ifndef ENCORE_TOOLS_RUN_EXAMPLES_H_
#define ENCORE_TOOLS_RUN_EXAMPLES_H_

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "encore/cache/session/session.h"
#include "encore/ir/support/status.h"
#include "encore/ir/types/literal.h"
#include "encore/tools/run/run_model.h"

namespace encore::tools {

struct Example {
  const char* name;
  // Below the folder of models: the wheel's name, then the path in it.
  const char* wheel;
  const char* path;
  // What the outputs of one file's calls say. `model`: the model's file, for
  // labels beside it or in it.
  StatusOr<std::string> (*answer)(const std::string& model,
                                  std::span<const std::vector<Literal>> calls);
};
std::span<const Example> Examples();

// The folder of examples, tools/run/examples: $ENCORE_EXAMPLES, or among the
// files that Bazel put beside the program. NotFound says what to do.
StatusOr<std::string> ExamplesFolder();

// The model's file. NotFound where set-up did not unpack it.
StatusOr<std::string> ModelFile(const Example& example);

// Takes text for a person; Print or PrintError.
using TextSink = void (*)(std::string_view text);
// Called with each example's report.
using ReportSink = std::function<Status(const RunReport& report)>;

// Runs each example with the rest of `request` as it is, prints a table and
// the answers with `print`, and hands the reports to `sink`. Returns whether
// all outputs are as expected.
StatusOr<bool> RunExamples(const RunRequest& request, cache::Session& session,
                           TextSink print, const ReportSink& sink);

}  // namespace encore::tools

#endif  // ENCORE_TOOLS_RUN_EXAMPLES_H_
