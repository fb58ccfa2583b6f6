#include "encore/opt/tensor/testing/check_rule.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "encore/ir/eval/evaluator.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/testing/random_graph.h"
#include "encore/ir/text/printer.h"
#include "encore/opt/egraph/run/dag_cost.h"
#include "encore/opt/egraph/run/runner.h"
#include "encore/opt/tensor/rule_compiler.h"
#include "encore/opt/tensor/tensor_egraph.h"
#include "encore/opt/tensor/tensor_program.h"
#include "encore/opt/tensor/testing/instantiate.h"

namespace encore::opt {
namespace {

namespace eg = ::encore::egraph;

constexpr DType kDTypes[] = {DType::kF32, DType::kF32,  DType::kF64,
                             DType::kF16, DType::kBF16, DType::kI32,
                             DType::kI8,  DType::kU8,   DType::kI64,
                             DType::kU64, DType::kBool};
// An application may make so many nodes.
constexpr uint64_t kMostNodes = 12;

// Of a float dtype: half the distance from 1 to the next number.
double UnitRoundoff(DType dtype) {
  Literal one(dtype, {});
  double unit = 1;
  for (double step = 1; step > 1e-17; step /= 2) {
    one.SetDouble(0, 1 + step);
    if (one.AsDouble(0) == 1) break;
    unit = step;
  }
  return unit;
}

double LargestOf(DType dtype) {
  if (dtype == DType::kF16) return 65504;
  return dtype == DType::kF64 ? 1e300 : 1e38;
}

bool SameNumber(const Literal& a, const Literal& b, int64_t i) {
  if (!IsFloat(a.dtype())) return a.AsInt(i) == b.AsInt(i);
  const double x = a.AsDouble(i), y = b.AsDouble(i);
  if (std::isnan(x) || std::isnan(y)) return std::isnan(x) && std::isnan(y);
  return SameBits(x, y);
}

class Trial {
 public:
  Trial(const TextRule& rule, uint64_t seed) : rule_(rule), random_(seed) {}

  // Whether the rule fired on the graph.
  StatusOr<bool> Run(const Graph& graph, uint64_t seed, RuleTrial* trial) {
    TensorEGraph tensors(graph.symbols());
    const TensorProgram program(graph, &tensors);
    RuleCount count;
    ENCORE_ASSIGN_OR_RETURN(CompiledRules compiled,
                            CompileRules({&rule_, 1}, &tensors, {&count, 1}));
    eg::RuleBook book;
    std::vector<eg::RuleId> ids;
    for (eg::Rule& rule : compiled.rules) ids.push_back(book.Add(rule));
    eg::Runner runner(&tensors.graph(), &book);
    const eg::StepReport step = runner.Step(ids);
    if (step.stop == eg::StopReason::kFailed) {
      return Wrong(graph, Message(runner.error()));
    }
    if (step.matches == 0) return false;
    if (count.nodes > kMostNodes * step.matches) {
      return Wrong(graph, StrCat(step.matches, " applications made ",
                                 count.nodes, " nodes"));
    }
    if (count.applications == 0) return false;
    ENCORE_RETURN_IF_ERROR(CheckOpen(graph, program, tensors));
    ENCORE_ASSIGN_OR_RETURN(const Graph made, Made(graph, program, tensors));
    ENCORE_ASSIGN_OR_RETURN(const bool compared, Compare(graph, made, seed));
    ++trial->applications;
    trial->compared += compared;
    trial->symbolic += !graph.symbols().empty();
    return true;
  }

 private:
  Status Wrong(const Graph& graph, std::string_view what) const {
    return InvalidArgumentError(
        StrCat("rule ", rule_.name, ": ", what, " on\n", Print(graph)));
  }

  // Nodes that are well-typed under some sizes only.
  Status CheckOpen(const Graph& graph, const TensorProgram& program,
                   const TensorEGraph& tensors) const {
    std::vector<Dim> before;
    for (uint32_t n = 0; n < tensors.graph().node_limit(); ++n) {
      const eg::NodeId node(n);
      if (!tensors.graph().live(node)) continue;
      std::vector<Dim> open;
      ENCORE_RETURN_IF_ERROR(tensors.CheckTypes(node, &open));
      if (n < program.node_limit()) {
        before.insert(before.end(), open.begin(), open.end());
        continue;
      }
      for (const Dim& dim : open) {
        if (std::ranges::find(before, dim) != before.end()) continue;
        return Wrong(graph, StrCat("a node needs ",
                                   dim.ToString(graph.symbols()), " > 0"));
      }
    }
    return OkStatus();
  }

