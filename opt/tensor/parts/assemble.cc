#include "encore/opt/tensor/parts/assemble.h"

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
        done_(graph.node_count()),
        needed_(parts.size()),
        values_(graph.value_count()) {
    for (size_t part = 0; part < parts.size(); ++part) {
      if (replacements[part].graph != nullptr) Place(static_cast<int>(part));
    }
  }

  StatusOr<Assembled> Run() && {
    const std::vector<Value> arguments = CopyArguments(builder_, graph_);
    for (size_t i = 0; i < arguments.size(); ++i) {
      const ValueId value = graph_.arguments()[i].value;
      values_[value.value()] = arguments[i];
      done_[graph_.producer(value).value()] = true;
    }
    const std::vector<bool> live = LiveNodes(graph_);
    for (const NodeId node : Nodes(graph_)) {
      const bool stays = !IsPlain(graph_, node) ||
                         MayFail(graph_.op(node), graph_.attributes(node));
      if (live[node.value()] && stays) ENCORE_RETURN_IF_ERROR(Compute(node));
    }
    std::vector<std::pair<std::string, Value>> outputs;
    for (const Graph::Output& output : graph_.outputs()) {
      ENCORE_RETURN_IF_ERROR(Compute(graph_.producer(output.value)));
      outputs.emplace_back(output.name, values_[output.value.value()]);
    }
    ENCORE_ASSIGN_OR_RETURN(Graph built, builder_.Build(outputs));
    std::vector<ValueId> values;
    for (const Value& value : values_) {
      values.push_back(value.valid() ? value.id() : ValueId());
    }
    return Assembled{std::move(built), std::move(values)};
  }

 private:
  // A replaced part is one unit. Constants may be in several.
  void Place(int part) {
    for (const NodeId node : parts_[part].nodes) {
      if (graph_.op(node) != Op::kConstant) parts_of_[node.value()] = part;
    }
    const Graph& graph = *replacements_[part].graph;
    const std::vector<int> uses = UseCounts(graph);
    for (size_t i = 0; i < graph.arguments().size(); ++i) {
      if (uses[graph.arguments()[i].value.value()] > 0) {
        needed_[part].push_back(parts_[part].inputs[i].value);
      }
    }
  }

  std::span<const ValueId> Needs(NodeId node) const {
    const int part = parts_of_[node.value()];
    return part == kNone ? graph_.operands(node)
                         : std::span<const ValueId>(needed_[part]);
  }

  // A node, or the part that it is of, behind all that it needs.
  Status Compute(NodeId root) {
    std::vector<std::pair<NodeId, bool>> stack = {{root, false}};
    while (!stack.empty()) {
      auto& [node, open] = stack.back();
      if (done_[node.value()]) {
        stack.pop_back();
        continue;
      }
      if (open) {
        const NodeId ready = node;
        stack.pop_back();
        ENCORE_RETURN_IF_ERROR(parts_of_[ready.value()] == kNone
                                   ? EmitNode(ready)
                                   : EmitPart(parts_of_[ready.value()]));
        continue;
      }
      open = true;
      const std::span<const ValueId> needs = Needs(node);
      for (size_t i = needs.size(); i-- > 0;) {
        const NodeId producer = graph_.producer(needs[i]);
        if (!done_[producer.value()]) stack.emplace_back(producer, false);
      }
    }
    return OkStatus();
  }

  Status EmitNode(NodeId node) {
    done_[node.value()] = true;
    std::vector<Value> operands;
    for (const ValueId operand : graph_.operands(node)) {
      operands.push_back(values_[operand.value()]);
    }
    std::vector<Graph> bodies;
    if (graph_.info(node).bodies > 0) {
      ENCORE_ASSIGN_OR_RETURN(bodies, bodies_(node, builder_.graph()));
    }
    const auto scope = builder_.Origin(graph_.origin(node));
    const std::vector<Value> results = builder_.Node(
        graph_.op(node), operands, graph_.attributes(node), std::move(bodies));
    ENCORE_RETURN_IF_ERROR(builder_.status());
    for (int i = 0; i < graph_.result_count(node); ++i) {
      values_[graph_.result(node, i).value()] = results[i];
    }
    return OkStatus();
  }

  Status EmitPart(int number) {
    const Part& part = parts_[number];
    const Replacement& replacement = replacements_[number];
    std::vector<Value> inputs;
    for (const Part::Input& input : part.inputs) {
      inputs.push_back(values_[input.value.value()]);
    }
    const NodeRewrite rename = [&](GraphBuilder& builder, const Graph& graph,
                                   NodeId node,
                                   std::span<const Value> operands) {
      const auto scope = builder.Origin(replacement.origin(graph.origin(node)));
      return std::optional(
          builder.Node(graph.op(node), operands, graph.attributes(node)));
    };
    ENCORE_ASSIGN_OR_RETURN(
        const std::vector<Value> outputs,
        InlineGraph(builder_, *replacement.graph, inputs, rename));
    for (size_t i = 0; i < outputs.size(); ++i) {
      values_[part.outputs[i].value()] = outputs[i];
    }
    for (const NodeId node : part.nodes) {
      if (parts_of_[node.value()] == number) done_[node.value()] = true;
    }
    return OkStatus();
  }

  const Graph& graph_;
  const std::vector<Part>& parts_;
  const std::vector<Replacement>& replacements_;
  const BodiesOf& bodies_;
  GraphBuilder builder_;
  // By node: the part to replace that it is of.
  std::vector<int> parts_of_;
  std::vector<bool> done_;                    // by node
  std::vector<std::vector<ValueId>> needed_;  // by part
  std::vector<Value> values_;                 // by value
};

}  // namespace

StatusOr<Assembled> Assemble(const Graph& graph, const std::vector<Part>& parts,
                             const std::vector<Replacement>& replacements,
                             const BodiesOf& bodies, Graph to) {
  return Assembler(graph, parts, replacements, bodies, std::move(to)).Run();
}

}  // namespace encore::opt
