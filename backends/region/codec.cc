#include "encore/backends/region/codec.h"

#include <concepts>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "encore/backends/region/verify.h"
#include "encore/ir/support/bytes.h"
#include "encore/ir/types/dim_codec.h"

namespace encore::backends {
namespace {

constexpr uint32_t kMagic = 0x34474552;  // "REG4"
// Without the version, which is its last byte.
constexpr uint32_t kMagicMask = 0x00ffffff;

class Writer {
 public:
  template <typename T>
    requires std::integral<T> || std::is_enum_v<T>
  void Field(const T& value) {
    out_.Raw(std::as_bytes(std::span(&value, 1)));
  }
  void Field(const ExprId& id) { Field(id.valid() ? id.value() : UINT32_MAX); }
  void Field(const Dim& dim) { WriteDim(dim, &out_); }
  template <typename T>
  void Field(const std::vector<T>& list);
  template <typename T>
  void Field(const std::optional<T>& value);
  template <typename T>
    requires std::is_class_v<T>
  void Field(const T& value);

  std::vector<std::byte> Take() {
    const auto bytes = std::as_bytes(std::span(out_.str()));
    return {bytes.begin(), bytes.end()};
  }

 private:
  ByteWriter out_;
};

// Reads what Writer wrote. After the first failure everything is zero and ok()
// is false.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : in_(bytes) {}
  bool ok() const { return in_.ok(); }
  bool done() const { return in_.done(); }

  template <typename T>
    requires std::integral<T> || std::is_enum_v<T>
  void Field(T& value) {
    value = T{};
    const std::string_view bytes = in_.Raw(sizeof(T));
    if (!in_.ok()) return;
    if constexpr (std::same_as<T, bool>) {
      value = bytes[0] != 0;
    } else {
      std::memcpy(&value, bytes.data(), sizeof(T));
    }
  }
  void Field(ExprId& id) {
    uint32_t value;
    Field(value);
    id = value == UINT32_MAX ? ExprId() : ExprId(value);
  }
  // The verifier checks its symbols.
  void Field(Dim& dim) { dim = ReadDim(&in_, UINT32_MAX); }
  template <typename T>
  void Field(std::vector<T>& list);
  template <typename T>
  void Field(std::optional<T>& value);
  template <typename T>
    requires std::is_class_v<T>
  void Field(T& value);

