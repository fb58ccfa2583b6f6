// Rules that are code, on drawn graphs: what they make computes the same, as
// far as their tags ask. As rules of text are (check/check_rule.h), each is
// applied alone, wherever it applies, until it fired on 100 graphs.
#include "encore/opt/tensor/coded/coded_rules.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "encore/ir/build/builder.h"
#include "encore/ir/graph/graph.h"
#include "encore/ir/graph/verifier.h"
#include "encore/ir/ops/attributes.h"
#include "encore/ir/ops/op.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/testing/parsed_graph.h"
#include "encore/ir/text/printer.h"
#include "encore/ir/types/dim.h"
#include "encore/ir/types/dtype.h"
#include "encore/ir/types/shape.h"
#include "encore/opt/tensor/check/apply_rule.h"
#include "encore/opt/tensor/check/attribute_draws.h"
#include "encore/opt/tensor/check/choices.h"
#include "encore/opt/tensor/check/compare_sides.h"
#include "encore/opt/tensor/check/instantiate.h"
#include "gtest/gtest.h"

namespace encore::opt {
namespace {

constexpr int kGraphs = 100;
constexpr int kMostDraws = 4000;
constexpr DType kDTypes[] = {DType::kF32, DType::kF64, DType::kI32, DType::kU8};

// Draws graphs that a rule is for.
class Drawer {
 public:
  explicit Drawer(uint64_t seed)
      : choices_(seed),
        g_("drawn", {.simplify = false}),
        draws_(&choices_, Symbols()),
        dtype_(kDTypes[Below(std::size(kDTypes))]) {}

  // Two to six products of one operand, and one beside them.
  std::optional<Graph> Products() {
    const auto draw = draws_.New({.op = Op::kDotGeneral,
                                  .operands = 2,
                                  .dtype = dtype_,
                                  .shape = draws_.RandomShape(Below(5))});
    if (!draw) return std::nullopt;
    const bool rhs = Below(2) == 0;  // what differs
    const auto& attrs = draw->attributes.Get<DotGeneralAttrs>();
    const Shape& shared_shape = draw->operands[rhs ? 0 : 1];
    const Value shared = Input(shared_shape);
    const Value beside = Input(shared_shape);
    std::vector<Value> products;
    const auto count = static_cast<size_t>(2 + Below(5));
    for (size_t i = 0; i <= count; ++i) {
      Shape shape = draw->operands[rhs ? 1 : 0];
      if (const auto axis = LastFree(attrs, rhs, shape.rank())) {
        shape[*axis] = draws_.RandomShape(1)[0];
      }
      const Value first = i == count ? beside : shared;
      const Value other = Input(shape);
      products.push_back(rhs ? Node(Op::kDotGeneral, {first, other}, attrs)
                             : Node(Op::kDotGeneral, {other, first}, attrs));
    }
    return Build(products);
  }

  // A tree over three to eight terms that have now and then something in
  // common: themselves, a factor, a reduction, how they are repeated.
  std::optional<Graph> Terms(bool products) {
    const Shape shape = draws_.RandomShape(1 + Below(2));
    std::vector<Value> pool;
    const auto count = static_cast<size_t>(3 + Below(6));
    const Value factor = Input(shape);
    for (size_t i = 0; i < count; ++i) pool.push_back(Term(shape, factor));
    if (Below(3) == 0) pool.push_back(pool.front());
    while (pool.size() > 1) {
      // Whatever stands beside each other.
      const auto at =
          static_cast<size_t>(Below(static_cast<int64_t>(pool.size()) - 1));
      const Op op = products ? Op::kMul : Below(3) == 0 ? Op::kSub : Op::kAdd;
      pool[at] = Node(op, {pool[at], pool[at + 1]});
      if (!products && Below(4) == 0) pool[at] = Node(Op::kNeg, {pool[at]});
      pool.erase(pool.begin() + static_cast<ptrdiff_t>(at) + 1);
    }
    return Build(pool);
  }

  // A concatenation of several, or of concatenations.
  std::optional<Graph> Concats() {
    Shape shape = draws_.RandomShape(1 + Below(3));
    const auto axis = static_cast<int>(Below(shape.rank()));
    const AxisAttrs attrs{.axis = axis};
    std::vector<Value> parts;
    const auto count = static_cast<size_t>(3 + Below(4));
    for (size_t i = 0; i < count; ++i) {
      shape[axis] = Dim(1 + Below(3));
      parts.push_back(Input(shape));
    }
    if (Below(2) == 0) return Build({Node(Op::kConcat, parts, attrs)});
    while (parts.size() > 1) {
      const auto at =
          static_cast<size_t>(Below(static_cast<int64_t>(parts.size()) - 1));
      parts[at] = Node(Op::kConcat, {parts[at], parts[at + 1]}, attrs);
      parts.erase(parts.begin() + static_cast<ptrdiff_t>(at) + 1);
    }
    return Build(parts);
  }

 private:
  int64_t Below(int64_t limit) { return choices_.Below(limit); }

  std::vector<Dim> Symbols() {
    if (!choices_.Chance(25)) return {};
    std::vector<Dim> symbols = {g_.Symbol("N", 1, 4), g_.Symbol("M", 1, 4)};
    g_.Input(std::string(kExtentsArgument),
             {DType::kBool, Shape(symbols), ValueKind::kTensor});
    return symbols;
  }

  Value Input(const Shape& shape) {
    return g_.Input(StrCat("x", inputs_++),
                    {dtype_, shape, ValueKind::kTensor});
  }

