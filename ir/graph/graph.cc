#include "encore/ir/graph/graph.h"

#include <algorithm>
#include <iterator>

#include "encore/ir/graph/symbol_definitions.h"
#include "encore/ir/ops/infer.h"
#include "encore/ir/support/check.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore {
namespace {

bool IsIdentifier(std::string_view name) {
  const auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  const auto inner = [&](char c) {
    return letter(c) || (c >= '0' && c <= '9');
  };
  return !name.empty() && letter(name[0]) &&
         std::all_of(name.begin(), name.end(), inner);
}

Status CheckType(const TensorType& type, std::span<const Symbol> symbols) {
  if (type.shape.rank() > kMaxRank) {
    return InvalidArgumentError(StrCat("rank ", type.shape.rank(), ", at most ",
                                       kMaxRank, " is supported"));
  }
  if (type.kind != ValueKind::kTensor && type.shape.rank() > 0) {
    return InvalidArgumentError("a sequence or optional has no dims");
  }
  for (const Dim& dim : type.shape.dims()) {
    if (!dim.valid() || (dim.is_constant() && dim.constant() < 0) ||
        dim.SymbolLimit() > symbols.size()) {
      return InvalidArgumentError(
          StrCat("invalid shape ", type.shape.ToString(symbols)));
    }
  }
  if (!Countable(type)) {
    return InvalidArgumentError(
        StrCat("a shape too large to count: ", type.shape.ToString(symbols)));
  }
  return OkStatus();
}

BodyTypes BodyTypesOf(const Graph& body) {
  BodyTypes types;
  for (const Graph::Argument& argument : body.arguments()) {
    types.inputs.push_back(body.type(argument.value));
  }
  for (const Graph::Output& output : body.outputs()) {
    types.outputs.push_back(body.type(output.value));
  }
  return types;
}

}  // namespace

Graph::Graph(std::string name)
    : name_(std::move(name)),
      symbols_(std::make_shared<SymbolTable>()),
      attributes_({NoneAttrs()}),
      origins_({""}) {}

Graph Graph::NewBody(std::string name) const {
  Graph body(std::move(name));
  body.symbols_ = symbols_;
  return body;
}

Graph Graph::Clone() const {
  Graph copy(name_);
  *copy.symbols_ = *symbols_;
  // Bodies nest at most kMaxBodyDepth deep.
  const auto fill = [](const Graph& from, Graph& to, const auto& self) -> void {
    to.nodes_ = from.nodes_;
    to.values_ = from.values_;
    to.operands_ = from.operands_;
    to.attributes_ = from.attributes_;
    to.origins_ = from.origins_;
    to.arguments_ = from.arguments_;
    to.argument_names_ = from.argument_names_;
    to.argument_nodes_ = from.argument_nodes_;
    to.outputs_ = from.outputs_;
    to.output_names_ = from.output_names_;
    to.body_depth_ = from.body_depth_;
    for (const Graph& body : from.bodies_) {
      to.bodies_.push_back(to.NewBody(body.name_));
      self(body, to.bodies_.back(), self);
    }
  };
  fill(*this, copy, fill);
  return copy;
}

StatusOr<uint32_t> Graph::AddSymbol(Symbol symbol) {
  if (!IsIdentifier(symbol.name)) {
    return InvalidArgumentError(
        StrCat("symbol ", Quote(symbol.name), " is not an identifier"));
  }
  if (FindSymbol(symbol.name)) {
    return InvalidArgumentError(
        StrCat("symbol ", symbol.name, " exists already"));
  }
  if (symbol.lower < 0 || symbol.upper < symbol.lower) {
    return InvalidArgumentError(StrCat("symbol ", symbol.name,
                                       " has no values in [", symbol.lower,
                                       ", ", symbol.upper, "]"));
  }
  const auto number = static_cast<uint32_t>(symbols_->list.size());
  symbols_->numbers.emplace(symbol.name, number);
  symbols_->list.push_back(std::move(symbol));
  return number;
}