  // The graph with what the rule made in place of the left sides.
  StatusOr<Graph> Made(const Graph& graph, const TensorProgram& program,
                       const TensorEGraph& tensors) const {
    const std::vector<eg::ClassId> classes = program.Roots();
    // A class has the number of the node that it was made with.
    const auto cost = [&](const eg::EGraph& egraph, eg::NodeId node) {
      if (node.value() >= program.node_limit()) return 0.0;
      if (tensors.op(node).kind != TensorOp::Kind::kOp) return 0.0;
      const bool is_root = std::ranges::any_of(
          classes, [&](eg::ClassId c) { return c.value() == node.value(); });
      return is_root ? 1000.0 : 1.0;
    };
    extract::Options options;
    options.work = 20000;
    ENCORE_ASSIGN_OR_RETURN(
        const eg::DagTerms terms,
        eg::DagTerms::Extract(tensors.graph(), classes, options, cost));
    Graph to(graph.name());
    for (const Symbol& symbol : graph.symbols()) {
      ENCORE_RETURN_IF_ERROR(to.AddSymbol(symbol).status());
    }
    return program.Rebuild(
        [&](eg::ClassId c) { return terms.best(c).value_or(eg::NodeId()); },
        std::move(to),
        [](NodeId, const Graph&) -> StatusOr<std::vector<Graph>> {
          return std::vector<Graph>();
        });
  }

  bool exact() const {
    return rule_.tag == RuleTag::kExact || rule_.tag == RuleTag::kDefinition;
  }

  double HostileNumber(DType dtype) {
    const double largest = LargestOf(dtype);
    const double numbers[] = {0.0,
                              -0.0,
                              1,
                              -1,
                              1.5,
                              -2.25,
                              std::numeric_limits<double>::quiet_NaN(),
                              std::numeric_limits<double>::infinity(),
                              -std::numeric_limits<double>::infinity(),
                              largest,
                              -largest,
                              dtype == DType::kF16 ? 6e-8 : 1e-40,
                              dtype == DType::kF16 ? -6e-8 : -1e-40};
    return random_() % 3 == 0 ? numbers[random_() % std::size(numbers)]
                              : static_cast<double>(random_() % 65) / 8 - 4;
  }

  // Numbers of moderate size; of those that f16 has, so that f64 has them too.
  double ModerateNumber() {
    return static_cast<double>(random_() % 129) / 32 - 2;
  }

  Literal Data(const Literal& like) {
    Literal data(like.dtype(), like.dims());
    for (int64_t i = 0; i < data.element_count(); ++i) {
      if (IsFloat(data.dtype())) {
        data.SetDouble(
            i, exact() ? HostileNumber(data.dtype()) : ModerateNumber());
        continue;
      }
      const int64_t ends[] = {0,
                              1,
                              -1,
                              INT64_MIN,
                              INT64_MAX,
                              int64_t{1} << 31,
                              -(int64_t{1} << 31),
                              127,
                              -128};
      data.SetInt(i, random_() % 3 == 0
                         ? ends[random_() % std::size(ends)]
                         : static_cast<int64_t>(random_() % 9) - 4);
    }
    return data;
  }

  // Whether the results were compared: those that do not fit the dtype of a
  // rule that rounds differently are not.
  StatusOr<bool> Compare(const Graph& before, const Graph& after,
                         uint64_t seed) {
    std::vector<Literal> arguments = RandomArguments(before, seed);
    for (size_t i = 0; i < arguments.size(); ++i) {
      if (before.arguments()[i].name != "extents") {
        arguments[i] = Data(arguments[i]);
      }
    }
    ENCORE_ASSIGN_OR_RETURN(const std::vector<Literal> expected,
                            Evaluate(before, arguments));
    const auto got = Evaluate(after, arguments);
    if (!got.ok()) return Wrong(before, Message(got.status()));
    std::vector<Literal> magnitudes;
    if (!exact() && IsFloat(expected[0].dtype())) {
      ENCORE_ASSIGN_OR_RETURN(magnitudes, Magnitudes(before, arguments));
    }
    for (size_t k = 0; k < expected.size(); ++k) {
      for (int64_t i = 0; i < expected[k].element_count(); ++i) {
        if (SameNumber(expected[k], (*got)[k], i)) continue;
        if (!magnitudes.empty()) {
          const double bound =
              BoundOf(before, magnitudes[k].AsDouble(i), expected[k].dtype());
          if (std::isinf(bound)) return false;
          const double x = expected[k].AsDouble(i), y = (*got)[k].AsDouble(i);
          if (std::abs(x - y) <= bound) continue;
        }
        return Wrong(before,
                     StrCat("element ", i, " of output ", k, " is ",
                            (*got)[k].AsDouble(i), ", expected ",
                            expected[k].AsDouble(i), ", by\n", Print(after)));
      }
    }
    return true;
  }

  // What the operations of a graph, each rounded to `dtype`, may be off where
  // `magnitude` is the sum of the magnitudes of all terms: (1 + u)^n - 1 of it,
  // for both sides. A function may be a few units off and magnifies what its
  // argument is off by at most its argument, here below 2^4.
  static double BoundOf(const Graph& graph, double magnitude, DType dtype) {
    if (!(magnitude < LargestOf(dtype) / 4)) {
      return std::numeric_limits<double>::infinity();
    }
    double roundings = 8;
    for (const NodeId node : Nodes(graph)) {
      roundings += graph.info(node).has(kElementwise) ? 16 : 2;
      for (const ValueId operand : graph.operands(node)) {
        if (!graph.info(node).has(kContraction) &&
            !graph.info(node).has(kReduction)) {
          continue;
        }
        // Sums are not longer than their operands.
        for (const Dim& dim : graph.shape(operand).dims()) {
          roundings += static_cast<double>(dim.UpperBound(graph.symbols()));
        }
      }
    }
    const double tiny = dtype == DType::kF64   ? 1e-300
                        : dtype == DType::kF16 ? 6e-8
                                               : 1e-37;
    return 2 * roundings * (UnitRoundoff(dtype) * magnitude + tiny);
  }

