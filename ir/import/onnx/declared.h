// What a model declares of its values against what they are.
#ifndef ENCORE_IR_IMPORT_ONNX_DECLARED_H_
#define ENCORE_IR_IMPORT_ONNX_DECLARED_H_

#include <map>
#include <optional>
#include <string_view>

#include "encore/ir/import/onnx/model.h"
#include "encore/ir/import/onnx/scope.h"
#include "encore/ir/shape.h"
#include "encore/ir/support/status.h"

namespace encore::onnx {

// The type of what a name is bound to.
TensorType TypeOfBound(const Bound& bound);

// The types that a model declares for its outputs, by name. What files say of
// values in between, and in bodies, is a hint and often stale.
class Declared {
 public:
  // `graph` outlives this. `extents` says whether constant dims count as well:
  // they do not where the caller has bound symbols, because files then say of
  // some values what was true of other extents.
  Declared(const Graph& graph, bool extents);

  // InvalidArgument where the value of that name is of another dtype, rank or
  // extent than declared.
  Status Check(std::string_view name, const TensorType& type) const;

 private:
  std::map<std::string_view, const Type*> types_;
  bool extents_;
};

// The same for one declaration.
Status CheckDeclared(std::string_view name, const Type& declared,
                     const TensorType& type, bool extents);

}  // namespace encore::onnx

#endif  // ENCORE_IR_IMPORT_ONNX_DECLARED_H_
