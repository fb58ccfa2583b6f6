#include "encore/ir/import/onnx/format/tensor_data.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <limits>
#include <type_traits>

#include "encore/ir/import/onnx/format/external_files.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/types/float_formats.h"

namespace encore::onnx {
namespace {

// What sparse tensors take with their zeros, at most, and for each byte that is
// stored: a few bytes of a file may announce any number of zeros.
constexpr int64_t kMaxDenseBytes = int64_t{64} << 20;
constexpr int64_t kMaxDensePerStored = 64;

// onnx.proto's element types that Encore has a dtype for.
constexpr std::pair<ElementType, DType> kDTypes[] = {
    {ElementType::kFloat, DType::kF32},
    {ElementType::kUint8, DType::kU8},
    {ElementType::kInt8, DType::kI8},
    {ElementType::kUint16, DType::kU16},
    {ElementType::kInt16, DType::kI16},
    {ElementType::kInt32, DType::kI32},
    {ElementType::kInt64, DType::kI64},
    {ElementType::kString, DType::kString},
    {ElementType::kBool, DType::kBool},
    {ElementType::kFloat16, DType::kF16},
    {ElementType::kDouble, DType::kF64},
    {ElementType::kUint32, DType::kU32},
    {ElementType::kUint64, DType::kU64},
    {ElementType::kBfloat16, DType::kBF16},
    {ElementType::kFloat8E4M3FN, DType::kF8E4M3},
    {ElementType::kFloat8E4M3FNUZ, DType::kF8E4M3FNUZ},
    {ElementType::kFloat8E5M2, DType::kF8E5M2},
    {ElementType::kFloat8E5M2FNUZ, DType::kF8E5M2FNUZ},
    {ElementType::kUint4, DType::kU4},
    {ElementType::kInt4, DType::kI4},
    {ElementType::kFloat4E2M1, DType::kF4E2M1},
    {ElementType::kFloat8E8M0, DType::kF8E8M0},
    {ElementType::kUint2, DType::kU2},
    {ElementType::kInt2, DType::kI2},
    {ElementType::kFloat6E2M3, DType::kF6E2M3},
    {ElementType::kFloat6E3M2, DType::kF6E3M2},
};

bool HasSixBits(DType dtype) {
  if (!IsFloat(dtype)) return false;
  const FloatFormat& format = FormatOf(dtype);
  return 1 + format.exponent_bits + format.mantissa_bits == 6;
}

// Bytes of so many elements of six bits.
size_t SixBitBytes(int64_t count) {
  return static_cast<size_t>(count / 4 * 3 + count % 4);
}

// The file that a tensor lies in, opened once for all that lie in it, also
// where it is a link that leads elsewhere a moment later.
StatusOr<std::shared_ptr<const MappedFile>> OpenOnce(const Tensor& tensor,
                                                     const DataSource& source) {
  const auto open = [&]() -> StatusOr<std::shared_ptr<const MappedFile>> {
    ENCORE_ASSIGN_OR_RETURN(const ExternalPath file,
                            ExternalFile(tensor, source.folders));
    return MappedFile::Open(file.real, file.name);
  };
  if (source.known == nullptr) return open();
  const std::string location =
      std::filesystem::path(ExternalLocation(tensor)).lexically_normal();
  auto& files = source.known->files;
  if (const auto known = files.find(location); known != files.end()) {
    return known->second;
  }
  ENCORE_ASSIGN_OR_RETURN(auto file, open());
  return files.emplace(location, std::move(file)).first->second;
}

StatusOr<Literal> MapExternal(const Tensor& tensor, DType dtype,
                              const DataSource& source) {
  std::optional<int64_t> offset = 0, length;
  for (const auto& [key, value] : tensor.external_data) {
    if (key == "offset") offset = ParseInt64(value);
    if (key == "length") {
      length = ParseInt64(value);
      if (!length)
        return InvalidArgumentError(
            "external data: the entry length is not a number");
    }
  }
  ENCORE_ASSIGN_OR_RETURN(const auto file, OpenOnce(tensor, source));
  const std::string& path = file->path();
  const auto size = static_cast<int64_t>(file->bytes().size());
  if (!offset || *offset < 0 || *offset > size) {
    return InvalidArgumentError(StrCat("external data: the offset leaves ",
                                       path, " (", size, " bytes)"));
  }
  if (!length) length = size - *offset;
  if (*length < 0 || *length > size - *offset) {
    return InvalidArgumentError(StrCat("external data: ", *length,
                                       " bytes from ", *offset, " leave ", path,
                                       " (", size, " bytes)"));
  }
  return FromRawData(dtype, tensor.dims,
                     file->bytes().subspan(*offset, *length), file);
}

// Whether an entry is a number of so many bits, with a sign or without.
template <typename Source>
bool HasBits(Source entry, int bits) {
  if constexpr (std::is_integral_v<Source>) {
    if (bits >= std::numeric_limits<Source>::digits) return true;
    return entry < Source{1} << bits &&
           (std::is_unsigned_v<Source> || entry >= -(Source{1} << (bits - 1)));
  } else {
    return true;
  }
}

// Data of the typed fields: one entry an element, narrow ones in int32_data
// (which packs elements of less than a byte as memory does, a byte an entry).
template <typename Source>
StatusOr<Literal> FromField(DType dtype, const Tensor& tensor,
                            const std::vector<Source>& field, int64_t count) {
  const int64_t entries = IsPacked(dtype) ? *ByteSize(dtype, count) : count;
  if (static_cast<int64_t>(field.size()) != entries) {
    return InvalidArgumentError(StrCat(field.size(), " values for ",
                                       Name(dtype), "[",
                                       StrJoin(tensor.dims, ","), "]"));
  }
  Literal literal(dtype, tensor.dims);
  std::byte* out = literal.mutable_bytes().data();
  // Little-endian: the low bytes of an entry are the element's bits.
  const size_t width = IsPacked(dtype) ? 1 : BitWidth(dtype) / 8;
  const int bits = HasSixBits(dtype) ? 6 : static_cast<int>(width) * 8;
  for (int64_t i = 0; i < entries; ++i) {
    if (!HasBits(field[i], bits)) {
      return InvalidArgumentError(StrCat("entry ", i, " of the data is ",
                                         field[i], ", which is not of ", bits,
                                         " bits"));
    }
    std::memcpy(out + i * width, &field[i], width);
  }
  return literal;
}

StatusOr<Literal> FromTypedFields(const Tensor& tensor, DType dtype,
                                  int64_t count) {
  switch (dtype) {
    case DType::kF32:
      return FromField(dtype, tensor, tensor.float_data, count);
    case DType::kF64:
      return FromField(dtype, tensor, tensor.double_data, count);
    case DType::kI64:
      return FromField(dtype, tensor, tensor.int64_data, count);
    case DType::kU32:
    case DType::kU64:
      return FromField(dtype, tensor, tensor.uint64_data, count);
    default:
      return FromField(dtype, tensor, tensor.int32_data, count);
  }
}

StatusOr<Literal> ConvertDense(const Tensor& tensor, const DataSource& source) {
  ENCORE_ASSIGN_OR_RETURN(const DType dtype, DTypeOf(tensor.data_type));
  if (tensor.is_segment) {
    return UnimplementedError(
        "a tensor in segments (TensorProto.segment) is not supported");
  }
  if (tensor.dims.size() > kMaxRank) {
    return InvalidArgumentError(StrCat("rank ", tensor.dims.size()));
  }
  const auto count = ElementCount(tensor.dims);
  if (!count) {
    return InvalidArgumentError(
        StrCat("invalid dims [", StrJoin(tensor.dims, ","), "]"));
  }
  if (dtype == DType::kString) {
    if (static_cast<int64_t>(tensor.string_data.size()) != *count) {
      return InvalidArgumentError(StrCat(tensor.string_data.size(),
                                         " strings for ", *count, " elements"));
    }
    return Literal::Strings(
        tensor.dims, {tensor.string_data.begin(), tensor.string_data.end()});
  }
  if (tensor.is_external) return MapExternal(tensor, dtype, source);
  if (tensor.has_raw_data) {
    if (!tensor.float_data.empty() || !tensor.int32_data.empty() ||
        !tensor.int64_data.empty() || !tensor.double_data.empty() ||
        !tensor.uint64_data.empty()) {
      return InvalidArgumentError(
          "the data are both in raw_data and in a typed field");
    }
    return FromRawData(dtype, tensor.dims,
                       std::as_bytes(std::span(tensor.raw_data)), source.owner);
  }
  return FromTypedFields(tensor, dtype, *count);
}

// Where the values of a sparse tensor of `count` elements are, ascending.
StatusOr<std::vector<int64_t>> SparsePositions(const Tensor& tensor,
                                               int64_t values, int64_t count,
                                               const DataSource& source) {
  ENCORE_ASSIGN_OR_RETURN(const Literal indices,
                          ConvertDense(tensor.sparse->indices, source));
  const size_t rank = tensor.dims.size();
  const std::vector<int64_t> dims = indices.shape().ConstantDims();
  const bool linear = dims.size() == 1;
  if (indices.dtype() != DType::kI64 || dims.empty() || dims[0] != values ||
      (!linear &&
       (dims.size() != 2 || dims[1] != static_cast<int64_t>(rank)))) {
    return InvalidArgumentError(StrCat("indices are ", indices.type(), " for ",
                                       values, " values of rank ", rank));
  }
  std::vector<int64_t> positions;
  for (int64_t i = 0; i < values; ++i) {
    int64_t position = linear ? indices.AsInt(i) : 0;
    bool outside = position < 0 || position >= count;
    for (size_t d = 0; d < rank && !linear; ++d) {
      const int64_t index = indices.AsInt(i * static_cast<int64_t>(rank) +
                                          static_cast<int64_t>(d));
      if (index < 0 || index >= tensor.dims[d]) outside = true;
      if (outside) break;
      position = position * tensor.dims[d] + index;
    }
    if (outside) {
      return InvalidArgumentError(StrCat("index ", i, " is outside of [",
                                         StrJoin(tensor.dims, ","), "]"));
    }
    if (!positions.empty() && position <= positions.back()) {
      return InvalidArgumentError(
          StrCat("index ", i, " is not above the one before it"));
    }
    positions.push_back(position);
  }
  return positions;
}

// Whether a sparse tensor of `count` elements may be made dense.
Status CheckDense(const Tensor& tensor, const Literal& values, int64_t count,
                  DataSource::Known& known) {
  const int64_t width = BitWidth(values.dtype()) / 8;
  known.stored_bytes +=
      values.element_count() * (width + static_cast<int64_t>(sizeof(int64_t)));
  const int64_t most = kMaxDenseBytes + kMaxDensePerStored * known.stored_bytes;
  if (count > (most - known.dense_bytes) / width) {
    return UnimplementedError(StrCat("a sparse tensor of [",
                                     StrJoin(tensor.dims, ","),
                                     "] has too many zeros"));
  }
  known.dense_bytes += count * width;
  return OkStatus();
}

// A SparseTensorProto with its zeros.
StatusOr<Literal> ConvertSparse(const Tensor& tensor, const DataSource& source,
                                DataSource::Known& known) {
  Tensor packed = tensor;
  packed.dims = tensor.sparse->value_dims;
  ENCORE_ASSIGN_OR_RETURN(const Literal values, ConvertDense(packed, source));
  const DType dtype = values.dtype();
  if (IsString(dtype) || IsPacked(dtype)) {
    return UnimplementedError(StrCat("a sparse tensor of ", dtype));
  }
  const auto count = ElementCount(tensor.dims);
  if (values.rank() != 1 || tensor.dims.size() > kMaxRank || !count) {
    return InvalidArgumentError(StrCat("values ", values.type(), " of [",
                                       StrJoin(tensor.dims, ","), "]"));
  }
  ENCORE_ASSIGN_OR_RETURN(
      const std::vector<int64_t> positions,
      SparsePositions(tensor, values.element_count(), *count, source));
  ENCORE_RETURN_IF_ERROR(CheckDense(tensor, values, *count, known));
  Literal literal(dtype, tensor.dims);
  const int64_t width = BitWidth(dtype) / 8;
  std::byte* out = literal.mutable_bytes().data();
  for (size_t i = 0; i < positions.size(); ++i) {
    std::memcpy(out + positions[i] * width, values.bytes().data() + i * width,
                width);
  }
  return literal;
}

StatusOr<Literal> Convert(const Tensor& tensor, const DataSource& source) {
  if (tensor.sparse == nullptr) return ConvertDense(tensor, source);
  DataSource::Known alone;
  DataSource::Known& known = source.known == nullptr ? alone : *source.known;
  const auto found = known.dense.find(tensor.sparse.get());
  if (found != known.dense.end()) return found->second;
  ENCORE_ASSIGN_OR_RETURN(Literal literal,
                          ConvertSparse(tensor, source, known));
  known.dense.emplace(tensor.sparse.get(), literal);
  return literal;
}

}  // namespace

StatusOr<Literal> FromRawData(DType dtype, std::vector<int64_t> dims,
                              std::span<const std::byte> bytes,
                              std::shared_ptr<const void> owner) {
  if (!HasSixBits(dtype)) {
    return Literal::Map(dtype, std::move(dims), bytes, std::move(owner));
  }
  const auto count = ElementCount(dims);
  if (!count || SixBitBytes(*count) != bytes.size()) {
    return InvalidArgumentError(StrCat(bytes.size(), " bytes for ", dtype, "[",
                                       StrJoin(dims, ","), "]"));
  }
  Literal literal(dtype, std::move(dims));
  const std::span<std::byte> to = literal.mutable_bytes();
  for (size_t i = 0; i < to.size(); ++i) {
    const size_t bit = i * 6, byte = bit / 8;
    unsigned two = static_cast<uint8_t>(bytes[byte]);
    if (byte + 1 < bytes.size()) {
      two |= static_cast<unsigned>(static_cast<uint8_t>(bytes[byte + 1])) << 8;
    }
    to[i] = std::byte(two >> bit % 8 & 0x3f);
  }
  return literal;
}

std::string ToRawData(const Literal& literal) {
  const Literal canonical = literal.Canonical();
  const std::span<const std::byte> bytes = canonical.bytes();
  if (!HasSixBits(literal.dtype())) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  std::string raw(SixBitBytes(literal.element_count()), '\0');
  for (size_t i = 0; i < bytes.size(); ++i) {
    const unsigned two = (static_cast<unsigned>(bytes[i]) & 0x3f) << i * 6 % 8;
    raw[i * 6 / 8] = static_cast<char>(raw[i * 6 / 8] | (two & 0xff));
    if (two > 0xff) raw[i * 6 / 8 + 1] = static_cast<char>(two >> 8);
  }
  return raw;
}

StatusOr<DType> DTypeOf(int32_t data_type) {
  for (const auto& [element, dtype] : kDTypes) {
    if (static_cast<int32_t>(element) == data_type) return dtype;
  }
  if (data_type == 0) {
    return InvalidArgumentError("no element type is given (data_type is 0)");
  }
  return UnimplementedError(
      StrCat("element type ", ElementText(data_type), " is not supported"));
}

ElementType ElementTypeOf(DType dtype) {
  for (const auto& [element, known] : kDTypes) {
    if (known == dtype) return element;
  }
  return ElementType::kUndefined;
}

StatusOr<Literal> ToLiteral(const Tensor& tensor, const DataSource& source) {
  StatusOr<Literal> literal = Convert(tensor, source);
  if (literal.ok()) return literal;
  return Annotate(literal.status(), StrCat("tensor ", Quote(tensor.name)));
}

StatusOr<Literal> ToValue(std::span<const std::byte> bytes, const Type& type,
                          const DataSource& source) {
  using Kind = Type::Kind;
  if (type.kind == Kind::kOptional || type.kind == Kind::kOptionalSequence) {
    const bool sequence = type.kind == Kind::kOptionalSequence;
    ENCORE_ASSIGN_OR_RETURN(const auto value, ReadOptional(bytes));
    ENCORE_ASSIGN_OR_RETURN(const DType dtype, DTypeOf(type.element_type));
    if (!value) {
      return Literal::Absent(dtype, sequence ? ValueKind::kOptionalSequence
                                             : ValueKind::kOptional);
    }
    Type inner = type;
    inner.kind = sequence ? Kind::kSequence : Kind::kTensor;
    ENCORE_ASSIGN_OR_RETURN(Literal literal, ToValue(*value, inner, source));
    return Literal::Optional(std::move(literal));
  }
  if (type.kind != Kind::kSequence) {
    ENCORE_ASSIGN_OR_RETURN(const Tensor tensor, ReadTensor(bytes));
    return ToLiteral(tensor, source);
  }
  ENCORE_ASSIGN_OR_RETURN(const std::vector<Tensor> tensors,
                          ReadSequence(bytes));
  ENCORE_ASSIGN_OR_RETURN(const DType dtype, DTypeOf(type.element_type));
  std::vector<Literal> elements;
  for (const Tensor& tensor : tensors) {
    ENCORE_ASSIGN_OR_RETURN(Literal element, ToLiteral(tensor, source));
    if (element.dtype() != dtype) {
      return InvalidArgumentError(StrCat("an element of a sequence of ", dtype,
                                         " is ", element.dtype()));
    }
    elements.push_back(std::move(element));
  }
  return Literal::Sequence(dtype, std::move(elements));
}

}  // namespace encore::onnx
