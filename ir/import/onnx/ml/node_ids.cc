#include "encore/ir/import/onnx/ml/node_ids.h"

#include <algorithm>
#include <span>
#include <utility>

#include "encore/ir/support/strings.h"

namespace encore::onnx {

Status NodeIds::Build() {
  const auto key = [](const Entry& entry) {
    return std::pair(entry.tree, entry.id);
  };
  if (!std::ranges::is_sorted(entries_, {}, key)) {
    std::ranges::sort(entries_, {}, key);
  }
  for (size_t i = 0; i < entries_.size(); ++i) {
    const Entry& entry = entries_[i];
    if (i == 0 || entry.tree != entries_[i - 1].tree) {
      trees_.push_back({entry.tree, i, i});
    } else if (entry.id == entries_[i - 1].id) {
      return InvalidArgumentError(StrCat("attribute nodes_nodeids has node ",
                                         entry.id, " of tree ", entry.tree,
                                         " twice"));
    }
    trees_.back().end = i + 1;
  }
  return OkStatus();
}

StatusOr<TreeRef> NodeIds::Find(std::string_view attribute, int64_t tree,
                                int64_t id) const {
  const auto found = std::ranges::lower_bound(trees_, tree, {}, &Tree::id);
  if (found != trees_.end() && found->id == tree) {
    const auto nodes =
        std::span(entries_).subspan(found->begin, found->end - found->begin);
    // Where each node has the id after that of the one before.
    const uint64_t place =
        static_cast<uint64_t>(id) - static_cast<uint64_t>(nodes.front().id);
    if (place < nodes.size() && nodes[place].id == id) return nodes[place].ref;
    const auto node = std::ranges::lower_bound(nodes, id, {}, &Entry::id);
    if (node != nodes.end() && node->id == id) return node->ref;
  }
  return InvalidArgumentError(StrCat("attribute ", attribute, " names node ",
                                     id, " of tree ", tree,
                                     ", which is not there"));
}

}  // namespace encore::onnx
