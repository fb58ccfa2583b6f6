// Rewritten regions against the regions that they are made of, both as the
// region interpreter computes them.
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "encore/backends/conformance/bounds.h"
#include "encore/backends/conformance/position_graph.h"
#include "encore/backends/cpu/loops/keep.h"
#include "encore/backends/cpu/loops/split.h"
#include "encore/backends/cpu/loops/stages.h"
#include "encore/backends/cpu/loops/windows.h"
#include "encore/backends/region/build.h"
#include "encore/backends/region/flat/flat_region.h"
#include "encore/backends/region/interpreter.h"
#include "encore/backends/region/region.h"
#include "encore/backends/region/text.h"
#include "encore/backends/region/verify.h"
#include "encore/backends/region/whole_region.h"
#include "encore/ir/graph/graph.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/testing/random_data.h"
#include "encore/ir/text/parser.h"
#include "encore/ir/text/printer.h"
#include "encore/ir/types/dim.h"
#include "encore/ir/types/literal.h"
#include "encore/ir/types/shape.h"
#include "gtest/gtest.h"

namespace encore::backends::cpu {
namespace {

using Bytes = std::vector<std::byte>;

Region RegionOf(const std::string& text) {
  const StatusOr<Graph> graph = ParseGraph(text);
  EXPECT_TRUE(graph.ok()) << graph.status();
  return BuildWhole(*graph).region;
}

TensorType TypeOf(const Operand& operand) {
  return {operand.dtype, Shape(operand.dims)};
}

// What the regions, one after the other, make of the only output.
Bytes Compute(const std::vector<Region>& regions, std::vector<Literal> inputs) {
  std::vector<Buffer> in;
  for (Literal& input : inputs) {
    in.push_back({const_cast<std::byte*>(input.bytes().data()),
                  static_cast<int64_t>(input.bytes().size())});
  }
  const Operand& output = regions[0].outputs[0];
  Bytes out(
      Literal(output.dtype, Shape(output.dims).ConstantDims()).bytes().size(),
      std::byte{0x5a});
  const Buffer buffer = {out.data(), static_cast<int64_t>(out.size())};
  for (const Region& region : regions) {
    EXPECT_TRUE(VerifyRegion(region).ok())
        << VerifyRegion(region) << ToText(region);
    const Status status = Interpret(region, {}, in, {&buffer, 1});
    EXPECT_TRUE(status.ok()) << status << ToText(region);
  }
  return out;
}

// The same of random inputs.
Bytes Compute(const std::vector<Region>& regions) {
  std::vector<Literal> inputs;
  for (const Operand& input : regions[0].inputs) {
    inputs.push_back(
        RandomData(TypeOf(input), static_cast<uint32_t>(3 + inputs.size())));
  }
  return Compute(regions, std::move(inputs));
}

// All parts of the region, cut along each of its outer variables in turn.
std::vector<Region> SplitAlongAll(const Region& region) {
  std::vector<Region> parts = {region};
  for (uint32_t v = 0; v < region.outer; ++v) {
    std::vector<Region> next;
    for (const Region& part : parts) {
      std::vector<Region> cut = SplitAlong(part, v);
      if (cut.empty()) cut = {part};
      next.insert(next.end(), cut.begin(), cut.end());
    }
    parts = std::move(next);
  }
  return parts;
}

TEST(SplitAlong, LeavesNoChecks) {
  struct Row {
    const char* text;
    size_t parts;
  };
  for (const Row& row :
       {Row{"graph g(%a: f32[3,2,5], %b: f32[3,4,5], %c: f32[3,1,5]) -> "
            "f32[3,7,5] {\n  %d = concat(%a, %b, %c) {axis = 1}\n  %y = "
            "neg(%d)\n  return %y\n}",
            3},
        {"graph g(%a: i8[3], %b: i8[9]) -> i8[12] {\n  %d = concat(%a, %b) "
         "{axis = 0}\n  %y = neg(%d)\n  return %y\n}",
         2},
        {"graph g(%x: f32[4,5], %v: f32[]) -> f32[7,9] {\n  %y = pad(%x, %v) "
         "{low = [1,0], high = [2,4], interior = [0,0]}\n  return %y\n}",
         4},
        // Computed operands, which are selected by their position.
        {"graph g(%a: f32[6,3], %b: f32[6,5]) -> f32[6,8] {\n  %n = neg(%a)\n"
         "  %m = exp(%b)\n  %d = concat(%n, %m) {axis = 1}\n  %y = neg(%d)\n"
         "  return %y\n}",
         2},
        {"graph g(%a: f32[6,3], %b: f32[6,5]) -> f32[6,8] {\n  %c = concat(%a, "
         "%b) {axis = 1}\n  %y = reverse(%c) {axes = [1]}\n  return %y\n}",
         2}}) {
    SCOPED_TRACE(row.text);
    const Region region = RegionOf(row.text);
    const std::vector<Region> parts = SplitAlongAll(region);
    EXPECT_EQ(parts.size(), row.parts);
    for (const Region& part : parts) {
      const std::optional<FlatRegion> flat = Flatten(part);
      ASSERT_TRUE(flat.has_value());
      for (const FlatAccess& load : flat->loads) {
        EXPECT_FALSE(load.checked) << ToText(part);
      }
      for (const Expr& expr : part.exprs) {
        EXPECT_FALSE(expr.kind == Expr::Kind::kOp && expr.op == Op::kSelect)
            << ToText(part);
      }
    }
    EXPECT_EQ(Compute(parts), Compute({region}));
  }
}

// Windows that reach into the padding are in parts of their own.
TEST(SplitAlong, KeepsChecksWhereTheyDiffer) {
  const Region region = RegionOf(
      "graph g(%x: f32[1,2,9,11]) -> f32[1,2,9,11] {\n  %y = "
      "reduce_window(%x) {combiner = max, window = [1,1,3,5], strides = "
      "[1,1,1,1], padding_low = [0,0,1,2], padding_high = [0,0,1,2], dilations "
      "= [1,1,1,1]}\n  return %y\n}");
  const std::vector<Region> parts = SplitAlongAll(region);
  EXPECT_EQ(parts.size(), 9u);
  Region inside = parts[4];
  EXPECT_EQ(inside.extents[inside.outer - 1], Dim(7)) << ToText(inside);
  const std::optional<FlatRegion> flat = Flatten(inside);
  ASSERT_TRUE(flat.has_value());
  for (const FlatAccess& load : flat->loads) EXPECT_FALSE(load.checked);
  EXPECT_EQ(Compute(parts), Compute({region}));
}

TEST(SplitAlong, NothingWhereNothingIsDecided) {
  const Region region = RegionOf(
      "graph g(%x: f32[4,5]) -> f32[5,4] {\n  %y = transpose(%x) {permutation "
      "= [1,0]}\n  return %y\n}");
  for (uint32_t v = 0; v < region.outer; ++v) {
    EXPECT_TRUE(SplitAlong(region, v).empty());
  }
}

// %i, an iota, lies where sums and products leave the dtype at some points.
TEST(SplitAlong, ComparisonsOfWhatWrapsAround) {
  struct Row {
    const char *dtype, *term, *limit;
    const char* op;
  };
  for (const Row& row :
       {Row{"i64", "9223372036854775797", "9223372036854775802", "add"},
        {"i64", "9223372036854775797", "-9223372036854775800", "add"},
        {"i64", "-9223372036854775790", "9223372036854775790", "sub"},
        {"i64", "288230376151711744", "1152921504606846976", "mul"},
        {"i64", "-288230376151711744", "-1152921504606846976", "mul"},
        {"i64", "4611686018427387905", "5", "mul"},
        {"i32", "2147483630", "2147483640", "add"},
        {"i16", "1000", "9000", "mul"},
        {"i8", "120", "125", "add"},
        {"u64", "18446744073709551600", "18446744073709551610", "add"},
        {"u32", "4294967290", "7", "add"},
        {"u8", "250", "253", "add"}}) {
    for (const char* direction : {"ge", "lt"}) {
      const Region region = RegionOf(StrCat(
          "graph g(%x: f32[40], %z: f32[40]) -> f32[40] {\n  %i = iota() "
          "{dtype = ",
          row.dtype, ", shape = [40]}\n  %c = constant() {value = ", row.dtype,
          "[] ", row.term,
          "}\n  %d = broadcast(%c) {shape = [40], axes = []}\n"
          "  %p = ",
          row.op, "(%i, %d)\n  %l = constant() {value = ", row.dtype, "[] ",
          row.limit,
          "}\n  %m = broadcast(%l) {shape = [40], "
          "axes = []}\n  %b = compare(%p, %m) {direction = ",
          direction, "}\n  %y = select(%b, %x, %z)\n  return %y\n}"));
      EXPECT_EQ(Compute(SplitAlongAll(region)), Compute({region}))
          << ToText(region);
    }
  }
}

// Where nothing wraps around, multiples and differences are decided.
TEST(SplitAlong, ComparisonsOfSumsAndMultiples) {
  const Region region = RegionOf(
      "graph g(%x: f32[40], %z: f32[40]) -> f32[40] {\n  %i = iota() {shape = "
      "[40]}\n  %c = constant() {value = i64[] -100000000000}\n  %d = "
      "broadcast(%c) {shape = [40], axes = []}\n  %p = mul(%i, %d)\n  %q = "
      "sub(%p, %d)\n  %l = constant() {value = i64[] -1000000000000}\n  %m = "
      "broadcast(%l) {shape = [40], axes = []}\n  %b = compare(%q, %m) "
      "{direction = lt}\n  %y = select(%b, %x, %z)\n  return %y\n}");
  const std::vector<Region> parts = SplitAlongAll(region);
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[0].extents[0], Dim(12));
  for (const Region& part : parts) EXPECT_EQ(part.exprs.size(), 1u);
  EXPECT_EQ(Compute(parts), Compute({region}));
}

// A random graph of positions as one region, on data.
struct Drawn {
  std::string text;
  Region region;
  std::vector<Literal> inputs;
  Bounds bounds;
};

std::optional<Drawn> Draw(uint64_t seed) {
  const Graph graph = PositionGraph(seed, {.most_elements = 300});
  std::vector<NodeId> nodes;
  for (const NodeId node : Nodes(graph)) {
    if (HasRegion(graph, node)) nodes.push_back(node);
  }
  const ValueId output = graph.outputs()[0].value;
  if (nodes.empty()) return std::nullopt;
  auto built = BuildRegion(graph, nodes, {{output}});
  if (!built) return std::nullopt;
  Drawn drawn{.text = StrCat("seed ", seed, "\n", Print(graph)),
              .region = std::move(built->region),
              .inputs = {},
              .bounds = {}};
  std::vector<Literal> arguments;
  for (const Graph::Argument& argument : graph.arguments()) {
    arguments.push_back(RandomData(graph.type(argument.value),
                                   static_cast<uint32_t>(arguments.size())));
  }
  for (const ValueId input : built->inputs) {
    for (size_t i = 0; i < arguments.size(); ++i) {
      if (graph.arguments()[i].value != input) continue;
      drawn.inputs.push_back(arguments[i]);
    }
  }
  auto bounds = EvaluateBounds(graph, arguments);
  EXPECT_TRUE(bounds.ok()) << bounds.status() << drawn.text;
  if (!bounds.ok()) return std::nullopt;
  drawn.bounds = std::move((*bounds)[0]);
  return drawn;
}

// As they are, cut and otherwise rewritten, against the evaluator.
TEST(Rewrites, OfRandomPositions) {
  int regions = 0, cut = 0, in_stages = 0, keeping = 0, separated = 0;
  for (uint64_t seed = 1; seed <= 1500; ++seed) {
    const std::optional<Drawn> drawn = Draw(seed);
    if (!drawn) continue;
    SCOPED_TRACE(StrCat(drawn->text, ToText(drawn->region)));
    ++regions;
    const auto compute = [&](const std::vector<Region>& parts) {
      return Compute(parts, drawn->inputs);
    };
    const Bytes whole = compute({drawn->region});
    const auto result = Literal::Copy(drawn->bounds.expected.dtype(),
                                      drawn->bounds.expected.dims(), whole);
    ASSERT_TRUE(result.ok()) << result.status();
    const auto difference = Difference(*result, drawn->bounds);
    ASSERT_FALSE(difference.has_value()) << *difference;
    const std::vector<Region> parts = SplitAlongAll(drawn->region);
    cut += parts.size() > 1;
    ASSERT_EQ(compute(parts), whole);
    const std::vector<Region> stages = SeparateStages(drawn->region);
    if (!stages.empty()) ASSERT_EQ(compute(stages), whole);
    const std::optional<Region> kept = KeepRepeated(drawn->region);
    if (kept) ASSERT_EQ(compute({*kept}), whole);
    const std::optional<Region> windows = SeparateWindows(drawn->region);
    if (windows) {
      const auto separate =
          Literal::Copy(drawn->bounds.expected.dtype(),
                        drawn->bounds.expected.dims(), compute({*windows}));
      ASSERT_TRUE(separate.ok()) << separate.status();
      const auto apart = Difference(*separate, drawn->bounds);
      ASSERT_FALSE(apart.has_value()) << *apart;
      const bool sum = drawn->region.stages[0].combiner == RegionCombiner::kSum;
      if (!sum) ASSERT_EQ(compute({*windows}), whole);
    }
    in_stages += !stages.empty();
    keeping += kept.has_value();
    separated += windows.has_value();
  }
  std::cout << regions << " regions, " << cut << " cut, " << in_stages
            << " in stages, " << keeping << " that keep rows, " << separated
            << " with windows along one dim after the other\n";
  EXPECT_GE(regions, 1200);
  EXPECT_GE(cut, 400);
  EXPECT_GE(in_stages, 30);
  EXPECT_GE(keeping, 30);
  EXPECT_GE(separated, 3);
}

TEST(SeparateStages, OfAConcatenation) {
  for (const auto& [a, b, y, axis, outer] :
       {std::tuple{"[3,5]", "[4,5]", "[7,5]", 0, 2},
        {"[3,2,5]", "[3,1,5]", "[3,3,5]", 1, 3},
        {"[6,3]", "[6,5]", "[6,8]", 1, 2}}) {
    const Region region = RegionOf(
        StrCat("graph g(%a: f32", a, ", %b: f32", b, ") -> f32", y,
               " {\n  %n = neg(%a)\n  %y = concat(%n, %b) {axis = ", axis,
               "}\n  return %y\n}"));
    const std::vector<Region> stages = SeparateStages(region);
    ASSERT_EQ(stages.size(), 2u) << ToText(region);
    EXPECT_EQ(stages[0].outer, static_cast<uint32_t>(outer));
    EXPECT_EQ(Compute(stages), Compute({region}));
  }
}

// Updates that write what the copy before them wrote.
TEST(SeparateStages, NotWhereOrderCounts) {
  EXPECT_TRUE(
      SeparateStages(
          RegionOf("graph g(%x: f32[9,4], %i: i64[3,1], %u: f32[3,4]) -> "
                   "f32[9,4] {\n  %y = scatter(%x, %i, %u) "
                   "{update_window_dims = [1], inserted_window_dims = [0], "
                   "scatter_dims_to_operand_dims = [0], index_vector_dim = "
                   "1}\n  return %y\n}"))
          .empty());
}

TEST(SeparateWindows, OneDimAfterTheOther) {
  for (const auto& [combiner, dtype] : {std::pair{"max", "f32"},
                                        {"max", "bf16"},
                                        {"max", "i8"},
                                        {"min", "f32"},
                                        {"min", "bf16"},
                                        {"min", "i8"},
                                        {"sum", "i8"},
                                        {"sum", "i32"}}) {
    for (const auto& [window, stride, dilation, pad] :
         {std::tuple{3, 1, 1, 1}, {5, 2, 1, 0}, {7, 3, 1, 3}, {3, 2, 2, 2}}) {
      const int reach = (window - 1) * dilation + 1;
      const int high = (23 + 2 * pad - reach) / stride + 1;
      const int wide = (31 + 2 * pad - reach) / stride + 1;
      const auto both = [](int n) { return StrCat("[1,1,", n, ",", n, "]"); };
      const std::string padding = StrCat("[0,0,", pad, ",", pad, "]");
      const Region region = RegionOf(StrCat(
          "graph g(%x: ", dtype, "[2,3,23,31]) -> ", dtype, "[2,3,", high, ",",
          wide, "] {\n  %y = reduce_window(%x) {combiner = ", combiner,
          ", window = ", both(window), ", strides = ", both(stride),
          ", padding_low = ", padding, ", padding_high = ", padding,
          ", dilations = ", both(dilation), "}\n  return %y\n}"));
      SCOPED_TRACE(ToText(region));
      const std::optional<Region> separate = SeparateWindows(region);
      ASSERT_TRUE(separate.has_value());
      EXPECT_EQ(separate->stages.size(), region.stages.size() + 1);
      EXPECT_EQ(Compute({*separate}), Compute({region}));
    }
  }
}

// Nor where there are products, of which a line has as many as its windows.
TEST(SeparateWindows, NotProductsNorSingleLines) {
  EXPECT_FALSE(SeparateWindows(RegionOf(
      "graph g(%x: f32[2,3,9,9]) -> f32[2,3,9,7] {\n  %y = reduce_window(%x) "
      "{combiner = max, window = [1,1,1,3], strides = [1,1,1,1], padding_low = "
      "[0,0,0,0], padding_high = [0,0,0,0], dilations = [1,1,1,1]}\n  return "
      "%y\n}")));
  EXPECT_FALSE(SeparateWindows(RegionOf(
      "graph g(%x: f32[2,3,9,9], %w: f32[3,1,3,3]) -> f32[2,3,7,7] {\n  %y = "
      "convolution(%x, %w) {strides = [1,1], padding_low = [0,0], padding_high "
      "= [0,0], lhs_dilation = [1,1], rhs_dilation = [1,1], feature_groups = "
      "3}\n  return %y\n}")));
}

// The sums of a line of bf16 are kept as they are added: in f32.
TEST(SeparateWindows, SumsOfLinesAreNotRounded) {
  const std::optional<Region> separate = SeparateWindows(RegionOf(
      "graph g(%x: bf16[2,3,9,9]) -> bf16[2,3,7,7] {\n  %y = "
      "reduce_window(%x) {combiner = sum, window = [1,1,3,3], strides = "
      "[1,1,1,1], padding_low = [0,0,0,0], padding_high = [0,0,0,0], dilations "
      "= [1,1,1,1]}\n  return %y\n}"));
  ASSERT_TRUE(separate.has_value());
  EXPECT_EQ(separate->stages[0].dtype, DType::kF32);
  EXPECT_EQ(separate->stages[1].dtype, DType::kBF16);
}

std::string Softmax(const char* dims, int axis, int kept) {
  return StrCat("graph g(%x: f32", dims, ") -> f32", dims,
                " {\n  %m = reduce(%x) {combiner = max, axes = [", axis,
                "]}\n  %b = broadcast(%m) {shape = ", dims, ", axes = [", kept,
                "]}\n  %d = sub(%x, %b)\n  %e = exp(%d)\n  %s = reduce(%e) "
                "{combiner = sum, axes = [",
                axis, "]}\n  %t = broadcast(%s) {shape = ", dims, ", axes = [",
                kept, "]}\n  %y = div(%e, %t)\n  return %y\n}");
}

TEST(KeepRepeated, ExponentialsOfASoftmax) {
  for (const int axis : {0, 1}) {
    const Region region = RegionOf(Softmax("[5,19]", axis, 1 - axis));
    const std::optional<Region> kept = KeepRepeated(region);
    ASSERT_TRUE(kept.has_value()) << ToText(region);
    EXPECT_EQ(kept->stages.size(), region.stages.size() + 1);
    int exponentials = 0;
    for (const Expr& expr : kept->exprs) {
      exponentials += expr.kind == Expr::Kind::kOp && expr.op == Op::kExp;
    }
    EXPECT_EQ(exponentials, 1);
    EXPECT_EQ(Compute({*kept}), Compute({region}));
    EXPECT_FALSE(KeepRepeated(*kept).has_value());
  }
}

// A difference costs less than to keep it.
TEST(KeepRepeated, NothingCheap) {
  EXPECT_FALSE(KeepRepeated(RegionOf(
      "graph g(%x: f32[5,19]) -> f32[5,19] {\n  %m = reduce(%x) {combiner = "
      "max, axes = [1]}\n  %b = broadcast(%m) {shape = [5,19], axes = [0]}\n  "
      "%d = sub(%x, %b)\n  %s = reduce(%d) {combiner = sum, axes = [1]}\n  %t "
      "= broadcast(%s) {shape = [5,19], axes = [0]}\n  %y = div(%d, %t)\n  "
      "return %y\n}")));
}

}  // namespace
}  // namespace encore::backends::cpu
