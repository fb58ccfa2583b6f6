// Prints CASES.md; exit code 2 where suites are not to be found.
#include <unistd.h>

#include <cstdlib>
#include <iostream>

#include "encore/tests/onnx/case_table.h"

int main() {
  // `bazel run` starts programs elsewhere; the list of skips is in the tree.
  const char* tree = std::getenv("BUILD_WORKSPACE_DIRECTORY");
  if (tree != nullptr && chdir(tree) != 0) return 2;
  if (std::getenv("ENCORE_DEPS") == nullptr) {
    std::cerr << "ENCORE_DEPS is not set: it names the folder that ./encore "
                 "setup fills, ~/.cache/encore/deps where nothing else is "
                 "asked for\n";
    return 2;
  }
  std::cout << encore::tests::CaseTableMarkdown();
}
