#include "encore/backends/region/codec.h"

#include <bit>
#include <concepts>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>

#include "encore/backends/region/verify.h"

namespace encore::backends {
namespace {

constexpr uint32_t kMagic = 0x31474552;  // "REG1"

// How a Dim is written: a constant, a number of terms, and per term the
// coefficient and factors.
class Writer {
 public:
  template <typename T>
    requires std::integral<T> || std::is_enum_v<T>
  void Field(const T& value) {
    const auto* bytes = reinterpret_cast<const std::byte*>(&value);
    out_.insert(out_.end(), bytes, bytes + sizeof(T));
  }
  void Field(const ExprId& id) { Field(id.valid() ? id.value() : UINT32_MAX); }
  void Field(const std::string& text) {
    Field(static_cast<uint32_t>(text.size()));
    for (const char c : text) Field(c);
  }
  void Field(const Dim& dim) {
    Field(dim.constant_term());
    Field(static_cast<uint32_t>(dim.terms().size()));
    for (const Dim::Term& term : dim.terms()) {
      Field(term.coefficient);
      Field(static_cast<uint32_t>(term.factors.size()));
      for (const Dim::Factor& factor : term.factors) {
        Field(factor.op);
        if (factor.op == Dim::Op::kSymbol) {
          Field(factor.symbol);
        } else {  // at most kMaxDimDepth deep
          Field(*factor.a);
          Field(*factor.b);
        }
      }
    }
  }
  template <typename T>
  void Field(const std::vector<T>& list);
  template <typename T>
  void Field(const std::optional<T>& value);
  template <typename T>
    requires std::is_class_v<T>
  void Field(const T& value);

  std::vector<std::byte> Take() { return std::move(out_); }

 private:
  std::vector<std::byte> out_;
};

// Reads what Writer wrote. After the first failure everything is zero and ok()
// is false.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}
  bool ok() const { return ok_; }
  bool done() const { return at_ == bytes_.size(); }

  template <typename T>
    requires std::integral<T> || std::is_enum_v<T>
  void Field(T& value) {
    value = T{};
    if (!ok_ || bytes_.size() - at_ < sizeof(T)) {
      ok_ = false;
      return;
    }
    if constexpr (std::same_as<T, bool>) {
      value = bytes_[at_] != std::byte{0};
    } else {
      std::memcpy(&value, bytes_.data() + at_, sizeof(T));
    }
    at_ += sizeof(T);
  }
  void Field(ExprId& id) {
    uint32_t value;
    Field(value);
    id = value == UINT32_MAX ? ExprId() : ExprId(value);
  }
  void Field(Dim& dim) { ReadDim(dim, 0); }
  template <typename T>
  void Field(std::vector<T>& list);
  template <typename T>
  void Field(std::optional<T>& value);
  template <typename T>
    requires std::is_class_v<T>
  void Field(T& value);

 private:
  // A list length; every element takes at least a byte.
  uint32_t Count() {
    uint32_t count;
    Field(count);
    if (count > bytes_.size() - at_) {
      ok_ = false;
      return 0;
    }
    return count;
  }
  void ReadDim(Dim& dim, int depth);
  Dim ReadFactor(int depth);

  std::span<const std::byte> bytes_;
  size_t at_ = 0;
  bool ok_ = true;
};

Dim Reader::ReadFactor(int depth) {
  Dim::Op op;
  Field(op);
  if (op == Dim::Op::kSymbol) {
    uint32_t symbol;
    Field(symbol);
    return ok_ ? Dim::OfSymbol(symbol) : Dim();
  }
  Dim a, b;
  ReadDim(a, depth + 1);
  ReadDim(b, depth + 1);
  if (!ok_) return Dim();
  switch (op) {
    case Dim::Op::kFloorDiv:
      return FloorDiv(a, b);
    case Dim::Op::kMod:
      return Mod(a, b);
    case Dim::Op::kMax:
      return Max(a, b);
    case Dim::Op::kMin:
      return Min(a, b);
    default:
      ok_ = false;
      return Dim();
  }
}

void Reader::ReadDim(Dim& dim, int depth) {
  dim = Dim();
  if (depth > kMaxDimDepth) ok_ = false;
  int64_t constant;
  Field(constant);
  dim = Dim(constant);
  for (uint32_t terms = Count(); terms > 0 && ok_; --terms) {
    int64_t coefficient;
    Field(coefficient);
    Dim product(coefficient);
    for (uint32_t factors = Count(); factors > 0 && ok_; --factors) {
      product = product * ReadFactor(depth);
    }
    dim = dim + product;
  }
}

// The fields of each struct, once for both directions. `S` is const for Writer.
template <typename V, typename S>
  requires std::same_as<std::remove_const_t<S>, Layout>
void Visit(V& v, S& s) {
  v.Field(s.order), v.Field(s.block_dim), v.Field(s.block);
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
  v.Field(s.exprs), v.Field(s.stages), v.Field(s.contraction);
}

template <typename T>
void Writer::Field(const std::vector<T>& list) {
  Field(static_cast<uint32_t>(list.size()));
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
  for (uint32_t count = Count(); count > 0 && ok_; --count) {
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
  Region region;
  if (magic == kMagic) reader.Field(region);
  if (magic != kMagic || !reader.ok() || !reader.done()) {
    return DataLossError("not a region");
  }
  if (const Status status = VerifyRegion(region); !status.ok()) {
    return DataLossError(Message(status));
  }
  return region;
}

}  // namespace encore::backends