StatusOr<ValueId> Graph::AddInput(std::string name, TensorType type,
                                  std::string_view origin) {
  return AddArgument(Op::kInput, {std::move(name), {}, false, std::nullopt},
                     std::move(type), origin);
}

StatusOr<ValueId> Graph::AddParameter(std::string name, TensorType type,
                                      std::optional<Literal> data,
                                      std::string_view origin) {
  if (data && data->type() != type) {
    return InvalidArgumentError(StrCat("parameter ", name, " is ",
                                       type.ToString(symbols()), ", its data ",
                                       data->type()));
  }
  return AddArgument(Op::kParameter,
                     {std::move(name), {}, true, std::move(data)},
                     std::move(type), origin);
}

StatusOr<ValueId> Graph::AddArgument(Op op, Argument argument, TensorType type,
                                     std::string_view origin) {
  if (argument_names_.contains(argument.name)) {
    return InvalidArgumentError(
        StrCat("two arguments are named ", Quote(argument.name)));
  }
  const Status possible = CheckType(type, symbols());
  if (!possible.ok()) {
    return Annotate(possible,
                    StrCat(argument.is_parameter ? "parameter " : "input ",
                           Quote(argument.name)));
  }
  const NodeId node = Append(op, {}, NoneAttrs(), {&type, 1}, {origin, {}});
  argument.value = result(node);
  argument_names_.insert(argument.name);
  argument_nodes_.emplace_back(node, arguments_.size());
  arguments_.push_back(std::move(argument));
  return result(node);
}

StatusOr<NodeId> Graph::AddNode(Op op, std::span<const ValueId> operands,
                                Attributes attributes) {
  return AddNode(op, operands, std::move(attributes), NodeOptions());
}

StatusOr<NodeId> Graph::AddNode(Op op, std::span<const ValueId> operands,
                                Attributes attributes, NodeOptions options) {
  ENCORE_CHECK(op != Op::kInput && op != Op::kParameter)
      << "arguments are added by AddInput and AddParameter";
  const std::vector<TensorType> operand_types = TypesOf(operands);
  std::vector<BodyTypes> body_types;
  int depth = 0;
  for (const Graph& body : options.bodies) {
    ENCORE_CHECK(body.symbols_ == symbols_)
        << "a body that was made by another graph";
    body_types.push_back(BodyTypesOf(body));
    depth = std::max(depth, body.body_depth_ + 1);
  }
  if (depth > kMaxBodyDepth) {
    return InvalidArgumentError(
        StrCat(op, ": bodies nest deeper than ", kMaxBodyDepth));
  }
  const InferContext context{op, attributes, operand_types, body_types,
                             symbols_->list};
  ENCORE_ASSIGN_OR_RETURN(const std::vector<TensorType> results,
                          InferTypes(context));
  body_depth_ = std::max(body_depth_, depth);
  return Append(op, operands, std::move(attributes), results,
                std::move(options));
}

std::vector<TensorType> Graph::TypesOf(
    std::span<const ValueId> operands) const {
  std::vector<TensorType> types;
  types.reserve(operands.size());
  for (const ValueId operand : operands) {
    ENCORE_CHECK(operand.valid() && operand.value() < values_.size())
        << "an operand of another graph";
    types.push_back(type(operand));
  }
  return types;
}

StatusOr<std::vector<TensorType>> Graph::Infer(
    Op op, std::span<const ValueId> operands,
    const Attributes& attributes) const {
  return InferTypes({op, attributes, TypesOf(operands), {}, symbols()});
}

