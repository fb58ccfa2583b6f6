#include "encore/opt/tensor/parts/assemble.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "encore/ir/build/builder.h"
#include "encore/ir/ops/op.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/transform/rewrite.h"

namespace encore::opt {
namespace {

constexpr int kNone = -1;

// A node stays where it is among those of which this is said.
bool KeepsItsTurn(const Graph& graph, NodeId node) {
  return !IsPlain(graph, node) ||
         MayFail(graph.op(node), graph.attributes(node));
}

// A node or a value of the graph (part kNone), or of what takes the place of a
// part.
struct NodeAt {
  int part;
  NodeId node;
};
struct ValueAt {
  int part;
  ValueId value;
};

class Assembler {
 public:
  Assembler(const Graph& graph, const std::vector<Part>& parts,
            const std::vector<Replacement>& replacements,
            const BodiesOf& bodies, Graph to)
      : graph_(graph),
        parts_(parts),
        replacements_(replacements),
        bodies_(bodies),
        builder_(std::move(to)),
        parts_of_(graph.node_count(), kNone),
        first_(parts.size()),
        turns_(parts.size()),
        had_(parts.size()) {
    size_t count = graph.node_count();
    for (size_t part = 0; part < parts.size(); ++part) {
      if (replacements[part].graph == nullptr) continue;
      const Graph& replacement = *replacements[part].graph;
      first_[part] = count;
      count += replacement.node_count();
      for (const NodeId node : parts[part].nodes) {
        // Constants may be in several parts.
        if (graph.op(node) == Op::kConstant) continue;
        parts_of_[node.value()] = static_cast<int>(part);
      }
      for (const NodeId node : Nodes(replacement)) {
        if (!IsArgument(replacement, node) && KeepsItsTurn(replacement, node)) {
          turns_[part].push_back(node);
        }
      }
    }
    results_.resize(count);
    live_.resize(count);
  }

  StatusOr<Assembled> Run() && {
    const std::vector<Value> arguments = CopyArguments(builder_, graph_);
    for (size_t i = 0; i < arguments.size(); ++i) {
      const NodeId node = graph_.producer(graph_.arguments()[i].value);
      results_[node.value()] = {arguments[i]};
    }
    MarkLive();
    for (const NodeId node : Nodes(graph_)) {
      ENCORE_RETURN_IF_ERROR(TakeTurn(node));
    }
    for (size_t part = 0; part < parts_.size(); ++part) {
      while (had_[part] < turns_[part].size()) {
        ENCORE_RETURN_IF_ERROR(TakeTurnOf(static_cast<int>(part)));
      }
    }
    std::vector<std::pair<std::string, Value>> outputs;
    for (const Graph::Output& output : graph_.outputs()) {
      const ValueAt at = Maker({kNone, output.value});
      ENCORE_RETURN_IF_ERROR(Compute(NodeOf(at), true));
      outputs.emplace_back(output.name, Computed(at));
    }
    ENCORE_ASSIGN_OR_RETURN(Graph built, builder_.Build(outputs));
    std::vector<ValueId> values;
    for (uint32_t v = 0; v < graph_.value_count(); ++v) {
      const ValueId value(v);
      const bool is_there =
          !Replaced(graph_.producer(value)) || OutputNumber(value);
      const Value now = is_there ? Computed(Maker({kNone, value})) : Value();
      values.push_back(now.valid() ? now.id() : ValueId());
    }
    return Assembled{std::move(built), std::move(values)};
  }

 private:
  static bool IsArgument(const Graph& graph, NodeId node) {
    return graph.op(node) == Op::kInput || graph.op(node) == Op::kParameter;
  }
  bool Replaced(NodeId node) const { return parts_of_[node.value()] != kNone; }
  const Graph& GraphOf(int part) const {
    return part == kNone ? graph_ : *replacements_[part].graph;
  }
  // Nodes of the graph and of all replacements are numbered together.
  size_t NumberOf(const NodeAt& at) const {
    return (at.part == kNone ? 0 : first_[at.part]) + at.node.value();
  }
  NodeAt NodeOf(const ValueAt& at) const {
    return {at.part, GraphOf(at.part).producer(at.value)};
  }

  // Of a value that a replaced part makes: which of its outputs it is.
  std::optional<size_t> OutputNumber(ValueId value) const {
    const std::vector<ValueId>& outputs =
        parts_[parts_of_[graph_.producer(value).value()]].outputs;
    const auto it = std::ranges::lower_bound(outputs, value);
    if (it == outputs.end() || *it != value) return std::nullopt;
    return static_cast<size_t>(it - outputs.begin());
  }

  // The same value where a node makes it that the new graph may have. REQUIRES
  // of what a replaced part makes an output.
  ValueAt Maker(ValueAt at) const {
    while (true) {
      const NodeId node = GraphOf(at.part).producer(at.value);
      if (at.part == kNone) {
        if (!Replaced(node)) return at;
        const int part = parts_of_[node.value()];
        const Graph& replacement = *replacements_[part].graph;
        at = {part, replacement.outputs()[*OutputNumber(at.value)].value};
      } else {
        const Graph& replacement = *replacements_[at.part].graph;
        if (!IsArgument(replacement, node)) return at;
        const auto argument =
            replacement.argument(at.value) - replacement.arguments().data();
        at = {kNone, parts_[at.part].inputs[argument].value};
      }
    }
  }

