#include "encore/ir/op_reference.h"

#include <fstream>
#include <sstream>

#include "encore/ir/op.h"
#include "encore/ir/support/strings.h"
#include "gtest/gtest.h"

namespace encore {
namespace {

TEST(OpReference, ThePageIsCurrent) {
  std::ifstream file("ir/OPS.md");
  std::stringstream page;
  page << file.rdbuf();
  EXPECT_EQ(page.str(), OpReferenceMarkdown())
      << "run: bazel-bin/tools/encore ops --markdown > ir/OPS.md";
}

TEST(OpReference, HasEveryOp) {
  const std::string page = OpReferenceMarkdown();
  for (const OpInfo& info : AllOps()) {
    EXPECT_NE(page.find(StrCat("| `", info.mnemonic, "` |")),
              std::string::npos);
  }
}

}  // namespace
}  // namespace encore
