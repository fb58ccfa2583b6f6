#include "encore/ir/import/onnx/importer.h"

#include <algorithm>
#include <set>

#include "encore/ir/build/builder.h"
#include "encore/ir/eval/evaluator.h"
#include "encore/ir/import/onnx/control/host_values.h"
#include "encore/ir/import/onnx/control/node_queue.h"
#include "encore/ir/import/onnx/converter_table.h"
#include "encore/ir/import/onnx/format/check_model.h"
#include "encore/ir/import/onnx/format/check_node.h"
#include "encore/ir/import/onnx/format/functions.h"
#include "encore/ir/import/onnx/format/model.h"
#include "encore/ir/import/onnx/format/node_order.h"
#include "encore/ir/import/onnx/format/split_maps.h"
#include "encore/ir/import/onnx/format/tensor_data.h"
#include "encore/ir/import/onnx/format/upgrade.h"
#include "encore/ir/import/onnx/format/warnings.h"
#include "encore/ir/import/onnx/scope/context.h"
#include "encore/ir/import/onnx/scope/declared.h"
#include "encore/ir/import/onnx/scope/element_shape.h"
#include "encore/ir/import/onnx/scope/scope.h"
#include "encore/ir/import/onnx/shapes/fold_dims.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::onnx {
namespace {

// The bound of a dim that the model leaves open. Exporters write "to the end"
// of a slice as 10^9 or more, which is then beyond every extent.
constexpr int64_t kMaxOpenDim = int64_t{1} << 29;

// `name` as an identifier.
std::string Identifier(std::string_view name) {
  std::string out;
  for (const char c : name) {
    const bool kept = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                      (c >= 'A' && c <= 'Z') || c == '_';
    out += kept ? c : '_';
  }
  if (out.empty() || (out[0] >= '0' && out[0] <= '9')) out.insert(0, "_");
  return out;
}

// Nodes in bodies of control flow, which are imported anew where a loop is
// unrolled or more is known of what it carries: nested, they add up.
constexpr int64_t kMaxBodyNodes = int64_t{1} << 18;

// One pass over the model.
class Pass : public BodyImporter {
 public:
  // `warnings` outlives this.
  Pass(const Model& model, const DataSource& source,
       const ImportOptions& options, ReadWeights* read_weights,
       Warnings* warnings)
      : model_(model),
        source_(source),
        options_(options),
        warnings_(warnings),
        builder_(Identifier(model.graph.name), Options()),
        scope_(&builder_, read_weights) {}

  StatusOr<encore::Graph> Run();
  Status ImportBody(const Graph& graph, Scope& scope) override;
  bool extents_given() const override { return extents_given_; }
  bool needs_restart() const { return scope_.needs_restart(); }

 private:
  static BuilderOptions Options() {
    BuilderOptions options;
    options.folder = FoldByEvaluation;
    return options;
  }

  Status BindInitializers(const Graph& graph, Scope& scope);
  Status BindInputs();
  // `shape`: the one that is given for it by position, if any.
  Status BindInput(const ValueInfo& input,
                   const std::optional<std::vector<int64_t>>& shape);
  Status BindHostObject(const ValueInfo& input, const TensorType& type);
  StatusOr<Shape> InputShape(const ValueInfo& input);
  StatusOr<Dim> InputDim(const ValueInfo& input, int i);
  Status ImportNodes(const Graph& graph, NameSet known, Scope& scope);
  Status ImportNode(const Node& original, Scope& scope);
  Status CheckInputTypes(const Node& node, const Scope& scope);
  // Against what the graph declares. A shape is only a hint: what the node
  // gives counts, and of a contradiction it is warned.
  Status CheckOutputs(const Node& node, const Declared& declared, Scope& scope);
  StatusOr<encore::Graph> Finish();

