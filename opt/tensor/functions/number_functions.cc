#include "encore/opt/tensor/functions/number_functions.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>

#include "encore/ir/build/builder.h"
#include "encore/ir/graph/graph.h"
#include "encore/ir/ops/attributes.h"
#include "encore/ir/ops/op.h"
#include "encore/ir/types/dtype.h"
#include "encore/ir/types/float_formats.h"
#include "encore/ir/types/literal.h"
#include "encore/ir/types/shape.h"

namespace encore::opt {
namespace {

bool Integer(const FunctionCall& call, std::span<Attributes>) {
  return IsInteger(call.dtype(0));
}

// cast(cast(x) {a}) {b}, of x, a, b, that construction makes one cast or none.
bool IsOneCast(const FunctionCall& call, std::span<Attributes>) {
  if (call.attrs<CastAttrs>(1) == nullptr ||
      call.attrs<CastAttrs>(2) == nullptr) {
    return false;
  }
  GraphBuilder g("casts");
  const Value x = g.Input("x", {call.dtype(0), Shape(), ValueKind::kTensor});
  Value y = x;
  for (const int i : {1, 2}) {
    const auto results =
        g.Node(Op::kCast, {&y, 1}, *call.arguments[i].attributes);
    if (!g.status().ok()) return false;
    y = results[0];
  }
  const Graph& graph = g.graph();
  return y.id() == x.id() || graph.operand(graph.producer(y.id()), 0) == x.id();
}

bool Boolean(const FunctionCall& call, std::span<Attributes>) {
  return call.dtype(0) == DType::kBool;
}

// The float that each element is, which is one.
std::optional<double> FloatAt(const FunctionCall& call, int i) {
  const Literal* const splat = call.splat(i);
  if (splat == nullptr || !IsFloat(splat->dtype())) return std::nullopt;
  return splat->AsDouble(0);
}

bool Positive(const FunctionCall& call, std::span<Attributes>) {
  const auto number = FloatAt(call, 0);
  return number && *number > 0 && std::isfinite(*number);
}

// A comparison with it is true one way or the other, or both are equal.
bool Total(const FunctionCall& call, std::span<Attributes>) {
  if (IsInteger(call.dtype(0))) return true;
  const auto number = FloatAt(call, 0);
  return number && !std::isnan(*number);
}

bool AtLeast(const FunctionCall& call, std::span<Attributes>) {
  const Literal* const a = call.splat(0);
  const Literal* const b = call.splat(1);
  if (a == nullptr || b == nullptr || a->dtype() != b->dtype()) return false;
  if (IsFloat(a->dtype())) {
    const double x = a->AsDouble(0), y = b->AsDouble(0);
    return x > y || (x == y && std::signbit(x) == std::signbit(y));
  }
  return IsUnsigned(a->dtype()) ? static_cast<uint64_t>(a->AsInt(0)) >=
                                      static_cast<uint64_t>(b->AsInt(0))
                                : a->AsInt(0) >= b->AsInt(0);
}

// An integer in any dtype that has it.
bool NumberOf(const FunctionCall& call, std::span<Attributes> results) {
  if (call.dtype(0) == DType::kBool) return false;
  Literal scalar(call.dtype(0), {});
  if (IsFloat(scalar.dtype())) {
    scalar.SetDouble(0, static_cast<double>(call.integer(1)));
    if (scalar.AsDouble(0) != static_cast<double>(call.integer(1))) {
      return false;
    }
  } else {
    scalar.SetInt(0, call.integer(1));
    if (scalar.AsInt(0) != call.integer(1)) return false;
  }
  results[0] = ConstantAttrs{.value = scalar};
  return true;
}

// Neither overflows nor loses digits to underflow.
bool IsPlain(const Literal& number) {
  const double x = number.AsDouble(0);
  const double least = std::ldexp(1.0, 1 - FormatOf(number.dtype()).bias);
  return x == 0 || (std::isfinite(x) && std::abs(x) >= least);
}

// Of integers modulo 2^64, of which they keep their lower bits.
template <typename Combine>
bool Combined(const FunctionCall& call, std::span<Attributes> results,
              Combine combine) {
  const Literal* const a = call.splat(0);
  const Literal* const b = call.splat(1);
  if (a == nullptr || b == nullptr || a->dtype() != b->dtype()) return false;
  Literal both(a->dtype(), {});
  if (IsInteger(a->dtype())) {
    both.SetInt(
        0, static_cast<int64_t>(combine(static_cast<uint64_t>(a->AsInt(0)),
                                        static_cast<uint64_t>(b->AsInt(0)))));
  } else if (IsFloat(a->dtype()) && IsPlain(*a) && IsPlain(*b)) {
    both.SetDouble(0, combine(a->AsDouble(0), b->AsDouble(0)));
    if (!IsPlain(both)) return false;
  } else {
    return false;
  }
  results[0] = ConstantAttrs{.value = both};
  return true;
}

// A product that is 0 by rounding is another number.
bool ProductOfNumbers(const FunctionCall& call, std::span<Attributes> results) {
  if (!Combined(call, results, [](auto x, auto y) { return x * y; })) {
    return false;
  }
  return IsInteger(call.dtype(0)) ||
         results[0].Get<ConstantAttrs>().value.AsDouble(0) != 0;
}

bool SumOfNumbers(const FunctionCall& call, std::span<Attributes> results) {
  return Combined(call, results, [](auto x, auto y) { return x + y; });
}

bool ValueOf(const FunctionCall& call, std::span<Attributes> results) {
  const Literal* const splat = call.splat(0);
  if (splat == nullptr) return false;
  results[0] = ConstantAttrs{.value = *splat};
  return true;
}

template <Combiner kFrom, Combiner kTo>
bool CombinerFor(const FunctionCall& call, std::span<Attributes> results) {
  const auto* const r = call.attrs<ReduceAttrs>(0);
  if (r == nullptr || r->combiner != kFrom) return false;
  results[0] = ReduceAttrs{.combiner = kTo, .axes = r->axes};
  return true;
}

bool Greater(const FunctionCall& call, std::span<Attributes>) {
  const auto* const c = call.attrs<CompareAttrs>(0);
  return c != nullptr &&
         (c->direction == Comparison::kGt || c->direction == Comparison::kGe);
}

bool Less(const FunctionCall& call, std::span<Attributes>) {
  const auto* const c = call.attrs<CompareAttrs>(0);
  return c != nullptr &&
         (c->direction == Comparison::kLt || c->direction == Comparison::kLe);
}

// Of floats those that are false of NaN have no opposite.
bool OppositeComparison(const FunctionCall& call,
                        std::span<Attributes> results) {
  const auto* const c = call.attrs<CompareAttrs>(0);
  if (c == nullptr) return false;
  const bool of_equality =
      c->direction == Comparison::kEq || c->direction == Comparison::kNe;
  if (IsFloat(call.dtype(1)) && !of_equality) return false;
  switch (c->direction) {
    case Comparison::kEq:
      results[0] = CompareAttrs{.direction = Comparison::kNe};
      return true;
    case Comparison::kNe:
      results[0] = CompareAttrs{.direction = Comparison::kEq};
      return true;
    case Comparison::kLt:
      results[0] = CompareAttrs{.direction = Comparison::kGe};
      return true;
    case Comparison::kLe:
      results[0] = CompareAttrs{.direction = Comparison::kGt};
      return true;
    case Comparison::kGt:
      results[0] = CompareAttrs{.direction = Comparison::kLe};
      return true;
    case Comparison::kGe:
      results[0] = CompareAttrs{.direction = Comparison::kLt};
      return true;
  }
  return false;
}

constexpr AttributeFunction kFunctions[] = {
    {"integer", "t", 0, "The elements are integers.", Integer},
    {"one_cast", "taa", 0,
     "Of a tensor and two casts: the first keeps every value.", IsOneCast},
    {"boolean", "t", 0, "The elements are booleans.", Boolean},
    {"positive", "t", 0, "Each element is one finite float above 0.", Positive},
    {"total", "t", 0, "The elements are integers, or one float, no NaN.",
     Total},
    {"at_least", "tt", 0,
     "Each element of both is one number, the first not below the second.",
     AtLeast},
    {"number_of", "ti", 1, "A constant scalar: that number in its dtype.",
     NumberOf},
    {"product_of_numbers", "tt", 1,
     "A constant scalar: the product of two numbers, each all elements of one "
     "tensor.",
     ProductOfNumbers},
    {"sum_of_numbers", "tt", 1, "… their sum.", SumOfNumbers},
    {"value_of", "t", 1, "A constant scalar: the number that each element is.",
     ValueOf},
    {"minimum_for_maximum", "a", 1, "Of a maximum: the minimum likewise.",
     CombinerFor<Combiner::kMax, Combiner::kMin>},
    {"maximum_for_minimum", "a", 1, "Of a minimum: the maximum likewise.",
     CombinerFor<Combiner::kMin, Combiner::kMax>},
    {"greater", "a", 0, "The comparison is gt or ge.", Greater},
    {"less", "a", 0, "The comparison is lt or le.", Less},
    {"opposite_comparison", "at", 1,
     "The comparison of such elements that holds where this one does not.",
     OppositeComparison},
};

}  // namespace

std::span<const AttributeFunction> NumberFunctions() { return kFunctions; }

}  // namespace encore::opt
