// Wide weights: which of the chosen nodes are computed in f64.
//
// What follows from weights only is computed once per load, so that its
// arithmetic may cost more: where rules made it, sums and products of narrower
// floats are taken in f64, and what a run reads of them is rounded once. The
// graph's own nodes keep their dtype, as its author meant them.
#ifndef ENCORE_OPT_TENSOR_WIDE_WEIGHTS_H_
#define ENCORE_OPT_TENSOR_WIDE_WEIGHTS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "encore/ir/types/dtype.h"
#include "encore/opt/egraph/core/ids.h"
#include "encore/opt/tensor/tensor_egraph.h"

namespace encore::opt {

inline constexpr DType kWideDType = DType::kF64;

// In which dtype weight-only arithmetic that rules made is done.
enum class WeightArithmetic : uint8_t { kOwnType, kWide };

// A class and the node that computes it.
struct ChosenNode {
  egraph::ClassId c;
  egraph::NodeId node;
  bool is_own = false;  // of the graph, not of a rule
};

// In which forms the value of a chosen node is needed, and in which it is
// computed: the other one is a cast of it.
struct ValueForms {
  bool narrow = false, wide = false;
  bool computed_wide = false;
};

// Of each of `order`, whose nodes stand behind their operands' and have
// canonical classes. `outputs`: classes that are read as they are. An operation
// that rounds correctly is computed in its dtype where its operands are not
// wide and nothing wide reads it: f64 has more than twice its digits, so that
// rounding twice gives the same. Linear.
std::vector<ValueForms> ChooseForms(const TensorEGraph& tensors,
                                    std::span<const ChosenNode> order,
                                    std::span<const egraph::ClassId> outputs);

}  // namespace encore::opt

#endif  // ENCORE_OPT_TENSOR_WIDE_WEIGHTS_H_
