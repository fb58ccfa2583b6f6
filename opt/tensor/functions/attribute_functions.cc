#include "encore/opt/tensor/functions/attribute_functions.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>

#include "encore/ir/types/dtype.h"
#include "encore/ir/types/float_formats.h"
#include "encore/opt/tensor/composites/composite_functions.h"
#include "encore/opt/tensor/functions/convolution_functions.h"
#include "encore/opt/tensor/functions/convolution_part_functions.h"
#include "encore/opt/tensor/functions/gather_functions.h"
#include "encore/opt/tensor/functions/movement_functions.h"
#include "encore/opt/tensor/functions/number_functions.h"
#include "encore/opt/tensor/functions/pad_functions.h"
#include "encore/opt/tensor/functions/prefix_functions.h"
#include "encore/opt/tensor/functions/product_functions.h"
#include "encore/opt/tensor/functions/product_part_functions.h"
#include "encore/opt/tensor/functions/reduction_functions.h"
#include "encore/opt/tensor/functions/repeat_functions.h"
#include "encore/opt/tensor/functions/reshape_functions.h"

namespace encore::opt {
namespace {

bool Float(const FunctionCall& call, std::span<Attributes>) {
  return IsFloat(call.dtype(0));
}

bool Number(const FunctionCall& call, std::span<Attributes>) {
  return call.dtype(0) != DType::kBool;
}

bool Signed(const FunctionCall& call, std::span<Attributes>) {
  return IsFloat(call.dtype(0)) || IsSigned(call.dtype(0));
}

bool SameDType(const FunctionCall& call, std::span<Attributes>) {
  return call.dtype(0) == call.dtype(1);
}

bool SameShape(const FunctionCall& call, std::span<Attributes>) {
  return call.shape(0) == call.shape(1);
}

bool SameBut(const FunctionCall& call, std::span<Attributes>) {
  const Shape& x = call.shape(0);
  const Shape& y = call.shape(1);
  if (x.rank() != y.rank()) return false;
  for (int i = 0; i < x.rank(); ++i) {
    if (i != call.integer(2) && !(x[i] == y[i])) return false;
  }
  return true;
}

bool SameExtent(const FunctionCall& call, std::span<Attributes>) {
  const Shape& x = call.shape(0);
  const Shape& y = call.shape(1);
  const auto axis = static_cast<int>(call.integer(2));
  return axis >= 0 && axis < std::min(x.rank(), y.rank()) && x[axis] == y[axis];
}

bool Scalar(const FunctionCall& call, std::span<Attributes>) {
  return call.shape(0).rank() == 0;
}

// Minus zero is no zero. What a float has no digits for is the nearest.
bool IsNumber(const FunctionCall& call, std::span<Attributes>) {
  const Literal* const splat = call.splat(0);
  if (splat == nullptr) return false;
  const double number = call.number(1);
  if (!IsFloat(splat->dtype())) {
    return static_cast<double>(splat->AsInt(0)) == number;
  }
  Literal nearest(splat->dtype(), {});
  nearest.SetDouble(0, number);
  return SameBits(splat->AsDouble(0), nearest.AsDouble(0));
}

// Of max and min the order does not matter, to the bit.
bool IsSelection(const FunctionCall& call, std::span<Attributes>) {
  const ReduceAttrs* const reduce = call.attrs<ReduceAttrs>(0);
  return reduce != nullptr && (reduce->combiner == Combiner::kMax ||
                               reduce->combiner == Combiner::kMin);
}

template <Combiner kCombiner>
bool IsReduction(const FunctionCall& call, std::span<Attributes>) {
  const ReduceAttrs* const reduce = call.attrs<ReduceAttrs>(0);
  return reduce != nullptr && reduce->combiner == kCombiner;
}

bool Zero(const FunctionCall& call, std::span<Attributes> results) {
  results[0] = ConstantAttrs{.value = Literal(call.dtype(0), {})};
  return true;
}

bool FloatOf(const FunctionCall& call, std::span<Attributes> results) {
  Literal scalar(call.dtype(0), {});
  if (!IsFloat(scalar.dtype()) || BitWidth(scalar.dtype()) < 32) return false;
  scalar.SetDouble(0, call.number(1));
  results[0] = ConstantAttrs{.value = scalar};
  return true;
}

// Of a number that has all its digits, as has the number itself.
bool Reciprocal(const FunctionCall& call, std::span<Attributes> results) {
  const Literal* const splat = call.splat(0);
  if (splat == nullptr || !IsFloat(splat->dtype())) return false;
  const double number = splat->AsDouble(0);
  Literal reciprocal(splat->dtype(), {});
  reciprocal.SetDouble(0, 1 / number);
  const double least = std::ldexp(1.0, 1 - FormatOf(splat->dtype()).bias);
  for (const double x : {number, reciprocal.AsDouble(0)}) {
    if (!std::isfinite(x) || std::abs(x) < least) return false;
  }
  results[0] = ConstantAttrs{.value = reciprocal};
  return true;
}

constexpr AttributeFunction kFunctions[] = {
    {"float", "t", 0, "The elements are floats.", Float},
    {"number", "t", 0, "The elements are no booleans.", Number},
    {"signed", "t", 0, "The elements have signs.", Signed},
    {"same_dtype", "tt", 0, "The dtypes are equal.", SameDType},
    {"same_shape", "tt", 0, "The shapes are equal.", SameShape},
    {"same_but", "tti", 0, "The shapes are equal, but for that dim.", SameBut},
    {"same_extent", "tti", 0, "The extents of that dim are equal.", SameExtent},
    {"scalar", "t", 0, "It has no dims.", Scalar},
    {"is", "tn", 0, "Each element is that number, of zeros 0.", IsNumber},
    {"sum", "a", 0, "The reduction is a sum.", IsReduction<Combiner::kSum>},
    {"maximum", "a", 0, "The reduction is max.", IsReduction<Combiner::kMax>},
    {"minimum", "a", 0, "The reduction is min.", IsReduction<Combiner::kMin>},
    {"float_of", "tn", 1,
     "A constant scalar: that number as a float of its dtype, of at least 32 "
     "bits.",
     FloatOf},
    {"reciprocal", "t", 1, "1 over the number that each element is, a float.",
     Reciprocal},
    {"zero", "t", 1, "A constant scalar of its dtype.", Zero},
    {"selection", "a", 0, "The reduction is max or min.", IsSelection},
};

}  // namespace

std::vector<AttributeFunction> AllAttributeFunctions() {
  std::vector<AttributeFunction> all(std::begin(kFunctions),
                                     std::end(kFunctions));
  for (const auto list :
       {MovementFunctions(), ProductFunctions(), ProductPartFunctions(),
        ConvolutionFunctions(), ReductionFunctions(), CompositeFunctions(),
        NumberFunctions(), PrefixFunctions(), PadFunctions(),
        ReshapeFunctions(), RepeatFunctions(), GatherFunctions(),
        ConvolutionPartFunctions()}) {
    all.insert(all.end(), list.begin(), list.end());
  }
  return all;
}

const AttributeFunction* FindAttributeFunction(std::string_view name) {
  static const auto* const all =
      new std::vector<AttributeFunction>(AllAttributeFunctions());
  const auto it = std::ranges::find(*all, name, &AttributeFunction::name);
  return it == all->end() ? nullptr : &*it;
}

}  // namespace encore::opt
