#include "encore/opt/tensor/explain/check_step.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "encore/ir/eval/evaluator.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/text/printer.h"
#include "encore/ir/transform/decompose.h"
#include "encore/ir/types/literal.h"

namespace encore::opt {
namespace {

// How many levels below its variables a step is looked at.
constexpr int kDepths[] = {0, 1, 2, 4, 8};
// Symbols are at most so far above their lower bound.
constexpr int64_t kSmall = 7;

// Sizes that do not fit are drawn again so often.
constexpr int kDraws = 8;

class Arguments {
 public:
  Arguments(uint64_t seed, bool hostile) : random_(seed), hostile_(hostile) {}

  // Nothing where a shape has no such extents.
  std::optional<std::vector<Literal>> Draw(const Graph& graph) {
    std::vector<int64_t> symbols;
    for (const Symbol& symbol : graph.symbols()) {
      const int64_t room = std::min(symbol.upper - symbol.lower, kSmall);
      symbols.push_back(symbol.lower +
                        static_cast<int64_t>(random_() % (room + 1)));
    }
    std::vector<Literal> arguments;
    for (const Graph::Argument& argument : graph.arguments()) {
      const TensorType& type = graph.type(argument.value);
      const auto dims = type.shape.Evaluate(symbols);
      if (!dims) return std::nullopt;
      Literal literal(type.dtype, *dims);
      for (int64_t i = 0; i < literal.element_count(); ++i) {
        if (IsFloat(type.dtype)) {
          literal.SetDouble(i, Float(type.dtype));
        } else {
          literal.SetInt(i, Integer());
        }
      }
      arguments.push_back(std::move(literal));
    }
    return arguments;
  }

 private:
  double Float(DType dtype) {
    // With as many digits as there are, so that what rounds shows.
    const double moderate =
        std::ldexp(static_cast<double>(random_() >> 11), -51) - 2;
    if (!hostile_ || random_() % 4 != 0) return moderate;
    const double largest = dtype == DType::kF16 ? 65504 : 1e38;
    const double infinity = std::numeric_limits<double>::infinity();
    const double numbers[] = {0.0,       -0.0,    std::nan(""), infinity,
                              -infinity, largest, -largest,     1e-40};
    return numbers[random_() % std::size(numbers)];
  }

  int64_t Integer() {
    if (!hostile_ || random_() % 4 != 0) {
      return static_cast<int64_t>(random_() % 9) - 4;
    }
    const int64_t ends[] = {INT64_MIN,           INT64_MAX, int64_t{1} << 31,
                            -(int64_t{1} << 31), 127,       -128};
    return ends[random_() % std::size(ends)];
  }

  std::mt19937_64 random_;
  const bool hostile_;
};

bool SameNumber(const Literal& a, const Literal& b, int64_t i) {
  if (!IsFloat(a.dtype())) return a.AsInt(i) == b.AsInt(i);
  const double x = a.AsDouble(i), y = b.AsDouble(i);
  if (std::isnan(x) || std::isnan(y)) return std::isnan(x) && std::isnan(y);
  return SameBits(x, y);
}

// Half the distance from 1 to the next number of a float dtype.
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

// How many roundings a result of the graph may have gone through.
double Roundings(const Graph& graph, std::span<const Literal> arguments) {
  double roundings = 64;
  int64_t longest = 1;
  for (const Literal& argument : arguments) {
    for (const int64_t dim : argument.dims()) longest = std::max(longest, dim);
  }
  for (const NodeId node : Nodes(graph)) {
    const OpInfo& info = graph.info(node);
    const bool sums = info.has(kContraction) || info.has(kReduction);
    roundings += sums ? 4 * static_cast<double>(longest) : 16;
  }
  return roundings;
}

// What two results of rounding differently may be apart: relative to the
// largest number of either, as terms may cancel.
double BoundOf(const StepSides& sides, std::span<const Literal> arguments,
               const Literal& left, const Literal& right) {
  double largest = 1;
  for (int64_t i = 0; i < left.element_count(); ++i) {
    for (const double x : {left.AsDouble(i), right.AsDouble(i)}) {
      if (std::isfinite(x)) largest = std::max(largest, std::abs(x));
    }
  }
  return (Roundings(sides.left, arguments) +
          Roundings(sides.right, arguments)) *
         UnitRoundoff(left.dtype()) * largest;
}

Status Differs(const StepSides& sides, std::string_view how) {
  PrintOptions options;
  options.parameter_data = false;
  return DataLossError(StrCat(how, "; before:\n", Print(sides.left, options),
                              "after:\n", Print(sides.right, options)));
}

// Whether they could be compared.
StatusOr<bool> CompareOn(const StepSides& sides, bool exact,
                         std::span<const Literal> arguments) {
  const auto expected = Evaluate(sides.left, arguments);
  if (!expected.ok()) return false;
  const auto got = Evaluate(sides.right, arguments);
  if (!got.ok()) return Differs(sides, Message(got.status()));
  const Literal &left = expected->front(), &right = got->front();
  if (left.dtype() != right.dtype() ||
      !std::ranges::equal(left.dims(), right.dims())) {
    return Differs(sides, "the results have different types");
  }
  double bound = 0;
  if (!exact && IsFloat(left.dtype())) {
    bound = BoundOf(sides, arguments, left, right);
  }
  for (int64_t i = 0; i < left.element_count(); ++i) {
    if (SameNumber(left, right, i) ||
        std::abs(left.AsDouble(i) - right.AsDouble(i)) <= bound) {
      continue;
    }
    return Differs(sides,
                   StrCat("element ", i, " is ", right.AsDouble(i),
                          " after the step, ", left.AsDouble(i), " before it"));
  }
  return true;
}

}  // namespace

StatusOr<StepCheck> CompareSides(const StepSides& sides, RuleTag tag,
                                 uint64_t seed) {
  if (tag == RuleTag::kDefinition) {
    ENCORE_ASSIGN_OR_RETURN(Graph left, DecomposeAll(sides.left));
    ENCORE_ASSIGN_OR_RETURN(Graph right, DecomposeAll(sides.right));
    return CompareSides({std::move(left), std::move(right)}, RuleTag::kExact,
                        seed);
  }
  StepCheck check;
  for (const bool hostile : {false, true}) {
    if (hostile && tag != RuleTag::kExact) break;
    for (int draw = 0; draw < kDraws; ++draw) {
      const auto arguments = Arguments(seed + draw, hostile).Draw(sides.left);
      bool compared = false;
      if (arguments) {
        ENCORE_ASSIGN_OR_RETURN(
            compared, CompareOn(sides, tag == RuleTag::kExact, *arguments));
      }
      ++(compared ? check.compared : check.skipped);
      if (compared) break;
    }
  }
  return check;
}

StatusOr<StepCheck> CheckStep(const Extraction& extraction,
                              const egraph::Lemma& lemma, RuleTag tag,
                              uint64_t seed, egraph::Lemmas* lemmas) {
  Status first;
  for (const int depth : kDepths) {
    ENCORE_ASSIGN_OR_RETURN(
        const StepSides sides,
        SidesOf(extraction, lemma, lemmas, {.depth = depth, .extents = true}));
    StatusOr<StepCheck> check = CompareSides(sides, tag, seed);
    if (check.ok()) return check;
    if (first.ok()) first = check.status();
  }
  return first;
}

}  // namespace encore::opt
