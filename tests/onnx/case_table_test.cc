#include "encore/tests/onnx/case_table.h"

#include <fstream>
#include <sstream>

#include "gtest/gtest.h"

namespace encore::tests {
namespace {

TEST(CaseTable, ThePageIsCurrent) {
  std::ifstream file("tests/onnx/CASES.md");
  std::stringstream page;
  page << file.rdbuf();
  EXPECT_EQ(page.str(), CaseTableMarkdown())
      << "run: bazel run //tests/onnx:write_case_table > tests/onnx/CASES.md";
}

}  // namespace
}  // namespace encore::tests
