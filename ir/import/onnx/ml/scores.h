// What the classifiers and regressors of ai.onnx.ml share: rows of features,
// scores and what is made of them, labels.
//
// The standard names the transforms of scores without formulas, and does not
// say what the score of a first class is where a model computes one score for
// two classes; both are as in ONNX Runtime.
#ifndef ENCORE_IR_IMPORT_ONNX_ML_SCORES_H_
#define ENCORE_IR_IMPORT_ONNX_ML_SCORES_H_

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "encore/ir/build/builder.h"
#include "encore/ir/import/onnx/scope/context.h"
#include "encore/ir/support/status.h"
#include "encore/ir/types/literal.h"

namespace encore::onnx {

// As TreeEnsemble numbers them.
enum class PostTransform : uint8_t {
  kNone,
  kSoftmax,
  kLogistic,
  kSoftmaxZero,  // a softmax in which scores of 0 stay close to it
  kProbit        // the inverse of the normal distribution function
};

// The attribute post_transform, a string.
StatusOr<PostTransform> ReadPostTransform(NodeContext& context);

// Input 0, [N, F] or [F], as [N, F] of `dtype`. InvalidArgument where F is
// known to be another number than `features`, which the error says is that of
// `what`; where it is not known, the run checks it.
StatusOr<Value> Rows(NodeContext& context, DType dtype,
                     std::optional<int64_t> features = std::nullopt,
                     std::string_view what = {});

// Scores [N, E] transformed, row by row.
Value Transformed(NodeContext& context, Value scores, PostTransform transform);

// Transformed scores [N, 2] of two classes of which `score`, [N, 1], is the
// second's; the first's is 1 - score with `complement`, else -score.
Value BothClasses(NodeContext& context, Value score, bool complement,
                  PostTransform transform);

// The labels that one of the two attributes lists, as a vector of i64 or
// strings. InvalidArgument where none does, or both do.
StatusOr<Literal> ReadLabels(NodeContext& context, std::string_view ints,
                             std::string_view strings);

// The column of the largest score in each row, the first of equal ones: i64[N].
Value TopClass(GraphBuilder& g, Value scores);

// The label of each number, which is within them.
Value LabelsAt(GraphBuilder& g, const Literal& labels, Value numbers);

// InvalidArgument where the list attribute `what` has another length than
// `expected`, which is that of `as`.
Status CheckLength(std::string_view what, size_t length, size_t expected,
                   std::string_view as);

// A matrix, row-major, as a constant.
Value Matrix(GraphBuilder& g, int64_t rows, int64_t columns,
             const std::vector<float>& values);

}  // namespace encore::onnx

#endif  // ENCORE_IR_IMPORT_ONNX_ML_SCORES_H_
