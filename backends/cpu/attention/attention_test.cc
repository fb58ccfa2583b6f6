// Attention in one pass against the bounds of conformance/bounds.h, and where
// it is a candidate.
#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "encore/backends/conformance/attention_graph.h"
#include "encore/backends/cpu/attention/schedule.h"
#include "encore/backends/cpu/cpu_backend.h"
#include "encore/backends/cpu/kernel_check.h"
#include "encore/backends/region/flat/attention_region.h"
#include "encore/backends/region/whole_region.h"
#include "encore/ir/graph/graph.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/testing/parsed_graph.h"
#include "encore/ir/types/literal.h"
#include "gtest/gtest.h"

namespace encore::backends::cpu {
namespace {

using Attention = AttentionGraph;

std::vector<Candidate> CandidatesFor(const std::string& text,
                                     Rewrites rewrites) {
  const Graph graph = ParsedGraph(text);
  const BuiltRegion built = BuildWhole(graph);
  CompileOptions options = GeneratedOnly();
  options.rewrites = rewrites;
  options.threads = 2;
  return CpuBackend()->Candidates(
      {&built.region, std::vector<bool>(built.inputs.size()), {}}, options);
}

bool IsCandidate(const std::string& text,
                 Rewrites rewrites = Rewrites::kReassociate) {
  return std::ranges::any_of(
      CandidatesFor(text, rewrites), [](const Candidate& candidate) {
        return AttentionName::Parse(candidate.kernel).has_value();
      });
}

// Every candidate within the bounds, this one among them.
void Check(const Attention& attention, std::vector<Literal> arguments = {}) {
  const std::string text = attention.ToPrimitives();
  EXPECT_TRUE(IsCandidate(text)) << text;
  CheckKernels(text, std::move(arguments));
}

TEST(AttentionTest, IsWithinBounds) {
  for (const Attention& attention : {
           Attention{1, 1, 1, 1, 2, 1, 2},
           Attention{1, 2, 2, 5, 7, 8, 8},
           Attention{2, 3, 3, 13, 17, 16, 16},
           Attention{1, 1, 1, 40, 64, 32, 32},
           Attention{1, 2, 2, 9, 33, 40, 24},     // Q K^T and V differ
           Attention{1, 1, 1, 7, 65, 64, 80},     // nothing divides anything
           Attention{1, 1, 1, 26, 150, 96, 256},  // several blocks
           Attention{1, 1, 1, 3, 700, 64, 64},    // the same, and few rows
           Attention{1, 1, 1, 1, 301, 256, 128},
       }) {
    Check(attention);
  }
}

TEST(AttentionTest, RandomShapesAreWithinBounds) {
  for (const Attention& attention : DrawnAttentions(16, 20)) Check(attention);
}

TEST(AttentionTest, MasksHeadsAndCapsAreWithinBounds) {
  const Attention plain{2, 4, 4, 6, 19, 12, 20};
  for (const char* mask :
       {"[2,4,6,19]", "[2,1,6,19]", "[1,4,6,19]", "[2,1,1,19]", "[1,1,6,1]"}) {
    Attention masked = plain;
    masked.mask = mask;
    Check(masked);
    masked.attributes = ", causal = true, softcap = 2.0";
    Check(masked);
  }
  for (const int64_t kv_heads : {1, 2}) {
    Attention grouped = plain;
    grouped.kv_heads = kv_heads;
    Check(grouped);
    grouped.mask = "[2,1,1,19]";
    Check(grouped);
    grouped.queries = 1;  // one token after others
    Check(grouped);
  }
}

TEST(AttentionTest, NarrowFloatsAreComputedInF32) {
  for (const char* dtype : {"f16", "bf16"}) {
    Attention narrow{1, 2, 2, 9, 40, 32, 24};
    narrow.dtype = dtype;
    Check(narrow);
    narrow.mask = "[1,1,9,40]";
    Check(narrow);
  }
}

// Equal extents must not be taken for one another.
TEST(AttentionTest, SquaresAreWithinBounds) {
  Check({1, 16, 16, 16, 16, 16, 16});
  Check({16, 1, 1, 16, 16, 16, 16, "[16,1,16,16]"});
}

// Rows without a key are NaN, as a softmax of them is; the rows beside these,
// and those whose first blocks have no key, are not.
TEST(AttentionTest, RowsWithoutAKeyAreNaN) {
  for (const int64_t keys : {19, 300}) {
    Attention masked{1, 1, 1, 8, keys, 200, 32, StrCat("[1,1,8,", keys, "]")};
    const Graph graph = ParsedGraph(masked.ToPrimitives());
    Check(masked, ArgumentsWithHiddenKeys(graph, keys));
  }
}

// What is infinite or NaN makes NaN of its row, and of no other.
TEST(AttentionTest, InfinitiesAndNaNStayInTheirRows) {
  Attention attention{1, 1, 1, 5, 300, 200, 32, "[1,1,5,300]"};
  const Graph graph = ParsedGraph(attention.ToPrimitives());
  Check(attention, ArgumentsWithInfinities(graph));
}

TEST(AttentionTest, IsReadAndWrittenAsItLies) {
  CheckKernels(std::string(kAttentionAsItLies));
}

// An epilogue that reads the row's maximum or sum as well, which the one pass
// does not keep.
TEST(AttentionTest, ResultsMayNeedMaximaAndSums) {
  for (const char* also : {"%m", "%l"}) {
    const std::string text = StrCat(R"(
graph g(%q: f32[2,9,16], %k: f32[2,20,16], %v: f32[2,20,24]) -> f32[2,9,24] {
  %s = dot_general(%q, %k) {contract = [2]x[2], batch = [0]x[0]}
  %m = reduce(%s) {axes = [2], combiner = max}
  %mb = broadcast(%m) {shape = [2,9,20], axes = [0,1]}
  %d = sub(%s, %mb)
  %e = exp(%d)
  %l = reduce(%e) {axes = [2]}
  %lb = broadcast(%l) {shape = [2,9,20], axes = [0,1]}
  %p = div(%e, %lb)
  %o = dot_general(%p, %v) {contract = [2]x[1], batch = [0]x[0]}
  %a = broadcast()",
                                    also, R"() {shape = [2,9,24], axes = [0,1]}
  %y = add(%o, %a)
  return %y
})");
    EXPECT_FALSE(IsCandidate(text)) << text;
    CheckKernels(text);
  }
}

TEST(AttentionTest, IsForWhatMayBeReassociated) {
  const std::string text = Attention{1, 2, 2, 64, 64, 32, 32}.ToPrimitives();
  EXPECT_FALSE(IsCandidate(text, Rewrites::kNone));
  EXPECT_FALSE(IsCandidate(text, Rewrites::kExact));
  EXPECT_TRUE(IsCandidate(text, Rewrites::kReassociate));
  EXPECT_TRUE(IsCandidate(text, Rewrites::kFast));
}

TEST(AttentionTest, IsForF32AndSeveralKeys) {
  Attention other{1, 2, 2, 64, 64, 32, 32};
  other.dtype = "f64";
  EXPECT_FALSE(IsCandidate(other.ToPrimitives()));
  EXPECT_FALSE(IsCandidate(Attention{1, 2, 2, 64, 1, 32, 32}.ToPrimitives()));
  EXPECT_FALSE(IsCandidate(Attention{1, 2, 2, 64, 0, 32, 32}.ToPrimitives()));
  EXPECT_FALSE(IsCandidate(Attention{1, 2, 2, 0, 64, 32, 32}.ToPrimitives()));
}

TEST(AttentionTest, HasTheSameBitsForAnyThreads) {
  const Graph graph =
      ParsedGraph(Attention{2, 2, 2, 50, 300, 64, 64}.ToPrimitives());
  const BuiltRegion built = BuildWhole(graph);
  std::vector<Bytes> inputs;
  std::mt19937_64 random(11);
  for (const Operand& operand : built.region.inputs) {
    Literal data(operand.dtype, Shape(operand.dims).ConstantDims());
    for (int64_t i = 0; i < data.element_count(); ++i) {
      data.SetDouble(i, static_cast<double>(random() >> 40) * 0x1p-23 - 1);
    }
    inputs.emplace_back(data.bytes().begin(), data.bytes().end());
    inputs.back().resize(inputs.back().size() + 64);
  }
  std::vector<std::vector<Bytes>> results;
  for (const int threads : {1, 2, 3, 7, 64}) {
    const CompileRequest request{
        {&built.region, std::vector<bool>(built.inputs.size()), {}},
        {AttentionName{threads}.ToString(), 0, 0, 0, {}, {}}};
    results.push_back(RunCandidate(built.region, request, inputs, 2));
    EXPECT_TRUE(results.back() == results.front()) << threads;
  }
}

TEST(AttentionTest, NamesAreParsed) {
  EXPECT_EQ(AttentionName::Parse("attention/12")->threads, 12);
  for (const char* other : {"attention", "attention/", "attention/0", "tiles",
                            "attention/99999999999", "attention/-1"}) {
    EXPECT_FALSE(AttentionName::Parse(other).has_value()) << other;
  }
}

}  // namespace
}  // namespace encore::backends::cpu
