// Type inference: the types of a node's results from its operands and
// attributes.
//
// InferTypes checks everything that the op's row says (operand count, dtypes,
// attribute struct) and then asks the family in ops/, which checks shapes and
// attribute values. A graph is well-typed by construction: Graph::AddNode goes
// through here.
#ifndef ENCORE_IR_OPS_INFER_H_
#define ENCORE_IR_OPS_INFER_H_

#include <span>
#include <string>
#include <vector>

#include "encore/ir/ops/attributes.h"
#include "encore/ir/ops/op.h"
#include "encore/ir/support/status.h"
#include "encore/ir/types/dim.h"
#include "encore/ir/types/shape.h"

namespace encore {

// The signature of a node's body.
struct BodyTypes {
  std::vector<TensorType> inputs, outputs;
};

// Whether the type's elements, and their bytes where their number is known, can
// be counted in 63 bits.
bool Countable(const TensorType& type);

struct InferContext {
  Op op;
  const Attributes& attributes;
  std::span<const TensorType> operands;
  std::span<const BodyTypes> bodies;
  // The graph's symbols. Inference adds none: a result extent that depends on
  // values is an attribute, a symbol that the graph declares as at_run_time.
  std::span<const Symbol> symbols;
  // Where given, inference adds what must be positive for the node to make
  // sense and is not so under every value of the symbols.
  std::vector<Dim>* open = nullptr;

  // The attributes as the struct of the op's row.
  template <typename Attrs>
  const Attrs& attrs() const {
    return attributes.Get<Attrs>();
  }
  const TensorType& operand(int i) const { return operands[i]; }
  const Shape& shape(int i) const { return operands[i].shape; }
  DType dtype(int i) const { return operands[i].dtype; }

  // InvalidArgument: "mnemonic: message".
  Status Error(std::string_view message) const;
};

// The result types. InvalidArgument where operands, attributes or bodies do not
// fit; the message names the op, the operand or attribute, and what was
// expected.
StatusOr<std::vector<TensorType>> InferTypes(const InferContext& context);

// The attribute `dtype` where the op's struct has one.
std::optional<DType> DTypeAttribute(const Attributes& attributes);

}  // namespace encore

#endif  // ENCORE_IR_OPS_INFER_H_
