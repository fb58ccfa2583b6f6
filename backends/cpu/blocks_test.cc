// Loops in blocks of rows and of vectors (loops/blocks.h), against the bounds
// of conformance/bounds.h: every candidate of the region of each graph below,
// on one thread and on two; and where there are blocks.
#include <cmath>
#include <cstdint>
#include <string>
#include <tuple>

#include "encore/backends/cpu/cpu_features.h"
#include "encore/backends/cpu/kernel_check.h"
#include "encore/backends/cpu/loops/plan.h"
#include "encore/backends/region/flat/flat_region.h"
#include "encore/backends/region/flat/size.h"
#include "encore/backends/region/region.h"
#include "encore/backends/region/whole_region.h"
#include "encore/ir/graph/graph.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/text/parser.h"
#include "encore/ir/types/literal.h"
#include "gtest/gtest.h"

namespace encore::backends::cpu {
namespace {

// Its schedules: what the nests are of is gone.
LoopPlan PlanOf(const std::string& text, Isa isa) {
  const StatusOr<Graph> graph = ParseGraph(text);
  EXPECT_TRUE(graph.ok()) << graph.status();
  return PlanLoops(BuildWhole(*graph).region, isa);
}

// Exponentials of a row, beside the largest element, and times their least.
std::string Rows(const char* dtype, int rows, int columns) {
  const std::string dims = StrCat("[", rows, ",", columns, "]");
  return StrCat("graph g(%x: ", dtype, dims, ") -> ", dtype, dims,
                " {\n  %m = reduce(%x) {combiner = max, axes = [1]}\n  %b = "
                "broadcast(%m) {shape = ",
                dims,
                ", axes = [0]}\n  %d = sub(%x, %b)\n  %e = exp(%d)\n  "
                "%s = reduce(%e) {combiner = min, axes = [1]}\n  %t = "
                "broadcast(%s) {shape = ",
                dims, ", axes = [0]}\n  %y = mul(%e, %t)\n  return %y\n}");
}

// Some rows are left over.
TEST(Blocks, OfRows) {
  for (const auto& [rows, columns] :
       {std::tuple{13, 144}, {2, 33}, {9, 16}, {61, 40}, {1, 100}}) {
    for (const char* dtype : {"f32", "f64", "bf16"}) {
      CheckKernels(Rows(dtype, rows, columns));
    }
  }
  CheckKernels(
      "graph g(%x: f32[3,11,50]) -> f32[3,11,50] {\n  %s = reduce(%x) "
      "{combiner "
      "= sum, axes = [2]}\n  %b = broadcast(%s) {shape = [3,11,50], axes = "
      "[0,1]}\n  %d = sub(%x, %b)\n  %m = reduce(%d) {combiner = min, axes = "
      "[2]}\n  %n = exp(%m)\n  %c = broadcast(%n) {shape = [3,11,50], axes = "
      "[0,1]}\n  %y = mul(%d, %c)\n  return %y\n}");
  // A scalar of a row that is a bool.
  CheckKernels(
      "graph g(%x: f32[13,50], %z: f32[13,50]) -> f32[13,50] {\n  %c = "
      "compare(%x, %z) {direction = lt}\n  %a = reduce(%c) {combiner = or, "
      "axes = [1]}\n  %b = broadcast(%a) {shape = [13,50], axes = [0]}\n  %y = "
      "select(%b, %x, %z)\n  return %y\n}");
}

TEST(Blocks, OfShortRows) {
  struct Row {
    int rows, columns;
    int64_t least, most;
  };
  for (const Row& row : {Row{2941, 144, 3, 8},
                         {2941, 16, 8, 8},
                         {3, 16, 3, 3},
                         {64, 4096, 1, 1}}) {
    const LoopPlan plan =
        PlanOf(Rows("f32", row.rows, row.columns), Isa::kAvx512);
    ASSERT_EQ(plan.size(), 1u);
    EXPECT_GE(plan[0].schedule.blocks.points, row.least) << row.columns;
    EXPECT_LE(plan[0].schedule.blocks.points, row.most) << row.columns;
  }
}

// Of a reduction whose outer loop steps over pages that lie between.
std::string ReductionAround(const char* combiner, const char* dtype,
                            const std::string& dims, int kept) {
  return StrCat("graph g(%x: ", dtype, dims, ") -> ", dtype, "[", kept,
                "] {\n  %y = reduce(%x) {combiner = ", combiner,
                ", axes = [0,2]}\n  return %y\n}");
}

TEST(Blocks, OfReductionsAroundWhatStays) {
  for (const char* combiner : {"sum", "max", "min", "product"}) {
    for (const char* dtype : {"f32", "f64", "f16", "i32"}) {
      CheckKernels(ReductionAround(combiner, dtype, "[5,60,40]", 60));
      CheckKernels(ReductionAround(combiner, dtype, "[3,41,83]", 41));
    }
  }
  // What is reduced is computed from a result of the row before.
  CheckKernels(
      "graph g(%x: f32[4,31,40]) -> f32[31] {\n  %s = reduce(%x) {combiner = "
      "max, axes = [0,2]}\n  %b = broadcast(%s) {shape = [4,31,40], axes = "
      "[1]}\n  %d = sub(%x, %b)\n  %e = exp(%d)\n  %y = reduce(%e) {combiner = "
      "sum, axes = [0,2]}\n  return %y\n}");
}

TEST(Blocks, ReadPagesForAllTheirPoints) {
  struct Row {
    const char* dims;
    int kept;
    int64_t points;
  };
  for (const Row& row : {Row{"[1024,64,128]", 64, 8},
                         {"[1024,64,100]", 64, 11},
                         {"[1024,8,128]", 8, 2},
                         // A point has a page of its own, or all lie in one.
                         {"[256,64,1024]", 64, 1},
                         {"[256,8,100]", 8, 1}}) {
    const LoopPlan plan =
        PlanOf(ReductionAround("max", "f32", row.dims, row.kept), Isa::kAvx512);
    EXPECT_EQ(plan[0].schedule.blocks.points, row.points) << row.dims;
    EXPECT_EQ(plan[0].schedule.blocks.IsTogether(0), row.points > 1);
  }
}

// Reductions whose loops step over lines of which a vector has one.
TEST(Blocks, OfColumns) {
  for (const char* combiner : {"sum", "max", "min", "product"}) {
    for (const char* dtype : {"f32", "f64", "i32"}) {
      CheckKernels(StrCat("graph g(%x: ", dtype, "[3000,52]) -> ", dtype,
                          "[52] {\n  %y = reduce(%x) {combiner = ", combiner,
                          ", axes = [0]}\n  return %y\n}"));
    }
  }
  CheckKernels(
      "graph g(%x: f32[2,900,4,97]) -> f32[2,97] {\n  %m = reduce(%x) "
      "{combiner "
      "= max, axes = [1,2]}\n  %y = exp(%m)\n  return %y\n}");
}

TEST(Blocks, ReadLinesForAllTheirVectors) {
  struct Row {
    const char *dims, *result, *axes;
    int64_t vectors;
  };
  for (const Row& row : {Row{"[3000,52]", "[52]", "[0]", 4},
                         {"[3000,4096]", "[4096]", "[0]", 64},
                         {"[8,3000,512]", "[8,512]", "[1]", 32},
                         // All stays in a core's cache, or is read in order.
                         {"[300,52]", "[52]", "[0]", 1},
                         {"[300000,16]", "[16]", "[0]", 1}}) {
    const LoopPlan plan = PlanOf(
        StrCat("graph g(%x: f32", row.dims, ") -> f32", row.result,
               " {\n  %y = reduce(%x) {combiner = max, axes = ", row.axes,
               "}\n  return %y\n}"),
        Isa::kAvx512);
    EXPECT_EQ(plan[0].schedule.blocks.points, row.vectors) << row.dims;
  }
}

// Vectors are no wider than what they are made of, unless functions are
// computed.
TEST(Loops, LanesOfFewColumns) {
  for (const auto& [columns, lanes, unary] : {std::tuple{8, 8, "neg"},
                                              {5, 8, "neg"},
                                              {9, 16, "neg"},
                                              {8, 16, "exp"}}) {
    const std::string text =
        StrCat("graph g(%x: f32[5,300,", columns, "]) -> f32[5,", columns,
               "] {\n  %n = ", unary,
               "(%x)\n  %y = reduce(%n) {combiner = max, axes = [1]}\n  return "
               "%y\n}");
    CheckKernels(text);
    const LoopPlan plan = PlanOf(text, Isa::kAvx512);
    EXPECT_NE(plan[0].schedule.vector_variable, kNoVariable);
    EXPECT_EQ(plan[0].schedule.lanes, lanes) << text;
  }
}

// Rows of a few elements are gathered as vectors, whatever lies beside them.
TEST(Loops, GatheredRowsLieAlongTheLanes) {
  const std::string text =
      "graph g(%x: f32[40,128,8], %i: i64[50,1]) -> f32[40,50,8] {\n  %y = "
      "gather(%x, %i) {offset_dims = [0,2], collapsed_slice_dims = [1], "
      "start_index_map = [1], index_vector_dim = 1, slice_sizes = [40,1,8]}\n  "
      "return %y\n}";
  const StatusOr<Graph> graph = ParseGraph(text);
  ASSERT_TRUE(graph.ok()) << graph.status();
  const Region region = BuildWhole(*graph).region;
  const LoopPlan plan = PlanLoops(region, Isa::kAvx512);
  const int lane = plan[0].schedule.vector_variable;
  ASSERT_NE(lane, kNoVariable);
  for (const auto& stores : plan[0].flat.stores) {
    for (const FlatAccess& store : stores) {
      EXPECT_EQ(store.address.Coefficient(static_cast<uint32_t>(lane)),
                Size(1));
    }
  }
}

TEST(Blocks, NanInARowStays) {
  Literal x(DType::kF32, {4, 200});
  for (int64_t i = 0; i < 800; ++i) {
    x.SetDouble(i, i == 0 || i == 270 || i == 599 ? NAN : i % 37);
  }
  for (const char* combiner : {"max", "min"}) {
    CheckKernels(
        StrCat("graph g(%x: f32[4,200]) -> f32[4] {\n  %y = reduce(%x) "
               "{combiner = ",
               combiner, ", axes = [1]}\n  return %y\n}"),
        {x});
  }
}

}  // namespace
}  // namespace encore::backends::cpu
