// Functions of rules look at tensors and attributes that need not belong
// together: a rule may give them any that it has.
#include "encore/opt/tensor/functions/attribute_functions.h"

#include <iterator>
#include <string_view>
#include <vector>

#include "encore/ir/ops/op.h"
#include "encore/opt/tensor/check/attribute_draws.h"
#include "encore/opt/tensor/check/choices.h"
#include "encore/opt/tensor/functions/attribute_function.h"
#include "gtest/gtest.h"

namespace encore::opt {
namespace {

constexpr int kCalls = 5000;

// What operators of the rules have, for a result of any shape.
Attributes RandomAttributes(AttributeDraws* draws, Choices* choices) {
  constexpr Op kOps[] = {Op::kTranspose,   Op::kReshape, Op::kBroadcast,
                         Op::kSlice,       Op::kConcat,  Op::kReduce,
                         Op::kDotGeneral,  Op::kGather,  Op::kPad,
                         Op::kConvolution, Op::kAdd,     Op::kDotGeneral};
  for (;;) {
    const auto draw =
        draws->New({.op = kOps[choices->Below(std::size(kOps))],
                    .operands = 2,
                    .shape = draws->RandomShape(choices->Below(5))});
    if (draw) return draw->attributes;
  }
}

// In the order of the parameters. What is wrong shows under sanitizers.
TEST(AttributeFunctionsTest, TakeWhatDoesNotBelongTogether) {
  int that_held = 0;  // for some arguments
  for (const AttributeFunction& function : AllAttributeFunctions()) {
    Choices choices(7);
    AttributeDraws draws(&choices, {});
    int held = 0;
    for (int i = 0; i < kCalls; ++i) {
      std::vector<TensorType> types(function.parameters.size());
      std::vector<Attributes> attributes(function.parameters.size());
      std::vector<FunctionArgument> arguments(function.parameters.size());
      for (size_t k = 0; k < arguments.size(); ++k) {
        types[k] = {DType::kF32, draws.RandomShape(choices.Below(5)),
                    ValueKind::kTensor};
        attributes[k] = RandomAttributes(&draws, &choices);
        arguments[k] = {.type = &types[k],
                        .attributes = &attributes[k],
                        .integer = choices.Below(5) - 1};
      }
      std::vector<Attributes> results(function.results);
      held += function.run({.arguments = arguments, .symbols = {}}, results);
    }
    that_held += held > 0;
  }
  EXPECT_GT(that_held, 20);
}

}  // namespace
}  // namespace encore::opt
