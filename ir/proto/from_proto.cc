#include "encore/ir/proto/from_proto.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "encore/ir/proto/graph.pb.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "google/protobuf/io/coded_stream.h"

namespace encore {
namespace {

// Messages around each other: two a body, three a dim within a dim, and a few
// around both.
constexpr int kMaxMessageDepth = 2 * kMaxBodyDepth + 3 * kMaxDimDepth + 16;

class Reader {
 public:
  StatusOr<Graph> Read(const proto::Module& module) {
    if (module.version() != 1) {
      return InvalidArgumentError(StrCat("a graph message of version ",
                                         module.version(), ", expected 1"));
    }
    Graph graph(module.graph().name());
    for (const proto::Symbol& symbol : module.symbols()) {
      ENCORE_RETURN_IF_ERROR(
          graph
              .AddSymbol(
                  {.name = symbol.name(),
                   .lower = symbol.lower(),
                   .upper = symbol.has_upper() ? symbol.upper() : INT64_MAX,
                   .at_run_time = symbol.at_run_time()})
              .status());
    }
    symbols_ = static_cast<uint32_t>(module.symbols_size());
    ENCORE_RETURN_IF_ERROR(ReadGraph(module.graph(), &graph, 0));
    return graph;
  }

 private:
  // Bodies nest at most kMaxBodyDepth deep.
  Status ReadGraph(const proto::Graph& from, Graph* graph, int depth) {
    if (depth > kMaxBodyDepth) {
      return InvalidArgumentError(
          StrCat("bodies nest deeper than ", kMaxBodyDepth));
    }
    std::vector<ValueId> values;
    for (const proto::Argument& argument : from.arguments()) {
      auto value = ReadArgument(argument, graph);
      if (!value.ok()) {
        return Annotate(value.status(),
                        StrCat("argument ", Quote(argument.name())));
      }
      values.push_back(*value);
    }
    for (int i = 0; i < from.nodes_size(); ++i) {
      const proto::Node& node = from.nodes(i);
      const Status status = ReadNode(node, graph, depth, &values);
      if (!status.ok()) {
        return Annotate(status, StrCat("node ", i, " (", node.op(), ")"));
      }
    }
    for (const proto::Output& output : from.outputs()) {
      if (output.value() >= values.size()) {
        return InvalidArgumentError(StrCat("output ", Quote(output.name()),
                                           ": no value ", output.value()));
      }
      ENCORE_RETURN_IF_ERROR(
          graph->AddOutput(output.name(), values[output.value()]));
    }
    return OkStatus();
  }

  StatusOr<ValueId> ReadArgument(const proto::Argument& from, Graph* graph) {
    ENCORE_ASSIGN_OR_RETURN(TensorType type, ReadType(from.type()));
    if (!from.is_parameter()) {
      if (from.has_data()) {
        return InvalidArgumentError(
            "an input cannot have data, only a parameter can");
      }
      return graph->AddInput(from.name(), std::move(type), from.origin());
    }
    std::optional<Literal> data;
    if (from.has_data()) {
      ENCORE_ASSIGN_OR_RETURN(data, ReadTensor(from.data()));
    }
    return graph->AddParameter(from.name(), std::move(type), std::move(data),
                               from.origin());
  }

  Status ReadNode(const proto::Node& from, Graph* graph, int depth,
                  std::vector<ValueId>* values) {
    const auto op = ParseOp(from.op());
    if (!op || *op == Op::kInput || *op == Op::kParameter) {
      return InvalidArgumentError("unknown op");
    }
    std::vector<ValueId> operands;
    for (const uint32_t number : from.operands()) {
      if (number >= values->size()) {
        return InvalidArgumentError(
            StrCat("operand ", number,
                   " refers to a value that no earlier node defines"));
      }
      operands.push_back((*values)[number]);
    }
    Attributes attributes = DefaultAttributes(Info(*op).attributes);
    for (const proto::Attribute& attribute : from.attributes()) {
      ENCORE_RETURN_IF_ERROR(ReadAttribute(attribute, &attributes));
    }
    Graph::NodeOptions options{.origin = from.origin()};
    for (const proto::Graph& body : from.bodies()) {
      options.bodies.push_back(graph->NewBody(body.name()));
      ENCORE_RETURN_IF_ERROR(
          ReadGraph(body, &options.bodies.back(), depth + 1));
    }
    ENCORE_ASSIGN_OR_RETURN(const NodeId node,
                            graph->AddNode(*op, operands, std::move(attributes),
                                           std::move(options)));
    for (int i = 0; i < graph->result_count(node); ++i) {
      values->push_back(graph->result(node, i));
    }
    return CheckResults(from, *graph, node);
  }

