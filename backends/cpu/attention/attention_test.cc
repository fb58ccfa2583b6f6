// Attention in one pass against the bounds of conformance/bounds.h, and where
// it is a candidate.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "encore/backends/cpu/attention/schedule.h"
#include "encore/backends/cpu/cpu_backend.h"
#include "encore/backends/cpu/kernel_check.h"
#include "encore/backends/region/flat/attention_region.h"
#include "encore/backends/region/whole_region.h"
#include "encore/ir/graph/graph.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/testing/parsed_graph.h"
#include "encore/ir/text/printer.h"
#include "encore/ir/transform/decompose.h"
#include "encore/ir/types/literal.h"
#include "gtest/gtest.h"

namespace encore::backends::cpu {
namespace {

// softmax(scale * Q K^T + mask) V of [batch, heads, length, width].
struct Attention {
  int64_t batch = 1, heads = 1, kv_heads = 1, queries = 1, keys = 2, depth = 1,
          columns = 2;
  std::string mask = "";        // dims, where there is one
  std::string attributes = "";  // besides the scale
  std::string dtype = "f32";

  std::string Type(int64_t h, int64_t length, int64_t width) const {
    return StrCat(dtype, "[", batch, ",", h, ",", length, ",", width, "]");
  }
  // In primitives.
  std::string ToText() const {
    const std::string text =
        StrCat("graph g(%q: ", Type(heads, queries, depth),
               ", %k: ", Type(kv_heads, keys, depth),
               ", %v: ", Type(kv_heads, keys, columns),
               mask.empty() ? "" : StrCat(", %m: ", dtype, mask), ") -> ",
               Type(heads, queries, columns), " {\n  %y = attention(%q, %k, %v",
               mask.empty() ? "" : ", %m", ") {scale = 0.3", attributes,
               "}\n  return %y\n}");
    const StatusOr<Graph> primitives = DecomposeAll(ParsedGraph(text));
    EXPECT_TRUE(primitives.ok()) << primitives.status();
    return primitives.ok() ? Print(*primitives) : "";
  }
};

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
  const std::string text = attention.ToText();
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
  std::mt19937_64 random(5);
  const auto draw = [&random](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random() % (high - low + 1));
  };
  for (int i = 0; i < 16; ++i) {
    Attention a{draw(1, 2),  draw(1, 3),  1,  draw(1, 20), draw(2, 90),
                draw(1, 70), draw(2, 70), "", ""};
    a.kv_heads = a.heads;
    if (i % 3 == 1) a.mask = StrCat("[", a.batch, ",1,1,", a.keys, "]");
    if (i % 3 == 2) a.mask = StrCat("[1,1,", a.queries, ",", a.keys, "]");
    if (i % 2 == 1) a.attributes = ", causal = true";
    Check(a);
  }
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
    const Graph graph = ParsedGraph(masked.ToText());
    std::vector<Literal> arguments;
    std::mt19937_64 random(3);
    for (const Graph::Argument& argument : graph.arguments()) {
      const TensorType& type = graph.type(argument.value);
      Literal& data =
          arguments.emplace_back(type.dtype, type.shape.ConstantDims());
      for (int64_t i = 0; i < data.element_count(); ++i) {
        data.SetDouble(i, static_cast<double>(random() >> 40) * 0x1p-23 - 1);
      }
    }
    // Row by row: no key, one, all behind the first, all before the last, some.
    for (int64_t i = 0; i < 8; ++i) {
      for (int64_t j = 0; j < keys; ++j) {
        const bool seen = i == 1   ? j == keys / 2
                          : i == 2 ? j == keys - 1
                          : i == 3 ? j == 0
                          : i == 4 ? j > keys / 2
                          : i == 5 ? j < keys / 2
                          : i == 6 ? j % 3 == 0
                                   : i != 0;
        arguments[3].SetDouble(i * keys + j, seen ? 0 : -INFINITY);
      }
    }
    Check(masked, arguments);
  }
}