  // The outputs in f64, with magnitudes in place of all arguments, and sums in
  // place of differences.
  StatusOr<std::vector<Literal>> Magnitudes(
      const Graph& graph, std::span<const Literal> arguments) const {
    EvaluateOptions options;
    std::vector<std::optional<Literal>> wide(graph.value_count());
    options.on_node = [&](NodeId node, std::span<const Literal> results) {
      return Magnitude(graph, node, results, &wide);
    };
    ENCORE_RETURN_IF_ERROR(Evaluate(graph, arguments, options).status());
    std::vector<Literal> outputs;
    for (const Graph::Output& output : graph.outputs()) {
      outputs.push_back(*wide[output.value.value()]);
    }
    return outputs;
  }

  // Of one node, whose results are `results`.
  static Status Magnitude(const Graph& graph, NodeId node,
                          std::span<const Literal> results,
                          std::vector<std::optional<Literal>>* wide) {
    const ValueId value = graph.result(node);
    const auto widened = [](const Literal& literal) {
      Literal f64(DType::kF64, literal.dims());
      for (int64_t i = 0; i < literal.element_count(); ++i) {
        f64.SetDouble(i, std::abs(literal.AsDouble(i)));
      }
      return f64;
    };
    const OpInfo& info = graph.info(node);
    const bool sums = info.has(kContraction) || info.has(kReduction) ||
                      info.has(kMovement) || info.op == Op::kAdd ||
                      info.op == Op::kSub || info.op == Op::kMul ||
                      info.op == Op::kNeg;
    if (!sums || !IsFloat(results[0].dtype())) {
      (*wide)[value.value()] =
          IsFloat(results[0].dtype()) ? widened(results[0]) : results[0];
      return OkStatus();
    }
    std::vector<Literal> operands;
    for (const ValueId operand : graph.operands(node)) {
      operands.push_back(*(*wide)[operand.value()]);
    }
    if (info.op == Op::kNeg) {
      (*wide)[value.value()] = operands[0];
      return OkStatus();
    }
    const Op op = info.op == Op::kSub ? Op::kAdd : info.op;
    ENCORE_ASSIGN_OR_RETURN(const Attributes attributes,
                            AttributesAt(graph, node, results[0], operands));
    ENCORE_ASSIGN_OR_RETURN(std::vector<Literal> made,
                            EvaluateNode(op, attributes, operands));
    (*wide)[value.value()] = std::move(made[0]);
    return OkStatus();
  }

  // The attributes on the sizes at hand.
  static StatusOr<Attributes> AttributesAt(const Graph& graph, NodeId node,
                                           const Literal& result,
                                           std::span<const Literal> operands) {
    Attributes attributes = graph.attributes(node);
    if (auto* broadcast = attributes.GetIf<BroadcastAttrs>()) {
      broadcast->shape.assign(result.dims().begin(), result.dims().end());
    } else if (auto* reshape = attributes.GetIf<ReshapeAttrs>()) {
      reshape->shape.assign(result.dims().begin(), result.dims().end());
    } else if (auto* slice = attributes.GetIf<SliceAttrs>()) {
      for (int i = 0; i < result.rank(); ++i) {
        if (slice->limits[i].is_constant()) continue;
        slice->limits[i] = slice->starts[i] + result.dims()[i];
      }
    } else if (auto* gather = attributes.GetIf<GatherAttrs>()) {
      for (size_t i = 0; i < gather->slice_sizes.size(); ++i) {
        if (gather->slice_sizes[i].is_constant()) continue;
        gather->slice_sizes[i] = operands[0].dims()[i];
      }
    }
    return attributes;
  }

  const TextRule& rule_;
  std::mt19937_64 random_;
};

}  // namespace

StatusOr<RuleTrial> TryRule(const TextRule& rule, int wanted, int attempts,
                            uint64_t seed) {
  RuleTrial trial;
  std::mt19937_64 random(seed);
  for (int i = 0; i < attempts && trial.applications < wanted; ++i) {
    TextRule one = rule;
    if (!rule.range.empty()) {
      one.range = {rule.range[random() % rule.range.size()]};
    }
    const DType dtype = kDTypes[random() % std::size(kDTypes)];
    const bool symbolic = random() % 4 == 0;
    const uint64_t draw = random();
    const auto graph = Instantiate(one, dtype, symbolic, draw);
    if (!graph) continue;
    Trial attempt(one, draw);
    ENCORE_RETURN_IF_ERROR(attempt.Run(*graph, draw, &trial).status());
  }
  return trial;
}

}  // namespace encore::opt