  Status CheckResults(const proto::Node& from, const Graph& graph,
                      NodeId node) {
    if (from.results_size() == 0) return OkStatus();
    if (from.results_size() != graph.result_count(node)) {
      return InvalidArgumentError(StrCat(
          graph.result_count(node), " results, not ", from.results_size()));
    }
    for (int i = 0; i < from.results_size(); ++i) {
      ENCORE_ASSIGN_OR_RETURN(const TensorType type, ReadType(from.results(i)));
      const TensorType& inferred = graph.type(graph.result(node, i));
      if (type != inferred) {
        return InvalidArgumentError(
            StrCat("result ", i, " is ", inferred.ToString(graph.symbols()),
                   ", not ", type.ToString(graph.symbols())));
      }
    }
    return OkStatus();
  }

  Status ReadAttribute(const proto::Attribute& from, Attributes* attributes) {
    bool found = false;
    Status status;
    VisitFields(*attributes,
                [&](std::string_view name, auto& field, const auto&) {
                  if (name != from.name()) return;
                  found = true;
                  status = ReadField(from, &field);
                });
    if (!found) {
      return InvalidArgumentError(StrCat("no attribute ", Quote(from.name())));
    }
    return Annotate(status, from.name());
  }

  static Status WrongKind() {
    return InvalidArgumentError(
        "the value is of the wrong kind for this attribute");
  }
  static Status ReadField(const proto::Attribute& from, bool* field) {
    if (from.value_case() != proto::Attribute::kBoolean) return WrongKind();
    *field = from.boolean();
    return OkStatus();
  }
  static Status ReadField(const proto::Attribute& from, int64_t* field) {
    if (from.value_case() != proto::Attribute::kInteger) return WrongKind();
    *field = from.integer();
    return OkStatus();
  }
  static Status ReadField(const proto::Attribute& from, double* field) {
    if (from.value_case() != proto::Attribute::kNumber) return WrongKind();
    *field = from.number();
    return OkStatus();
  }
  static Status ReadField(const proto::Attribute& from, DType* field) {
    if (from.value_case() != proto::Attribute::kDtype) return WrongKind();
    ENCORE_ASSIGN_OR_RETURN(*field, ReadDType(from.dtype()));
    return OkStatus();
  }
  static Status ReadField(const proto::Attribute& from, std::string* field) {
    if (from.value_case() != proto::Attribute::kText) return WrongKind();
    *field = from.text();
    return OkStatus();
  }
  static Status ReadField(const proto::Attribute& from, Ints* field) {
    if (from.value_case() != proto::Attribute::kIntegers) return WrongKind();
    const auto& items = from.integers().items();
    field->assign(items.begin(), items.end());
    return OkStatus();
  }
  Status ReadField(const proto::Attribute& from, Dims* field) {
    if (from.value_case() != proto::Attribute::kDims) return WrongKind();
    ENCORE_ASSIGN_OR_RETURN(*field, ReadDims(from.dims()));
    return OkStatus();
  }
  static Status ReadField(const proto::Attribute& from, AxisPairs* field) {
    if (from.value_case() != proto::Attribute::kAxisPairs) return WrongKind();
    const proto::AxisPairs& pairs = from.axis_pairs();
    field->lhs.assign(pairs.lhs().begin(), pairs.lhs().end());
    field->rhs.assign(pairs.rhs().begin(), pairs.rhs().end());
    return OkStatus();
  }
  static Status ReadField(const proto::Attribute& from, Literal* field) {
    if (from.value_case() != proto::Attribute::kTensor) return WrongKind();
    ENCORE_ASSIGN_OR_RETURN(*field, ReadTensor(from.tensor()));
    return OkStatus();
  }
  template <typename Enum>
    requires std::is_enum_v<Enum>
  static Status ReadField(const proto::Attribute& from, Enum* field) {
    if (from.value_case() != proto::Attribute::kEnumerator) return WrongKind();
    const auto value = EnumValue<Enum>(from.enumerator());
    if (!value) {
      return InvalidArgumentError(StrCat("no ", Quote(from.enumerator())));
    }
    *field = *value;
    return OkStatus();
  }