  const Model& model_;
  const DataSource& source_;
  const ImportOptions& options_;
  Warnings* warnings_;
  int64_t body_nodes_ = 0;
  NodeQueue::Shared queues_;
  GraphBuilder builder_;
  Scope scope_;
  UpgradeStore store_;
  size_t bound_tensors_ = 0;
  // Shapes given for inputs, by name.
  std::map<std::string, std::vector<int64_t>> shapes_;
  // Extents that given shapes and bindings fix, by symbol, and the names of
  // all symbolic dims.
  std::map<std::string, int64_t> bindings_;
  std::set<std::string> dim_names_;
  std::map<std::string, Dim> symbols_;
  bool extents_given_ = false;
};

// `status` with the node that reads the value first, where there is one.
Status WithReader(const Graph& graph, std::string_view name, Status status) {
  for (const Node& node : graph.nodes) {
    if (std::ranges::find(node.inputs, name) == node.inputs.end()) continue;
    return Annotate(status, NodeTitle(node));
  }
  return status;
}

Status Pass::BindInitializers(const Graph& graph, Scope& scope) {
  for (const Tensor& tensor : graph.initializers) {
    StatusOr<Literal> literal = ToLiteral(tensor, source_);
    if (!literal.ok()) return WithReader(graph, tensor.name, literal.status());
    const bool is_weight = IsWeight(*literal);
    ENCORE_RETURN_IF_ERROR(scope.Bind(
        tensor.name,
        Bound{std::nullopt, *std::move(literal), std::nullopt, is_weight}));
  }
  return OkStatus();
}

StatusOr<Dim> Pass::InputDim(const ValueInfo& input, int i) {
  const Dimension& dimension = (*input.type.shape)[i];
  std::optional<int64_t> given;
  const auto shape = shapes_.find(std::string(input.name));
  if (shape != shapes_.end()) given = shape->second[i];
  // A dim of -1 is how some exporters say "any".
  if (dimension.value && *dimension.value >= 0) {
    if (given && *given != *dimension.value) {
      return InvalidArgumentError(StrCat("input ", Quote(input.name), ": dim ",
                                         i, " is ", *dimension.value, ", not ",
                                         *given));
    }
    return Dim(*dimension.value);
  }
  if (dimension.value && *dimension.value < -1) {
    return InvalidArgumentError(StrCat("input ", Quote(input.name), ": dim ", i,
                                       " is ", *dimension.value));
  }
  extents_given_ |= given.has_value();
  const bool named = !dimension.param.empty() && dimension.param != "?";
  const std::string name = named ? Identifier(dimension.param)
                                 : StrCat(Identifier(input.name), "_", i);
  dim_names_.insert(name);
  const auto bound = bindings_.find(name);
  if (bound != bindings_.end()) {
    extents_given_ = true;
    if (given && *given != bound->second) {
      return InvalidArgumentError(StrCat("input ", Quote(input.name), ": dim ",
                                         i, " (", name, ") is bound to ",
                                         bound->second, ", not ", *given));
    }
    return Dim(bound->second);
  }
  if (given) {
    bindings_[name] = *given;
    return Dim(*given);
  }
  const auto known = symbols_.find(name);
  if (known != symbols_.end()) return known->second;
  return symbols_[name] = builder_.Symbol(name, 0, kMaxOpenDim);
}

StatusOr<Shape> Pass::InputShape(const ValueInfo& input) {
  const auto given = shapes_.find(std::string(input.name));
  if (!input.type.shape) {
    if (given == shapes_.end()) {
      return InvalidArgumentError(
          StrCat("input ", Quote(input.name),
                 " has no shape in the model: give its extents"));
    }
    extents_given_ = true;
    return Shape(std::span<const int64_t>(given->second));
  }
  const size_t rank = input.type.shape->size();
  if (given != shapes_.end() && given->second.size() != rank) {
    return InvalidArgumentError(StrCat("input ", Quote(input.name),
                                       " has rank ", rank, ", not ",
                                       given->second.size()));
  }
  Dims dims;
  for (size_t i = 0; i < rank; ++i) {
    ENCORE_ASSIGN_OR_RETURN(Dim dim, InputDim(input, static_cast<int>(i)));
    dims.push_back(std::move(dim));
  }
  return Shape(std::move(dims));
}

Status Pass::BindHostObject(const ValueInfo& input, const TensorType& type) {
  const std::string name(input.name);
  Value value;
  const auto constant = options_.constants.find(name);
  if (constant != options_.constants.end()) {
    if (constant->second.type() != type) {
      return InvalidArgumentError(StrCat("input ", Quote(name), " is ",
                                         constant->second.type(),
                                         ", the model declares ", type));
    }
    value = HostConstant(builder_, constant->second);
  } else {
    value = builder_.Input(name, type);
    ElementShape elements = DeclaredElements(input.type);
    // Extents of the tensors, where the caller says them; -1 where they differ.
    if (const auto given = shapes_.find(name); given != shapes_.end()) {
      elements = {ElementShape::Kind::kRanked};
      for (const int64_t extent : given->second) {
        elements.dims.push_back(extent >= 0 ? std::optional(extent)
                                            : std::nullopt);
      }
    }
    if (value.valid()) scope_.SetElements(value, std::move(elements));
  }
  ENCORE_RETURN_IF_ERROR(builder_.status());
  return scope_.Bind(name, Bound{value, std::nullopt, std::nullopt});
}

// Against what the graph declares of the input.
Status CheckInitializer(const ValueInfo& input, const TensorType& type,
                        Scope& scope) {
  ENCORE_RETURN_IF_ERROR(TypeWithoutShape(input).status());
  return CheckDeclared(input.name, input.type, type, /*extents=*/true, scope);
}

Status Pass::BindInput(const ValueInfo& input,
                       const std::optional<std::vector<int64_t>>& shape) {
  if (shape) shapes_.emplace(input.name, *shape);
  ENCORE_ASSIGN_OR_RETURN(TensorType type, TypeWithoutShape(input));
  if (type.kind != ValueKind::kTensor) return BindHostObject(input, type);
  ENCORE_ASSIGN_OR_RETURN(type.shape, InputShape(input));
  const auto constant = options_.constants.find(std::string(input.name));
  if (constant != options_.constants.end()) {
    if (constant->second.dtype() != type.dtype ||
        constant->second.shape() != type.shape) {
      return InvalidArgumentError(
          StrCat("input ", Quote(input.name), " is ", constant->second.type(),
                 ", the model declares ", type.dtype,
                 type.shape.ToString(builder_.graph().symbols())));
    }
    return scope_.Bind(input.name,
                       Bound{std::nullopt, constant->second, std::nullopt});
  }
  const Value value = builder_.Input(std::string(input.name), std::move(type));
  ENCORE_RETURN_IF_ERROR(builder_.status());
  return scope_.Bind(input.name, Bound{value, std::nullopt, std::nullopt});
}

Status Pass::BindInputs() {
  bindings_ = options_.bindings;
  shapes_ = options_.input_shapes;
  const auto& shapes = options_.positional_shapes;
  size_t position = 0;
  for (const ValueInfo& input : model_.graph.inputs) {
    // Old files list initializers among the inputs.
    const Bound* bound = scope_.Find(input.name);
    const Status status =
        bound != nullptr
            ? CheckInitializer(input, TypeOfBound(*bound), scope_)
            : BindInput(input, position < shapes.size() ? shapes[position++]
                                                        : std::nullopt);
    if (!status.ok()) return WithReader(model_.graph, input.name, status);
  }
  for (const auto& [name, dims] : options_.input_shapes) {
    if (scope_.Find(name) == nullptr) {
      return InvalidArgumentError(
          StrCat("the model has no input ", Quote(name)));
    }
  }
  for (const auto& [name, value] : options_.bindings) {
    if (dim_names_.count(name) == 0) {
      return InvalidArgumentError(
          StrCat("the model has no symbolic dim ", Quote(name), "; it has ",
                 dim_names_.empty() ? "none" : StrJoin(dim_names_, ", ")));
    }
  }
  return OkStatus();
}

// The kind of a value in the words of the standard, which begin with the same.
TypeSet::Kind KindOf(ValueKind kind) {
  static_assert(static_cast<int>(ValueKind::kOptionalSequence) ==
                TypeSet::kOptionalSequence);
  return static_cast<TypeSet::Kind>(kind);
}

Status Pass::CheckInputTypes(const Node& node, const Scope& scope) {
  if (ReadsSplitMap(node)) return OkStatus();
  ENCORE_ASSIGN_OR_RETURN(const Schema* schema, SchemaOf(model_, node));
  return CheckTypes(
      *schema, node, [&](std::string_view name) -> std::optional<ValueType> {
        const Bound* bound = scope.Find(name);
        if (bound == nullptr) return std::nullopt;
        if (bound->value && !bound->value->valid()) return std::nullopt;
        const TensorType type = TypeOfBound(*bound);
        return ValueType{KindOf(type.kind), ElementTypeOf(type.dtype)};
      });
}

Status Pass::ImportNode(const Node& original, Scope& scope) {
  ENCORE_RETURN_IF_ERROR(CheckInputTypes(original, scope));
  Node node = original;
  const int64_t opset = OpsetOf(model_, node);
  ENCORE_RETURN_IF_ERROR(UpgradeNode(opset, &node, &store_));
  for (; bound_tensors_ < store_.tensors.size(); ++bound_tensors_) {
    const Tensor& tensor = store_.tensors[bound_tensors_];
    ENCORE_ASSIGN_OR_RETURN(Literal literal, ToLiteral(tensor, source_));
    ENCORE_RETURN_IF_ERROR(scope.Bind(
        tensor.name, Bound{std::nullopt, std::move(literal), std::nullopt}));
  }
  const Converter* converter = FindConverter(OperatorName(node));
  NodeContext context(node, scope, source_, this);
  ENCORE_ASSIGN_OR_RETURN(std::optional<KnownDims> dims, FoldDims(context));
  if (dims) {
    ENCORE_RETURN_IF_ERROR(
        context.Output(0, Bound{std::nullopt, std::nullopt, std::move(dims)}));
  } else if (converter == nullptr) {
    return UnimplementedError(
        StrCat("the operator ", node.op_type, " of opset ", opset,
               " is not supported; `encore ops` lists those that are"));
  } else {
    ENCORE_RETURN_IF_ERROR(converter->convert(context));
    ENCORE_RETURN_IF_ERROR(context.attributes().Finish());
  }
  const Status& status = scope.builder().status();
  switch (status.code()) {
    case StatusCode::kInvalidArgument:
      return scope.Stop(Obstacle::kShapeMismatch, status);
    case StatusCode::kUnimplemented:  // sizes must be known for it
      return scope.Stop(Obstacle::kUnknown, status);
    default:
      return status;
  }
}

Status Pass::CheckOutputs(const Node& node, const Declared& declared,
                          Scope& scope) {
  for (const std::string_view output : node.outputs) {
    const Bound* bound = scope.Find(output);
    if (bound == nullptr) break;
    if (bound->value && !bound->value->valid()) break;
    scope.ClearObstacle();
    const Status fits = declared.Check(output, TypeOfBound(*bound), scope);
    if (fits.ok()) continue;
    ENCORE_ASSIGN_OR_RETURN(const Schema* schema, SchemaOf(model_, node));
    const Status error = WithAttributes(*schema, node, fits);
    if (scope.obstacle() != Obstacle::kShapeMismatch || options_.strict)
      return error;
    scope.ClearObstacle();
    ENCORE_RETURN_IF_ERROR(warnings_->Add(Annotate(error, NodeTitle(node))));
  }
  return OkStatus();
}

Status Pass::ImportNodes(const Graph& graph, NameSet known, Scope& scope) {
  for (const ValueInfo& input : graph.inputs) known.insert(input.name);
  for (const Tensor& tensor : graph.initializers) known.insert(tensor.name);
  ENCORE_RETURN_IF_ERROR(CheckOrder(graph.nodes, known));
  // Extents of bodies are often declared as they are in the first trip.
  const bool extents = &graph == &model_.graph && !extents_given_;
  const Declared declared(graph, extents);
  NodeQueue queue(graph, &queues_);
  while (const Node* next = queue.Take()) {
    const Node& node = *next;
    const std::string_view name = node.name.empty() && !node.outputs.empty()
                                      ? node.outputs[0]
                                      : node.name;
    const auto origin = scope.builder().Origin(name);
    scope.ClearObstacle();
    Status imported = ImportNode(node, scope);
    if (!imported.ok() && scope.obstacle() == Obstacle::kMixedRanks) {
      // A node further out cannot be replaced for this one.
      imported = scope.Stop(Obstacle::kUnknown, imported);
      NodeContext context(node, scope, source_, this);
      imported = queue.Replace(context, imported);
      if (imported.ok()) continue;
    }
    if (imported.ok()) {
      imported = CheckOutputs(node, declared, scope);
    }
    if (!imported.ok()) return Annotate(imported, NodeTitle(node));
  }
  return OkStatus();
}

Status Pass::ImportBody(const Graph& graph, Scope& scope) {
  body_nodes_ += static_cast<int64_t>(graph.nodes.size()) + 1;
  if (body_nodes_ > kMaxBodyNodes) {
    return ResourceExhaustedError(
        StrCat("the iterations of nested loops take more than ", kMaxBodyNodes,
               " nodes"));
  }
  ENCORE_RETURN_IF_ERROR(BindInitializers(graph, scope));
  const size_t before = warnings_->count();
  const auto captured = CapturesOf(graph);
  Status imported =
      ImportNodes(graph, NameSet(captured.begin(), captured.end()), scope);
  if (!imported.ok()) warnings_->Drop(before);
  return imported;
}

StatusOr<encore::Graph> Pass::Finish() {
  std::vector<std::pair<std::string, Value>> outputs;
  for (const ValueInfo& output : model_.graph.outputs) {
    ENCORE_RETURN_IF_ERROR(scope_.CheckOutput(output.name));
    outputs.emplace_back(output.name, scope_.Tensor(output.name));
  }
  return builder_.Build(outputs);
}

StatusOr<encore::Graph> Pass::Run() {
  ENCORE_RETURN_IF_ERROR(BindInitializers(model_.graph, scope_));
  ENCORE_RETURN_IF_ERROR(BindInputs());
  ENCORE_RETURN_IF_ERROR(ImportNodes(model_.graph, {}, scope_));
  return Finish();
}

}  // namespace

