// The replay verbs. Each works on one file (bench, assemble on two), prints for
// a person unless JSON has standard output, and returns an exit code of
// command.h; errors are of the file's or the arguments' making.
#ifndef ENCORE_TOOLS_REPLAY_VERBS_H_
#define ENCORE_TOOLS_REPLAY_VERBS_H_

#include <string>

#include "encore/ir/support/status.h"
#include "encore/tools/replay/replay_context.h"

namespace encore::tools {

// Sections, key, signature and the plan in numbers.
StatusOr<int> ReplayInfo(ReplayContext& context, const std::string& path);
// The plan as text (runtime/plan/compiled_graph_text.h).
StatusOr<int> ReplayDump(ReplayContext& context, const std::string& path);
// The container of a text file's plan: context.flags.output, with the rest of
// context.flags.blobs.
StatusOr<int> ReplayAssemble(ReplayContext& context, const std::string& path);
// Checksums, plan verifier, and a recording's outputs; of a text file
// (plan_text_file.h) the plan verifier.
StatusOr<int> ReplayVerify(ReplayContext& context, const std::string& path);
// A recording's calls, or one call of a package with inputs given or generated.
StatusOr<int> ReplayRun(ReplayContext& context, const std::string& path);
// Latencies; in pairs with a baseline's.
StatusOr<int> ReplayBench(ReplayContext& context, const std::string& path);
// Time per step.
StatusOr<int> ReplayProfile(ReplayContext& context, const std::string& path);

}  // namespace encore::tools

#endif  // ENCORE_TOOLS_REPLAY_VERBS_H_
