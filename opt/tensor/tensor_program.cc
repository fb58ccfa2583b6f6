#include "encore/opt/tensor/tensor_program.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "encore/ir/build/builder.h"
#include "encore/ir/ops/op.h"
#include "encore/ir/support/check.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/transform/rewrite.h"
#include "encore/ir/types/dim_symbols.h"

namespace encore::opt {
namespace {

namespace eg = ::encore::egraph;

bool IsSource(Op op) { return op == Op::kInput || op == Op::kParameter; }

bool KnownAtRunTime(const Dim& dim, std::span<const Symbol> symbols) {
  bool known = false;
  ForEachSymbol(dim,
                [&](uint32_t symbol) { known |= symbols[symbol].at_run_time; });
  return known;
}

bool KnownAtRunTime(const TensorType& type, std::span<const Symbol> symbols) {
  return std::ranges::any_of(type.shape.dims(), [&](const Dim& dim) {
    return KnownAtRunTime(dim, symbols);
  });
}

bool KnownAtRunTime(const Attributes& attributes,
                    std::span<const Symbol> symbols) {
  bool known = false;
  VisitFields(attributes,
              [&]<typename T>(std::string_view, const T& field, const T&) {
                if constexpr (std::is_same_v<T, Dims>) {
                  for (const Dim& dim : field) {
                    known |= KnownAtRunTime(dim, symbols);
                  }
                }
              });
  return known;
}

// A tensor that rules may look at.
bool IsPlainTensor(const TensorType& type, std::span<const Symbol> symbols) {
  return type.kind == ValueKind::kTensor && !IsString(type.dtype) &&
         !KnownAtRunTime(type, symbols);
}

bool StaysAsItIs(const Graph& graph, NodeId node) {
  return !IsPlain(graph, node) ||
         MayFail(graph.op(node), graph.attributes(node));
}

}  // namespace

bool IsPlain(const Graph& graph, NodeId node) {
  const OpInfo& info = graph.info(node);
  if (info.bodies > 0 || info.has(kDefinesSymbols) ||
      info.has(kNonFlatValues) || graph.op(node) == Op::kCustom ||
      graph.result_count(node) != 1 ||
      KnownAtRunTime(graph.attributes(node), graph.symbols()) ||
      !IsPlainTensor(graph.type(graph.result(node)), graph.symbols())) {
    return false;
  }
  return std::ranges::all_of(graph.operands(node), [&](ValueId operand) {
    return IsPlainTensor(graph.type(operand), graph.symbols());
  });
}

TensorProgram::TensorProgram(const Graph& graph, TensorEGraph* tensors)
    : graph_(graph),
      tensors_(tensors),
      anchors_(graph.node_count()),
      values_(graph.value_count()),
      tuples_(graph.node_count()) {
  eg::EGraph& egraph = tensors->graph();
  std::vector<bool> live = LiveNodes(graph);
  for (const NodeId node : Nodes(graph)) {
    if (!live[node.value()]) continue;
    const Op op = graph.op(node);
    std::vector<eg::ClassId> operands;
    for (const ValueId operand : graph.operands(node)) {
      operands.push_back(values_[operand.value()]);
    }
    if (IsSource(op)) {
      const ValueId value = graph.result(node);
      const auto number = static_cast<uint32_t>(graph.argument(value) -
                                                graph.arguments().data());
      values_[value.value()] =
          tensors->AddArgument(number, graph.type(value), op == Op::kParameter);
    } else if (StaysAsItIs(graph, node)) {
      anchors_[node.value()] = true;
      const eg::ClassId tuple = tensors->AddAnchor(node.value(), operands);
      tuples_[node.value()] = tuple;
      for (int i = 0; i < graph.result_count(node); ++i) {
        const ValueId value = graph.result(node, i);
        values_[value.value()] =
            tensors->AddPart(tuple, graph.type(value), value.value());
      }
    } else {
      free_nodes_ += op != Op::kConstant;
      values_[graph.result(node).value()] =
          tensors->Add(op, operands, graph.attributes(node));
    }
    made_of_.resize(egraph.node_limit(), node);
  }
  node_limit_ = egraph.node_limit();
  own_.resize(node_limit_);
  for (uint32_t n = 0; n < node_limit_; ++n) {
    if (!egraph.live(eg::NodeId(n))) continue;  // the unit
    const auto args = egraph.args(eg::NodeId(n));
    own_[n] = {egraph.op(eg::NodeId(n)), {args.begin(), args.end()}};
  }
  egraph.Rebuild();
}

std::vector<uint32_t> TensorProgram::OwnNumbers() const {
  const eg::EGraph& egraph = tensors_->graph();
  std::vector<uint32_t> numbers(egraph.node_limit(), kNotOwn);
  for (uint32_t n = node_limit_; n-- > 0;) {
    if (!own_[n].op.valid()) continue;
    const auto node = egraph.LookupNode(own_[n].op, own_[n].args);
    if (node) numbers[node->value()] = n;
  }
  return numbers;
}

std::vector<eg::ClassId> TensorProgram::Roots() const {
  std::vector<eg::ClassId> roots;
  for (const eg::ClassId tuple : tuples_) {
    if (tuple.valid()) roots.push_back(tuple);
  }
  for (const Graph::Output& output : graph_.outputs()) {
    roots.push_back(values_[output.value.value()]);
  }
  return roots;
}

// Nodes of the new graph, each after its operands and all anchors that come
// before it.
class TensorProgram::Rebuilder {
 public:
  Rebuilder(const TensorProgram& program,
            const std::function<eg::NodeId(eg::ClassId)>& choice, Graph to,
            const BodiesOf& bodies)
      : program_(program),
        graph_(program.graph_),
        tensors_(*program.tensors_),
        choice_(choice),
        bodies_(bodies),
        own_(program.OwnNumbers()),
        builder_(std::move(to)) {}

