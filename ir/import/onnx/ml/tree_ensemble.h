// Trees of decisions, as the three operators on them mean them, and what they
// say of rows of features.
//
// A node compares one feature with one value; where it goes next depends on
// whether the feature is below, equal, above or a NaN. All comparisons of the
// standard are of that form, and a test for membership in a set is a balanced
// search tree of such nodes. Subtrees may be shared.
#ifndef ENCORE_IR_IMPORT_ONNX_ML_TREE_ENSEMBLE_H_
#define ENCORE_IR_IMPORT_ONNX_ML_TREE_ENSEMBLE_H_

#include <array>
#include <cstdint>
#include <vector>

#include "encore/ir/build/builder.h"
#include "encore/ir/import/onnx/scope/context.h"
#include "encore/ir/support/status.h"
#include "encore/ir/types/dtype.h"

namespace encore::onnx {

// A node where it is not negative, else leaf -1 - ref.
using TreeRef = int64_t;
constexpr TreeRef LeafRef(int64_t leaf) { return -1 - leaf; }

struct TreeNode {
  // How the feature stands to the value.
  enum Outcome { kBelow, kEqual, kAbove, kNan, kOutcomes };
  int64_t feature = 0;
  double value = 0;
  std::array<TreeRef, kOutcomes> next = {};
};

// What a leaf adds to one score.
struct TreeVote {
  int64_t target = 0;
  double weight = 0;
};

// As TreeEnsemble numbers them.
enum class TreeAggregate : uint8_t { kAverage, kSum, kMin, kMax };

struct TreeEnsemble {
  std::vector<TreeNode> nodes;
  std::vector<std::vector<TreeVote>> leaves;
  std::vector<TreeRef> roots;  // of each tree
  int64_t targets = 0;
  // In which features are compared and votes combined: f32 or f64.
  DType dtype = DType::kF32;
  TreeAggregate aggregate = TreeAggregate::kSum;
  // The name that the attributes give a node, for errors.
  std::vector<int64_t> names;
};

// The most nodes on a way from a root to a leaf. InvalidArgument where a node
// can be reached from itself. O(nodes).
StatusOr<int64_t> DepthOf(const TreeEnsemble& trees);

// The scores of rows `x`, [N, F] of trees.dtype: [N, targets]. A target that no
// leaf of a row votes for is 0. Nodes of all trees are tables of constants, in
// which every row goes down every tree at once, one level a step: the graph has
// as many nodes for any number of trees. Work is O(N * trees * depth).
//
// InvalidArgument where a node can be reached from itself, or asks for a
// feature that `x` is known not to have (where its width is not known, the run
// checks it). ResourceExhausted where the tables would be too large.
StatusOr<Value> TreeScores(NodeContext& context, const TreeEnsemble& trees,
                           Value x);

}  // namespace encore::onnx

#endif  // ENCORE_IR_IMPORT_ONNX_ML_TREE_ENSEMBLE_H_
