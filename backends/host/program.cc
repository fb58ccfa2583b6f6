#include "encore/backends/host/program.h"

#include <string>
#include <type_traits>

#include "encore/ir/support/bytes.h"
#include "encore/ir/support/strings.h"

namespace encore::backends::host {
namespace {

constexpr uint64_t kMaxOperands = 4096;
constexpr uint8_t kVersion = 2;

// Overloads per type of attribute field.
class Writer {
 public:
  void Write(bool value) { out.Byte(value); }
  void Write(int64_t value) { out.Signed(value); }
  void Write(double value) { out.Fixed64(std::bit_cast<uint64_t>(value)); }
  void Write(const std::string& value) { out.String(value); }
  void Write(const Ints& list) {
    out.Varint(list.size());
    for (const int64_t value : list) out.Signed(value);
  }
  void Write(const Dims& dims) { out.Varint(dims.size()); }
  void Write(const AxisPairs& pairs) {
    Write(pairs.lhs);
    Write(pairs.rhs);
  }
  void Write(const Literal& literal) {
    Write(literal.dtype());
    Write(literal.dims());
    if (IsString(literal.dtype())) {
      for (const std::string& text : literal.strings()) out.String(text);
    } else {
      out.Raw(literal.bytes());
    }
  }
  template <typename Enum>
    requires std::is_enum_v<Enum>
  void Write(Enum value) {
    out.Byte(static_cast<uint8_t>(value));
  }

  ByteWriter out;
};

class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : in(bytes) {}

  void Read(bool* value) { *value = Byte(1) == 1; }
  void Read(int64_t* value) { *value = in.Signed(); }
  void Read(double* value) { *value = std::bit_cast<double>(in.Fixed64()); }
  void Read(std::string* value) { *value = std::string(in.String()); }
  void Read(Ints* list) {
    list->resize(in.Count(1));
    for (int64_t& value : *list) value = in.Signed();
  }
  void Read(Dims* dims) {
    const uint64_t count = in.Varint();
    if (count > kMaxRank) return in.Fail();
    dims->assign(count, Dim(0));
  }
  void Read(AxisPairs* pairs) {
    Read(&pairs->lhs);
    Read(&pairs->rhs);
  }
  void Read(DType* dtype) {
    const uint8_t value = in.Byte();
    if (!IsValidDType(value)) return in.Fail();
    *dtype = static_cast<DType>(value);
  }
  void Read(Literal* literal) {
    DType dtype = DType::kF32;
    std::vector<int64_t> dims;
    Read(&dtype);
    Read(&dims);
    const auto count = ElementCount(dims);
    // A string takes a byte at least.
    if (!in.ok() || !count || dims.size() > kMaxRank) return in.Fail();
    if (IsString(dtype)) {
      if (static_cast<uint64_t>(*count) > in.remaining()) return in.Fail();
      std::vector<std::string> texts(*count);
      for (std::string& text : texts) text = std::string(in.String());
      *literal = Literal::Strings(std::move(dims), std::move(texts));
      return;
    }
    const auto size = ByteSize(dtype, *count);
    if (!size || static_cast<uint64_t>(*size) > in.remaining()) {
      return in.Fail();
    }
    const std::string_view bytes = in.Raw(*size);
    *literal =
        *Literal::Copy(dtype, std::move(dims),
                       std::as_bytes(std::span(bytes.data(), bytes.size())));
  }
  template <typename Enum>
    requires std::is_enum_v<Enum>
  void Read(Enum* value) {
    const auto read = EnumFromInt<Enum>(in.Byte());
    if (!read) return in.Fail();
    *value = *read;
  }
  uint8_t Byte(uint8_t most) {
    const uint8_t value = in.Byte();
    if (value <= most) return value;
    in.Fail();
    return 0;
  }
  ValueKind ReadKind() {
    return static_cast<ValueKind>(
        Byte(static_cast<uint8_t>(ValueKind::kOptionalSequence)));
  }

  ByteReader in;
};

template <typename Part>
void ReadParts(Reader& reader, bool Part::* flag, std::vector<Part>& parts) {
  const uint64_t count = reader.in.Varint();
  if (count > kMaxOperands) return reader.in.Fail();
  parts.resize(reader.in.ok() ? count : 0);
  for (Part& part : parts) {
    reader.Read(&part.dtype);
    part.kind = reader.ReadKind();
    const uint64_t rank = reader.in.Varint();
    if (rank > kMaxRank) return reader.in.Fail();
    part.rank = static_cast<uint32_t>(rank);
    reader.Read(&(part.*flag));
  }
}

template <typename Part>
void WriteParts(Writer& writer, bool Part::* flag,
                const std::vector<Part>& parts) {
  writer.out.Varint(parts.size());
  for (const Part& part : parts) {
    writer.Write(part.dtype);
    writer.Write(part.kind);
    writer.out.Varint(part.rank);
    writer.Write(part.*flag);
  }
}

}  // namespace

uint32_t HostProgram::reads() const {
  return static_cast<uint32_t>(operands.size());
}

uint32_t HostProgram::writes() const {
  uint32_t count = 0;
  for (const Result& result : results) count += result.sized ? 2 : 1;
  for (const Operand& operand : operands) count += operand.donated;
  return count;
}

uint32_t HostProgram::args() const {
  uint32_t count = 0;
  for (const Operand& operand : operands) {
    if (!IsObject(operand.dtype, operand.kind)) count += operand.rank;
  }
  for (const Result& result : results) {
    if (result.kind == ValueKind::kTensor) count += result.rank;
  }
  return count;
}

std::vector<std::byte> EncodeHostProgram(const HostProgram& program) {
  Writer writer;
  writer.out.Byte(kVersion);
  writer.Write(program.entry);
  writer.out.String(Mnemonic(program.op));
  VisitFields(program.attributes, [&](std::string_view, const auto& field,
                                      const auto&) { writer.Write(field); });
  WriteParts(writer, &HostProgram::Operand::donated, program.operands);
  WriteParts(writer, &HostProgram::Result::sized, program.results);
  const std::string& bytes = writer.out.str();
  const auto* begin = reinterpret_cast<const std::byte*>(bytes.data());
  return {begin, begin + bytes.size()};
}

StatusOr<HostProgram> DecodeHostProgram(std::span<const std::byte> bytes) {
  Reader reader(bytes);
  HostProgram program;
  if (reader.in.Byte() != kVersion) {
    return DataLossError("a host kernel of another version");
  }
  program.entry = static_cast<HostEntry>(
      reader.Byte(static_cast<uint8_t>(HostEntry::kUnpack)));
  const std::string mnemonic(reader.in.String());
  const auto op = ParseOp(mnemonic);
  const bool known =
      op && (Info(*op).has(kNonFlatValues) || *op == Op::kConstant);
  if (!known) {
    return DataLossError(
        StrCat("no operator ", Quote(mnemonic), " on the host"));
  }
  program.op = *op;
  program.attributes = DefaultAttributes(Info(*op).attributes);
  VisitFields(program.attributes, [&](std::string_view, auto& field,
                                      const auto&) { reader.Read(&field); });
  ReadParts(reader, &HostProgram::Operand::donated, program.operands);
  ReadParts(reader, &HostProgram::Result::sized, program.results);
  if (!reader.in.ok() || !reader.in.done()) {
    return DataLossError(
        StrCat("the host kernel of ", mnemonic, " is cut short or too long"));
  }
  return program;
}

}  // namespace encore::backends::host
