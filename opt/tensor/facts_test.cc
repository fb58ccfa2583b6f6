// Every fact of a class holds of the values of all its nodes, and after exact
// rules these values are the same to the bit.
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "encore/ir/eval/evaluator.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/testing/random_graph.h"
#include "encore/ir/text/printer.h"
#include "encore/ir/types/literal_compare.h"
#include "encore/opt/egraph/match/rule.h"
#include "encore/opt/egraph/run/runner.h"
#include "encore/opt/tensor/improve.h"
#include "encore/opt/tensor/rule_book.h"
#include "encore/opt/tensor/rule_compiler.h"
#include "encore/opt/tensor/tensor_egraph.h"
#include "encore/opt/tensor/tensor_program.h"
#include "gtest/gtest.h"

namespace encore::opt {
namespace {

namespace eg = ::encore::egraph;

// The values of classes, node by node until nothing is new; a class with
// several nodes is computed by each of them.
class ClassValues {
 public:
  ClassValues(const TensorEGraph& tensors, std::map<eg::ClassId, Literal> known)
      : tensors_(tensors), values_(std::move(known)) {}

  void ComputeAll() {
    const eg::EGraph& graph = tensors_.graph();
    std::vector<bool> done(graph.node_limit());
    for (bool changed = true; changed;) {
      changed = false;
      for (uint32_t n = 0; n < graph.node_limit(); ++n) {
        const eg::NodeId node(n);
        if (done[n] || !graph.live(node)) continue;
        if (tensors_.op(node).kind != TensorOp::Kind::kOp) continue;
        done[n] = Compute(node);
        changed |= done[n];
      }
    }
  }

  const std::map<eg::ClassId, Literal>& values() const { return values_; }
  int compared() const { return compared_; }

 private:
  bool Compute(eg::NodeId node) {
    std::vector<Literal> operands;
    for (const eg::ClassId operand : tensors_.operands(node)) {
      const auto it = values_.find(operand);
      if (it == values_.end()) return false;
      operands.push_back(it->second);
    }
    const TensorOp& op = tensors_.op(node);
    const auto results =
        EvaluateNode(op.op, tensors_.attributes(node), operands);
    EXPECT_TRUE(results.ok()) << op.op << ": " << results.status();
    if (!results.ok()) return true;
    const auto [it, fresh] =
        values_.try_emplace(tensors_.graph().class_of(node), (*results)[0]);
    if (fresh) return true;
    ++compared_;
    EXPECT_TRUE(SameBitsButNan((*results)[0], it->second))
        << op.op << " differs from another node of its class";
    return true;
  }

  const TensorEGraph& tensors_;
  std::map<eg::ClassId, Literal> values_;
  int compared_ = 0;
};

struct Counts {
  int classes = 0, splats = 0, ranges = 0, weights = 0, compared = 0;
};

void Saturate(TensorEGraph* tensors) {
  std::vector<TextRule> rules;
  for (const TextRule& rule : AllRules()) {
    // Composites are not computed as their definitions are.
    if (rule.tag == RuleTag::kExact) rules.push_back(rule);
  }
  std::vector<RuleCount> counts(rules.size());
  auto compiled = CompileRules(rules, tensors, counts);
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  eg::RuleBook book;
  std::vector<eg::RuleId> ids;
  for (eg::Rule& rule : compiled->rules) ids.push_back(book.Add(rule));
  eg::Runner runner(&tensors->graph(), &book,
                    {.max_nodes = 3000, .max_iterations = 4});
  runner.Run(ids);
  ASSERT_TRUE(runner.error().ok()) << runner.error();
}

// Values of arguments and anchors, by class.
std::map<eg::ClassId, Literal> KnownValues(const Graph& graph,
                                           const TensorProgram& program,
                                           std::span<const Literal> arguments) {
  std::map<eg::ClassId, Literal> known;
  EvaluateOptions options;
  options.on_node = [&](NodeId node, std::span<const Literal> results) {
    const bool argument =
        graph.op(node) == Op::kInput || graph.op(node) == Op::kParameter;
    for (int i = 0; (argument || program.is_anchor(node)) &&
                    i < static_cast<int>(results.size());
         ++i) {
      known.emplace(program.class_of(graph.result(node, i)), results[i]);
    }
    return OkStatus();
  };
  const auto results = Evaluate(graph, arguments, options);
  if (!results.ok()) known.clear();
  return known;
}

void CheckFacts(uint64_t seed, Counts* counts) {
  RandomGraphOptions options;
  options.nodes = 12;
  if (seed % 2 == 1) {  // what rules are about
    options.ops = {Op::kAdd,        Op::kMul,    Op::kNeg,    Op::kTranspose,
                   Op::kBroadcast,  Op::kSlice,  Op::kConcat, Op::kReduce,
                   Op::kDotGeneral, Op::kGather, Op::kMax,    Op::kSelect};
    options.dtypes = {DType::kF32, DType::kI32};
  }
  const Graph graph = RandomGraph(seed, options);
  SCOPED_TRACE(Print(graph));
  TensorEGraph tensors(graph.symbols());
  const TensorProgram program(graph, &tensors);
  Saturate(&tensors);
  const std::vector<Literal> arguments = RandomArguments(graph, seed);
  std::vector<Literal> others = RandomArguments(graph, seed + 1000);
  for (size_t i = 0; i < others.size(); ++i) {
    if (graph.arguments()[i].is_parameter) others[i] = arguments[i];
  }
  std::map<eg::ClassId, Literal> known = KnownValues(graph, program, arguments);
  if (known.empty()) return;
  ClassValues values(tensors, std::move(known));
  values.ComputeAll();
  ClassValues other_values(tensors, KnownValues(graph, program, others));
  other_values.ComputeAll();
  counts->compared += values.compared();
  for (const auto& [c, value] : values.values()) {
    const TensorType* const type = tensors.type(c);
    ASSERT_NE(type, nullptr);
    // Sizes that are known at run time only are symbols.
    if (type->shape.is_constant()) EXPECT_EQ(value.type(), *type);
    ++counts->classes;
    if (const Literal* const splat = tensors.splat(c)) {
      ++counts->splats;
      for (int64_t i = 0; i < value.element_count(); ++i) {
        EXPECT_EQ(value.AsInt(i), splat->AsInt(0));
        EXPECT_TRUE(SameBits(value.AsDouble(i), splat->AsDouble(0)));
      }
    }
    if (const auto& range = tensors.fact(c).range) {
      const auto all = RangeOf(type->dtype);
      counts->ranges += all && !(*range == *all);
      for (int64_t i = 0; i < value.element_count(); ++i) {
        EXPECT_GE(value.AsInt(i), range->lower);
        EXPECT_LE(value.AsInt(i), range->upper);
      }
    }
    const auto other = other_values.values().find(c);
    if (tensors.fact(c).weight_only && other != other_values.values().end()) {
      ++counts->weights;
      EXPECT_TRUE(SameBitsButNan(value, other->second));
    }
  }
}

TEST(FactsTest, HoldOfEveryNodeOfRandomGraphs) {
  Counts counts;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    CheckFacts(seed, &counts);
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GE(counts.classes, 3000);
  EXPECT_GE(counts.splats, 10);
  EXPECT_GE(counts.ranges, 10);
  EXPECT_GE(counts.weights, 50);
  EXPECT_GE(counts.compared, 300);
}

}  // namespace
}  // namespace encore::opt