  StatusOr<Graph> Run(WeightArithmetic weights) && {
    for (const NodeId node : Nodes(graph_)) {
      if (!program_.tuples_[node.value()].valid()) continue;
      ENCORE_RETURN_IF_ERROR(Arrange(program_.tuples_[node.value()], node));
    }
    std::vector<eg::ClassId> roots;
    for (const Graph::Output& output : graph_.outputs()) {
      roots.push_back(Find(program_.values_[output.value.value()]));
      ENCORE_RETURN_IF_ERROR(
          Arrange(roots.back(), graph_.producer(output.value)));
    }
    std::vector<ValueForms> forms(order_.size(), {.narrow = true});
    if (weights == WeightArithmetic::kWide) {
      forms = ChooseForms(tensors_, order_, roots);
    }
    arguments_ = CopyArguments(builder_, graph_);
    for (size_t i = 0; i < order_.size(); ++i) {
      const auto scope = builder_.Origin(graph_.origin(origins_[i]));
      ENCORE_RETURN_IF_ERROR(Emit(order_[i], forms[i]));
    }
    std::vector<std::pair<std::string, Value>> outputs;
    for (size_t i = 0; i < roots.size(); ++i) {
      outputs.emplace_back(graph_.outputs()[i].name, values_.at(roots[i]));
    }
    return builder_.Build(outputs);
  }

 private:
  eg::ClassId Find(eg::ClassId c) const { return tensors_.graph().Find(c); }

  // Puts a class and all that it needs into the order. `user`: a node of the
  // graph, whose origin nodes that rules made have.
  Status Arrange(eg::ClassId root, NodeId user) {
    struct Frame {
      eg::ClassId c;
      NodeId user;
      bool open = false;
    };
    std::vector<Frame> stack = {{Find(root), user}};
    while (!stack.empty()) {
      Frame& top = stack.back();
      if (arranged_.contains(top.c)) {
        stack.pop_back();
        continue;
      }
      const eg::NodeId node = choice_(top.c);
      ENCORE_CHECK(node.valid());
      const uint32_t own = own_[node.value()];
      const NodeId origin = own == kNotOwn ? top.user : program_.made_of_[own];
      if (top.open) {
        arranged_.insert(top.c);
        order_.push_back({top.c, node, own != kNotOwn});
        origins_.push_back(origin);
        stack.pop_back();
        continue;
      }
      if (!open_.insert(top.c).second) {
        return FailedPreconditionError("a choice that needs itself");
      }
      top.open = true;
      const std::vector<eg::ClassId> operands = tensors_.operands(node);
      for (size_t i = operands.size(); i-- > 0;) {
        if (!arranged_.contains(operands[i])) {
          stack.push_back({operands[i], origin});
        }
      }
    }
    return OkStatus();
  }

