// Tests that are text files: what goes in, and what is to come out.
//
//   // What the case is about.
//   // key: value              (options of the test that reads it)
//   graph g(%x: f32[2]) …
//   // ----
//   what the test makes of it
//
// A test with a folder of such files makes of each an output, and another one
// without what is tested, which must differ: a case that passes either way says
// nothing. With ENCORE_UPDATE set, `bazel run` of the test writes what came out
// into the files; tests/update_cases does so for all of them.
#ifndef ENCORE_IR_TESTING_TEXT_CASES_H_
#define ENCORE_IR_TESTING_TEXT_CASES_H_

#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "encore/ir/graph/graph.h"
#include "encore/ir/support/status.h"

namespace encore {

struct TextCase {
  std::string path;    // from the workspace's root
  std::string folder;  // the last folder's name
  std::string name;    // folder and file: letters, digits and underscores
  std::map<std::string, std::string> options;
  std::string head;  // comments, options and input as they stand in the file
  std::string expected;

  // The graph of the head.
  StatusOr<Graph> Parse() const;
  // An option's value, or `fallback`.
  std::string Option(const std::string& key,
                     const std::string& fallback = "") const;
};

// The .txt files of the folders in `folder`, by path. Ends the process where
// one has no line "// ----".
std::vector<TextCase> ReadTextCases(const std::string& folder);

// Fails the running test where `output` is not what the file says, an error
// being the line "error: message"; where `without`, the output without what is
// tested, is the same; or where the file has an option that is not in `known`.
void CheckTextCase(const TextCase& text_case,
                   const StatusOr<std::string>& output,
                   const StatusOr<std::string>& without,
                   const std::vector<std::string>& known = {});

// For INSTANTIATE_TEST_SUITE_P.
void PrintTo(const TextCase& text_case, std::ostream* out);

}  // namespace encore

#endif  // ENCORE_IR_TESTING_TEXT_CASES_H_