  // What outputs need, and nodes that keep their turns.
  void MarkLive() {
    std::vector<NodeAt> stack;
    const auto add = [&](const NodeAt& at) {
      if (live_[NumberOf(at)]) return;
      live_[NumberOf(at)] = true;
      stack.push_back(at);
    };
    for (const Graph::Output& output : graph_.outputs()) {
      add(NodeOf(Maker({kNone, output.value})));
    }
    const std::vector<bool> live = LiveNodes(graph_);
    for (const NodeId node : Nodes(graph_)) {
      if (live[node.value()] && !Replaced(node) && KeepsItsTurn(graph_, node)) {
        add({kNone, node});
      }
    }
    for (size_t part = 0; part < parts_.size(); ++part) {
      for (const NodeId node : turns_[part]) {
        add({static_cast<int>(part), node});
      }
    }
    while (!stack.empty()) {
      const NodeAt at = stack.back();
      stack.pop_back();
      for (const ValueId operand : GraphOf(at.part).operands(at.node)) {
        add(NodeOf(Maker({at.part, operand})));
      }
    }
  }

  // What is computed where the graph computes `node`: that node, or the value
  // that it gives its part's users, so that values live as long as they did.
  Status TakeTurn(NodeId node) {
    if (!Replaced(node)) {
      if (!live_[node.value()]) return OkStatus();
      return Compute({kNone, node}, true);
    }
    const int part = parts_of_[node.value()];
    if (KeepsItsTurn(graph_, node)) {
      ENCORE_RETURN_IF_ERROR(TakeTurnOf(part));
    }
    for (int i = 0; i < graph_.result_count(node); ++i) {
      const ValueId value = graph_.result(node, i);
      if (!OutputNumber(value)) continue;
      const NodeAt maker = NodeOf(Maker({kNone, value}));
      if (live_[NumberOf(maker)]) {
        ENCORE_RETURN_IF_ERROR(Compute(maker, false));
      }
    }
    return OkStatus();
  }

  // The next of a replaced part's nodes that keep their turns, if there is one.
  Status TakeTurnOf(int part) {
    if (had_[part] == turns_[part].size()) return OkStatus();
    return Compute({part, turns_[part][had_[part]++]}, true);
  }

  // A node behind all that it needs. Without `turns` it is left for later where
  // it needs a node that keeps its turn and has not had it.
  Status Compute(const NodeAt& root, bool turns) {
    std::vector<std::pair<NodeAt, bool>> stack = {{root, false}};
    while (!stack.empty()) {
      auto& [top, open] = stack.back();
      const NodeAt at = top;
      const Graph& graph = GraphOf(at.part);
      if (!results_[NumberOf(at)].empty()) {
        stack.pop_back();
      } else if (open) {
        stack.pop_back();
        ENCORE_RETURN_IF_ERROR(Emit(at));
      } else if (!turns && KeepsItsTurn(graph, at.node)) {
        return OkStatus();
      } else {
        open = true;
        const std::span<const ValueId> operands = graph.operands(at.node);
        for (size_t i = operands.size(); i-- > 0;) {
          const NodeAt needed = NodeOf(Maker({at.part, operands[i]}));
          if (results_[NumberOf(needed)].empty()) {
            stack.emplace_back(needed, false);
          }
        }
      }
    }
    return OkStatus();
  }

  Status Emit(const NodeAt& at) {
    const Graph& graph = GraphOf(at.part);
    std::vector<Value> operands;
    for (const ValueId operand : graph.operands(at.node)) {
      operands.push_back(Computed(Maker({at.part, operand})));
    }
    std::vector<Graph> bodies;
    if (graph.info(at.node).bodies > 0) {
      ENCORE_ASSIGN_OR_RETURN(bodies, bodies_(at.node, builder_.graph()));
    }
    const std::string& origin = graph.origin(at.node);
    const auto scope = builder_.Origin(
        at.part == kNone ? std::string_view(origin)
                         : replacements_[at.part].origin(origin));
    results_[NumberOf(at)] =
        builder_.Node(graph.op(at.node), operands, graph.attributes(at.node),
                      std::move(bodies));
    return builder_.status();
  }

  // Invalid where it is not computed.
  Value Computed(const ValueAt& at) const {
    const std::vector<Value>& results = results_[NumberOf(NodeOf(at))];
    if (results.empty()) return Value();
    return results[GraphOf(at.part).result_index(at.value)];
  }

  const Graph& graph_;
  const std::vector<Part>& parts_;
  const std::vector<Replacement>& replacements_;
  const BodiesOf& bodies_;
  GraphBuilder builder_;
  // By node: the part to replace that it is of.
  std::vector<int> parts_of_;
  std::vector<size_t>
      first_;  // by part: number of its replacement's first node
  // By part: its replacement's nodes that keep their turns, and how many of
  // them have had theirs.
  std::vector<std::vector<NodeId>> turns_;
  std::vector<size_t> had_;
  std::vector<bool> live_;                   // by number
  std::vector<std::vector<Value>> results_;  // by number; empty: not computed
};

}  // namespace

StatusOr<Assembled> Assemble(const Graph& graph, const std::vector<Part>& parts,
                             const std::vector<Replacement>& replacements,
                             const BodiesOf& bodies, Graph to) {
  return Assembler(graph, parts, replacements, bodies, std::move(to)).Run();
}

}  // namespace encore::opt