  Status Emit(const ChosenNode& chosen, const ValueForms& forms) {
    const auto [c, node, is_own] = chosen;
    const TensorOp& op = tensors_.op(node);
    switch (op.kind) {
      case TensorOp::Kind::kArgument:
        values_[c] = arguments_[tensors_.number(node)];
        break;
      case TensorOp::Kind::kPart: {
        const ValueId value(tensors_.number(node));
        values_[c] =
            anchors_.at(tensors_.operands(node)[0])[graph_.result_index(value)];
        break;
      }
      case TensorOp::Kind::kAnchor:
        return EmitAnchor(c, NodeId(tensors_.number(node)),
                          Operands(node, false));
      case TensorOp::Kind::kOp: {
        const auto results =
            builder_.Node(op.op, Operands(node, forms.computed_wide),
                          tensors_.attributes(node));
        ENCORE_RETURN_IF_ERROR(builder_.status());
        (forms.computed_wide ? wide_ : values_)[c] = results[0];
        break;
      }
    }
    if (forms.computed_wide && forms.narrow) {
      values_[c] = builder_.Cast(wide_.at(c), tensors_.type(c)->dtype);
    } else if (forms.wide && !forms.computed_wide) {
      wide_[c] = builder_.Cast(values_.at(c), kWideDType);
    }
    return builder_.status();
  }

  std::vector<Value> Operands(eg::NodeId node, bool wide) const {
    std::vector<Value> operands;
    for (const eg::ClassId operand : tensors_.operands(node)) {
      const auto it = wide ? wide_.find(operand) : wide_.end();
      operands.push_back(it != wide_.end() ? it->second : values_.at(operand));
    }
    return operands;
  }

  Status EmitAnchor(eg::ClassId c, NodeId node,
                    const std::vector<Value>& operands) {
    if (last_anchor_.valid() && node < last_anchor_) {
      return FailedPreconditionError(StrCat("node ", node.value(),
                                            " would come behind node ",
                                            last_anchor_.value()));
    }
    last_anchor_ = node;
    ENCORE_ASSIGN_OR_RETURN(std::vector<Graph> bodies,
                            bodies_(node, builder_.graph()));
    anchors_[c] = builder_.Node(graph_.op(node), operands,
                                graph_.attributes(node), std::move(bodies));
    return builder_.status();
  }

  const TensorProgram& program_;
  const Graph& graph_;
  const TensorEGraph& tensors_;
  const std::function<eg::NodeId(eg::ClassId)>& choice_;
  const BodiesOf& bodies_;
  const std::vector<uint32_t> own_;
  std::set<eg::ClassId> open_;  // whose operands are being arranged, or were
  std::set<eg::ClassId> arranged_;
  std::vector<ChosenNode> order_;
  std::vector<NodeId> origins_;  // as order_
  GraphBuilder builder_;
  std::vector<Value> arguments_;
  std::map<eg::ClassId, Value> values_, wide_;
  std::map<eg::ClassId, std::vector<Value>> anchors_;
  NodeId last_anchor_;
};

StatusOr<Graph> TensorProgram::Rebuild(
    const std::function<eg::NodeId(eg::ClassId)>& choice, Graph to,
    const BodiesOf& bodies, WeightArithmetic weights) const {
  return Rebuilder(*this, choice, std::move(to), bodies).Run(weights);
}

}  // namespace encore::opt
