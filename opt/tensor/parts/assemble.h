// Assemble: a graph with other graphs in place of some of its parts.
#ifndef ENCORE_OPT_TENSOR_PARTS_ASSEMBLE_H_
#define ENCORE_OPT_TENSOR_PARTS_ASSEMBLE_H_

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "encore/ir/graph/graph.h"
#include "encore/ir/support/status.h"
#include "encore/opt/tensor/parts/divide.h"
#include "encore/opt/tensor/tensor_program.h"

namespace encore::opt {

// What takes the place of a part.
struct Replacement {
  // With the part's inputs as arguments and its outputs; null: the part stays.
  const Graph* graph = nullptr;
  // The origin that a node of `graph` has in the result, by the one it has.
  std::function<std::string_view(const std::string&)> origin;
};

struct Assembled {
  Graph graph;
  // Where values of the old graph are in the new one; invalid where nowhere.
  std::vector<ValueId> values;
};

// `replacements` by part. `to` has the symbols and nothing else; arguments,
// outputs and what may fail stay, the last in their order. What parts give is
// computed where the graph computed it, whatever else the part gives, so that
// values live no longer than they did; other nodes of replacements stand before
// the first that needs them. Linear.
StatusOr<Assembled> Assemble(const Graph& graph, const std::vector<Part>& parts,
                             const std::vector<Replacement>& replacements,
                             const BodiesOf& bodies, Graph to);

}  // namespace encore::opt

#endif  // ENCORE_OPT_TENSOR_PARTS_ASSEMBLE_H_
