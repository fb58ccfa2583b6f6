#include "encore/tools/ops/op_reference.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>

#include "encore/ir/ops/op.h"
#include "encore/ir/support/strings.h"
#include "encore/tools/ops/op_table.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace encore::tools {
namespace {

const std::vector<OpEntry>& Ops() {
  static const std::vector<OpEntry> ops = MakeOpTable();
  return ops;
}

TEST(OpReference, ThePageIsCurrent) {
  std::ifstream file("ir/ops/OPS.md");
  std::stringstream page;
  page << file.rdbuf();
  EXPECT_EQ(page.str(), OpReferenceMarkdown(Ops(), MakeOnnxTable()))
      << "run: bazel-bin/tools/encore ops --markdown > ir/ops/OPS.md";
}

TEST(OpReference, HasEveryOp) {
  const std::string page = OpReferenceMarkdown(Ops(), MakeOnnxTable());
  const std::string text = OpReferenceText(Ops());
  const auto json =
      nlohmann::json::parse(OpReferenceJson(Ops(), MakeOnnxTable()));
  ASSERT_EQ(json["ops"].size(), AllOps().size());
  for (size_t i = 0; i < AllOps().size(); ++i) {
    const std::string mnemonic(AllOps()[i].mnemonic);
    EXPECT_NE(page.find(StrCat("| `", mnemonic, "` |")), std::string::npos);
    EXPECT_NE(text.find(mnemonic), std::string::npos);
    EXPECT_EQ(json["ops"][i]["op"], mnemonic);
  }
}

// What lowering is known to do comes out of the asking.
TEST(OpTable, AsksTheBackends) {
  for (const OpEntry& entry : Ops()) {
    const auto on = [&](std::string_view backend, DType dtype) {
      return std::ranges::any_of(entry.backends, [&](const auto& known) {
        return known.backend == backend &&
               std::ranges::count(known.dtypes, dtype) > 0;
      });
    };
    switch (entry.info->op) {
      case Op::kInput:   // no kernel
      case Op::kCustom:  // nor a built-in one
        EXPECT_TRUE(entry.backends.empty()) << entry.info->op;
        break;
      case Op::kAdd:
      case Op::kSoftmax:      // as its decomposition
      case Op::kConvolution:  // vendor or generated
      case Op::kIf:           // steps
        EXPECT_TRUE(on("ref", DType::kF32)) << entry.info->op;
        EXPECT_TRUE(on("cpu", DType::kF32)) << entry.info->op;
        // Strings are handed through a branch, and not computed with.
        EXPECT_EQ(on("cpu", DType::kString), entry.info->op == Op::kIf);
        break;
      default:
        break;
    }
  }
}

TEST(OpTable, OpsetsAreThoseOfTheUpgradeSteps) {
  for (const OnnxEntry& entry : MakeOnnxTable()) {
    ASSERT_FALSE(entry.opsets.empty());
    EXPECT_TRUE(entry.opsets.front().starts_with("1")) << entry.op_type;
    if (entry.op_type == "Softmax") {
      EXPECT_EQ(entry.opsets, (std::vector<std::string>{"1-12", "13-28"}));
    }
    if (entry.op_type == "Upsample") {  // is a Resize from 10 on
      EXPECT_EQ(entry.op, Op::kGather);
      EXPECT_EQ(entry.opsets, (std::vector<std::string>{"1-8", "9"}));
    }
  }
}

}  // namespace
}  // namespace encore::tools
