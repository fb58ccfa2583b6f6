// Plans that tests have as files, in the form of
// plan/compiled_graph_text_parser.h.
//
// A file may say in comments what is to be found in it, one line each:
//
//   // expect: P4: slot 7: it leaves its base
#ifndef ENCORE_RUNTIME_TESTING_PLAN_FILE_H_
#define ENCORE_RUNTIME_TESTING_PLAN_FILE_H_

#include <string>
#include <string_view>
#include <vector>

#include "encore/runtime/plan/compiled_graph.h"

namespace encore::runtime {

// The .plan files in `folder`, a path from the root of the workspace, sorted by
// name. The test's data has them. Ends the test where there are none.
std::vector<std::string> PlanFiles(const std::string& folder);

// The text of a file. Ends the test where it cannot be read.
std::string ReadPlanText(const std::string& path);

// The plan in a file, all of whose blobs are in it. Ends the test where it is
// none.
CompiledGraph ReadPlanFile(const std::string& path);

// What follows "// expect: " in lines that begin so; views into `text`.
std::vector<std::string_view> Expectations(std::string_view text);

}  // namespace encore::runtime

#endif  // ENCORE_RUNTIME_TESTING_PLAN_FILE_H_