// What is infinite or NaN makes NaN of its row, and of no other.
TEST(AttentionTest, InfinitiesAndNaNStayInTheirRows) {
  Attention attention{1, 1, 1, 5, 300, 200, 32, "[1,1,5,300]"};
  const Graph graph = ParsedGraph(attention.ToText());
  std::vector<Literal> arguments;
  for (const Graph::Argument& argument : graph.arguments()) {
    const TensorType& type = graph.type(argument.value);
    arguments.emplace_back(type.dtype, type.shape.ConstantDims());
  }
  arguments[3].SetDouble(1 * 300 + 7, INFINITY);
  arguments[3].SetDouble(2 * 300 + 299, INFINITY);
  arguments[3].SetDouble(3 * 300 + 150, NAN);
  arguments[2].SetDouble(20, 3);
  Check(attention, arguments);
}

// With what is before and behind it in models: heads side by side in memory,
// a bias of the keys, a select, a residual.
TEST(AttentionTest, IsReadAndWrittenAsItLies) {
  CheckKernels(R"(
graph g(%q: f32[2,9,3,16], %k: f32[2,20,3,16], %v: f32[2,20,3,16], %seen: bool[9,20], %r: f32[2,9,3,16]) -> f32[2,9,3,16] {
  %qt = transpose(%q) {permutation = [0,2,1,3]}
  %kt = transpose(%k) {permutation = [0,2,3,1]}
  %vt = transpose(%v) {permutation = [0,2,1,3]}
  %s = dot_general(%qt, %kt) {contract = [3]x[2], batch = [0,1]x[0,1]}
  %c = constant() {value = f32[] 0.25}
  %cb = broadcast(%c) {shape = [2,3,9,20], axes = []}
  %t = mul(%s, %cb)
  %n = constant() {value = f32[] -3.0e38}
  %nb = broadcast(%n) {shape = [2,3,9,20], axes = []}
  %sb = broadcast(%seen) {shape = [2,3,9,20], axes = [2,3]}
  %u = select(%sb, %t, %nb)
  %m = reduce(%u) {axes = [3], combiner = max}
  %mb = broadcast(%m) {shape = [2,3,9,20], axes = [0,1,2]}
  %d = sub(%u, %mb)
  %e = exp(%d)
  %l = reduce(%e) {axes = [3]}
  %lb = broadcast(%l) {shape = [2,3,9,20], axes = [0,1,2]}
  %p = div(%e, %lb)
  %o = dot_general(%p, %vt) {contract = [3]x[2], batch = [0,1]x[0,1]}
  %ot = transpose(%o) {permutation = [0,2,1,3]}
  %y = add(%ot, %r)
  return %y
})");
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
  const std::string text = Attention{1, 2, 2, 64, 64, 32, 32}.ToText();
  EXPECT_FALSE(IsCandidate(text, Rewrites::kNone));
  EXPECT_FALSE(IsCandidate(text, Rewrites::kExact));
  EXPECT_TRUE(IsCandidate(text, Rewrites::kReassociate));
  EXPECT_TRUE(IsCandidate(text, Rewrites::kFast));
}

TEST(AttentionTest, IsForF32AndSeveralKeys) {
  Attention other{1, 2, 2, 64, 64, 32, 32};
  other.dtype = "f64";
  EXPECT_FALSE(IsCandidate(other.ToText()));
  EXPECT_FALSE(IsCandidate(Attention{1, 2, 2, 64, 1, 32, 32}.ToText()));
  EXPECT_FALSE(IsCandidate(Attention{1, 2, 2, 64, 0, 32, 32}.ToText()));
  EXPECT_FALSE(IsCandidate(Attention{1, 2, 2, 0, 64, 32, 32}.ToText()));
}

TEST(AttentionTest, HasTheSameBitsForAnyThreads) {
  const Graph graph = ParsedGraph(Attention{2, 2, 2, 50, 300, 64, 64}.ToText());
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
