#include "encore/backends/target_text.h"

#include <string>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace encore::backends {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

CompileOptions For(std::string target, std::string placement = "") {
  CompileOptions options;
  options.target = std::move(target);
  options.placement = std::move(placement);
  return options;
}

TEST(TargetText, TargetsAreJoinedByCommas) {
  EXPECT_THAT(*ParseTargets("cpu"), ElementsAre("cpu"));
  EXPECT_THAT(*ParseTargets("cpu:avx2,cuda:/a/b.json,ref"),
              ElementsAre("cpu:avx2", "cuda:/a/b.json", "ref"));
  for (const char* text : {"", ",", "cpu,", ",cpu", "cpu,,ref"}) {
    EXPECT_EQ(ParseTargets(text).status().code(), StatusCode::kInvalidArgument)
        << text;
  }
}

TEST(TargetText, VariantsAreTheirBackends) {
  const CompileOptions both = For("cpu,cuda:h100");
  EXPECT_EQ(VariantOf(both, "cuda"), "h100");
  EXPECT_EQ(VariantOf(both, "cpu"), "");
  EXPECT_EQ(VariantOf(For("cpu:avx2,cuda:sm_90"), "cpu"), "avx2");
  EXPECT_EQ(VariantOf(For("cuda:1"), "cuda"), "");
  EXPECT_EQ(VariantOf(For("cuda:1,cuda:sm_90"), "cuda"), "sm_90");
  EXPECT_EQ(VariantOf(For("cpu", "a=b=cuda:sm_90,y=cpu"), "cuda"), "sm_90");
  EXPECT_EQ(VariantOf(For("cudaa:sm_80"), "cuda"), "");
}

TEST(TargetText, ABackendHasOneVariant) {
  EXPECT_TRUE(CheckVariants(For("cuda:h100,cuda:1", "x=cuda:h100")).ok());
  const Status two = CheckVariants(For("cpu:avx2,cuda:h100", "x=cuda:a100"));
  EXPECT_EQ(two.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(Message(two)), HasSubstr("cuda:h100 and cuda:a100"));
}

}  // namespace
}  // namespace encore::backends