  Value Node(Op op, const std::vector<Value>& operands,
             const Attributes& attributes = {}) {
    const auto results = g_.Node(op, operands, attributes);
    return results.empty() ? Value() : results[0];
  }

  Value Term(const Shape& shape, const Value& factor) {
    switch (Below(5)) {
      case 0:
        return Node(Op::kMul, {Input(shape), factor});
      case 1: {
        Dims taller = shape.dims();
        taller.insert(taller.begin(), Dim(2));
        return Node(Op::kReduce, {Input(Shape(taller))},
                    ReduceAttrs{.combiner = Combiner::kSum, .axes = {0}});
      }
      case 2:
        return Node(Op::kBroadcast, {Input(Shape({shape[0]}))},
                    BroadcastAttrs{.shape = shape.dims(), .axes = {0}});
      default:
        return Input(shape);
    }
  }

  static std::optional<int> LastFree(const DotGeneralAttrs& attrs, bool rhs,
                                     int rank) {
    const Ints& contract = rhs ? attrs.contract.rhs : attrs.contract.lhs;
    const Ints& batch = rhs ? attrs.batch.rhs : attrs.batch.lhs;
    for (int axis = rank - 1; axis >= 0; --axis) {
      if (std::ranges::count(contract, axis) == 0 &&
          std::ranges::count(batch, axis) == 0) {
        return axis;
      }
    }
    return std::nullopt;
  }

  std::optional<Graph> Build(const std::vector<Value>& values) {
    std::vector<std::pair<std::string, Value>> outputs;
    for (size_t i = 0; i < values.size(); ++i) {
      outputs.emplace_back(StrCat("y", i), values[i]);
    }
    if (!g_.status().ok()) return std::nullopt;
    auto graph = g_.Build(outputs);
    if (!graph.ok()) return std::nullopt;
    return *std::move(graph);
  }

  Choices choices_;
  GraphBuilder g_;
  AttributeDraws draws_;
  const DType dtype_;
  int inputs_ = 0;
};

using Draw = std::function<std::optional<Graph>(Drawer*)>;

void CheckOn(const CodedRule& rule, const Draw& draw) {
  int fired = 0, compared = 0, symbolic = 0;
  for (uint64_t seed = 1; seed <= kMostDraws && fired < kGraphs; ++seed) {
    Drawer drawer(seed);
    const auto graph = draw(&drawer);
    if (!graph) continue;
    const RuleApplication application = ApplyCodedRule(rule.name, *graph);
    if (!application.fired) continue;
    ++fired;
    symbolic += !graph->symbols().empty();
    SCOPED_TRACE(StrCat("seed ", seed, "\n", Print(*graph)));
    ASSERT_EQ(application.fault, "");
    ASSERT_TRUE(application.after.has_value());
    EXPECT_TRUE(Verify(*application.after).ok());
    EXPECT_NE(Print(*application.after), Print(*graph));
    Choices data(seed);
    const auto sides = CompareSides(*graph, *application.after, rule.tag,
                                    DrawArguments(*graph, rule.tag, &data));
    ASSERT_TRUE(sides.ok()) << sides.status();
    ASSERT_EQ(sides->difference, "") << Print(*application.after);
    compared += sides->compared;
  }
  EXPECT_EQ(fired, kGraphs);
  EXPECT_GE(compared, kGraphs * 8 / 10);
  EXPECT_GE(symbolic, 1);
}

TEST(CodedRulesTest, MergeProducts) {
  CheckOn(kMergeProducts, [](Drawer* drawer) { return drawer->Products(); });
}

TEST(CodedRulesTest, GatherTerms) {
  CheckOn(kGatherTerms, [](Drawer* drawer) { return drawer->Terms(false); });
}

// A sign is no end of a sum.
TEST(CodedRulesTest, TermsBehindASignAreGathered) {
  for (const char* y : {"  %n = neg(%s)\n  %y = sub(%a, %n)\n",
                        "  %m = neg(%s)\n  %n = neg(%m)\n  %y = add(%a, %n)\n",
                        "  %n = neg(%a)\n  %y = add(%n, %s)\n"}) {
    const Graph graph =
        ParsedGraph(StrCat("graph g(%a: i32[3], %b: i32[3]) -> i32[3] {\n"
                           "  %s = add(%a, %b)\n",
                           y, "  return %y\n}\n"));
    const RuleApplication application =
        ApplyCodedRule(kGatherTerms.name, graph);
    EXPECT_EQ(application.fault, "");
    ASSERT_TRUE(application.fired) << Print(graph);
    Choices data(1);
    const auto sides =
        CompareSides(graph, *application.after, RuleTag::kExact,
                     DrawArguments(graph, RuleTag::kExact, &data));
    ASSERT_TRUE(sides.ok()) << sides.status();
    EXPECT_EQ(sides->difference, "") << Print(*application.after);
  }
}

TEST(CodedRulesTest, GatherFactors) {
  CheckOn(kGatherFactors, [](Drawer* drawer) { return drawer->Terms(true); });
}

TEST(CodedRulesTest, NestConcats) {
  CheckOn(kNestConcats, [](Drawer* drawer) { return drawer->Concats(); });
}

// A rule that is added to the list is drawn for, too.
TEST(CodedRulesTest, AreAllTried) { EXPECT_EQ(CodedRules().size(), 4u); }

}  // namespace
}  // namespace encore::opt
