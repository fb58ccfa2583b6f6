#include <bit>
#include <map>
#include <tuple>
#include <utility>

#include "encore/ir/graph/stencil.h"
#include "encore/ir/graph/stencil_format.h"
#include "encore/ir/support/bytes.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/types/dim_codec.h"

namespace encore {
namespace {

using stencil::FieldTag;
using stencil::LiteralForm;

class Reader {
 public:
  Reader(std::string_view bytes, std::span<const Literal> constants,
         const StencilNames& names, StencilOrder order)
      : bytes_(bytes), in_(bytes), names_(names), order_(order) {
    for (const Literal& constant : constants) {
      constants_.emplace(LiteralDigest(constant), constant);
    }
  }

  StatusOr<Graph> Read() {
    const std::string_view magic =
        stencil::MagicOf(order_ == StencilOrder::kAsIs);
    if (in_.Raw(magic.size()) != magic) {
      return InvalidArgumentError(
          "stencil: not a stencil, or of an unsupported version");
    }
    Graph graph;
    const size_t symbols = in_.Count(3);
    for (size_t i = 0; i < symbols; ++i) {
      Symbol symbol{.name = StrCat("s", i)};
      symbol.lower = in_.Signed();
      symbol.upper = in_.Signed();
      symbol.at_run_time = ReadBool();
      ENCORE_RETURN_IF_ERROR(Malformed());
      ENCORE_RETURN_IF_ERROR(graph.AddSymbol(std::move(symbol)).status());
    }
    symbols_ = static_cast<uint32_t>(symbols);
    ENCORE_RETURN_IF_ERROR(ReadGraph(&graph, 0));
    if (!in_.done())
      return InvalidArgumentError("stencil: bytes after the end");
    // Nodes that no output needs, dims in another form, defaults written out:
    // the same graph has one stencil, and one key.
    if (StencilBytes(graph, known_, order_) != bytes_) {
      return InvalidArgumentError("stencil: not in canonical form");
    }
    return graph;
  }

 private:
  Status Malformed() const {
    return in_.ok() ? OkStatus() : InvalidArgumentError("stencil: malformed");
  }

  bool ReadBool() {
    const uint8_t byte = in_.Byte();
    if (byte > 1) in_.Fail();
    return byte == 1;
  }

  DType ReadDType() {
    const uint8_t byte = in_.Byte();
    if (IsValidDType(byte)) return static_cast<DType>(byte);
    in_.Fail();
    return DType::kF32;
  }

  // Names are those of the whole graph's signature, not of bodies'.
  static std::string NameOf(int depth, std::span<const std::string> names,
                            size_t i, std::string canonical) {
    return depth == 0 && i < names.size() ? names[i] : std::move(canonical);
  }

  std::string NextOrigin() {
    const uint32_t number = next_number_++;
    return number < names_.origins.size() ? names_.origins[number]
                                          : StencilOrigin(number);
  }

  // Bodies nest at most kMaxBodyDepth deep.
  Status ReadGraph(Graph* graph, int depth) {
    if (depth > kMaxBodyDepth) in_.Fail();
    std::vector<ValueId> values;
    size_t inputs = 0, parameters = 0;
    const size_t arguments = in_.Count(4);
    for (size_t i = 0; i < arguments; ++i) {
      const bool parameter = ReadBool();
      TensorType type = ReadType();
      ENCORE_RETURN_IF_ERROR(Malformed());
      const std::string origin = NextOrigin();
      const std::string name =
          NameOf(depth, parameter ? names_.parameters : names_.inputs,
                 parameter ? parameters++ : inputs++, StrCat("a", i));
      ENCORE_ASSIGN_OR_RETURN(
          const ValueId value,
          parameter
              ? graph->AddParameter(name, std::move(type), std::nullopt, origin)
              : graph->AddInput(name, std::move(type), origin));
      values.push_back(value);
    }
    const size_t nodes = in_.Count(4);
    for (size_t i = 0; i < nodes; ++i) {
      ENCORE_RETURN_IF_ERROR(ReadNode(graph, depth, &values));
    }
    const size_t outputs = in_.Count();
    for (size_t i = 0; i < outputs; ++i) {
      const ValueId value = ReadValue(values);
      ENCORE_RETURN_IF_ERROR(Malformed());
      ENCORE_RETURN_IF_ERROR(graph->AddOutput(
          NameOf(depth, names_.outputs, i, StrCat("o", i)), value));
    }
    return Malformed();
  }

  ValueId ReadValue(const std::vector<ValueId>& values) {
    const uint64_t number = in_.Varint();
    if (number < values.size()) return values[number];
    in_.Fail();
    return ValueId();
  }

