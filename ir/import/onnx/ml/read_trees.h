// The attributes of the operators on trees as a TreeEnsemble.
//
// Everything is held against everything else: lengths of lists, ids that are
// there twice or not at all, modes, targets. InvalidArgument names the
// attribute at fault.
#ifndef ENCORE_IR_IMPORT_ONNX_ML_READ_TREES_H_
#define ENCORE_IR_IMPORT_ONNX_ML_READ_TREES_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "encore/ir/import/onnx/ml/tree_ensemble.h"
#include "encore/ir/import/onnx/scope/context.h"
#include "encore/ir/support/status.h"

namespace encore::onnx {

// A list of floats, or what its `_as_tensor` attribute has in their place.
struct TreeNumbers {
  std::vector<double> values;
  bool wide = false;  // doubles
};
StatusOr<TreeNumbers> ReadTreeNumbers(NodeContext& context,
                                      const std::string& name);

// Of TreeEnsembleClassifier and TreeEnsembleRegressor, whose votes have
// `prefix` ("class" or "target") before the names of their attributes.
// `targets` is how many scores there are; negative: as many as the votes name.
StatusOr<TreeEnsemble> ReadTrees(NodeContext& context,
                                 const std::string& prefix, int64_t targets);

// Of TreeEnsemble, whose features and weights are of `dtype`.
StatusOr<TreeEnsemble> ReadTreeEnsemble(NodeContext& context, DType dtype);

}  // namespace encore::onnx

#endif  // ENCORE_IR_IMPORT_ONNX_ML_READ_TREES_H_
