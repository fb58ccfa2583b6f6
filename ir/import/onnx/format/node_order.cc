#include "encore/ir/import/onnx/format/node_order.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "encore/ir/support/strings.h"

namespace encore::onnx {
namespace {

// What `graph` reads from outside. Graphs nest at most kMaxGraphDepth deep.
void CollectCaptures(const Graph& graph, std::set<std::string_view>* captured) {
  NameSet own;
  for (const ValueInfo& input : graph.inputs) own.insert(input.name);
  for (const Tensor& tensor : graph.initializers) own.insert(tensor.name);
  for (const Node& node : graph.nodes) {
    own.insert(node.outputs.begin(), node.outputs.end());
  }
  for (const Node& node : graph.nodes) {
    for (const std::string_view name : NamesRead(node)) {
      if (!own.contains(name)) captured->insert(name);
    }
  }
  for (const ValueInfo& output : graph.outputs) {
    if (!own.contains(output.name)) captured->insert(output.name);
  }
}

}  // namespace

std::string NodeTitle(const Node& node) {
  std::string_view name = node.name;
  for (const std::string_view output : node.outputs) {
    if (name.empty()) name = output;
  }
  return StrCat("node ",
                name.empty() ? StrCat("#", node.position) : Quote(name), " (",
                node.op_type, ")");
}

std::vector<std::string_view> NamesRead(const Node& node) {
  std::vector<std::string_view> names;
  for (const std::string_view input : node.inputs) {
    if (!input.empty()) names.push_back(input);
  }
  for (const Attribute& attribute : node.attributes) {
    if (attribute.g == nullptr) continue;
    const std::set<std::string_view> captured = CapturesOf(*attribute.g);
    names.insert(names.end(), captured.begin(), captured.end());
  }
  std::ranges::sort(names);
  names.erase(std::ranges::unique(names).begin(), names.end());
  return names;
}

std::set<std::string_view> CapturesOf(const Graph& graph) {
  std::set<std::string_view> captured;
  CollectCaptures(graph, &captured);
  return captured;
}

Status CheckOrder(std::span<const Node> nodes, const NameSet& known) {
  const int count = static_cast<int>(nodes.size());
  absl::flat_hash_map<std::string_view, int> producer;
  for (int i = 0; i < count; ++i) {
    for (const std::string_view output : nodes[i].outputs) {
      if (output.empty()) continue;
      if (known.contains(output) || !producer.emplace(output, i).second) {
        return InvalidArgumentError(StrCat(NodeTitle(nodes[i]), ": output ",
                                           Quote(output),
                                           " is produced more than once"));
      }
    }
  }
  // Kahn's algorithm tells circles from nodes out of order.
  int late = count;
  std::vector<int> missing(count);
  std::vector<std::vector<int>> users(count);
  std::vector<int> ready;
  for (int i = 0; i < count; ++i) {
    for (const std::string_view name : NamesRead(nodes[i])) {
      if (known.contains(name)) continue;
      const auto found = producer.find(name);
      if (found == producer.end()) {
        return InvalidArgumentError(
            StrCat(NodeTitle(nodes[i]), ": input ", Quote(name),
                   " is not an input, an initializer or an output of a node"));
      }
      if (found->second > i && late == count) late = i;
      users[found->second].push_back(i);
      ++missing[i];
    }
    if (missing[i] == 0) ready.push_back(i);
  }
  while (!ready.empty()) {
    const int next = ready.back();
    ready.pop_back();
    for (const int user : users[next]) {
      if (--missing[user] == 0) ready.push_back(user);
    }
  }
  for (int i = 0; i < count; ++i) {
    if (missing[i] > 0) {
      return InvalidArgumentError(StrCat(
          NodeTitle(nodes[i]), " depends on itself through other nodes"));
    }
  }
  if (late == count) return OkStatus();
  return InvalidArgumentError(
      StrCat(NodeTitle(nodes[late]),
             " comes before a node that it reads; nodes must be sorted"));
}

}  // namespace encore::onnx