StatusOr<encore::Graph> Import(std::span<const std::byte> bytes,
                               std::shared_ptr<const void> owner,
                               const std::vector<std::string>& folders,
                               const ImportOptions& options,
                               MappedFiles* files) {
  ENCORE_ASSIGN_OR_RETURN(Model model, ReadModel(bytes));
  FunctionNames names;
  Warnings warnings(options.strict, options.warnings);
  ENCORE_RETURN_IF_ERROR(CheckFunctions(model, warnings));
  ENCORE_RETURN_IF_ERROR(InlineFunctions(&model, &names));
  ENCORE_RETURN_IF_ERROR(CheckModel(model, warnings));
  ENCORE_RETURN_IF_ERROR(SplitMaps(&model, &names));
  const DataSource source{std::move(owner), folders,
                          std::make_shared<DataSource::Known>()};
  // Each restart finds a weight that has to be a constant, and there are only
  // so many.
  ReadWeights read_weights;
  for (;;) {
    const size_t before = read_weights.size();
    const size_t warned = warnings.count();
    Pass pass(model, source, options, &read_weights, &warnings);
    StatusOr<encore::Graph> graph = pass.Run();
    if (pass.needs_restart() && read_weights.size() > before) {
      warnings.Drop(warned);
      continue;
    }
    for (const auto& [path, file] : source.known->files) {
      if (files != nullptr) files->push_back(file);
    }
    return graph;
  }
}

}  // namespace encore::onnx
