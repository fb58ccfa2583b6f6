// Nodes of trees by the ids that a model gives them.
#ifndef ENCORE_IR_IMPORT_ONNX_ML_NODE_IDS_H_
#define ENCORE_IR_IMPORT_ONNX_ML_NODE_IDS_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "encore/ir/import/onnx/ml/tree_ensemble.h"
#include "encore/ir/support/status.h"

namespace encore::onnx {

// Nodes and leaves by the ids of their trees and their own, any numbers. Cost:
// O(n log n) time to build, or O(n) where they come in order; a search O(log
// n), or of the trees alone where a tree's ids follow each other.
class NodeIds {
 public:
  void Reserve(size_t count) { entries_.reserve(count); }
  void Add(int64_t tree, int64_t id, TreeRef ref) {
    entries_.push_back({tree, id, ref});
  }

  // After the last Add, before the first Find. InvalidArgument where a node is
  // there twice.
  Status Build();

  // InvalidArgument, naming the attribute that has the ids, where there is no
  // such node.
  StatusOr<TreeRef> Find(std::string_view attribute, int64_t tree,
                         int64_t id) const;

 private:
  struct Entry {
    int64_t tree, id;
    TreeRef ref;
  };
  // The entries of a tree.
  struct Tree {
    int64_t id;
    size_t begin, end;
  };

  std::vector<Entry> entries_;  // ascending, by tree and id
  std::vector<Tree> trees_;     // ascending
};

}  // namespace encore::onnx

#endif  // ENCORE_IR_IMPORT_ONNX_ML_NODE_IDS_H_
