// Attention in one pass against the bounds of conformance/bounds.h, in f32 and
// on tensor cores, and what it moves.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "encore/backends/compile.h"
#include "encore/backends/conformance/attention_graph.h"
#include "encore/backends/cuda/candidates.h"
#include "encore/backends/cuda/emulator/opcodes.h"
#include "encore/backends/cuda/testing/batched_backend.h"
#include "encore/backends/cuda/testing/kernel_case.h"
#include "encore/backends/region/whole_region.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/testing/parsed_graph.h"
#include "encore/ir/testing/random_graph.h"
#include "encore/ir/types/literal.h"
#include "gtest/gtest.h"

namespace encore::backends::cuda {
namespace {

using Attention = AttentionGraph;

// In one launch, in f32; of f16 and bf16 on tensor cores too.
void Check(const Attention& attention, std::vector<Literal> arguments = {}) {
  const std::string text = attention.ToText();
  SCOPED_TRACE(text);
  for (const std::string_view kernel : {kAttention, kTensorAttention}) {
    if (kernel == kTensorAttention && attention.dtype == "f32") continue;
    KernelCase c{.text = text, .kernel = kernel};
    c.arguments = arguments;
    const KernelResult result = RunAndPrint(c);
    EXPECT_EQ(result.kernel, kernel);
    EXPECT_EQ(result.bank_conflicts(), 0u);
  }
}

TEST(AttentionTest, IsWithinBounds) {
  for (const char* dtype : {"f32", "f16", "bf16"}) {
    for (Attention attention : {
             Attention{1, 1, 1, 1, 2, 1, 2}, Attention{1, 2, 2, 5, 7, 8, 8},
             Attention{2, 3, 3, 13, 17, 16, 16},
             Attention{1, 2, 2, 9, 33, 40, 24},     // Q K^T and V differ
             Attention{1, 1, 1, 70, 65, 64, 80},    // nothing divides anything
             Attention{1, 1, 1, 26, 70, 96, 256},   // few rows of a block
             Attention{1, 1, 1, 40, 40, 256, 128},  // the same
             Attention{1, 1, 1, 17, 33, 20, 300},   // several blocks of a row
         }) {
      attention.dtype = dtype;
      Check(attention);
    }
  }
}

// Whatever memory queries, keys, values and results take beside each other: all
// that plans on tensor cores differ in, warps, depths and columns.
TEST(AttentionTest, EveryTensorPlanIsWithinBounds) {
  for (const auto& [dtype, precision, slack] :
       {std::tuple("f16", Precision::kF32, 0.0),
        std::tuple("f32", Precision::kTF32, 0x1p-8)}) {
    for (const int64_t queries : {16, 32, 40}) {
      for (const int64_t depth : {32, 96, 256}) {
        for (const int64_t columns : {32, 64, 96, 128}) {
          Attention attention{1, 1, 1, queries, 33, depth, columns};
          attention.dtype = dtype;
          const std::string text = attention.ToText();
          SCOPED_TRACE(text);
          const KernelResult result = RunAndPrint({.text = text,
                                                   .kernel = kTensorAttention,
                                                   .precision = precision,
                                                   .slack = slack});
          EXPECT_EQ(result.kernel, kTensorAttention);
          EXPECT_EQ(result.bank_conflicts(), 0u);
        }
      }
    }
  }
}

TEST(AttentionTest, RandomShapesAreWithinBounds) {
  for (Attention& attention : DrawnAttentions(12, 40)) {
    Check(attention);
    attention.dtype = "f16";
    attention.mask = "";
    if (attention.keys % 3 == 0) Check(attention);
  }
}

TEST(AttentionTest, MasksHeadsAndCapsAreWithinBounds) {
  const Attention plain{2, 4, 4, 6, 19, 12, 20};
  for (const char* mask : {"[2,4,6,19]", "[2,1,6,19]", "[2,1,1,19]"}) {
    Attention masked = plain;
    masked.mask = mask;
    masked.attributes = ", causal = true, softcap = 2.0";
    Check(masked);
  }
  for (const int64_t kv_heads : {1, 2}) {
    Attention grouped = plain;
    grouped.kv_heads = kv_heads;
    Check(grouped);
    grouped.mask = "[2,1,1,19]";
    grouped.queries = 1;  // one token after others
    Check(grouped);
    grouped.dtype = "f16";
    Check(grouped);
  }
}

// Rows without a key are NaN, as a softmax of them is; the rows beside these,
// and those whose first steps or pieces have no key, are not.
TEST(AttentionTest, RowsWithoutAKeyAreNaN) {
  for (const char* dtype : {"f32", "f16"}) {
    Attention masked{1, 1, 1, 8, 300, 40, 32, "[1,1,8,300]"};
    masked.dtype = dtype;
    const std::string text = masked.ToText();
    const std::vector<Literal> arguments =
        ArgumentsWithHiddenKeys(ParsedGraph(text), 300);
    Check(masked, arguments);
    const Attention infinite{1, 1, 1, 5, 300, 40, 32, "[1,1,5,300]"};
    Check(infinite, ArgumentsWithInfinities(ParsedGraph(infinite.ToText())));
  }
}

// Under --rewrites fast steps of keys that no row of a block sees are left out:
// of causal attention half of them.
TEST(AttentionTest, HiddenKeysAreLeftOut) {
  for (const char* dtype : {"f32", "f16"}) {
    for (const std::string_view kernel : {kAttention, kTensorAttention}) {
      if (kernel == kTensorAttention && std::string_view(dtype) == "f32") {
        continue;
      }
      Attention causal{1, 1, 1, 256, 256, 32, 32};
      causal.attributes = ", causal = true";
      causal.dtype = dtype;
      const std::string text = causal.ToText();
      SCOPED_TRACE(text);
      KernelCase c{.text = text, .kernel = kernel};
      const KernelResult all = RunAndPrint(c);
      c.rewrites = Rewrites::kFast;
      const KernelResult seen = RunAndPrint(c);
      EXPECT_EQ(seen.outputs, all.outputs);
      using ptx::InstructionClass;
      const InstructionClass of = kernel == kTensorAttention
                                      ? InstructionClass::kMatrix
                                      : InstructionClass::kFloat;
      const double products = static_cast<double>(seen.instructions(of)) /
                              static_cast<double>(all.instructions(of));
      const double bytes = seen.moved_bytes() / all.moved_bytes();
      std::cout << kernel << " " << dtype << ": " << products
                << " of the instructions of its products, " << bytes
                << " of the bytes\n";
      EXPECT_LT(products, 0.7);
      // What pieces of keys keep is moved in any case.
      EXPECT_LT(bytes, 0.95);
      EXPECT_EQ(seen.bank_conflicts(), 0u);
    }
  }
}

// `scores` makes %u of products %s, -infinities %nb and conditions %seen.
std::string SelectedAttention(std::string_view scores) {
  return StrCat(R"(
graph g(%q: f32[8,16], %k: f32[256,16], %v: f32[256,16], %seen: bool[8,256]) -> f32[8,16] {
  %s = dot_general(%q, %k) {contract = [1]x[1]}
  %n = constant() {value = f32[] -inf}
  %nb = broadcast(%n) {shape = [8,256], axes = []}
)",
                scores, R"(
  %m = reduce(%u) {axes = [1], combiner = max}
  %mb = broadcast(%m) {shape = [8,256], axes = [0]}
  %d = sub(%u, %mb)
  %e = exp(%d)
  %l = reduce(%e) {axes = [1]}
  %lb = broadcast(%l) {shape = [8,256], axes = [0]}
  %p = div(%e, %lb)
  %o = dot_general(%p, %v) {contract = [1]x[0]}
  return %o
})");
}

// Whether keys are skipped does not depend on how conditions are called.
TEST(AttentionTest, ManyConditionsAreWithinBounds) {
  for (const int conditions : {4, 64, 65, 72, 74, 100}) {
    SCOPED_TRACE(conditions);
    std::string scores;
    for (int i = 0; i < conditions; ++i) {
      const std::string from = i == 0 ? "s" : StrCat("u", i - 1);
      StrAppend(&scores, "  %u", i + 1 == conditions ? "" : StrCat(i),
                " = select(%seen, %", from, ", %nb)\n");
    }
    const std::string text = SelectedAttention(scores);
    const KernelResult result = RunAndPrint(
        {.text = text, .kernel = kAttention, .rewrites = Rewrites::kFast});
    EXPECT_EQ(result.kernel, kAttention);
  }
}

// What was -infinity is none behind a cast to a format without one: no step is
// left out.
TEST(AttentionTest, NothingIsHiddenByAFormatWithoutInfinities) {
  const std::string text = SelectedAttention(R"(
  %w = select(%seen, %s, %nb)
  %x = cast(%w) {dtype = f8e4m3}
  %u = cast(%x) {dtype = f32})");
  std::vector<Literal> arguments =
      RandomArguments(ParsedGraph(text), /*seed=*/3);
  const std::span<std::byte> seen = arguments[3].mutable_bytes();
  for (size_t i = 0; i < seen.size(); ++i) seen[i] = std::byte(i % 256 < 128);
  KernelCase c{.text = text, .kernel = kAttention};
  c.arguments = arguments;
  const KernelResult all = RunAndPrint(c);
  c.rewrites = Rewrites::kFast;
  const KernelResult seen_alone = RunAndPrint(c);
  EXPECT_EQ(seen_alone.outputs, all.outputs);
  EXPECT_EQ(seen_alone.moved_bytes(), all.moved_bytes());
}

// Whatever is hidden: whole rows, first and last steps, pieces.
TEST(AttentionTest, WhatIsHiddenIsWithinBounds) {
  constexpr std::string_view kSelected = R"(
graph g(%q: f32[40,16], %k: f32[150,16], %v: f32[150,24], %seen: bool[40,150]) -> f32[40,24] {
  %s = dot_general(%q, %k) {contract = [1]x[1]}
  %n = constant() {value = f32[] -inf}
  %nb = broadcast(%n) {shape = [40,150], axes = []}
  %u = select(%seen, %s, %nb)
  %m = reduce(%u) {axes = [1], combiner = max}
  %mb = broadcast(%m) {shape = [40,150], axes = [0]}
  %d = sub(%u, %mb)
  %e = exp(%d)
  %l = reduce(%e) {axes = [1]}
  %lb = broadcast(%l) {shape = [40,150], axes = [0]}
  %p = div(%e, %lb)
  %o = dot_general(%p, %v) {contract = [1]x[0]}
  return %o
})";
  std::vector<Literal> arguments =
      RandomArguments(ParsedGraph(kSelected), /*seed=*/3);
  const std::span<std::byte> seen = arguments[3].mutable_bytes();
  for (int row = 0; row < 40; ++row) {
    for (int key = 0; key < 150; ++key) {
      // Keys of the third and the last step, of the second half of the rows.
      const bool is_seen = row >= 20 && (key / 32 == 2 || key >= 140);
      seen[row * 150 + key] = std::byte{is_seen};
    }
  }
  const KernelResult some = RunAndPrint({.text = kSelected,
                                         .kernel = kAttention,
                                         .rewrites = Rewrites::kFast,
                                         .arguments = arguments});
  EXPECT_EQ(some.kernel, kAttention);
  for (Attention causal :
       {Attention{2, 4, 2, 6, 19, 12, 20, "[2,1,1,19]"},
        Attention{1, 2, 1, 33, 70, 40, 24}, Attention{1, 8, 2, 1, 700, 64, 64},
        Attention{1, 1, 1, 3, 2, 16, 16}}) {
    causal.attributes = ", causal = true";
    for (const char* dtype : {"f32", "f16", "bf16"}) {
      causal.dtype = dtype;
      const std::string text = causal.ToText();
      SCOPED_TRACE(text);
      for (const std::string_view kernel : {kAttention, kTensorAttention}) {
        if (kernel == kTensorAttention && causal.dtype == "f32") continue;
        RunAndPrint(
            {.text = text, .kernel = kernel, .rewrites = Rewrites::kFast});
      }
    }
  }
}