  static StatusOr<DType> ReadDType(const std::string& name) {
    const auto dtype = ParseDType(name);
    if (!dtype) {
      return InvalidArgumentError(StrCat("no dtype ", Quote(name)));
    }
    return *dtype;
  }

  StatusOr<TensorType> ReadType(const proto::Type& from) {
    TensorType type;
    ENCORE_ASSIGN_OR_RETURN(type.dtype, ReadDType(from.dtype()));
    ENCORE_ASSIGN_OR_RETURN(Dims dims, ReadDims(from.dims()));
    type.shape = Shape(std::move(dims));
    if (!proto::Type::Kind_IsValid(from.kind())) {
      return InvalidArgumentError("unknown kind of host object");
    }
    type.kind = static_cast<ValueKind>(from.kind());
    return type;
  }

  StatusOr<Dims> ReadDims(const proto::Dims& from) {
    Dims dims;
    for (const proto::Dim& item : from.items()) {
      dims.push_back(ReadDim(item, 0));
      if (!dims.back().valid()) return InvalidArgumentError("invalid dim");
    }
    return dims;
  }

  Dim ReadDim(const proto::Dim& from, int depth) {
    if (depth > kMaxDimDepth || from.terms_size() > kMaxDimTerms) {
      return Dim::Invalid();
    }
    Dim sum = from.constant();
    for (const proto::Term& term : from.terms()) {
      if (term.factors_size() > kMaxDimTerms) return Dim::Invalid();
      Dim product = term.coefficient();
      for (const proto::Factor& factor : term.factors()) {
        product = product * ReadFactor(factor, depth);
        if (!product.valid()) return product;
      }
      sum = sum + product;
    }
    return sum;
  }

  Dim ReadFactor(const proto::Factor& from, int depth) {
    if (from.op() == proto::Factor::SYMBOL) {
      if (from.symbol() >= symbols_) return Dim::Invalid();
      return Dim::OfSymbol(from.symbol());
    }
    const Dim a = ReadDim(from.a(), depth + 1);
    const Dim b = ReadDim(from.b(), depth + 1);
    if (!a.valid() || !b.valid()) return Dim::Invalid();
    switch (from.op()) {
      case proto::Factor::FLOOR_DIV:
        return FloorDiv(a, b);
      case proto::Factor::MOD:
        return Mod(a, b);
      case proto::Factor::MAX:
        return Max(a, b);
      case proto::Factor::MIN:
        return Min(a, b);
      default:
        return Dim::Invalid();
    }
  }

  static StatusOr<Literal> ReadTensor(const proto::Tensor& from) {
    ENCORE_ASSIGN_OR_RETURN(const DType dtype, ReadDType(from.dtype()));
    std::vector<int64_t> dims(from.dims().begin(), from.dims().end());
    if (dims.size() > kMaxRank) {
      return InvalidArgumentError(StrCat("a tensor of rank ", dims.size()));
    }
    if (!IsString(dtype)) {
      return Literal::Copy(dtype, std::move(dims),
                           std::as_bytes(std::span(from.data())));
    }
    const auto count = ElementCount(dims);
    if (!count || *count != from.strings_size()) {
      return InvalidArgumentError(StrCat("a tensor of string[",
                                         StrJoin(dims, ","), "] with ",
                                         from.strings_size(), " strings"));
    }
    return Literal::Strings(std::move(dims),
                            {from.strings().begin(), from.strings().end()});
  }

  uint32_t symbols_ = 0;
};

}  // namespace

StatusOr<Graph> FromProto(std::string_view bytes) {
  if (bytes.size() > INT32_MAX) {
    return InvalidArgumentError("a message may have at most 2 GiB");
  }
  google::protobuf::io::CodedInputStream in(
      reinterpret_cast<const uint8_t*>(bytes.data()),
      static_cast<int>(bytes.size()));
  in.SetRecursionLimit(kMaxMessageDepth);
  proto::Module module;
  if (!module.ParseFromCodedStream(&in) || !in.ConsumedEntireMessage()) {
    return InvalidArgumentError("not a graph message, or a truncated one");
  }
  return Reader().Read(module);
}

}  // namespace encore