 private:
  ByteReader in_;
};

// The fields of each struct, once for both directions. `S` is const for Writer.
template <typename V, typename S>
  requires std::same_as<std::remove_const_t<S>, Layout::Block>
void Visit(V& v, S& s) {
  v.Field(s.dim), v.Field(s.size);
}
template <typename V, typename S>
  requires std::same_as<std::remove_const_t<S>, Layout>
void Visit(V& v, S& s) {
  v.Field(s.order), v.Field(s.blocks);
}
template <typename V, typename S>
  requires std::same_as<std::remove_const_t<S>, Operand>
void Visit(V& v, S& s) {
  v.Field(s.dtype), v.Field(s.dims), v.Field(s.layout);
}
template <typename V, typename S>
  requires std::same_as<std::remove_const_t<S>, Index::Term>
void Visit(V& v, S& s) {
  v.Field(s.variable), v.Field(s.stride);
}
template <typename V, typename S>
  requires std::same_as<std::remove_const_t<S>, Index>
void Visit(V& v, S& s) {
  v.Field(s.offset), v.Field(s.terms), v.Field(s.divisor), v.Field(s.indirect);
}
template <typename V, typename S>
  requires std::same_as<std::remove_const_t<S>, Access>
void Visit(V& v, S& s) {
  v.Field(s.source), v.Field(s.number), v.Field(s.component);
  v.Field(s.indices), v.Field(s.checked), v.Field(s.fill);
}
template <typename V, typename S>
  requires std::same_as<std::remove_const_t<S>, Expr>
void Visit(V& v, S& s) {
  v.Field(s.kind), v.Field(s.dtype), v.Field(s.bits), v.Field(s.number);
  v.Field(s.dim), v.Field(s.op), v.Field(s.comparison), v.Field(s.saturate);
  for (auto& operand : s.operands) v.Field(operand);
}
template <typename V, typename S>
  requires std::same_as<std::remove_const_t<S>, IndexCheck>
void Visit(V& v, S& s) {
  v.Field(s.node), v.Field(s.op), v.Field(s.component), v.Field(s.axis);
  v.Field(s.count), v.Field(s.extent), v.Field(s.position);
}
template <typename V, typename S>
  requires std::same_as<std::remove_const_t<S>, Store>
void Visit(V& v, S& s) {
  v.Field(s.output), v.Field(s.value), v.Field(s.indices);
  v.Field(s.checked), v.Field(s.update);
}
template <typename V, typename S>
  requires std::same_as<std::remove_const_t<S>, Stage>
void Visit(V& v, S& s) {
  v.Field(s.kind), v.Field(s.loops), v.Field(s.reduced), v.Field(s.combiner);
  v.Field(s.exclusive), v.Field(s.accumulate), v.Field(s.dtype);
  v.Field(s.value), v.Field(s.stores);
}
template <typename V, typename S>
  requires std::same_as<std::remove_const_t<S>, ConvolutionAttrs>
void Visit(V& v, S& s) {
  VisitFields(
      s, [&v](std::string_view, auto& field, const auto&) { v.Field(field); });
}
template <typename V, typename S>
  requires std::same_as<std::remove_const_t<S>, Contraction>
void Visit(V& v, S& s) {
  v.Field(s.kind), v.Field(s.stage), v.Field(s.lhs), v.Field(s.rhs);
  v.Field(s.batch), v.Field(s.m), v.Field(s.n), v.Field(s.k);
  v.Field(s.convolution);
  v.Field(s.lhs_dims), v.Field(s.rhs_dims), v.Field(s.result_dims);
}
template <typename V, typename S>
  requires std::same_as<std::remove_const_t<S>, Region>
void Visit(V& v, S& s) {
  v.Field(s.extents), v.Field(s.outer), v.Field(s.symbols);
  v.Field(s.inputs), v.Field(s.outputs), v.Field(s.accesses);
  v.Field(s.exprs), v.Field(s.checks), v.Field(s.stages);
  v.Field(s.contraction);
}

template <typename T>
void Writer::Field(const std::vector<T>& list) {
  out_.Varint(list.size());
  for (const T& element : list) Field(element);
}
template <typename T>
void Writer::Field(const std::optional<T>& value) {
  Field(value.has_value());
  if (value.has_value()) Field(*value);
}
template <typename T>
  requires std::is_class_v<T>
void Writer::Field(const T& value) {
  Visit(*this, value);
}

template <typename T>
void Reader::Field(std::vector<T>& list) {
  list.clear();
  // Grows with what is read, so a length that is a lie costs nothing.
  for (size_t count = in_.Count(); count > 0 && in_.ok(); --count) {
    Field(list.emplace_back());
  }
}
template <typename T>
void Reader::Field(std::optional<T>& value) {
  bool present;
  Field(present);
  value.reset();
  if (present) Field(value.emplace());
}
template <typename T>
  requires std::is_class_v<T>
void Reader::Field(T& value) {
  Visit(*this, value);
}

}  // namespace

std::vector<std::byte> EncodeRegion(const Region& region) {
  Writer writer;
  writer.Field(kMagic);
  writer.Field(region);
  return writer.Take();
}

StatusOr<Region> DecodeRegion(std::span<const std::byte> bytes) {
  Reader reader(bytes);
  uint32_t magic;
  reader.Field(magic);
  if (!reader.ok() || (magic & kMagicMask) != (kMagic & kMagicMask)) {
    return DataLossError("not a region");
  }
  if (magic != kMagic) {
    return DataLossError("a region of another format version");
  }
  Region region;
  reader.Field(region);
  if (!reader.ok()) return DataLossError("a region that is cut off or damaged");
  if (!reader.done()) return DataLossError("bytes behind a region");
  if (const Status status = VerifyRegion(region); !status.ok()) {
    return DataLossError(Message(status));
  }
  return region;
}

}  // namespace encore::backends