TEST(AttentionTest, IsReadAndWrittenAsItLies) {
  RunAndPrint({.text = kAttentionAsItLies, .kernel = kAttention});
}

// Few tiles and many keys: several blocks share them, and what they keep is
// merged in one order. A token after others, heads of a group.
TEST(AttentionTest, SeveralBlocksOfARow) {
  for (const char* dtype : {"f32", "f16"}) {
    Attention one{1, 8, 2, 1, 700, 64, 64};
    one.dtype = dtype;
    one.mask = "[1,1,1,700]";
    for (const std::string_view kernel : {kAttention, kTensorAttention}) {
      if (kernel == kTensorAttention && one.dtype == "f32") continue;
      const std::string text = one.ToText();
      const KernelResult result = RunAndPrint({.text = text, .kernel = kernel});
      EXPECT_EQ(result.launches.size(), 2u);
      EXPECT_LE(result.moved_bytes(), 1.25 * result.least_bytes);
    }
  }
}

// f32 factors that may be rounded to fewer bits.
TEST(AttentionTest, Precision) {
  for (const auto& [depth, columns] :
       {std::pair(64, 64), std::pair(40, 128), std::pair(256, 256)}) {
    const std::string text =
        Attention{1, 2, 2, 40, 75, depth, columns}.ToText();
    for (const auto& [precision, slack] :
         {std::pair(Precision::kTF32, 0x1p-8),
          std::pair(Precision::kF16, 0x1p-8),
          std::pair(Precision::kBF16, 0x1p-5)}) {
      const KernelResult result = RunAndPrint({.text = text,
                                               .kernel = kTensorAttention,
                                               .precision = precision,
                                               .slack = slack});
      EXPECT_GT(result.instructions(ptx::InstructionClass::kMatrix), 0u);
      EXPECT_EQ(result.bank_conflicts(), 0u);
    }
    EXPECT_FALSE(RunCase({.text = text, .kernel = kTensorAttention}).ok());
  }
}

