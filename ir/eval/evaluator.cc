#include "encore/ir/eval/evaluator.h"

#include <algorithm>

#include "encore/ir/eval/copy.h"
#include "encore/ir/eval/families.h"
#include "encore/ir/graph/symbol_binding.h"
#include "encore/ir/ops/infer.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore {
namespace {

using eval::EvalContext;
using eval::Literals;
using eval::Results;

using EvaluateFunction = Results (*)(const EvalContext&);

constexpr EvaluateFunction kEvaluate[] = {
#define ENCORE_OP(Kind, mnemonic, level, signature, dtypes, Attrs, Family, \
                  traits, summary)                                         \
  eval::Evaluate##Family,
#include "encore/ir/ops/ops.def"
#undef ENCORE_OP
};

// The attributes with the dims' values in place of symbols.
Attributes Substituted(const Attributes& attributes,
                       std::span<const Dim> replacements) {
  Attributes result = attributes;
  VisitFields(result, [&](std::string_view, auto& field, const auto&) {
    if constexpr (std::is_same_v<std::decay_t<decltype(field)>, Dims>) {
      for (Dim& dim : field) dim = dim.Substitute(replacements);
    }
  });
  return result;
}

// Results are tensors of known extents, each of at most `max_bytes` bytes.
Status CheckResultBytes(Op op, std::span<const TensorType> types,
                        int64_t max_bytes) {
  for (const TensorType& type : types) {
    if (type.kind != ValueKind::kTensor) {
      return InvalidArgumentError(
          StrCat(op, ": a result of type ", type, ", expected a tensor"));
    }
    if (!type.shape.is_constant()) {
      return InvalidArgumentError(
          StrCat(op, ": unknown extents of the result ", type));
    }
    const auto count = ElementCount(type.shape.ConstantDims());
    const auto bytes = !count                 ? count
                       : IsString(type.dtype) ? *count
                                              : ByteSize(type.dtype, *count);
    if (!bytes || *bytes > max_bytes) {
      return ResourceExhaustedError(StrCat(op, ": a result of type ", type,
                                           ", at most ", max_bytes,
                                           " bytes are evaluated"));
    }
  }
  return OkStatus();
}

// Without elements there is nothing to compute, however large other extents;
// what may fail still does.
bool AllEmpty(std::span<const TensorType> types) {
  return std::ranges::all_of(types, [](const TensorType& type) {
    return type.shape.ElementCount() == Dim(0);
  });
}

Literals EmptyResults(std::span<const TensorType> types) {
  Literals results;
  for (const TensorType& type : types) {
    results.push_back(Literal(type.dtype, type.shape.ConstantDims()));
  }
  return results;
}

// Movement works on elements of whole bytes.
bool MovesElements(Op op, const Attributes& attributes) {
  if (op == Op::kSelect || Info(op).has(kMovement)) return true;
  const auto* scatter = attributes.GetIf<ScatterAttrs>();
  return scatter != nullptr && scatter->update == Update::kSet;
}

Results RunUnpacked(const EvalContext& context) {
  const DType dtype = context.results[0].dtype;
  Literals operands(context.operands.begin(), context.operands.end());
  for (Literal& operand : operands) {
    if (operand.dtype() == dtype) operand = eval::Unpack(operand);
  }
  TensorType type = context.results[0];
  type.dtype = DType::kU8;
  const EvalContext unpacked{
      context.op, context.attributes, operands, {&type, 1}, nullptr, 0};
  ENCORE_ASSIGN_OR_RETURN(Literals results,
                          kEvaluate[static_cast<int>(context.op)](unpacked));
  results[0] = eval::Pack(results[0], dtype);
  return results;
}

// Whether a value is of `type`, whose dims may be unknown.
bool Fits(const Literal& value, const TensorType& type) {
  if (value.dtype() != type.dtype || value.kind() != type.kind ||
      value.rank() != type.shape.rank()) {
    return false;
  }
  for (int d = 0; d < value.rank(); ++d) {
    const Dim& dim = type.shape[d];
    if (dim.is_constant() && dim.constant() != value.dims()[d]) return false;
  }
  return true;
}

// The operator itself says the shapes of its results.
Results RunOnHost(Op op, const Attributes& attributes, const Literals& operands,
                  std::span<const TensorType> types) {
  const EvalContext context{op, attributes, operands, types, nullptr, 0};
  ENCORE_ASSIGN_OR_RETURN(Literals results,
                          kEvaluate[static_cast<int>(op)](context));
  for (size_t i = 0; i < results.size(); ++i) {
    if (Fits(results[i], types[i])) continue;
    return InvalidArgumentError(StrCat(op, ": result ", i, " is ",
                                       results[i].type(), ", expected ",
                                       types[i]));
  }
  return results;
}

