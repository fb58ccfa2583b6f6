#include "encore/tests/onnx/sites.h"

#include <algorithm>
#include <tuple>

namespace encore::tests {
namespace {

using ::onnx::AttributeProto;
using ::onnx::GraphProto;
using ::onnx::ModelProto;
using ::onnx::NodeProto;

int64_t OpsetOf(const ModelProto& model, const std::string& domain) {
  for (const auto& import : model.opset_import()) {
    const bool standard =
        import.domain().empty() || import.domain() == "ai.onnx";
    if (domain.empty() ? standard : import.domain() == domain) {
      return import.version();
    }
  }
  return 0;
}

// Those of one graph, which `path` leads to, and of the graphs in it.
void FindSites(const Sample& sample, const GraphProto& graph,
               const std::vector<Site::Step>& path, Sites* sites) {
  for (int i = 0; i < graph.node_size(); ++i) {
    const NodeProto& node = graph.node(i);
    const std::string domain = node.domain() == "ai.onnx" ? "" : node.domain();
    const auto schema =
        onnx::FindSchema(domain, node.op_type(), OpsetOf(sample.model, domain));
    if (schema.ok()) {
      (*sites)[{*schema, !path.empty()}].push_back({&sample, path, i, *schema});
    }
    for (int a = 0; a < node.attribute_size(); ++a) {
      if (!node.attribute(a).has_g()) continue;
      std::vector<Site::Step> inner = path;
      inner.push_back({i, a});
      FindSites(sample, node.attribute(a).g(), inner, sites);
    }
  }
}

// Whether the node, or a node of its subgraphs, reads one of `values`.
bool Reads(const NodeProto& node, const std::set<std::string>& values) {
  std::vector<const NodeProto*> work = {&node};
  while (!work.empty()) {
    const NodeProto& next = *work.back();
    work.pop_back();
    for (const std::string& input : next.input()) {
      if (values.contains(input)) return true;
    }
    for (const AttributeProto& attribute : next.attribute()) {
      for (const NodeProto& inner : attribute.g().node()) {
        work.push_back(&inner);
      }
    }
  }
  return false;
}

}  // namespace

GraphProto* SubgraphAt(GraphProto* graph, const Site::Step& step) {
  return graph->mutable_node(step.node)
      ->mutable_attribute(step.attribute)
      ->mutable_g();
}

const NodeProto& NodeAt(const Site& site) {
  const GraphProto* graph = &site.sample->model.graph();
  for (const Site::Step& step : site.path) {
    graph = &graph->node(step.node).attribute(step.attribute).g();
  }
  return graph->node(site.node);
}

Sites FindSites(const std::vector<Sample>& corpus) {
  Sites sites;
  for (const Sample& sample : corpus) {
    FindSites(sample, sample.model.graph(), {}, &sites);
  }
  for (auto& [schema, found] : sites) {
    // The corpus is one array, so that its order settles the rest.
    std::sort(found.begin(), found.end(), [](const Site& a, const Site& b) {
      return std::tuple(a.sample->model.ByteSizeLong(), a.sample, a.path,
                        a.node) < std::tuple(b.sample->model.ByteSizeLong(),
                                             b.sample, b.path, b.node);
    });
  }
  return sites;
}

std::string TitleOf(const NodeProto& node) {
  std::string title = node.name();
  for (const std::string& output : node.output()) {
    if (title.empty()) title = output;
  }
  return title;
}

std::vector<std::string> TitlesOf(const GraphProto& graph) {
  std::vector<std::string> titles;
  std::vector<const GraphProto*> work = {&graph};
  while (!work.empty()) {
    const GraphProto& next = *work.back();
    work.pop_back();
    for (const NodeProto& node : next.node()) {
      titles.push_back(TitleOf(node));
      for (const AttributeProto& attribute : node.attribute()) {
        if (attribute.has_g()) work.push_back(&attribute.g());
      }
    }
  }
  return titles;
}

std::vector<std::string> NodesReached(const GraphProto& graph,
                                      std::set<std::string> values) {
  values.erase("");  // an input left out
  std::vector<std::string> titles;
  for (const NodeProto& node : graph.node()) {
    if (!Reads(node, values)) continue;
    titles.push_back(TitleOf(node));
    values.insert(node.output().begin(), node.output().end());
  }
  return titles;
}

}  // namespace encore::tests
