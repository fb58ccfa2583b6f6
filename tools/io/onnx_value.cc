#include "encore/tools/io/onnx_value.h"

#include <cstdint>
#include <filesystem>
#include <limits>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "encore/ir/import/onnx/format/map_data.h"
#include "encore/ir/import/onnx/format/model.h"
#include "encore/ir/import/onnx/format/tensor_data.h"
#include "encore/ir/support/mapped_file.h"
#include "encore/ir/support/staged_file.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/tools/io/npy.h"
#include "onnx/onnx.pb.h"

namespace encore::tools {
namespace {

using ::onnx::TensorProto;

onnx::Type::Kind KindOf(ValueKind kind) {
  using Kind = onnx::Type::Kind;
  switch (kind) {
    case ValueKind::kTensor:
      return Kind::kTensor;
    case ValueKind::kSequence:
      return Kind::kSequence;
    case ValueKind::kOptional:
      return Kind::kOptional;
    case ValueKind::kOptionalSequence:
      return Kind::kOptionalSequence;
  }
  return Kind::kTensor;
}

// Both are protobuf's limit and keep sums of sizes from overflowing.
Status CheckSize(int64_t bytes) {
  if (bytes < std::numeric_limits<int32_t>::max()) return OkStatus();
  return UnimplementedError("a protobuf message has less than 2 GiB");
}

Status ToProto(const Literal& tensor, TensorProto* proto) {
  const auto type = onnx::ElementTypeOf(tensor.dtype());
  if (type == onnx::ElementType::kUndefined) {
    return UnimplementedError(
        StrCat("ONNX has no element type ", tensor.dtype()));
  }
  for (const int64_t dim : tensor.dims()) proto->add_dims(dim);
  proto->set_data_type(static_cast<int32_t>(type));
  if (IsString(tensor.dtype())) {
    for (const std::string& text : tensor.strings()) {
      proto->add_string_data(text);
    }
    return OkStatus();
  }
  ENCORE_RETURN_IF_ERROR(
      CheckSize(static_cast<int64_t>(tensor.bytes().size())));
  proto->set_raw_data(onnx::ToRawData(tensor));
  return OkStatus();
}

StatusOr<std::string> EncodeTensor(const std::string& name,
                                   const Literal& tensor) {
  TensorProto proto;
  if (!name.empty()) proto.set_name(name);
  ENCORE_RETURN_IF_ERROR(ToProto(tensor, &proto));
  ENCORE_RETURN_IF_ERROR(CheckSize(static_cast<int64_t>(proto.ByteSizeLong())));
  return proto.SerializeAsString();
}

// A message of onnx-data.proto, which Debian's package lacks: SequenceProto and
// OptionalProto have a name, the type of what is in them, and that.
class DataMessage {
 public:
  // Numbers of fields, and of DataTypes.
  static constexpr int kName = 1, kElementType = 2, kTensor = 3, kSequence = 5;
  static constexpr int kIsTensor = 1, kIsSequence = 3;

  DataMessage(const std::string& name, int element_type) {
    if (!name.empty()) Bytes(kName, name);
    Varint(kElementType << 3);
    Varint(static_cast<uint64_t>(element_type));
  }
  void Bytes(int field, std::string_view value) {
    constexpr int kLengthDelimited = 2;
    Varint(static_cast<uint64_t>(field << 3 | kLengthDelimited));
    Varint(value.size());
    bytes_ += value;
  }
  // Source: https://protobuf.dev/programming-guides/encoding
  void Varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) {
      bytes_ += static_cast<char>(value | 0x80);
    }
    bytes_ += static_cast<char>(value);
  }
  StatusOr<std::string> Finish() && {
    ENCORE_RETURN_IF_ERROR(CheckSize(static_cast<int64_t>(bytes_.size())));
    return std::move(bytes_);
  }

 private:
  std::string bytes_;
};

StatusOr<std::string> EncodeSequence(const std::string& name,
                                     const Literal& sequence) {
  DataMessage message(name, DataMessage::kIsTensor);
  for (const Literal& element : sequence.elements()) {
    ENCORE_ASSIGN_OR_RETURN(const std::string bytes, EncodeTensor("", element));
    message.Bytes(DataMessage::kTensor, bytes);
  }
  return std::move(message).Finish();
}

