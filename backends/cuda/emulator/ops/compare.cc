// setp, set, selp, slct.
#include <cmath>
#include <optional>
#include <type_traits>

#include "encore/backends/cuda/emulator/ops/bits.h"
#include "encore/backends/cuda/emulator/ops/families.h"
#include "encore/backends/cuda/emulator/ops/rounding.h"
#include "encore/ir/types/dtype.h"
#include "encore/ir/types/float_formats.h"

namespace encore::ptx {
namespace {

// The relation of two values: less, equal, greater, or none of them.
constexpr uint32_t kLess = 1, kEqual = 2, kGreater = 4, kUnordered = 8;

// The relations for which a comparison holds; nothing where none is named.
std::optional<uint32_t> Relations(const Instruction& i) {
  using enum Modifier;
  if (i.Has(kEq)) return kEqual;
  if (i.Has(kNe)) return kLess | kGreater;
  if (i.Has(kLt) || i.Has(kLo)) return kLess;
  if (i.Has(kLe) || i.Has(kLs)) return kLess | kEqual;
  if (i.Has(kGt) || i.Has(kHi)) return kGreater;
  if (i.Has(kGe) || i.Has(kHs)) return kGreater | kEqual;
  if (i.Has(kEqu)) return kEqual | kUnordered;
  if (i.Has(kNeu)) return kLess | kGreater | kUnordered;
  if (i.Has(kLtu)) return kLess | kUnordered;
  if (i.Has(kLeu)) return kLess | kEqual | kUnordered;
  if (i.Has(kGtu)) return kGreater | kUnordered;
  if (i.Has(kGeu)) return kGreater | kEqual | kUnordered;
  if (i.Has(kNum)) return kLess | kEqual | kGreater;
  if (i.Has(kNan)) return kUnordered;
  return std::nullopt;
}

bool NeedsFloat(const Instruction& i) {
  using enum Modifier;
  return i.Has(kEqu) || i.Has(kNeu) || i.Has(kLtu) || i.Has(kLeu) ||
         i.Has(kGtu) || i.Has(kGeu) || i.Has(kNum) || i.Has(kNan);
}

template <typename T>
uint32_t Relation(const Instruction& i, uint64_t left, uint64_t right) {
  T a{}, b{};
  if constexpr (std::is_arithmetic_v<T>) {
    a = FromBits<T>(left);
    b = FromBits<T>(right);
  }
  if constexpr (std::is_same_v<T, float>) {
    if (i.Has(Modifier::kFtz)) {
      a = Flush(a);
      b = Flush(b);
    }
  }
  if (a < b) return kLess;
  if (a > b) return kGreater;
  return a == b ? kEqual : kUnordered;
}

template <DType kDType>
uint32_t HalfRelation(const Instruction& i, uint64_t left, uint64_t right) {
  const auto value = [&](uint64_t bits) {
    const float decoded = DecodeFloat(kDType, static_cast<uint16_t>(bits));
    const float least = kDType == DType::kF16 ? 0x1p-14f : 0x1p-126f;
    const bool flush = i.Has(Modifier::kFtz) && std::fabs(decoded) < least;
    return flush ? 0.0f : decoded;
  };
  const float a = value(left), b = value(right);
  if (a < b) return kLess;
  if (a > b) return kGreater;
  return a == b ? kEqual : kUnordered;
}

using RelationOf = uint32_t (*)(const Instruction&, uint64_t, uint64_t);

bool Combine(const Instruction& i, bool holds, bool with) {
  using enum Modifier;
  if (i.Has(kAnd)) return holds && with;
  if (i.Has(kOr)) return holds || with;
  if (i.Has(kXor)) return holds != with;
  return holds;
}

// d[, e], a, b[, c]: the comparison with c, and its negation with c.
template <RelationOf kRelation>
void SetPredicate(Warp& warp, const Instruction& i, uint32_t mask) {
  const uint32_t relations = *Relations(i);
  uint64_t* first = warp.Destination(i, 0);
  uint64_t* second = warp.HasOperand(i, 1) ? warp.Destination(i, 1) : nullptr;
  const uint64_t* a = warp.Source(i, 2);
  const uint64_t* b = warp.Source(i, 3);
  const uint64_t* c = warp.HasOperand(i, 4) ? warp.Source(i, 4) : nullptr;
  ForEachLane(mask, [&](uint32_t lane) {
    const bool holds = (kRelation(i, a[lane], b[lane]) & relations) != 0;
    const bool with = c != nullptr && (c[lane] != 0) != i.predicate_negated;
    first[lane] = Combine(i, holds, with) ? 1 : 0;
    if (second != nullptr) second[lane] = Combine(i, !holds, with) ? 1 : 0;
  });
}

template <RelationOf kRelation>
void SetValue(Warp& warp, const Instruction& i, uint32_t mask) {
  const uint32_t relations = *Relations(i);
  uint64_t* out = warp.Destination(i, 0);
  const uint64_t* a = warp.Source(i, 1);
  const uint64_t* b = warp.Source(i, 2);
  const uint64_t* c = warp.HasOperand(i, 3) ? warp.Source(i, 3) : nullptr;
  uint64_t yes = 0xffffffffu;
  if (i.type == Type::kF32) yes = 0x3f800000;
  ForEachLane(mask, [&](uint32_t lane) {
    const bool holds = (kRelation(i, a[lane], b[lane]) & relations) != 0;
    const bool with = c != nullptr && (c[lane] != 0) != i.predicate_negated;
    out[lane] = Combine(i, holds, with) ? yes : 0;
  });
}

template <RelationOf kRelation>
Handler ChooseForm(const Instruction& i) {
  return i.op == Op::kSet ? &SetValue<kRelation> : &SetPredicate<kRelation>;
}

Handler SelectComparison(const Instruction& i) {
  const Type type = i.source_type;
  if (!Relations(i).has_value()) return nullptr;
  if (i.op == Op::kSet && i.type != Type::kU32 && i.type != Type::kS32 &&
      i.type != Type::kF32) {
    return nullptr;
  }
  switch (type) {
    case Type::kF32:
      return ChooseForm<Relation<float>>(i);
    case Type::kF64:
      return ChooseForm<Relation<double>>(i);
    case Type::kF16:
      return ChooseForm<HalfRelation<DType::kF16>>(i);
    case Type::kBF16:
      return ChooseForm<HalfRelation<DType::kBF16>>(i);
    default:
      break;
  }
  if (NeedsFloat(i) || i.Has(Modifier::kFtz)) return nullptr;
  return VisitInteger(type, [&](auto x) -> Handler {
    return ChooseForm<Relation<decltype(x)>>(i);
  });
}

void SelectByPredicate(Warp& warp, const Instruction& i, uint32_t mask) {
  uint64_t* out = warp.Destination(i, 0);
  const uint64_t* a = warp.Source(i, 1);
  const uint64_t* b = warp.Source(i, 2);
  const uint64_t* p = warp.Source(i, 3);
  ForEachLane(mask, [&](uint32_t lane) {
    out[lane] = (p[lane] != 0) != i.predicate_negated ? a[lane] : b[lane];
  });
}

// a where c >= 0, else b; NaN is not.
template <typename C>
void SelectBySign(Warp& warp, const Instruction& i, uint32_t mask) {
  uint64_t* out = warp.Destination(i, 0);
  const uint64_t* a = warp.Source(i, 1);
  const uint64_t* b = warp.Source(i, 2);
  const uint64_t* c = warp.Source(i, 3);
  ForEachLane(mask, [&](uint32_t lane) {
    C value = FromBits<C>(c[lane]);
    if constexpr (std::is_same_v<C, float>) {
      if (i.Has(Modifier::kFtz)) value = Flush(value);
    }
    out[lane] = value >= 0 ? a[lane] : b[lane];
  });
}

}  // namespace

Handler SelectCompare(const Instruction& i) {
  switch (i.op) {
    case Op::kSetp:
    case Op::kSet:
      return SelectComparison(i);
    case Op::kSelp:
      return BitWidth(i.type) >= 16 ? &SelectByPredicate : nullptr;
    case Op::kSlct:
      if (i.source_type == Type::kS32) return &SelectBySign<int32_t>;
      if (i.source_type == Type::kF32) return &SelectBySign<float>;
      return nullptr;
    default:
      return nullptr;
  }
}

}  // namespace encore::ptx
