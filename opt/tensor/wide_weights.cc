#include "encore/opt/tensor/wide_weights.h"

#include <algorithm>
#include <string_view>
#include <type_traits>
#include <unordered_map>

#include "encore/ir/ops/attributes.h"
#include "encore/ir/ops/op.h"
#include "encore/ir/types/literal.h"
#include "encore/ir/types/shape.h"

namespace encore::opt {
namespace {

namespace eg = ::encore::egraph;

bool IsNarrowFloat(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16;
}

// Whether the op's result has the dtype of its operands, whatever that is, and
// may be wide.
bool FollowsDType(const OpInfo& info, const Attributes& attributes) {
  const Signature& signature = info.signature();
  bool says_values = false;
  VisitFields(
      attributes, [&]<typename T>(std::string_view, const T&, const T&) {
        says_values |= std::is_same_v<T, Literal> || std::is_same_v<T, DType>;
      });
  return !says_values && signature.results.size() == 1 &&
         signature.results[0].kind == TypeSlot::Kind::kT &&
         info.allows(kWideDType);
}

// Integers have it too, so that it is no function, which rounds as it can.
bool RoundsCorrectly(const OpInfo& info) {
  return info.has(kElementwise) && info.op != Op::kPow &&
         std::ranges::any_of(info.dtypes, IsInteger);
}

class Chooser {
 public:
  Chooser(const TensorEGraph& tensors, std::span<const ChosenNode> order)
      : tensors_(tensors), order_(order), nodes_(order.size()) {
    for (size_t i = 0; i < order.size(); ++i) {
      numbers_.emplace(order[i].c.value(), i);
      nodes_[i] = Read(order[i]);
    }
  }

  std::vector<ValueForms> Run(std::span<const eg::ClassId> outputs) && {
    std::vector<ValueForms> forms(order_.size());
    for (const eg::ClassId c : outputs) forms[NumberOf(c)].narrow = true;
    for (size_t i = order_.size(); i-- > 0;) {
      ValueForms& own = forms[i];
      const Node& node = nodes_[i];
      own.computed_wide =
          node.gains && (own.wide || (node.is_arithmetic && !node.is_exact));
      for (const eg::ClassId operand : tensors_.operands(order_[i].node)) {
        const size_t number = NumberOf(operand);
        const bool wide = own.computed_wide && IsNarrow(operand);
        (wide ? forms[number].wide : forms[number].narrow) = true;
      }
    }
    // What is computed narrow and read wide only is narrow first.
    for (ValueForms& own : forms) own.narrow |= !own.computed_wide;
    return forms;
  }

 private:
  struct Node {
    bool is_arithmetic = false;
    bool is_exact = false;  // the same, computed in its own dtype
    bool gains = false;     // the wide form knows more than a cast
  };

  size_t NumberOf(eg::ClassId c) const {
    return numbers_.at(tensors_.graph().Find(c).value());
  }
  bool IsNarrow(eg::ClassId c) const {
    const TensorType* const type = tensors_.type(c);
    return type != nullptr && IsNarrowFloat(type->dtype);
  }

  Node Read(const ChosenNode& chosen) const {
    const TensorOp& op = tensors_.op(chosen.node);
    if (chosen.is_own || op.kind != TensorOp::Kind::kOp ||
        !tensors_.fact(chosen.c).weight_only || !IsNarrow(chosen.c)) {
      return {};
    }
    const OpInfo& info = Info(op.op);
    if (!FollowsDType(info, tensors_.attributes(chosen.node))) return {};
    bool operands_gain = false;
    for (const eg::ClassId operand : tensors_.operands(chosen.node)) {
      operands_gain |= nodes_[NumberOf(operand)].gains;
    }
    const bool moves = info.has(kMovement);
    return {.is_arithmetic = !moves,
            .is_exact = RoundsCorrectly(info) && !operands_gain,
            .gains = !moves || operands_gain};
  }

  const TensorEGraph& tensors_;
  const std::span<const ChosenNode> order_;
  std::unordered_map<uint32_t, size_t> numbers_;  // of `order_`, by class
  std::vector<Node> nodes_;                       // as order_
};

}  // namespace

std::vector<ValueForms> ChooseForms(const TensorEGraph& tensors,
                                    std::span<const ChosenNode> order,
                                    std::span<const eg::ClassId> outputs) {
  return Chooser(tensors, order).Run(outputs);
}

}  // namespace encore::opt
