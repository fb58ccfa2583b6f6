// What a model declares of its values against what they are.
#ifndef ENCORE_IR_IMPORT_ONNX_SCOPE_DECLARED_H_
#define ENCORE_IR_IMPORT_ONNX_SCOPE_DECLARED_H_

#include <optional>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "encore/ir/import/onnx/format/model.h"
#include "encore/ir/import/onnx/format/schema.h"
#include "encore/ir/import/onnx/scope/element_shape.h"
#include "encore/ir/import/onnx/scope/scope.h"
#include "encore/ir/support/status.h"
#include "encore/ir/types/shape.h"

namespace encore::onnx {

// The kind of host object that a declared type means; nothing for those that
// Encore does not have, and for none.
std::optional<ValueKind> ValueKindOf(Type::Kind kind);

// The declared kind of a value and dtype of its tensors, as a scalar.
StatusOr<TensorType> TypeWithoutShape(const ValueInfo& info);

// The type of what a name is bound to.
TensorType TypeOfBound(const Bound& bound);

// The types that a graph declares for its values, by name. Of those that are no
// outputs only dtype and rank count: files often say of them what was true of
// other extents.
class Declared {
 public:
  // `graph` outlives this. `extents` says whether constant dims of outputs
  // count: they do not where the caller has bound symbols.
  Declared(const Graph& graph, bool extents);

  // InvalidArgument where the value of that name, in `scope`, is of another
  // kind or dtype than declared, or of another rank or extent: then it stops at
  // kShapeMismatch, because a branch that is not for the extents given is like
  // that.
  Status Check(std::string_view name, const TensorType& type,
               Scope& scope) const;

 private:
  struct Declaration {
    const Type* type;
    bool extents;
  };
  absl::flat_hash_map<std::string_view, Declaration> types_;
};

// The same for one declaration.
Status CheckDeclared(std::string_view name, const Type& declared,
                     const TensorType& type, bool extents, Scope& scope);

// What is declared of the tensors in a sequence or optional.
ElementShape DeclaredElements(const Type& type);

// `status`, which says that an output of the node is of another type than
// declared, with the attributes that the node has, or leaves to their defaults.
Status WithAttributes(const Schema& schema, const Node& node, Status status);

}  // namespace encore::onnx

#endif  // ENCORE_IR_IMPORT_ONNX_SCOPE_DECLARED_H_