NodeId Graph::Append(Op op, std::span<const ValueId> operands,
                     Attributes attributes, std::span<const TensorType> results,
                     NodeOptions options) {
  const NodeId node(static_cast<uint32_t>(nodes_.size()));
  Node record{};
  record.op = op;
  if (attributes.index() != AttrsIndex::kNone) {
    record.attributes = static_cast<uint32_t>(attributes_.size());
    attributes_.push_back(std::move(attributes));
  }
  record.first_operand = static_cast<uint32_t>(operands_.size());
  record.operand_count = static_cast<uint32_t>(operands.size());
  operands_.insert(operands_.end(), operands.begin(), operands.end());
  record.first_result = static_cast<uint32_t>(values_.size());
  record.result_count = static_cast<uint32_t>(results.size());
  for (const TensorType& type : results) values_.push_back({node, type});
  record.first_body = static_cast<uint32_t>(bodies_.size());
  record.body_count = static_cast<uint32_t>(options.bodies.size());
  std::move(options.bodies.begin(), options.bodies.end(),
            std::back_inserter(bodies_));
  record.origin = InternOrigin(options.origin);
  nodes_.push_back(record);
  return node;
}

uint32_t Graph::InternOrigin(std::string_view origin) {
  if (origin.empty()) return 0;
  // Nodes of one origin come in runs.
  if (origins_.back() != origin) origins_.emplace_back(origin);
  return static_cast<uint32_t>(origins_.size() - 1);
}

Status Graph::AddOutput(std::string name, ValueId value) {
  ENCORE_CHECK(value.valid() && value.value() < values_.size())
      << "an output of another graph";
  if (!output_names_.insert(name).second) {
    return InvalidArgumentError(StrCat("two outputs are named ", Quote(name)));
  }
  outputs_.push_back({std::move(name), value});
  return OkStatus();
}

std::span<const ValueId> Graph::operands(NodeId node) const {
  const Node& record = nodes_[node.value()];
  return std::span(operands_).subspan(record.first_operand,
                                      record.operand_count);
}

std::span<const Graph> Graph::bodies(NodeId node) const {
  const Node& record = nodes_[node.value()];
  return std::span(bodies_).subspan(record.first_body, record.body_count);
}

const Literal* Graph::constant(ValueId value) const {
  const NodeId node = producer(value);
  return op(node) == Op::kConstant ? &attrs<ConstantAttrs>(node).value
                                   : nullptr;
}

const Graph::Argument* Graph::argument(ValueId value) const {
  const NodeId node = producer(value);
  const auto found = std::lower_bound(
      argument_nodes_.begin(), argument_nodes_.end(), node,
      [](const auto& entry, NodeId id) { return entry.first < id; });
  if (found == argument_nodes_.end() || found->first != node) return nullptr;
  return &arguments_[found->second];
}

std::optional<uint32_t> Graph::FindSymbol(std::string_view name) const {
  const auto found = symbols_->numbers.find(std::string(name));
  if (found == symbols_->numbers.end()) return std::nullopt;
  return found->second;
}

void Graph::set_parameter_data(int argument, std::optional<Literal> data) {
  Argument& entry = arguments_[argument];
  ENCORE_CHECK(entry.is_parameter &&
               (!data || data->type() == type(entry.value)));
  entry.data = std::move(data);
}

std::vector<bool> LiveNodes(const Graph& graph) {
  std::vector<bool> live(graph.node_count());
  for (const Graph::Output& output : graph.outputs()) {
    live[graph.producer(output.value).value()] = true;
  }
  const SymbolDefinitions finders(graph);
  // Operands come before their users: one pass from the end reaches all.
  for (uint32_t i = graph.node_count(); i-- > 0;) {
    if (!live[i]) continue;
    for (const NodeId finder : finders.NeededBy(NodeId(i))) {
      live[finder.value()] = true;
    }
    for (const ValueId operand : graph.operands(NodeId(i))) {
      live[graph.producer(operand).value()] = true;
    }
  }
  return live;
}

std::vector<int> UseCounts(const Graph& graph) {
  const std::vector<bool> live = LiveNodes(graph);
  std::vector<int> counts(graph.value_count());
  for (const NodeId node : Nodes(graph)) {
    if (!live[node.value()]) continue;
    for (const ValueId operand : graph.operands(node))
      ++counts[operand.value()];
  }
  for (const Graph::Output& output : graph.outputs()) {
    ++counts[output.value.value()];
  }
  return counts;
}

}  // namespace encore
