#include "encore/opt/tensor/attribute_functions.h"

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "encore/ir/types/dtype.h"
#include "encore/opt/tensor/convolution_functions.h"
#include "encore/opt/tensor/movement_functions.h"
#include "encore/opt/tensor/product_functions.h"
#include "encore/opt/tensor/product_part_functions.h"

namespace encore::opt {
namespace {

bool Float(const FunctionCall& call, std::span<Attributes>) {
  return IsFloat(call.dtype(0));
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

bool Scalar(const FunctionCall& call, std::span<Attributes>) {
  return call.shape(0).rank() == 0;
}

// Minus zero is no zero.
bool IsNumber(const FunctionCall& call, std::span<Attributes>) {
  const Literal* const splat = call.splat(0);
  if (splat == nullptr) return false;
  return IsFloat(splat->dtype())
             ? SameBits(splat->AsDouble(0),
                        static_cast<double>(call.integer(1)))
             : splat->AsInt(0) == call.integer(1);
}

bool IsSum(const FunctionCall& call, std::span<Attributes>) {
  const ReduceAttrs* const reduce = call.attrs<ReduceAttrs>(0);
  return reduce != nullptr && reduce->combiner == Combiner::kSum;
}

// Of max and min the order does not matter, to the bit.
bool IsSelection(const FunctionCall& call, std::span<Attributes>) {
  const ReduceAttrs* const reduce = call.attrs<ReduceAttrs>(0);
  return reduce != nullptr && (reduce->combiner == Combiner::kMax ||
                               reduce->combiner == Combiner::kMin);
}

bool Zero(const FunctionCall& call, std::span<Attributes> results) {
  results[0] = ConstantAttrs{.value = Literal(call.dtype(0), {})};
  return true;
}

constexpr AttributeFunction kFunctions[] = {
    {"float", "t", 0, "The elements are floats.", Float},
    {"signed", "t", 0, "The elements have signs.", Signed},
    {"same_dtype", "tt", 0, "The dtypes are equal.", SameDType},
    {"same_shape", "tt", 0, "The shapes are equal.", SameShape},
    {"same_but", "tti", 0, "The shapes are equal, but for that dim.", SameBut},
    {"scalar", "t", 0, "It has no dims.", Scalar},
    {"is", "ti", 0, "Each element is that integer, of zeros 0.", IsNumber},
    {"sum", "a", 0, "The reduction is a sum.", IsSum},
    {"zero", "t", 1, "A constant scalar of its dtype.", Zero},
    {"selection", "a", 0, "The reduction is max or min.", IsSelection},
};

}  // namespace

std::vector<AttributeFunction> AllAttributeFunctions() {
  std::vector<AttributeFunction> all(std::begin(kFunctions),
                                     std::end(kFunctions));
  for (const auto list : {MovementFunctions(), ProductFunctions(),
                          ProductPartFunctions(), ConvolutionFunctions()}) {
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
