// Where the nodes of a corpus of models are, those of subgraphs too.
#ifndef ENCORE_TESTS_ONNX_SITES_H_
#define ENCORE_TESTS_ONNX_SITES_H_

#include <compare>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "encore/ir/import/onnx/format/schema.h"
#include "encore/tests/onnx/corpus.h"
#include "onnx/onnx.pb.h"

namespace encore::tests {

// A node of a corpus' model, and its operator.
struct Site {
  // A subgraph: an attribute of a node.
  struct Step {
    int node, attribute;
    auto operator<=>(const Step&) const = default;
  };
  const Sample* sample;
  std::vector<Step> path;  // to the node's graph, from the model's
  int node;
  const onnx::Schema* schema;
};

::onnx::GraphProto* SubgraphAt(::onnx::GraphProto* graph,
                               const Site::Step& step);

// The node of a site.
const ::onnx::NodeProto& NodeAt(const Site& site);

// Sites by operator version and whether they are in subgraphs, the smallest
// model first.
using Sites = std::map<std::pair<const onnx::Schema*, bool>, std::vector<Site>>;

// The sites point into the corpus.
Sites FindSites(const std::vector<Sample>& corpus);

// What messages call a node.
std::string TitleOf(const ::onnx::NodeProto& node);

// What messages call the nodes of `graph` and of the graphs in it.
std::vector<std::string> TitlesOf(const ::onnx::GraphProto& graph);

// What messages call the nodes of `graph` that read one of `values`, or what is
// computed from one.
std::vector<std::string> NodesReached(const ::onnx::GraphProto& graph,
                                      std::set<std::string> values);

}  // namespace encore::tests

#endif  // ENCORE_TESTS_ONNX_SITES_H_
