// AttributeFunction: what rules (opt/rules) say of attributes and types by
// name. A function looks at the types of its tensors, at attributes and at
// integers, and gives attributes, or says that its condition does not hold,
// where the rule then does not fire. What it says holds for all values of the
// symbols, or it does not hold.
#ifndef ENCORE_OPT_TENSOR_FUNCTIONS_ATTRIBUTE_FUNCTION_H_
#define ENCORE_OPT_TENSOR_FUNCTIONS_ATTRIBUTE_FUNCTION_H_

#include <cstdint>
#include <span>
#include <string_view>

#include "encore/ir/ops/attributes.h"
#include "encore/ir/types/literal.h"
#include "encore/ir/types/shape.h"

namespace encore::opt {

// An argument of a function; which field there is its parameter says.
struct FunctionArgument {
  const TensorType* type = nullptr;        // of a tensor
  const Literal* splat = nullptr;          // of a tensor; may be null
  const Attributes* attributes = nullptr;  // of attributes
  int64_t integer = 0;
  double number = 0;
};

struct FunctionCall {
  std::span<const FunctionArgument> arguments;
  std::span<const Symbol> symbols;

  const Shape& shape(int i) const { return arguments[i].type->shape; }
  DType dtype(int i) const { return arguments[i].type->dtype; }
  int64_t integer(int i) const { return arguments[i].integer; }
  double number(int i) const { return arguments[i].number; }
  const Literal* splat(int i) const { return arguments[i].splat; }
  // Null where they are of another struct, which is the rule's way of asking.
  template <typename Attrs>
  const Attrs* attrs(int i) const {
    return arguments[i].attributes->GetIf<Attrs>();
  }
};

struct AttributeFunction {
  std::string_view name;
  // Of each parameter: t a tensor, a attributes, i an integer, n a number.
  std::string_view parameters;
  int results;  // attributes that it gives; 0: a condition
  // One line: what it gives, or when it holds.
  std::string_view summary;
  // Whether it holds; sets that many results. REQUIRES arguments as the
  // parameters say.
  bool (*run)(const FunctionCall& call, std::span<Attributes> results);
};

}  // namespace encore::opt

#endif  // ENCORE_OPT_TENSOR_FUNCTIONS_ATTRIBUTE_FUNCTION_H_