// f16 is copied in groups of 16 bytes while products are computed, where it
// lies so.
TEST(AttentionTest, CopiesGroups) {
  Attention plain{1, 2, 2, 70, 100, 64, 64};
  plain.dtype = "f16";
  const std::string text = plain.ToText();
  for (const bool misaligned : {false, true}) {
    const KernelResult result = RunAndPrint(
        {.text = text, .kernel = kTensorAttention, .misaligned = misaligned});
    EXPECT_EQ(result.bank_conflicts(), 0u);
    EXPECT_EQ(result.instructions(ptx::InstructionClass::kMatrix) > 0, true);
    if (!misaligned) EXPECT_LE(result.sector_waste(), 1.01);
  }
}

// Scores are not written: what moves is queries, results, and, for each tile of
// rows, keys and values.
TEST(AttentionTest, MovesKeysOnceForATile) {
  const std::string text = Attention{1, 56, 56, 128, 64, 64, 64}.ToText();
  const KernelResult result =
      RunAndPrint({.text = text, .kernel = kAttention, .target = "cuda:a100"});
  EXPECT_EQ(result.launches.size(), 1u);
  // Two tiles of 64 rows: keys and values, a third of what must move, twice.
  EXPECT_LE(result.moved_bytes(), 1.34 * result.least_bytes);
  EXPECT_LE(result.sector_waste(), 1.01);
}

