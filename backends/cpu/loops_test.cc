// Generated loops against the bounds of conformance/bounds.h, where they move
// more than they compute: every candidate of the region of each graph below, on
// one thread and on two.
#include <cmath>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "encore/backends/conformance/position_graph.h"
#include "encore/backends/cpu/cpu_features.h"
#include "encore/backends/cpu/kernel_check.h"
#include "encore/backends/cpu/loops/plan.h"
#include "encore/backends/region/build.h"
#include "encore/backends/region/region.h"
#include "encore/backends/region/whole_region.h"
#include "encore/ir/graph/graph.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/text/parser.h"
#include "encore/ir/text/printer.h"
#include "encore/ir/types/literal.h"
#include "gtest/gtest.h"

namespace encore::backends::cpu {
namespace {

// Dims and their permutation; whether loads are then crossed.
struct Moved {
  const char *from, *to, *permutation;
  bool crossed;
};

constexpr Moved kMoved[] = {{"[33,17]", "[17,33]", "[1,0]", true},
                            {"[64,64]", "[64,64]", "[1,0]", true},
                            {"[100,7]", "[7,100]", "[1,0]", true},
                            {"[7,100]", "[100,7]", "[1,0]", true},
                            {"[3,40,37]", "[3,37,40]", "[0,2,1]", true},
                            {"[11,20,70]", "[70,20,11]", "[2,1,0]", true},
                            {"[5,6,70,9]", "[9,70,5,6]", "[3,2,0,1]", true},
                            {"[24,6,18]", "[6,24,18]", "[1,0,2]", false}};

std::string Transpose(const Moved& moved, const char* dtype) {
  return StrCat("graph g(%x: ", dtype, moved.from, ") -> ", dtype, moved.to,
                " {\n  %y = transpose(%x) {permutation = ", moved.permutation,
                "}\n  return %y\n}");
}

TEST(Loops, TransposesOfAllDTypes) {
  for (const Moved& moved : kMoved) {
    for (const char* dtype : {"f32", "f64", "f16", "bf16", "i8", "i64"}) {
      CheckKernels(Transpose(moved, dtype));
    }
  }
}

TEST(Loops, TransposesAreInBlocks) {
  for (const Moved& moved : kMoved) {
    for (const Isa isa : {Isa::kAvx2, Isa::kAvx512}) {
      const StatusOr<Graph> graph = ParseGraph(Transpose(moved, "f32"));
      ASSERT_TRUE(graph.ok()) << graph.status();
      const Region region = BuildWhole(*graph).region;
      const LoopPlan plan = PlanLoops(region, isa);
      EXPECT_EQ(plan[0].schedule.crossing.has_value(), moved.crossed)
          << moved.from << moved.permutation;
    }
  }
}

// Beside operands that are not crossed, are broadcast, or have gaps.
TEST(Loops, TransposedOperands) {
  CheckKernels(
      "graph g(%x: f32[40,37], %z: f32[37,40], %b: f32[37]) -> f32[37,40] {\n"
      "  %t = transpose(%x) {permutation = [1,0]}\n  %s = add(%t, %z)\n"
      "  %c = broadcast(%b) {shape = [37,40], axes = [0]}\n"
      "  %y = mul(%s, %c)\n  return %y\n}");
  CheckKernels(
      "graph g(%x: f32[40,37], %z: bf16[40,37]) -> f32[37,40] {\n"
      "  %a = cast(%z) {dtype = f32}\n  %s = add(%x, %a)\n"
      "  %y = transpose(%s) {permutation = [1,0]}\n  return %y\n}");
  CheckKernels(
      "graph g(%x: f32[50,90]) -> f32[30,20] {\n  %s = slice(%x) {starts = "
      "[5,7], limits = [25,37], strides = [1,1]}\n"
      "  %y = transpose(%s) {permutation = [1,0]}\n  return %y\n}");
}

TEST(Loops, Concatenations) {
  for (const char* dtype : {"f32", "i8", "f64"}) {
    for (const auto& [a, b, c, y, axis] :
         {std::tuple{"[3,20]", "[9,20]", "[1,20]", "[13,20]", 0},
          {"[6,3]", "[6,70]", "[6,16]", "[6,89]", 1},
          {"[2,3,5]", "[2,4,5]", "[2,17,5]", "[2,24,5]", 1},
          {"[2,7,1]", "[2,7,2]", "[2,7,5]", "[2,7,8]", 2}}) {
      CheckKernels(StrCat("graph g(%a: ", dtype, a, ", %b: ", dtype, b,
                          ", %c: ", dtype, c, ") -> ", dtype, y,
                          " {\n  %y = concat(%a, %b, %c) {axis = ", axis,
                          "}\n  return %y\n}"));
    }
  }
  CheckKernels(
      "graph g(%a: f32[6,30], %b: f32[6,50]) -> f32[6,80] {\n  %n = neg(%a)\n"
      "  %m = exp(%b)\n  %c = concat(%n, %m) {axis = 1}\n  %y = tanh(%c)\n  "
      "return %y\n}");
}

TEST(Loops, PartsWithoutChecks) {
  CheckKernels(
      "graph g(%x: f32[20,37], %v: f32[]) -> f32[23,45] {\n  %y = pad(%x, %v) "
      "{low = [1,5], high = [2,3], interior = [0,0]}\n  return %y\n}");
  CheckKernels(
      "graph g(%x: f32[2,9,80], %v: f32[]) -> f32[2,9,80] {\n  %y = pad(%x, "
      "%v) {low = [0,-2,3], high = [0,2,-3], interior = [0,0,0]}\n  return "
      "%y\n}");
}

// Loads whose lanes are all far out of range read at their operand, or pages
// that are not there would be looked at, one by one, for nothing.
TEST(Loops, WhatIsOutOfRangeIsNotLookedFor) {
  const char* const graph =
      "graph g(%x: f32[40,64], %v: f32[]) -> f32[64] {\n  %y = pad(%x, %v) "
      "{low = [0,0], high = [40,0], interior = [0,0]}\n  %z = reduce(%y) "
      "{axes = [0]}\n  return %z\n}";
  CheckKernels(graph);
  const auto parsed = ParseGraph(graph);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  const Region region = BuildWhole(*parsed).region;
  const std::string text =
      GenerateLoops(PlanLoops(region, Isa::kAvx2), "f", 256).ir;
  size_t loads = 0;
  for (size_t at = text.find("call <8 x float> @llvm.masked.load");
       at != std::string::npos;
       at = text.find("call <8 x float> @llvm.masked.load", at + 1)) {
    ++loads;
    // "…(ptr %12, …": what the pointer is.
    const size_t begin = text.find("(ptr ", at) + 5;
    const std::string name = text.substr(begin, text.find(',', begin) - begin);
    EXPECT_NE(text.find(StrCat(name, " = select i1 ")), std::string::npos)
        << name << " in\n"
        << text;
  }
  EXPECT_GT(loads, 0u) << text;
}

// A row that is padded along the lanes is cut at the ends of what is there, and
// no lane is asked for.
TEST(Loops, PaddedRowsAreCutAlongTheLanes) {
  const char* const padded =
      "graph g(%x: f32[3,64], %v: f32[]) -> f32[4000] {\n  %y = pad(%x, %v) "
      "{low = [0,2000], high = [0,1936], interior = [0,0]}\n  %z = reduce(%y) "
      "{axes = [0]}\n  return %z\n}";
  CheckKernels(padded);
  for (const Isa isa : {Isa::kAvx2, Isa::kAvx512}) {
    const StatusOr<Graph> graph = ParseGraph(padded);
    ASSERT_TRUE(graph.ok()) << graph.status();
    const Region region = BuildWhole(*graph).region;
    const LoopPlan plan = PlanLoops(region, isa);
    EXPECT_EQ(plan.size(), 3u);
    for (const LoopNest& nest : plan) {
      for (const FlatAccess& load : nest.flat.loads) {
        EXPECT_FALSE(load.checked);
      }
    }
  }
}

// Their padding is the business of tiles.
TEST(Loops, SumsOverWindowsAreNotCut) {
  const StatusOr<Graph> graph = ParseGraph(
      "graph g(%x: f32[1,2,40,40]) -> f32[1,2,40,40] {\n  %y = "
      "reduce_window(%x) {combiner = sum, window = [1,1,3,3], strides = "
      "[1,1,1,1], padding_low = [0,0,1,1], padding_high = [0,0,1,1], "
      "dilations = [1,1,1,1]}\n  return %y\n}");
  ASSERT_TRUE(graph.ok()) << graph.status();
  const Region region = BuildWhole(*graph).region;
  EXPECT_EQ(PlanLoops(region, Isa::kAvx512).size(), 1u);
}

TEST(Loops, ReductionsOverWindows) {
  for (const auto& [combiner, dtype] : {std::tuple{"max", "f32"},
                                        {"max", "f64"},
                                        {"max", "f16"},
                                        {"max", "i8"},
                                        {"sum", "f32"},
                                        {"sum", "f64"},
                                        {"sum", "bf16"},
                                        {"sum", "i32"}}) {
    for (const auto& [window, stride, dilation, pad] :
         {std::tuple{3, 1, 1, 1}, {5, 2, 1, 0}, {7, 3, 1, 3}, {3, 2, 2, 2}}) {
      const int reach = (window - 1) * dilation + 1;
      const int high = (19 + 2 * pad - reach) / stride + 1;
      const int wide = (70 + 2 * pad - reach) / stride + 1;
      const auto both = [](int n) { return StrCat("[1,1,", n, ",", n, "]"); };
      const std::string padding = StrCat("[0,0,", pad, ",", pad, "]");
      CheckKernels(StrCat(
          "graph g(%x: ", dtype, "[2,3,19,70]) -> ", dtype, "[2,3,", high, ",",
          wide, "] {\n  %y = reduce_window(%x) {combiner = ", combiner,
          ", window = ", both(window), ", strides = ", both(stride),
          ", padding_low = ", padding, ", padding_high = ", padding,
          ", dilations = ", both(dilation), "}\n  return %y\n}"));
    }
  }
}

TEST(Loops, NanInAWindowStays) {
  Literal x(DType::kF32, {1, 1, 12, 40});
  for (int64_t i = 0; i < 480; ++i) x.SetDouble(i, i == 205 ? NAN : -i);
  CheckKernels(
      "graph g(%x: f32[1,1,12,40]) -> f32[1,1,4,18] {\n  %y = "
      "reduce_window(%x) {combiner = max, window = [1,1,5,5], strides = "
      "[1,1,2,2], padding_low = [0,0,0,0], padding_high = [0,0,0,0], dilations "
      "= [1,1,1,1]}\n  return %y\n}",
      {x});
}

TEST(Loops, Softmax) {
  for (const char* dtype : {"f32", "f16", "f64"}) {
    for (const auto& [dims, axis, kept] :
         {std::tuple{"[9,19]", 1, 0}, {"[3,1000]", 1, 0}, {"[21,40]", 0, 1}}) {
      CheckKernels(StrCat(
          "graph g(%x: ", dtype, dims, ") -> ", dtype, dims,
          " {\n  %m = reduce(%x) {combiner = max, axes = [", axis,
          "]}\n  %b = broadcast(%m) {shape = ", dims, ", axes = [", kept,
          "]}\n  %d = sub(%x, %b)\n  %e = exp(%d)\n  %s = reduce(%e) {combiner "
          "= sum, axes = [",
          axis, "]}\n  %t = broadcast(%s) {shape = ", dims, ", axes = [", kept,
          "]}\n  %y = div(%e, %t)\n  return %y\n}"));
    }
  }
}

std::string SoftmaxOfRows(int64_t rows, int64_t columns) {
  const std::string dims = StrCat("[", rows, ",", columns, "]");
  return StrCat("graph g(%x: f32", dims, ") -> f32", dims,
                " {\n  %m = reduce(%x) {combiner = max, axes = [1]}\n  %b = "
                "broadcast(%m) {shape = ",
                dims,
                ", axes = [0]}\n  %d = sub(%x, %b)\n  %e = exp(%d)\n  "
                "%s = reduce(%e) {combiner = sum, axes = [1]}\n  %t = "
                "broadcast(%s) {shape = ",
                dims, ", axes = [0]}\n  %y = div(%e, %t)\n  return %y\n}");
}

// Exponentials of a row are kept where they stay in a core's cache.
TEST(Loops, LongRowsAreComputedAgain) {
  struct Row {
    int64_t rows, columns;
    bool kept;
  };
  for (const Row& row : {Row{32, 1000, true},
                         {32, 100000, true},
                         {32, 140000, false},
                         {32, 4000000, false},
                         {1, 50000000, false}}) {
    const StatusOr<Graph> graph =
        ParseGraph(SoftmaxOfRows(row.rows, row.columns));
    ASSERT_TRUE(graph.ok()) << graph.status();
    const Region region = BuildWhole(*graph).region;
    for (const Isa isa : {Isa::kAvx2, Isa::kAvx512}) {
      const LoopPlan plan = PlanLoops(region, isa);
      ASSERT_EQ(plan.size(), 1u);
      EXPECT_EQ(plan[0].region != nullptr, row.kept) << row.columns;
      EXPECT_LE(ScratchBytes(plan),
                plan[0].schedule.partitions * (int64_t{512} << 10));
    }
  }
  CheckKernels(SoftmaxOfRows(3, 140001));
}

// Of more than lies on a thread's stack, each partition has its own.
TEST(Loops, RowsInScratchMemory) {
  CheckKernels(SoftmaxOfRows(7, 20001));
  CheckKernels(
      "graph g(%x: f32[3000,40]) -> f32[3000,40] {\n  %m = reduce(%x) "
      "{combiner = max, axes = [0]}\n  %b = broadcast(%m) {shape = [3000,40], "
      "axes = [1]}\n  %d = sub(%x, %b)\n  %e = exp(%d)\n  %s = reduce(%e) "
      "{combiner = sum, axes = [0]}\n  %t = broadcast(%s) {shape = [3000,40], "
      "axes = [1]}\n  %y = div(%e, %t)\n  return %y\n}");
  CheckKernels(
      "graph g(%x: f32[2,9,20001]) -> f32[2,9,20001] {\n  %y = "
      "reduce_window(%x) {combiner = max, window = [1,3,3], strides = [1,1,1], "
      "padding_low = [0,1,1], padding_high = [0,1,1], dilations = [1,1,1]}\n  "
      "return %y\n}");
  CheckKernels(
      "graph g(%x: f32[5,200001]) -> f32[5,200001] {\n  %y = cumulative(%x) "
      "{axis = 1, combiner = max}\n  return %y\n}");
}

// Neighbours that read one element, as in nearest resizing, beside operands
// that have one for each; rows end within vectors, vectors begin within
// neighbours.
TEST(Loops, RepeatedElements) {
  for (const char* dtype : {"f32", "f64", "bf16", "i8", "i64"}) {
    for (const int repeat : {2, 3, 4, 5, 6, 7, 8, 9}) {
      for (const int count : {1, 5, 43}) {
        const std::string row = StrCat("[7,", count * repeat, "]");
        CheckKernels(StrCat(
            "graph g(%x: ", dtype, "[7,", count, "], %z: ", dtype, row, ") -> ",
            dtype, row, " {\n  %b = broadcast(%x) {shape = [7,", count, ",",
            repeat, "], axes = [0,1]}\n  %r = reshape(%b) {shape = ", row,
            "}\n  %y = max(%r, %z)\n  return %y\n}"));
      }
    }
  }
}

TEST(Loops, RowsOfRepeatedElementsAreOneLoop) {
  for (const auto& [repeat, merged] :
       {std::pair{2, true}, {3, true}, {4, true}, {5, false}}) {
    const std::string row = StrCat("[7,", 43 * repeat, "]");
    const StatusOr<Graph> graph =
        ParseGraph(StrCat("graph g(%x: f32[7,43]) -> f32", row,
                          " {\n  %b = broadcast(%x) {shape = [7,43,", repeat,
                          "], axes = [0,1]}\n  %y = reshape(%b) {shape = ", row,
                          "}\n  return %y\n}"));
    ASSERT_TRUE(graph.ok()) << graph.status();
    const Region region = BuildWhole(*graph).region;
    const LoopPlan plan = PlanLoops(region, Isa::kAvx512);
    EXPECT_EQ(!plan[0].flat.loads[0].repeats.empty(), merged) << repeat;
  }
}

// Element i of a row is element i * step / divisor of what is read, as in
// resizing by a ratio, along the last dim or another one.
std::string ByRatio(const char* dtype, int count, int step, int divisor,
                    bool rows) {
  const int wide = count * divisor, to = (wide - 1) / step + 1;
  const auto dims = [&](int n) {
    return rows ? StrCat("[3,", n, ",21]") : StrCat("[3,21,", n, "]");
  };
  const auto strided = [&](int n) {
    return rows ? StrCat("[1,", n, ",1]") : StrCat("[1,1,", n, "]");
  };
  return StrCat("graph g(%x: ", dtype, dims(count), ") -> ", dtype, dims(to),
                " {\n  %b = broadcast(%x) {shape = [3,",
                rows ? StrCat(count, ",", divisor, ",21")
                     : StrCat("21,", count, ",", divisor),
                "], axes = ", rows ? "[0,1,3]" : "[0,1,2]",
                "}\n  %r = reshape(%b) {shape = ", dims(wide),
                "}\n  %y = slice(%r) {starts = [0,0,0], limits = ", dims(wide),
                ", strides = ", strided(step), "}\n  return %y\n}");
}

constexpr std::pair<int, int> kRatios[] = {{2, 3}, {2, 5}, {3, 4}, {4, 5},
                                           {5, 6}, {3, 7}, {5, 8}, {7, 8}};

TEST(Loops, ElementsByRatios) {
  for (const char* dtype : {"f32", "f64", "bf16", "i8", "i64"}) {
    for (const auto& [step, divisor] : kRatios) {
      for (const int count : {1, 6, 43}) {
        for (const bool rows : {false, true}) {
          CheckKernels(ByRatio(dtype, count, step, divisor, rows));
        }
      }
    }
  }
}

TEST(Loops, ElementsByRatiosAreNotGathered) {
  for (const auto& [step, divisor] : kRatios) {
    const StatusOr<Graph> graph =
        ParseGraph(ByRatio("f32", 300, step, divisor, false));
    ASSERT_TRUE(graph.ok()) << graph.status();
    const Region region = BuildWhole(*graph).region;
    const LoopPlan plan = PlanLoops(region, Isa::kAvx512);
    ASSERT_EQ(plan[0].flat.loads[0].repeats.size(), 1u);
    const std::string text = GenerateLoops(plan, "f", 512).ir;
    EXPECT_EQ(text.find("masked.gather"), std::string::npos) << text;
  }
}

// Each repeated along both dims, and of columns that are some apart.
TEST(Loops, RepeatedElementsOfBothDims) {
  for (const int repeat : {2, 3, 5}) {
    const std::string dims = StrCat("[9,", repeat, ",19,", repeat, "]");
    const std::string image = StrCat("[", 9 * repeat, ",", 19 * repeat, "]");
    CheckKernels(StrCat("graph g(%x: f32[9,19]) -> f32", image,
                        " {\n  %b = broadcast(%x) {shape = ", dims,
                        ", axes = [0,2]}\n  %y = reshape(%b) {shape = ", image,
                        "}\n  return %y\n}"));
    CheckKernels(StrCat(
        "graph g(%x: f32[9,40]) -> f32", image,
        " {\n  %s = slice(%x) {starts = [0,1], limits = [9,38], strides = "
        "[1,2]}\n  %b = broadcast(%s) {shape = ",
        dims, ", axes = [0,2]}\n  %y = reshape(%b) {shape = ", image,
        "}\n  return %y\n}"));
  }
}

// Sums over groups of few channels, of which results share what they read.
TEST(Loops, GroupedConvolutions) {
  for (const auto& [c, o, groups, window, stride, dilation] :
       {std::tuple{16, 6, 2, 9, 1, 1},
        {16, 20, 4, 5, 2, 1},
        {8, 16, 4, 7, 2, 3},
        {6, 33, 3, 5, 1, 2},
        {4, 40, 2, 3, 3, 1}}) {
    const int pad = (window - 1) * dilation / 2;
    const int high = (15 + 2 * pad - (window - 1) * dilation - 1) / stride + 1;
    const int wide = (75 + 2 * pad - (window - 1) * dilation - 1) / stride + 1;
    const auto both = [](int n) { return StrCat("[", n, ",", n, "]"); };
    CheckKernels(
        StrCat("graph g(%x: f32[2,", c, ",15,75], %w: param f32[", o, ",",
               c / groups, ",", window, ",", window, "], %b: f32[", o,
               "]) -> f32[2,", o, ",", high, ",", wide,
               "] {\n  %c = convolution(%x, %w) {strides = ", both(stride),
               ", padding_low = ", both(pad), ", padding_high = ", both(pad),
               ", lhs_dilation = [1,1], rhs_dilation = ", both(dilation),
               ", feature_groups = ", groups,
               "}\n  %d = broadcast(%b) {shape = [2,", o, ",", high, ",", wide,
               "], axes = [1]}\n  %y = add(%c, %d)\n  return %y\n}"));
  }
}

// Many are cut where comparisons of positions decide, and some of these wrap
// around.
TEST(Loops, RandomPositions) {
  int regions = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    const Graph graph = PositionGraph(seed);
    std::vector<NodeId> nodes;
    for (const NodeId node : Nodes(graph)) {
      if (HasRegion(graph, node)) nodes.push_back(node);
    }
    if (nodes.empty() ||
        !BuildRegion(graph, nodes, {{graph.outputs()[0].value}})) {
      continue;
    }
    ++regions;
    CheckKernels(Print(graph));
  }
  EXPECT_GE(regions, 45);
}

}  // namespace
}  // namespace encore::backends::cpu