// Evaluates a node without bodies whose attributes have constant dims, but for
// the symbols that it defines. REQUIRES aligned operands.
Results RunPlain(Op op, const Attributes& attributes, Literals operands,
                 const EvaluateOptions& options,
                 std::span<const Symbol> symbols = {}) {
  std::vector<TensorType> types;
  for (const Literal& operand : operands) types.push_back(operand.type());
  ENCORE_ASSIGN_OR_RETURN(const std::vector<TensorType> results,
                          InferTypes({op, attributes, types, {}, symbols}));
  if (Info(op).has(kNonFlatValues)) {
    return RunOnHost(op, attributes, operands, results);
  }
  ENCORE_RETURN_IF_ERROR(CheckResultBytes(op, results, options.max_bytes));
  if (op == Op::kCustom && options.custom) {
    return options.custom(attributes.Get<CustomAttrs>(), operands);
  }
  if (AllEmpty(results) && !MayFail(op, attributes)) {
    return EmptyResults(results);
  }
  const EvalContext context{op, attributes, operands, results, nullptr, 0};
  if (MovesElements(op, attributes) && IsPacked(results[0].dtype)) {
    return RunUnpacked(context);
  }
  return kEvaluate[static_cast<int>(op)](context);
}

class Evaluation {
 public:
  Evaluation(const Graph& graph, const EvaluateOptions& options,
             SymbolBinding& binding, bool is_body)
      : graph_(graph),
        options_(options),
        binding_(binding),
        is_body_(is_body),
        uses_(UseCounts(graph)),
        values_(graph.value_count()) {}

  Results Run(std::span<const Literal> arguments) && {
    ENCORE_RETURN_IF_ERROR(BindArguments(arguments));
    const std::vector<bool> live = LiveNodes(graph_);
    for (const NodeId node : Nodes(graph_)) {
      if (!live[node.value()]) continue;
      const Status status = Step(node);
      if (!status.ok()) return Annotated(node, status);
    }
    Literals outputs;
    for (const Graph::Output& output : graph_.outputs()) {
      outputs.push_back(*values_[output.value.value()]);
    }
    return outputs;
  }

 private:
  Status BindArguments(std::span<const Literal> given);
  Status BindArgument(const Graph::Argument& argument, const Literal& literal);
  Status Step(NodeId node);
  Status DefineSymbols(const DefineSymbolsAttrs& attrs, const Literal& values);
  Results RunBodies(NodeId node, const Literals& operands);
  Status Store(NodeId node, Literals results);
  Literals TakeOperands(NodeId node);

  Status Annotated(NodeId node, const Status& status) const {
    const std::string& origin = graph_.origin(node);
    return Annotate(
        status, StrCat("node ", node.value(), " (", Mnemonic(graph_.op(node)),
                       origin.empty() ? "" : ", ", origin, ")"));
  }

  const Graph& graph_;
  const EvaluateOptions& options_;
  SymbolBinding& binding_;
  const bool is_body_;
  std::vector<int> uses_;
  std::vector<std::optional<Literal>> values_;
};

Status Evaluation::BindArgument(const Graph::Argument& argument,
                                const Literal& literal) {
  const TensorType& type = graph_.type(argument.value);
  const std::string what = StrCat("argument ", Quote(argument.name));
  if (literal.dtype() != type.dtype || literal.kind() != type.kind) {
    return InvalidArgumentError(StrCat(what, " is ", literal.type(),
                                       ", expected ",
                                       type.ToString(graph_.symbols())));
  }
  ENCORE_RETURN_IF_ERROR(binding_.Bind(what, type.shape, literal.dims()));
  values_[argument.value.value()] = literal;
  return OkStatus();
}

Status Evaluation::BindArguments(std::span<const Literal> given) {
  const std::span<const Graph::Argument> arguments = graph_.arguments();
  size_t without_data = 0;
  for (const Graph::Argument& argument : arguments) {
    without_data += !argument.data.has_value();
  }
  const bool all = given.size() == arguments.size();
  if (!all && given.size() != without_data) {
    return InvalidArgumentError(StrCat(given.size(), " arguments, expected ",
                                       arguments.size(), " or the ",
                                       without_data, " without data"));
  }
  // Twice: a dim such as M + N is checked once both are bound.
  for (int pass = 0; pass < 2; ++pass) {
    size_t next = 0;
    for (const Graph::Argument& argument : arguments) {
      const bool own = !all && argument.data.has_value();
      ENCORE_RETURN_IF_ERROR(
          BindArgument(argument, own ? *argument.data : given[next++]));
    }
  }
  return OkStatus();
}