// No kernel of any width spills, or asks for more than a block may have.
TEST(AttentionTest, MachineCodeDoesNotSpill) {
  constexpr Architecture kArchitectures[] = {
      {8, 0}, {9, 0, true}, {10, 0, true}};
  BatchedBackend cuda;
  CompileOptions options;
  options.target = "cuda";
  for (const auto& [width, dtype, precision] :
       {std::tuple(64, "f32", Precision::kTF32),
        std::tuple(128, "f32", Precision::kBF16),
        std::tuple(256, "f32", Precision::kTF32),
        std::tuple(64, "f16", Precision::kF32),
        std::tuple(256, "bf16", Precision::kF32)}) {
    options.precision = precision;
    Attention attention{1, 200, 200, 64, 100, width, width, "[1,1,64,100]"};
    attention.dtype = dtype;
    const Graph graph = ParsedGraph(attention.ToPrimitives());
    const BuiltRegion built = BuildWhole(graph);
    const KernelRequest request{
        &built.region, std::vector<bool>(built.inputs.size()), {}};
    for (const std::string_view kernel : {kAttention, kTensorAttention}) {
      cuda.set_preferred({kernel});
      const auto candidates = CandidatesOf(request, options);
      const CompileRequest one{request, candidates.front()};
      const auto compiled = cuda.Compile({&one, 1}, options, nullptr);
      ASSERT_TRUE(compiled.ok()) << compiled.status();
      const Status checked = cuda.CheckMachineCode(kArchitectures);
      EXPECT_TRUE(checked.ok())
          << kernel << " of " << dtype << ", " << width << ": " << checked;
    }
  }
  const BatchedBackend::Figures& figures = cuda.figures();
  std::cout << figures.functions << " functions, at most "
            << figures.most_registers << " registers, "
            << figures.most_frame_bytes << " bytes of a frame, "
            << figures.most_shared_bytes << " bytes of shared memory\n";
  EXPECT_EQ(figures.most_frame_bytes, 0u);
  EXPECT_LE(figures.most_shared_bytes, 48u * 1024 + 1024);
}

