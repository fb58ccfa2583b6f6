#include "encore/opt/tensor/check/compare_sides.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <utility>

#include "encore/ir/eval/evaluator.h"
#include "encore/ir/ops/attributes.h"
#include "encore/ir/support/check.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/transform/decompose.h"
#include "encore/ir/types/float_formats.h"
#include "encore/opt/tensor/check/forward_error.h"
#include "encore/opt/tensor/check/instantiate.h"

namespace encore::opt {
namespace {

// The bounds are computed in f64 too: what that may leave out.
constexpr double kSlack = 1 + 1e-6;
// Symbols get at most so much more than their least value.
constexpr int64_t kSymbolRoom = 7;

bool IsExact(RuleTag tag) {
  return tag == RuleTag::kExact || tag == RuleTag::kDefinition;
}

bool SameNumber(const Literal& a, const Literal& b, int64_t i) {
  if (!IsFloat(a.dtype())) return a.AsInt(i) == b.AsInt(i);
  const double x = a.AsDouble(i), y = b.AsDouble(i);
  if (std::isnan(x) || std::isnan(y)) return std::isnan(x) && std::isnan(y);
  return SameBits(x, y);
}

// Simplest first. Of those that f16 has, so that all floats have them.
std::vector<double> ModerateFloats(DType dtype) {
  std::vector<double> numbers = {0};
  for (const int step : {8, 4, 2, 1}) {
    for (int i = step; i <= 16; i += step) {
      for (const double number : {i / 8.0, -i / 8.0}) {
        if (std::ranges::find(numbers, number) != numbers.end()) continue;
        numbers.push_back(number);
      }
    }
  }
  const FloatFormat& format = FormatOf(dtype);
  const double subnormal =
      std::ldexp(1.0, 1 - format.bias - format.mantissa_bits) * 3;
  numbers.insert(numbers.end(), {-0.0, -0.0, subnormal, -subnormal});
  return numbers;
}

// What only exact rules are to get right stands there more often.
std::vector<double> HostileFloats(DType dtype, bool exact) {
  std::vector<double> numbers = ModerateFloats(dtype);
  const double infinity = std::numeric_limits<double>::infinity();
  for (int i = 0; i < (exact ? 3 : 1); ++i) {
    numbers.insert(numbers.end(), {infinity, -infinity,
                                   std::numeric_limits<double>::quiet_NaN()});
    if (!exact) continue;
    const double largest = LargestFinite(dtype);
    numbers.insert(numbers.end(),
                   {-0.0, 1.0 / 3, -0.7, 0.1, largest, -largest});
  }
  return numbers;
}

constexpr int64_t kIntegers[] = {0,
                                 1,
                                 -1,
                                 2,
                                 -2,
                                 3,
                                 -3,
                                 4,
                                 -4,
                                 0,
                                 1,
                                 2,
                                 3,
                                 -1,
                                 -2,
                                 1,
                                 INT64_MIN,
                                 INT64_MAX,
                                 int64_t{1} << 31,
                                 -(int64_t{1} << 31),
                                 INT32_MAX,
                                 127,
                                 -128,
                                 255};

Literal DrawLiteral(DType dtype, std::vector<int64_t> dims,
                    std::span<const double> floats, Choices* choices) {
  Literal data(dtype, std::move(dims));
  for (int64_t i = 0; i < data.element_count(); ++i) {
    if (IsFloat(dtype)) {
      const auto size = static_cast<int64_t>(floats.size());
      data.SetDouble(i, floats[choices->Below(size)]);
    } else {
      data.SetInt(i, kIntegers[choices->Below(std::size(kIntegers))]);
    }
  }
  return data;
}

bool HasEmpty(const Graph& graph) {
  for (uint32_t v = 0; v < graph.value_count(); ++v) {
    const auto& dims = graph.shape(ValueId(v)).dims();
    if (std::ranges::find(dims, Dim(0)) != dims.end()) return true;
  }
  return false;
}

std::string Element(const Literal& literal, int64_t i) {
  if (IsFloat(literal.dtype())) return StrCat(literal.AsDouble(i));
  return StrCat(literal.AsInt(i));
}

std::string Difference(size_t output, int64_t i, const Literal& expected,
                       const Literal& got, double bound) {
  std::string text =
      StrCat("element ", i, " of output ", output, " is ", Element(got, i),
             ", expected ", Element(expected, i));
  if (bound > 0 && std::isfinite(bound)) {
    StrAppend(&text, " give or take ", bound);
  }
  return text;
}

Status SameTypes(size_t output, const Literal& a, const Literal& b) {
  if (a.dtype() == b.dtype() && a.dims() == b.dims()) return OkStatus();
  return InternalError(StrCat("output ", output, " has another type"));
}

StatusOr<SidesCompared> CompareExactly(const Graph& before, const Graph& after,
                                       const std::vector<Literal>& arguments) {
  ENCORE_ASSIGN_OR_RETURN(const std::vector<Literal> expected,
                          Evaluate(before, arguments));
  const auto got = Evaluate(after, arguments);
  if (!got.ok()) return SidesCompared{.difference = Message(got.status())};
  for (size_t k = 0; k < expected.size(); ++k) {
    ENCORE_RETURN_IF_ERROR(SameTypes(k, expected[k], (*got)[k]));
    for (int64_t i = 0; i < expected[k].element_count(); ++i) {
      if (SameNumber(expected[k], (*got)[k], i)) continue;
      return SidesCompared{.difference =
                               Difference(k, i, expected[k], (*got)[k], 0)};
    }
  }
  return SidesCompared{.difference = "", .compared = true};
}

// Of one output, whose elements are rounded; `strict`: what is finite before is
// after too, and what has a bound after is finite before.
void CompareBounded(size_t k, const BoundedValue& expected,
                    const BoundedValue& got, bool strict,
                    SidesCompared* compared) {
  const Literal& a = expected.value;
  const Literal& b = got.value;
  for (int64_t i = 0; i < a.element_count(); ++i) {
    const double bound = (expected.error[i] + got.error[i]) * kSlack;
    bool right = true;
    if (!std::isinf(bound)) {
      compared->compared = true;
      right = SameNumber(a, b, i) ||
              (IsFloat(a.dtype()) &&
               std::abs(a.AsDouble(i) - b.AsDouble(i)) <= bound);
    } else if (strict && IsFloat(a.dtype())) {
      const bool before = std::isfinite(a.AsDouble(i));
      const bool after = std::isfinite(b.AsDouble(i));
      right = (!before || after) && (before || std::isinf(got.error[i]));
    }
    if (right) continue;
    compared->difference = Difference(k, i, a, b, bound);
    return;
  }
  compared->compared |= a.element_count() == 0;
}

// Whether a choice says that there are NaN and infinities.
bool Hostile(const Graph& graph, RuleTag tag) {
  return tag == RuleTag::kReassociating && !HasEmpty(graph);
}

// `begins`, which may be null, is told where the choices of each argument are.
std::vector<Literal> Draw(const Graph& graph, RuleTag tag, Choices* choices,
                          std::vector<size_t>* begins) {
  std::vector<int64_t> symbols;
  for (const Symbol& symbol : graph.symbols()) {
    const int64_t room = std::min(symbol.upper - symbol.lower, kSymbolRoom);
    symbols.push_back(symbol.lower + choices->Below(room + 1));
  }
  const bool hostile =
      IsExact(tag) || (Hostile(graph, tag) && choices->Chance(40));
  std::vector<Literal> arguments;
  for (const Graph::Argument& argument : graph.arguments()) {
    if (begins != nullptr) begins->push_back(choices->made().size());
    const TensorType& type = graph.type(argument.value);
    auto dims = type.shape.Evaluate(symbols);
    ENCORE_CHECK(dims.has_value()) << type.ToString(graph.symbols());
    if (argument.name == kExtentsArgument) {
      arguments.emplace_back(type.dtype, *std::move(dims));
      continue;
    }
    std::vector<double> floats;
    if (IsFloat(type.dtype)) {
      floats = hostile ? HostileFloats(type.dtype, IsExact(tag))
                       : ModerateFloats(type.dtype);
    }
    arguments.push_back(
        DrawLiteral(type.dtype, *std::move(dims), floats, choices));
  }
  return arguments;
}

}  // namespace

std::vector<Literal> DrawArguments(const Graph& graph, RuleTag tag,
                                   Choices* choices) {
  return Draw(graph, tag, choices, nullptr);
}

std::vector<int64_t> SplatChoices(const Graph& like,
                                  std::vector<int64_t> choices, RuleTag tag,
                                  const Graph& graph) {
  Choices replay(std::move(choices));
  std::vector<size_t> begins;
  Draw(like, tag, &replay, &begins);
  const std::vector<int64_t>& made = replay.made();
  std::map<std::string, int64_t> worst;
  for (size_t k = 0; k < like.arguments().size(); ++k) {
    const size_t end = k + 1 < begins.size() ? begins[k + 1] : made.size();
    int64_t& choice = worst[like.arguments()[k].name];
    for (size_t i = begins[k]; i < end; ++i) choice = std::max(choice, made[i]);
  }
  // What comes before the numbers: sizes, and which numbers there are.
  std::vector<int64_t> splat;
  if (Hostile(graph, tag)) {
    splat.assign(graph.symbols().size() + 1, 0);
    if (Hostile(like, tag)) splat.back() = made[like.symbols().size()];
  } else {
    splat.assign(graph.symbols().size(), 0);
  }
  Choices probe(splat);
  begins.clear();
  Draw(graph, tag, &probe, &begins);
  splat.resize(probe.made().size());
  for (size_t k = 0; k < begins.size(); ++k) {
    const size_t end = k + 1 < begins.size() ? begins[k + 1] : splat.size();
    std::fill(splat.begin() + static_cast<ptrdiff_t>(begins[k]),
              splat.begin() + static_cast<ptrdiff_t>(end),
              worst[graph.arguments()[k].name]);
  }
  return splat;
}

StatusOr<SidesCompared> CompareSides(const Graph& before, const Graph& after,
                                     RuleTag tag,
                                     const std::vector<Literal>& arguments) {
  if (tag == RuleTag::kDefinition) {
    ENCORE_ASSIGN_OR_RETURN(const Graph primitives, DecomposeAll(before));
    const auto others = DecomposeAll(after);
    if (!others.ok())
      return SidesCompared{.difference = Message(others.status())};
    return CompareExactly(primitives, *others, arguments);
  }
  if (IsExact(tag)) return CompareExactly(before, after, arguments);
  ENCORE_ASSIGN_OR_RETURN(const auto expected,
                          EvaluateWithBounds(before, arguments));
  const auto got = EvaluateWithBounds(after, arguments);
  if (!got.ok()) return SidesCompared{.difference = Message(got.status())};
  const bool strict = Hostile(before, tag);
  SidesCompared compared;
  for (size_t k = 0; k < expected.size(); ++k) {
    ENCORE_RETURN_IF_ERROR(SameTypes(k, expected[k].value, (*got)[k].value));
    CompareBounded(k, expected[k], (*got)[k], strict, &compared);
    if (!compared.difference.empty()) break;
  }
  return compared;
}

}  // namespace encore::opt