  Status ReadNode(Graph* graph, int depth, std::vector<ValueId>* values) {
    const auto op = ParseOp(ReadText());
    if (!op || *op == Op::kInput || *op == Op::kParameter) in_.Fail();
    std::vector<ValueId> operands(in_.Count());
    for (ValueId& operand : operands) operand = ReadValue(*values);
    ENCORE_RETURN_IF_ERROR(Malformed());
    Attributes attributes = DefaultAttributes(Info(*op).attributes);
    const size_t fields = in_.Count(3);
    for (size_t i = 0; i < fields; ++i) ReadNamedField(&attributes);
    Graph::NodeOptions options;
    const size_t bodies = in_.Count(3);
    ENCORE_RETURN_IF_ERROR(Malformed());
    for (size_t i = 0; i < bodies; ++i) {
      Graph body = graph->NewBody(StrCat("b", i));
      ENCORE_RETURN_IF_ERROR(ReadGraph(&body, depth + 1));
      options.bodies.push_back(std::move(body));
    }
    const std::string origin = NextOrigin();
    options.origin = origin;
    ENCORE_ASSIGN_OR_RETURN(const NodeId node,
                            graph->AddNode(*op, operands, std::move(attributes),
                                           std::move(options)));
    for (int i = 0; i < graph->result_count(node); ++i) {
      values->push_back(graph->result(node, i));
    }
    return OkStatus();
  }

  std::string_view ReadText() {
    const uint64_t number = in_.Varint();
    if (number < texts_.size()) return texts_[number];
    if (number > texts_.size()) in_.Fail();
    return texts_.emplace_back(in_.String());
  }

  void ReadNamedField(Attributes* attributes) {
    const std::string_view wanted = ReadText();
    const auto tag = static_cast<FieldTag>(in_.Byte());
    bool found = false;
    VisitFields(*attributes,
                [&](std::string_view name, auto& field, const auto&) {
                  using Field = std::decay_t<decltype(field)>;
                  if (name != wanted || tag != stencil::TagOf<Field>()) return;
                  found = true;
                  ReadField(&field);
                });
    if (!found) in_.Fail();
  }

  TensorType ReadType() {
    TensorType type;
    const uint8_t kind = in_.Byte();
    if (kind > static_cast<uint8_t>(ValueKind::kOptionalSequence)) in_.Fail();
    type.kind = static_cast<ValueKind>(kind);
    type.dtype = ReadDType();
    Dims dims;
    ReadField(&dims);
    type.shape = Shape(std::move(dims));
    return type;
  }

  void ReadField(bool* value) { *value = ReadBool(); }
  void ReadField(int64_t* value) { *value = in_.Signed(); }
  void ReadField(double* value) {
    *value = std::bit_cast<double>(in_.Fixed64());
  }
  void ReadField(std::string* value) { *value = in_.String(); }
  void ReadField(DType* value) { *value = ReadDType(); }
  void ReadField(Ints* value) {
    value->resize(in_.Count());
    for (int64_t& item : *value) item = in_.Signed();
  }
  void ReadField(Dims* value) {
    const size_t count = in_.Count(2);
    value->clear();
    for (size_t i = 0; i < count && in_.ok(); ++i) {
      value->push_back(ReadDim(&in_, symbols_));
    }
  }
  void ReadField(AxisPairs* value) {
    ReadField(&value->lhs);
    ReadField(&value->rhs);
  }
  template <typename Enum>
    requires std::is_enum_v<Enum>
  void ReadField(Enum* value) {
    const auto found = EnumFromInt<Enum>(in_.Byte());
    if (found) *value = *found;
    if (!found) in_.Fail();
  }
  void ReadField(Literal* value) {
    const DType dtype = ReadDType();
    std::vector<int64_t> dims;
    ReadField(&dims);
    const auto form = static_cast<LiteralForm>(in_.Byte());
    const auto count = ElementCount(dims);
    if (!count || dims.size() > kMaxRank ||
        IsString(dtype) != (form == LiteralForm::kStrings)) {
      return in_.Fail();
    }
    switch (form) {
      case LiteralForm::kStrings: {
        if (static_cast<uint64_t>(*count) > in_.remaining()) return in_.Fail();
        std::vector<std::string> texts(*count);
        for (std::string& text : texts) text = in_.String();
        *value = Literal::Strings(dims, std::move(texts));
        return;
      }
      case LiteralForm::kBytes: {
        const auto size = ByteSize(dtype, *count);
        if (!size || *size > kMaxInlineConstant) return in_.Fail();
        const std::string_view bytes = in_.Raw(*size);
        if (in_.ok()) {
          *value = *Literal::Copy(dtype, dims, std::as_bytes(std::span(bytes)));
        }
        return;
      }
      case LiteralForm::kDigest: {
        Digest digest;
        const std::string_view bytes = in_.Raw(digest.bytes.size());
        std::copy(bytes.begin(), bytes.end(), digest.bytes.begin());
        const auto found = constants_.find(digest);
        if (found == constants_.end() || found->second.dtype() != dtype ||
            found->second.dims() != dims) {
          return in_.Fail();
        }
        *value = found->second;
        known_.emplace(
            std::tuple(value->bytes().data(), value->dtype(), value->dims()),
            digest);
        return;
      }
    }
    in_.Fail();
  }

  const std::string_view bytes_;
  ByteReader in_;
  const StencilNames names_;
  const StencilOrder order_;
  std::map<Digest, Literal> constants_;
  KnownDigests known_;
  std::vector<std::string_view> texts_;
  uint32_t symbols_ = 0;
  uint32_t next_number_ = 0;
};

}  // namespace

StatusOr<Graph> ReadStencil(std::string_view bytes,
                            std::span<const Literal> constants) {
  return ReadStencil(bytes, constants, {});
}

StatusOr<Graph> ReadStencil(std::string_view bytes,
                            std::span<const Literal> constants,
                            const StencilNames& names, StencilOrder order) {
  return Reader(bytes, constants, names, order).Read();
}

}  // namespace encore
