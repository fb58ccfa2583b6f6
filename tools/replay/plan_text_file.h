// A compiled graph as a text file (runtime/plan/compiled_graph_text_parser.h).
#ifndef ENCORE_TOOLS_REPLAY_PLAN_TEXT_FILE_H_
#define ENCORE_TOOLS_REPLAY_PLAN_TEXT_FILE_H_

#include <string>

#include "encore/ir/support/status.h"
#include "encore/runtime/plan/compiled_graph.h"

namespace encore::tools {

// Whether a path is that of such a file by its name: FILE.plan.
bool IsPlanText(const std::string& path);

// What the plan verifier finds wrong with the plan in a text file, or an empty
// string; needs no blobs. Errors of reading: those of MappedFile::Open,
// InvalidArgument "PATH:LINE:COLUMN: …".
StatusOr<std::string> FindingOfPlanText(const std::string& path);

// The sound plan of the text file `path` with the blobs of `source`, which
// keeps them alive. NotFound names a blob that is not there and remedies; for
// the rest errors as above, the verifier's included.
StatusOr<runtime::CompiledGraph> ReadPlanText(
    const std::string& path, const runtime::CompiledGraph& source);

}  // namespace encore::tools

#endif  // ENCORE_TOOLS_REPLAY_PLAN_TEXT_FILE_H_
