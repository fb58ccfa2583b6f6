#include "encore/ir/proto/to_proto.h"

#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "encore/ir/proto/graph.pb.h"
#include "encore/ir/support/strings.h"

namespace encore {
namespace {

void Fill(const Dim& dim, proto::Dim* out) {
  out->set_constant(dim.constant_term());
  for (const Dim::Term& term : dim.terms()) {
    proto::Term* to = out->add_terms();
    to->set_coefficient(term.coefficient);
    for (const Dim::Factor& factor : term.factors) {
      proto::Factor* part = to->add_factors();
      part->set_op(static_cast<proto::Factor::Op>(factor.op));
      if (factor.op == Dim::Op::kSymbol) {
        part->set_symbol(factor.symbol);
      } else {  // at most kMaxDimDepth deep
        Fill(*factor.a, part->mutable_a());
        Fill(*factor.b, part->mutable_b());
      }
    }
  }
}

void Fill(const Dims& dims, proto::Dims* out) {
  for (const Dim& dim : dims) Fill(dim, out->add_items());
}

void Fill(const TensorType& type, proto::Type* out) {
  out->set_dtype(std::string(Name(type.dtype)));
  Fill(type.shape.dims(), out->mutable_dims());
  out->set_kind(static_cast<proto::Type::Kind>(type.kind));
}

void Fill(const Literal& literal, proto::Tensor* out) {
  out->set_dtype(std::string(Name(literal.dtype())));
  for (const int64_t dim : literal.dims()) out->add_dims(dim);
  if (IsString(literal.dtype())) {
    for (const std::string& text : literal.strings()) out->add_strings(text);
  } else {
    const Literal canonical = literal.Canonical();
    const auto bytes = canonical.bytes();
    out->set_data(bytes.data(), bytes.size());
  }
}

void FillField(bool value, proto::Attribute* out) { out->set_boolean(value); }
void FillField(int64_t value, proto::Attribute* out) {
  out->set_integer(value);
}
void FillField(double value, proto::Attribute* out) { out->set_number(value); }
void FillField(DType value, proto::Attribute* out) {
  out->set_dtype(std::string(Name(value)));
}
void FillField(const std::string& value, proto::Attribute* out) {
  out->set_text(value);
}
void FillField(const Ints& value, proto::Attribute* out) {
  out->mutable_integers()->mutable_items()->Add(value.begin(), value.end());
}
void FillField(const Dims& value, proto::Attribute* out) {
  Fill(value, out->mutable_dims());
}
void FillField(const AxisPairs& value, proto::Attribute* out) {
  proto::AxisPairs* pairs = out->mutable_axis_pairs();
  pairs->mutable_lhs()->Add(value.lhs.begin(), value.lhs.end());
  pairs->mutable_rhs()->Add(value.rhs.begin(), value.rhs.end());
}
void FillField(const Literal& value, proto::Attribute* out) {
  Fill(value, out->mutable_tensor());
}
template <typename Enum>
  requires std::is_enum_v<Enum>
void FillField(Enum value, proto::Attribute* out) {
  out->set_enumerator(std::string(EnumText(value)));
}

class GraphWriter {
 public:
  GraphWriter(const Graph& graph, const ProtoOptions& options)
      : graph_(graph), options_(options), numbers_(graph.value_count()) {}

  void Write(proto::Graph* out) {
    out->set_name(graph_.name());
    for (const Graph::Argument& argument : graph_.arguments()) {
      WriteArgument(argument, out->add_arguments());
    }
    for (const NodeId node : Nodes(graph_)) {
      const Op op = graph_.op(node);
      if (op == Op::kInput || op == Op::kParameter) continue;
      WriteNode(node, out->add_nodes());
    }
    for (const Graph::Output& output : graph_.outputs()) {
      proto::Output* to = out->add_outputs();
      to->set_name(output.name);
      to->set_value(numbers_[output.value.value()]);
    }
  }

 private:
  void WriteArgument(const Graph::Argument& argument, proto::Argument* out) {
    out->set_name(argument.name);
    Fill(graph_.type(argument.value), out->mutable_type());
    out->set_is_parameter(argument.is_parameter);
    if (argument.data && options_.parameter_data) {
      Fill(*argument.data, out->mutable_data());
    }
    out->set_origin(graph_.origin(graph_.producer(argument.value)));
    numbers_[argument.value.value()] = next_number_++;
  }

  void WriteNode(NodeId node, proto::Node* out) {
    out->set_op(std::string(Mnemonic(graph_.op(node))));
    for (const ValueId operand : graph_.operands(node)) {
      out->add_operands(numbers_[operand.value()]);
    }
    VisitFields(
        graph_.attributes(node),
        [&](std::string_view name, const auto& field, const auto& fallback) {
          if (SameBits(field, fallback)) return;
          proto::Attribute* attribute = out->add_attributes();
          attribute->set_name(std::string(name));
          FillField(field, attribute);
        });
    for (const Graph& body : graph_.bodies(node)) {  // kMaxBodyDepth deep
      GraphWriter(body, options_).Write(out->add_bodies());
    }
    out->set_origin(graph_.origin(node));
    for (int i = 0; i < graph_.result_count(node); ++i) {
      const ValueId result = graph_.result(node, i);
      Fill(graph_.type(result), out->add_results());
      numbers_[result.value()] = next_number_++;
    }
  }

  const Graph& graph_;
  const ProtoOptions& options_;
  // Of each value, in the message.
  std::vector<uint32_t> numbers_;
  uint32_t next_number_ = 0;
};

}  // namespace

StatusOr<std::string> ToProto(const Graph& graph, const ProtoOptions& options) {
  proto::Module module;
  module.set_version(1);
  for (const Symbol& symbol : graph.symbols()) {
    proto::Symbol* out = module.add_symbols();
    out->set_name(symbol.name);
    out->set_lower(symbol.lower);
    if (symbol.upper != INT64_MAX) out->set_upper(symbol.upper);
    out->set_at_run_time(symbol.at_run_time);
  }
  GraphWriter(graph, options).Write(module.mutable_graph());
  const size_t size = module.ByteSizeLong();
  std::string bytes;
  if (size > INT32_MAX || !module.SerializeToString(&bytes)) {
    return ResourceExhaustedError(
        StrCat("the graph takes ", size,
               " bytes as a message, more than 2 GiB; "
               "leave out the data of its parameters"));
  }
  return bytes;
}

}  // namespace encore
