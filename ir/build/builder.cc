#include "encore/ir/build/builder.h"

#include <algorithm>

#include "encore/ir/support/check.h"
#include "encore/ir/support/strings.h"

namespace encore {
namespace {

// Literals larger than this are not compared for equality.
constexpr int64_t kMaxSharedElements = 256;

bool IsShareable(const PendingNode& node) {
  if (node.op == Op::kCustom) return false;
  if (node.op != Op::kConstant) return true;
  return node.attributes.Get<ConstantAttrs>().value.element_count() <=
         kMaxSharedElements;
}

uint64_t HashOf(const PendingNode& node) {
  uint64_t hash = Fingerprint(node.attributes) ^
                  static_cast<uint64_t>(node.op) * 0x9e3779b97f4a7c15;
  for (const ValueId operand : node.operands) {
    hash = (hash ^ operand.value()) * 0xd6e8feb86659fd93;
    hash ^= hash >> 32;
  }
  return hash;
}

bool HasSymbolicDims(const Attributes& attributes) {
  bool symbolic = false;
  VisitFields(
      attributes, [&](std::string_view, const auto& field, const auto&) {
        if constexpr (std::is_same_v<std::decay_t<decltype(field)>, Dims>) {
          symbolic |= !Shape(field).is_constant();
        }
      });
  return symbolic;
}

}  // namespace

GraphBuilder::GraphBuilder(std::string name, BuilderOptions options)
    : GraphBuilder(Graph(std::move(name)), std::move(options)) {}

GraphBuilder::GraphBuilder(Graph graph, BuilderOptions options)
    : graph_(std::move(graph)), options_(std::move(options)) {}

Value GraphBuilder::Fail(const Status& status) {
  ENCORE_CHECK(!status.ok());
  if (status_.ok()) {
    status_ =
        origin_.empty() ? status : Annotate(status, StrCat("at ", origin_));
  }
  return {};
}

StatusOr<Graph> GraphBuilder::Build(
    std::initializer_list<std::pair<std::string, Value>> outputs) {
  return Build(std::span(outputs.begin(), outputs.size()));
}

StatusOr<Graph> GraphBuilder::Build(
    std::span<const std::pair<std::string, Value>> outputs) {
  for (const auto& [name, value] : outputs) {
    if (!status_.ok()) break;
    if (!value.valid() || value.builder_ != this) {
      Fail(InvalidArgumentError(
          StrCat("output ", Quote(name), " is not a value of this graph")));
    } else if (const Status added = graph_.AddOutput(name, value.id_);
               !added.ok()) {
      Fail(added);
    }
  }
  if (!status_.ok()) return status_;
  return std::move(graph_);
}

Dim GraphBuilder::Symbol(std::string name, int64_t lower, int64_t upper,
                         bool at_run_time) {
  const auto symbol =
      graph_.AddSymbol({std::move(name), lower, upper, at_run_time});
  if (symbol.ok()) return Dim::OfSymbol(*symbol);
  Fail(symbol.status());
  return Dim::Invalid();
}

Value GraphBuilder::Input(std::string name, TensorType type) {
  const auto id = graph_.AddInput(std::move(name), std::move(type), origin_);
  return id.ok() ? Value(this, *id) : Fail(id.status());
}

Value GraphBuilder::Parameter(std::string name, TensorType type,
                              std::optional<Literal> data) {
  const auto id = graph_.AddParameter(std::move(name), std::move(type),
                                      std::move(data), origin_);
  return id.ok() ? Value(this, *id) : Fail(id.status());
}

GraphBuilder::Values GraphBuilder::Results(NodeId node) const {
  Values values;
  for (int i = 0; i < graph_.result_count(node); ++i) {
    values.push_back(Value(this, graph_.result(node, i)));
  }
  return values;
}

std::optional<NodeId> GraphBuilder::FindEqual(const PendingNode& node,
                                              uint64_t hash) const {
  const auto [begin, end] = known_.equal_range(hash);
  for (auto entry = begin; entry != end; ++entry) {
    const NodeId other = entry->second;
    if (graph_.op(other) == node.op &&
        std::ranges::equal(graph_.operands(other), node.operands) &&
        graph_.attributes(other) == node.attributes) {
      return other;
    }
  }
  return std::nullopt;
}

std::optional<GraphBuilder::Values> GraphBuilder::Fold(
    const PendingNode& node) {
  if (!options_.folder || node.operands.empty() || node.op == Op::kCustom ||
      HasSymbolicDims(node.attributes)) {
    return std::nullopt;
  }
  std::vector<Literal> operands;
  for (const ValueId operand : node.operands) {
    const Literal* literal = graph_.constant(operand);
    if (literal == nullptr) return std::nullopt;
    operands.push_back(*literal);
  }
  auto results = options_.folder(node.op, node.attributes, operands);
  if (!results) return std::nullopt;
  Values values;
  for (Literal& result : *results) {
    values.push_back(Constant(std::move(result)));
  }
  return values;
}

GraphBuilder::Values GraphBuilder::Node(Op op, std::span<const Value> operands,
                                        Attributes attributes,
                                        std::vector<Graph> bodies) {
  PendingNode node{op, {}, std::move(attributes)};
  for (const Value& operand : operands) {
    if (!operand.valid() || operand.builder_ != this) {
      if (status_.ok()) {
        Fail(InvalidArgumentError(StrCat(op, ": operand ", node.operands.size(),
                                         " is not a value of this graph")));
      }
      return Values(std::max<size_t>(Info(op).signature().results.size(), 1));
    }
    node.operands.push_back(operand.id_);
  }
  return bodies.empty() ? AddSimplified(std::move(node))
                        : Append(std::move(node), std::move(bodies));
}

GraphBuilder::Values GraphBuilder::Append(PendingNode node,
                                          std::vector<Graph> bodies) {
  const bool share = options_.simplify && bodies.empty() && IsShareable(node);
  const uint64_t hash = share ? HashOf(node) : 0;
  if (share) {
    if (const auto equal = FindEqual(node, hash)) return Results(*equal);
  }
  const StatusOr<NodeId> added =
      graph_.AddNode(node.op, node.operands, std::move(node.attributes),
                     {origin_, std::move(bodies)});
  if (!added.ok()) {
    Fail(added.status());
    return Values(
        std::max<size_t>(Info(node.op).signature().results.size(), 1));
  }
  if (share) known_.emplace(hash, *added);
  return Results(*added);
}

GraphBuilder::Values GraphBuilder::AddSimplified(PendingNode node) {
  // Each rewrite removes an op or an operand, so that there is an end.
  while (options_.simplify && status_.ok()) {
    const StatusOr<std::vector<TensorType>> types =
        graph_.Infer(node.op, node.operands, node.attributes);
    if (!types.ok()) break;  // Append says what is wrong.
    Simplified better;
    if (types->size() == 1) {
      better = SimplifyNode(graph_, node, types->front());
    }
    if (const ValueId* value = std::get_if<ValueId>(&better)) {
      return {Value(this, *value)};
    }
    if (std::holds_alternative<std::monostate>(better)) {
      const bool small =
          std::ranges::all_of(*types, [&](const TensorType& type) {
            const Dim count = type.shape.ElementCount();
            return type.kind == ValueKind::kTensor && count.is_constant() &&
                   count.constant() <= options_.fold_limit;
          });
      if (small) {
        if (auto folded = Fold(node)) return *std::move(folded);
      }
      break;
    }
    node = std::get<PendingNode>(std::move(better));
  }
  return Append(std::move(node), {});
}

Value GraphBuilder::Node1(Op op, std::initializer_list<Value> operands,
                          Attributes attributes) {
  return Node(op, std::span(operands.begin(), operands.size()),
              std::move(attributes))[0];
}

std::optional<Graph> GraphBuilder::MakeBody(std::string_view name,
                                            std::span<const TensorType> inputs,
                                            const Body& body) {
  if (!status_.ok()) return std::nullopt;
  GraphBuilder builder(graph_.NewBody(std::string(name)), options_);
  builder.origin_ = origin_;
  Values values;
  for (size_t i = 0; i < inputs.size(); ++i) {
    values.push_back(builder.Input(StrCat("in", i), inputs[i]));
  }
  std::vector<std::pair<std::string, Value>> outputs;
  for (const Value& output : body(builder, values)) {
    outputs.emplace_back(StrCat("out", outputs.size()), output);
  }
  StatusOr<Graph> built = builder.Build(outputs);
  if (built.ok()) return *std::move(built);
  Fail(Annotate(built.status(), StrCat("in body ", name)));
  return std::nullopt;
}

GraphBuilder::Values GraphBuilder::If(Value condition,
                                      std::span<const Value> operands,
                                      const Body& then, const Body& otherwise) {
  std::vector<TensorType> types;
  for (const Value& operand : operands) types.push_back(operand.type());
  Values all = {condition};
  all.insert(all.end(), operands.begin(), operands.end());
  return NodeWithBodies(Op::kIf, all, NoneAttrs(),
                        {{"then", types, then}, {"else", types, otherwise}});
}

GraphBuilder::Values GraphBuilder::While(std::span<const Value> values,
                                         const Body& condition,
                                         const Body& step) {
  std::vector<TensorType> types;
  for (const Value& value : values) types.push_back(value.type());
  return NodeWithBodies(
      Op::kWhile, values, NoneAttrs(),
      {{"condition", types, condition}, {"step", types, step}});
}

GraphBuilder::Values GraphBuilder::Loop(Value trips, Value condition,
                                        std::span<const Value> operands,
                                        const Body& body, LoopAttrs attrs) {
  Values all = {trips, condition};
  all.insert(all.end(), operands.begin(), operands.end());
  std::vector<TensorType> types;
  for (const Value& value : all) types.push_back(value.type());
  return NodeWithBodies(Op::kLoop, all, std::move(attrs),
                        {{"body", types, body}});
}

GraphBuilder::Values GraphBuilder::Scan(std::span<const Value> operands,
                                        const Body& body, ScanAttrs attrs) {
  const auto count = static_cast<int64_t>(operands.size());
  std::vector<TensorType> types;
  for (int64_t i = 0; i < count; ++i) {
    TensorType type = operands[i].type();
    const int64_t scanned = i - attrs.carried;
    if (scanned >= 0 && i < count - attrs.captures) {
      int64_t axis = scanned < static_cast<int64_t>(attrs.scan_axes.size())
                         ? attrs.scan_axes[scanned]
                         : 0;
      if (axis < 0) axis += type.shape.rank();
      std::vector<Dim>& dims = type.shape.mutable_dims();
      if (axis >= 0 && axis < static_cast<int64_t>(dims.size())) {
        dims.erase(dims.begin() + axis);
      }
    }
    types.push_back(std::move(type));
  }
  return NodeWithBodies(Op::kScan, operands, std::move(attrs),
                        {{"body", types, body}});
}

GraphBuilder::Values GraphBuilder::NodeWithBodies(
    Op op, std::span<const Value> operands, Attributes attributes,
    std::initializer_list<BodyPlan> plans) {
  std::vector<Graph> bodies;
  for (const BodyPlan& plan : plans) {
    auto body = MakeBody(plan.name, plan.inputs, plan.body);
    if (!body) return Values(1);
    bodies.push_back(*std::move(body));
  }
  if (auto* scan = attributes.GetIf<ScanAttrs>()) {
    // One entry per scanned operand and stacked result.
    const size_t count = operands.size() + bodies[0].outputs().size() -
                         2 * scan->carried - scan->captures;
    if (scan->scan_axes.empty()) scan->scan_axes.resize(count);
    if (scan->directions.empty()) scan->directions.resize(count);
  }
  return Node(op, operands, std::move(attributes), std::move(bodies));
}

}  // namespace encore
