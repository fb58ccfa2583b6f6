#include "encore/tools/io/onnx_value.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "encore/ir/import/onnx/format/map_data.h"
#include "encore/ir/import/onnx/format/model.h"
#include "encore/ir/import/onnx/format/tensor_data.h"
#include "encore/ir/support/folders.h"
#include "encore/ir/support/mapped_file.h"
#include "encore/ir/support/staged_file.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/support/system_calls.h"
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
// OptionalProto have a name, the type of what is in them, and that; MapProto a
// name, the type of its keys, these, and a sequence of values.
class DataMessage {
 public:
  // Numbers of fields, and of DataTypes.
  static constexpr int kName = 1, kElementType = 2, kTensor = 3, kSequence = 5,
                       kMap = 6;
  static constexpr int kKeys = 3, kStringKeys = 4, kValues = 5;
  static constexpr int kIsTensor = 1, kIsSequence = 3, kIsMap = 4;

  DataMessage(const std::string& name, int element_type) {
    if (!name.empty()) Bytes(kName, name);
    Integer(kElementType, element_type);
  }
  void Bytes(int field, std::string_view value) {
    constexpr int kLengthDelimited = 2;
    Varint(static_cast<uint64_t>(field << 3 | kLengthDelimited));
    Varint(value.size());
    bytes_ += value;
  }
  void Integer(int field, int64_t value) {
    Varint(static_cast<uint64_t>(field << 3));
    Varint(static_cast<uint64_t>(value));
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

// Element `i`, of at least a byte, as a scalar.
Literal ElementOf(const Literal& values, int64_t i) {
  if (IsString(values.dtype())) {
    return Literal::Strings({}, {values.strings()[i]});
  }
  Literal element(values.dtype(), {});
  const std::span<std::byte> bytes = element.mutable_bytes();
  std::memcpy(bytes.data(), values.bytes().data() + i * bytes.size(),
              bytes.size());
  return element;
}

// The map of `keys` to row `row` of `values`.
StatusOr<std::string> EncodeMap(const std::string& name, const Literal& keys,
                                const Literal& values, int64_t row) {
  DataMessage message(name,
                      static_cast<int>(onnx::ElementTypeOf(keys.dtype())));
  std::vector<Literal> elements;
  const int64_t count = keys.element_count();
  for (int64_t i = 0; i < count; ++i) {
    if (IsString(keys.dtype())) {
      message.Bytes(DataMessage::kStringKeys, keys.strings()[i]);
    } else {
      message.Integer(DataMessage::kKeys, keys.AsInt(i));
    }
    elements.push_back(ElementOf(values, row * count + i));
  }
  ENCORE_ASSIGN_OR_RETURN(
      const std::string bytes,
      EncodeSequence("", Literal::Sequence(values.dtype(), elements)));
  message.Bytes(DataMessage::kValues, bytes);
  return std::move(message).Finish();
}

// A map where `values` are a vector, else a sequence of maps with those keys.
StatusOr<std::string> EncodeMaps(const std::string& name, const Literal& keys,
                                 const Literal& values) {
  if (values.dims().size() == 1) return EncodeMap(name, keys, values, 0);
  DataMessage message(name, DataMessage::kIsMap);
  for (int64_t row = 0; row < values.dims()[0]; ++row) {
    ENCORE_ASSIGN_OR_RETURN(const std::string bytes,
                            EncodeMap("", keys, values, row));
    message.Bytes(DataMessage::kMap, bytes);
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

// The map that the first two values are the parts of; null where they are not.
const std::string* MapOf(
    std::span<const std::pair<std::string, Literal>> values,
    std::span<const ModelTypes::Value> outputs) {
  for (const ModelTypes::Value& output : outputs) {
    if (output.map != ModelTypes::Map::kNone && values.size() > 1 &&
        values[0].first == output.parts[0] &&
        values[1].first == output.parts[1]) {
      return &output.name;
    }
  }
  return nullptr;
}

}  // namespace

StatusOr<Literal> ReadOnnxValue(const std::string& path,
                                const TensorType& type) {
  ENCORE_ASSIGN_OR_RETURN(const auto file, MappedFile::Open(path));
  const onnx::Type wanted{KindOf(type.kind),
                          static_cast<int32_t>(onnx::ElementTypeOf(type.dtype)),
                          std::nullopt};
  StatusOr<Literal> value = onnx::ToValue(file->bytes(), wanted, {file});
  if (!value.ok()) return Annotate(value.status(), path);
  return value->Aligned();  // tensors lie in the file as they come
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
  auto map = onnx::ToMap(file->bytes(), type, {file});
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
                  std::span<const std::pair<std::string, Literal>> values,
                  std::span<const ModelTypes::Value> outputs) {
  struct stat info;
  const bool is_folder = path.ends_with('/') ||
                         (sys::FStatAt(AT_FDCWD, path.c_str(), &info, 0) == 0 &&
                          S_ISDIR(info.st_mode));
  if (!is_folder && !path.ends_with(".pb")) return WriteTensors(path, values);
  std::vector<StatusOr<std::string>> encoded;
  for (size_t i = 0; i < values.size(); ++i) {
    const std::string* const map = MapOf(values.subspan(i), outputs);
    if (map == nullptr) {
      encoded.push_back(Encode(values[i].first, values[i].second));
    } else {
      encoded.push_back(
          EncodeMaps(*map, values[i].second, values[i + 1].second));
      ++i;
    }
  }
  if (!is_folder && encoded.size() != 1) {
    return InvalidArgumentError(
        StrCat(path, ": one value is a file, given are ", encoded.size(),
               " values: name a folder, FOLDER/"));
  }
  if (is_folder) {
    ENCORE_RETURN_IF_ERROR(MakeFolders(path));
  }
  for (size_t i = 0; i < encoded.size(); ++i) {
    const std::string file =
        is_folder ? std::filesystem::path(path) / StrCat("output_", i, ".pb")
                  : std::filesystem::path(path);
    if (!encoded[i].ok()) return Annotate(encoded[i].status(), file);
    ENCORE_RETURN_IF_ERROR(WriteWholeFile(file, *encoded[i]));
  }
  return OkStatus();
}

}  // namespace encore::tools
