// The derivative of each primitive; grad.h is what others use.
#ifndef ENCORE_IR_TRANSFORM_GRAD_RULES_H_
#define ENCORE_IR_TRANSFORM_GRAD_RULES_H_

#include <optional>
#include <span>
#include <vector>

#include "encore/ir/build/builder.h"
#include "encore/ir/ops/attributes.h"
#include "encore/ir/ops/op.h"

namespace encore {

// A node y = op(x...) and the derivative of a sum by y.
struct GradNode {
  Op op;
  Attributes attributes;
  std::vector<Value> x;
  Value y, dy;

  template <typename Attrs>
  const Attrs& attrs() const {
    return attributes.Get<Attrs>();
  }
};

// The derivatives of that sum by each operand; invalid where it is 0. Nothing
// where the op has no rule.
std::optional<std::vector<Value>> GradElementwise(GraphBuilder& g,
                                                  const GradNode& node);
std::optional<std::vector<Value>> GradMovement(GraphBuilder& g,
                                               const GradNode& node);
std::optional<std::vector<Value>> GradContraction(GraphBuilder& g,
                                                  const GradNode& node);

}  // namespace encore

#endif  // ENCORE_IR_TRANSFORM_GRAD_RULES_H_