// By estimate, where products count, and not where there may be no reordering.
TEST(AttentionTest, IsChosen) {
  const auto first = [](const Attention& attention, Rewrites rewrites,
                        Precision precision) {
    const Graph graph = ParsedGraph(attention.ToPrimitives());
    const BuiltRegion built = BuildWhole(graph);
    CompileOptions options;
    options.target = "cuda:h100";
    options.rewrites = rewrites;
    options.precision = precision;
    return CandidatesOf(
               {&built.region, std::vector<bool>(built.inputs.size()), {}},
               options)
        .front()
        .kernel;
  };
  Attention large{4, 12, 12, 512, 512, 64, 64};
  EXPECT_EQ(first(large, Rewrites::kReassociate, Precision::kF32), kAttention);
  EXPECT_EQ(first(large, Rewrites::kReassociate, Precision::kTF32),
            kTensorAttention);
  EXPECT_EQ(first(large, Rewrites::kExact, Precision::kF32), kLoops);
  large.dtype = "f16";
  EXPECT_EQ(first(large, Rewrites::kReassociate, Precision::kF32),
            kTensorAttention);
  large.depth = 300;  // longer than a block keeps
  EXPECT_EQ(first(large, Rewrites::kReassociate, Precision::kF32), kLoops);
}

// Notes what it is asked to compile.
class NotingBackend : public BatchedBackend {
 public:
  StatusOr<CompiledModule> Compile(std::span<const CompileRequest> requests,
                                   const CompileOptions& options,
                                   ArtifactStore* store) const override {
    for (const CompileRequest& request : requests) {
      kernels_.push_back(request.candidate.kernel);
    }
    return BatchedBackend::Compile(requests, options, store);
  }
  const std::vector<std::string>& kernels() const { return kernels_; }

 private:
  mutable std::vector<std::string> kernels_;
};

// A graph's attention becomes one kernel where that is estimated to take less:
// for few queries, and on tensor cores. In f32 products of many take so long
// that tiles of their own, which are faster, are worth the memory between them.
TEST(AttentionTest, IsOneKernelOfAGraph) {
  const auto kernels = [](std::string dtype, int64_t queries,
                          Precision precision) {
    Attention attention{4, 12, 12, queries, 512, 64, 64};
    attention.dtype = std::move(dtype);
    const NotingBackend cuda;
    const Backend* const backends[] = {&cuda};
    CompileOptions options;
    options.target = "cuda";
    options.precision = precision;
    const auto compiled =
        backends::Compile(ParsedGraph(attention.ToText()), options, backends);
    EXPECT_TRUE(compiled.ok()) << compiled.status();
    return cuda.kernels();
  };
  const std::vector<std::string> kTensor = {std::string(kTensorAttention)};
  // By loops, which on an H200 took less (tests/benchmarks/results/cuda.md).
  EXPECT_EQ(kernels("f32", 1, Precision::kF32),
            std::vector<std::string>{"loops"});
  EXPECT_EQ(kernels("f32", 512, Precision::kF32),
            (std::vector<std::string>{"tiles", "loops", "tiles"}));
  EXPECT_EQ(kernels("f32", 1, Precision::kTF32), kTensor);
  for (const char* const dtype : {"f16", "bf16"}) {
    for (const int64_t queries : {1, 512}) {
      EXPECT_EQ(kernels(dtype, queries, Precision::kF32), kTensor) << queries;
    }
  }
}

}  // namespace
}  // namespace encore::backends::cuda
