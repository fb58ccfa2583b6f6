// Prints CASES.md.
#include <unistd.h>

#include <cstdlib>
#include <iostream>

#include "encore/tests/onnx/case_table.h"

int main() {
  // `bazel run` starts programs elsewhere; the list of skips is in the tree.
  const char* tree = std::getenv("BUILD_WORKSPACE_DIRECTORY");
  if (tree != nullptr && chdir(tree) != 0) return 2;
  std::cout << encore::tests::CaseTableMarkdown();
}