Literals Evaluation::TakeOperands(NodeId node) {
  Literals operands;
  for (const ValueId operand : graph_.operands(node)) {
    // What lies in a mapped file, a constant or an argument, need not be.
    operands.push_back(values_[operand.value()]->Aligned());
  }
  for (const ValueId operand : graph_.operands(node)) {
    if (--uses_[operand.value()] == 0) values_[operand.value()].reset();
  }
  return operands;
}

Results Evaluation::RunBodies(NodeId node, const Literals& operands) {
  std::vector<TensorType> types;
  for (int i = 0; i < graph_.result_count(node); ++i) {
    TensorType type = graph_.type(graph_.result(node, i));
    type.shape = type.shape.Substitute(binding_.replacements());
    types.push_back(std::move(type));
  }
  const auto run_body = [&](int i, std::span<const Literal> inputs) {
    // Run-time symbols of a body have a value per run.
    SymbolBinding binding = binding_;
    return Evaluation(graph_.bodies(node)[i], options_, binding,
                      /*is_body=*/true)
        .Run(inputs);
  };
  const Attributes attributes =
      Substituted(graph_.attributes(node), binding_.replacements());
  const EvalContext context{graph_.op(node), attributes,
                            operands,        types,
                            run_body,        options_.max_iterations};
  return kEvaluate[static_cast<int>(context.op)](context);
}

Status Evaluation::Store(NodeId node, Literals results) {
  for (int i = 0; i < graph_.result_count(node); ++i) {
    const ValueId value = graph_.result(node, i);
    // Binds symbols known at run time only, and checks all others.
    ENCORE_RETURN_IF_ERROR(binding_.Bind(
        StrCat("result ", i), graph_.shape(value), results[i].dims()));
  }
  if (options_.on_node && !is_body_) {
    ENCORE_RETURN_IF_ERROR(options_.on_node(node, results));
  }
  for (int i = 0; i < graph_.result_count(node); ++i) {
    const ValueId value = graph_.result(node, i);
    if (uses_[value.value()] > 0) {
      values_[value.value()] = std::move(results[i]);
    }
  }
  return OkStatus();
}

Status Evaluation::DefineSymbols(const DefineSymbolsAttrs& attrs,
                                 const Literal& values) {
  std::vector<int64_t> extents;
  for (int64_t i = 0; i < values.element_count(); ++i) {
    extents.push_back(values.AsInt(i));
  }
  const Status bound =
      binding_.Bind("the definition", Shape(attrs.dims), extents);
  if (bound.ok() || attrs.message.empty()) return bound;
  return OutOfRangeError(attrs.message);
}

Status Evaluation::Step(NodeId node) {
  const Op op = graph_.op(node);
  if (op == Op::kInput || op == Op::kParameter) {
    if (!options_.on_node || is_body_) return OkStatus();
    const Literal& value = *values_[graph_.result(node).value()];
    return options_.on_node(node, {&value, 1});
  }
  Literals operands = TakeOperands(node);
  if (!graph_.bodies(node).empty()) {
    ENCORE_ASSIGN_OR_RETURN(Literals results, RunBodies(node, operands));
    return Store(node, std::move(results));
  }
  if (op == Op::kDefineSymbols) {
    const auto& attrs = graph_.attrs<DefineSymbolsAttrs>(node);
    ENCORE_RETURN_IF_ERROR(DefineSymbols(attrs, operands[0]));
  }
  ENCORE_ASSIGN_OR_RETURN(
      Literals results,
      RunPlain(op,
               Substituted(graph_.attributes(node), binding_.replacements()),
               std::move(operands), options_,
               Info(op).has(kDefinesSymbols) ? graph_.symbols()
                                             : std::span<const Symbol>()));
  return Store(node, std::move(results));
}

}  // namespace

StatusOr<std::vector<Literal>> Evaluate(const Graph& graph,
                                        std::span<const Literal> arguments,
                                        const EvaluateOptions& options) {
  SymbolBinding binding(graph.symbols());
  return Evaluation(graph, options, binding, /*is_body=*/false).Run(arguments);
}

StatusOr<std::vector<Literal>> EvaluateNode(Op op, const Attributes& attributes,
                                            std::span<const Literal> operands,
                                            const EvaluateOptions& options) {
  Literals aligned;
  for (const Literal& operand : operands) aligned.push_back(operand.Aligned());
  return RunPlain(op, attributes, std::move(aligned), options);
}

std::optional<std::vector<Literal>> FoldByEvaluation(
    Op op, const Attributes& attributes, std::span<const Literal> operands) {
  auto results = EvaluateNode(op, attributes, operands);
  if (!results.ok()) return std::nullopt;
  return *std::move(results);
}

}  // namespace encore