StatusOr<std::string> EncodeOptional(const std::string& name,
                                     const Literal& optional) {
  const bool sequence = optional.kind() == ValueKind::kOptionalSequence;
  DataMessage message(
      name, sequence ? DataMessage::kIsSequence : DataMessage::kIsTensor);
  if (!optional.elements().empty()) {
    const Literal& value = optional.elements().front();
    ENCORE_ASSIGN_OR_RETURN(
        const std::string bytes,
        sequence ? EncodeSequence("", value) : EncodeTensor("", value));
    message.Bytes(sequence ? DataMessage::kSequence : DataMessage::kTensor,
                  bytes);
  }
  return std::move(message).Finish();
}

StatusOr<std::string> Encode(const std::string& name, const Literal& value) {
  switch (value.kind()) {
    case ValueKind::kTensor:
      return EncodeTensor(name, value);
    case ValueKind::kSequence:
      return EncodeSequence(name, value);
    case ValueKind::kOptional:
    case ValueKind::kOptionalSequence:
      return EncodeOptional(name, value);
  }
  return EncodeTensor(name, value);
}

// Tensors lie in the file as they come.
Literal Aligned(Literal value) {
  const DType dtype = value.dtype();
  const ValueKind kind = value.kind();
  if (kind == ValueKind::kTensor) return value.Aligned();
  std::vector<Literal> elements = std::move(value).TakeElements();
  for (Literal& element : elements) element = Aligned(std::move(element));
  if (kind == ValueKind::kSequence) {
    return Literal::Sequence(dtype, std::move(elements));
  }
  return elements.empty() ? Literal::Absent(dtype, kind)
                          : Literal::Optional(std::move(elements.front()));
}

}  // namespace

StatusOr<Literal> ReadOnnxValue(const std::string& path,
                                const TensorType& type) {
  ENCORE_ASSIGN_OR_RETURN(const auto file, MappedFile::Open(path));
  const onnx::Type wanted{KindOf(type.kind),
                          static_cast<int32_t>(onnx::ElementTypeOf(type.dtype)),
                          std::nullopt};
  StatusOr<Literal> value = onnx::ToValue(file->bytes(), wanted, {file, ""});
  if (!value.ok()) return Annotate(value.status(), path);
  return Aligned(*std::move(value));
}

StatusOr<std::vector<Literal>> ReadModelValue(const std::string& path,
                                              const ModelTypes::Value& value) {
  if (value.map == ModelTypes::Map::kNone) {
    ENCORE_ASSIGN_OR_RETURN(Literal literal, ReadOnnxValue(path, value.type));
    return std::vector<Literal>{std::move(literal)};
  }
  ENCORE_ASSIGN_OR_RETURN(const auto file, MappedFile::Open(path));
  onnx::Type type;
  type.kind = value.map == ModelTypes::Map::kMap
                  ? onnx::Type::Kind::kMap
                  : onnx::Type::Kind::kMapSequence;
  type.element_type =
      static_cast<int32_t>(onnx::ElementTypeOf(value.type.dtype));
  type.key_type = static_cast<int32_t>(onnx::ElementTypeOf(value.keys));
  auto map = onnx::ToMap(file->bytes(), type, {file, ""});
  if (!map.ok()) return Annotate(map.status(), path);
  return std::vector<Literal>{std::move(map->keys), std::move(map->values)};
}

Status WriteOnnxValue(const std::string& path, const std::string& name,
                      const Literal& value) {
  const StatusOr<std::string> bytes = Encode(name, value);
  if (!bytes.ok()) return Annotate(bytes.status(), path);
  return WriteWholeFile(path, *bytes);
}

Status SaveValues(const std::string& path,
                  std::span<const std::pair<std::string, Literal>> values) {
  std::error_code error;
  if (!path.ends_with('/') && !std::filesystem::is_directory(path, error)) {
    if (!path.ends_with(".pb")) return WriteTensors(path, values);
    if (values.size() == 1) {
      return WriteOnnxValue(path, values[0].first, values[0].second);
    }
    return InvalidArgumentError(
        StrCat(path, ": one value is a file, given are ", values.size(),
               " values: name a folder, FOLDER/"));
  }
  std::filesystem::create_directories(path, error);
  if (error) return WriteError(path, error.value());
  for (size_t i = 0; i < values.size(); ++i) {
    const auto file = std::filesystem::path(path) / StrCat("output_", i, ".pb");
    ENCORE_RETURN_IF_ERROR(
        WriteOnnxValue(file.string(), values[i].first, values[i].second));
  }
  return OkStatus();
}

}  // namespace encore::tools
