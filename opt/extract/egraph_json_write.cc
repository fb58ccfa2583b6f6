#include <cstdint>
#include <string>
#include <vector>

#include "encore/opt/extract/egraph_json.h"
#include "rapidjson/stringbuffer.h"
#include "rapidjson/writer.h"

namespace encore::opt::extract {
namespace {

// By node: whether a child, or a child of all nodes of a child, … has no node.
std::vector<bool> NodesWithoutChoice(const Problem& problem) {
  const ProblemIndex index(problem);
  std::vector<bool> dead(problem.num_nodes());
  std::vector<uint32_t> left(problem.num_classes());
  std::vector<ClassIndex> work;
  for (ClassIndex c = 0; c < problem.num_classes(); ++c) {
    left[c] = problem.class_size(c);
    if (left[c] == 0) work.push_back(c);
  }
  while (!work.empty()) {
    const ClassIndex c = work.back();
    work.pop_back();
    for (const NodeIndex n : index.users(c)) {
      if (dead[n]) continue;
      dead[n] = true;
      if (--left[index.class_of(n)] == 0) work.push_back(index.class_of(n));
    }
  }
  return dead;
}

}  // namespace

std::string EgraphJson(const NamedProblem& named,
                       std::span<const std::string> ops) {
  const Problem& problem = named.problem;
  const std::vector<bool> dead = NodesWithoutChoice(problem);
  // By class: the first node that is written, by which children name it.
  std::vector<NodeIndex> first(problem.num_classes(), kNoNode);
  for (ClassIndex c = 0; c < problem.num_classes(); ++c) {
    for (NodeIndex n = problem.class_start[c + 1];
         n-- > problem.class_start[c];) {
      if (!dead[n]) first[c] = n;
    }
  }
  rapidjson::StringBuffer buffer;
  rapidjson::Writer<rapidjson::StringBuffer> json(buffer);
  const auto string = [&](std::string_view text) {
    json.String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
  };
  json.StartObject();
  string("nodes");
  json.StartObject();
  for (ClassIndex c = 0; c < problem.num_classes(); ++c) {
    for (NodeIndex n = problem.class_start[c]; n < problem.class_start[c + 1];
         ++n) {
      if (dead[n]) continue;
      string(named.node_names[n]);
      json.StartObject();
      string("op");
      string(ops[n]);
      string("eclass");
      string(named.class_names[c]);
      string("cost");
      json.Double(problem.cost[n]);
      string("children");
      json.StartArray();
      for (const ClassIndex child : problem.children(n)) {
        string(named.node_names[first[child]]);
      }
      json.EndArray();
      json.EndObject();
    }
  }
  json.EndObject();
  string("root_eclasses");
  json.StartArray();
  for (const ClassIndex root : problem.roots) string(named.class_names[root]);
  json.EndArray();
  json.EndObject();
  return std::string(buffer.GetString(), buffer.GetSize()) + "\n";
}

std::string ResultJson(std::string_view file, const NamedProblem& named,
                       const Result& result, std::optional<double> seconds) {
  rapidjson::StringBuffer buffer;
  rapidjson::Writer<rapidjson::StringBuffer> json(buffer);
  const auto string = [&](std::string_view text) {
    json.String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
  };
  json.StartObject();
  string("file");
  string(file);
  string("status");
  string(result.feasible ? "ok" : "infeasible");
  string("cost");
  if (result.feasible) {
    json.Double(result.cost);
  } else {
    json.Null();
  }
  string("lower_bound");
  if (result.feasible && result.lower_bound) {
    json.Double(*result.lower_bound);
  } else {
    json.Null();
  }
  string("optimal");
  json.Bool(result.feasible && result.optimal);
  if (seconds) {
    string("seconds");
    json.Double(*seconds);
  }
  string("choices");
  json.StartObject();
  if (result.feasible) {
    for (ClassIndex c = 0; c < result.choice.size(); ++c) {
      if (result.choice[c] == kNoNode) continue;
      string(named.class_names[c]);
      string(named.node_names[result.choice[c]]);
    }
  }
  json.EndObject();
  json.EndObject();
  return std::string(buffer.GetString(), buffer.GetSize());
}

}  // namespace encore::opt::extract
