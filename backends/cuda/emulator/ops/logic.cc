// Bits: logic, shifts, fields, counting.
#include <algorithm>
#include <bit>
#include <type_traits>

#include "encore/backends/cuda/emulator/ops/bits.h"
#include "encore/backends/cuda/emulator/ops/families.h"

namespace encore::ptx {
namespace {

template <typename T>
constexpr uint32_t kBits = sizeof(T) * 8;

template <typename T>
T And(T a, T b) {
  return static_cast<T>(a & b);
}
template <typename T>
T Or(T a, T b) {
  return static_cast<T>(a | b);
}
template <typename T>
T Xor(T a, T b) {
  return static_cast<T>(a ^ b);
}
template <typename T>
T Not(T a) {
  return static_cast<T>(~a);
}
bool NotPredicate(bool a) { return !a; }
template <typename T>
T LogicalNot(T a) {
  return a == 0 ? 1 : 0;
}
// Bit n of the table is the result where n has the bits of a, b and c.
uint32_t Lop3(uint32_t a, uint32_t b, uint32_t c, uint32_t table) {
  uint32_t out = 0;
  for (uint32_t n = 0; n < 8; ++n) {
    if ((table >> n & 1) == 0) continue;
    out |= (n & 4 ? a : ~a) & (n & 2 ? b : ~b) & (n & 1 ? c : ~c);
  }
  return out;
}
template <typename T>
T ShiftLeft(T a, uint32_t count) {
  return count >= kBits<T> ? T{0} : static_cast<T>(a << count);
}
template <typename T>
T ShiftRight(T a, uint32_t count) {
  return static_cast<T>(a >> std::min(count, kBits<T> - 1) >>
                        (count >= kBits<T> ? 1 : 0));
}
uint32_t Funnel(const LaneContext& context, uint32_t low, uint32_t high,
                uint32_t count) {
  const Instruction& i = context.instruction;
  const uint32_t n =
      i.Has(Modifier::kClamp) ? std::min(count, 32u) : count & 31;
  const uint64_t both = uint64_t{high} << 32 | low;
  return static_cast<uint32_t>(i.Has(Modifier::kL) ? both << n >> 32
                                                   : both >> n);
}
// Bits beyond the top are the sign of the field, or of the value where the
// field goes beyond it.
template <typename T>
T Extract(T a, uint32_t position, uint32_t length) {
  using V = std::make_unsigned_t<T>;
  const uint32_t at = position & 0xff, count = length & 0xff;
  const uint32_t top = kBits<T> - 1;
  const auto value = static_cast<V>(a);
  const bool sign = std::is_signed_v<T> && count > 0 &&
                    (value >> std::min(at + count - 1, top) & 1) != 0;
  V out = 0;
  for (uint32_t n = 0; n < kBits<T>; ++n) {
    const bool inside = n < count && at + n <= top;
    const bool bit = inside ? (value >> (at + n) & 1) != 0 : sign;
    out |= static_cast<V>(bit ? 1 : 0) << n;
  }
  return static_cast<T>(out);
}
template <typename T>
T Insert(T a, T b, uint32_t position, uint32_t length) {
  const uint32_t at = position & 0xff, count = length & 0xff;
  T out = b;
  for (uint32_t n = 0; n < count && at + n < kBits<T>; ++n) {
    const T bit = T{1} << (at + n);
    out = (a >> n & 1) != 0 ? out | bit : out & ~bit;
  }
  return out;
}
template <typename T>
T Reverse(T a) {
  T out = 0;
  for (uint32_t n = 0; n < kBits<T>; ++n) {
    out |= (a >> n & 1) << (kBits<T> - 1 - n);
  }
  return out;
}
template <typename T>
uint32_t LeadingZeros(T a) {
  return static_cast<uint32_t>(std::countl_zero(a));
}
template <typename T>
uint32_t Ones(T a) {
  return static_cast<uint32_t>(std::popcount(a));
}
// The highest bit that differs from the sign; all ones where there is none.
template <typename T>
uint32_t FindBit(const LaneContext& context, T a) {
  using V = std::make_unsigned_t<T>;
  const auto value = static_cast<V>(a < 0 ? ~a : a);
  if (value == 0) return 0xffffffffu;
  const auto zeros = static_cast<uint32_t>(std::countl_zero(value));
  return context.instruction.Has(Modifier::kShiftamt) ? zeros
                                                      : kBits<T> - 1 - zeros;
}

// The selectors that a mode of prmt makes of the low two bits.
uint32_t SelectorOf(const Instruction& i, uint32_t selector) {
  using enum Modifier;
  const uint32_t n = selector & 3;
  uint32_t out = 0;
  for (uint32_t byte = 0; byte < 4; ++byte) {
    uint32_t from = selector >> 4 * byte & 15;
    if (i.Has(kF4e)) from = (n + byte) & 7;
    if (i.Has(kB4e)) from = (n - byte) & 7;
    if (i.Has(kRc8)) from = n;
    if (i.Has(kEcl)) from = std::max(n, byte);
    if (i.Has(kEcr)) from = std::min(n, byte);
    if (i.Has(kRc16)) from = (n & 1) * 2 + (byte & 1);
    out |= from << 4 * byte;
  }
  return out;
}
uint32_t Permute(const LaneContext& context, uint32_t a, uint32_t b,
                 uint32_t selector) {
  const uint64_t bytes = uint64_t{b} << 32 | a;
  const uint32_t from = SelectorOf(context.instruction, selector);
  uint32_t out = 0;
  for (uint32_t n = 0; n < 4; ++n) {
    const uint32_t choice = from >> 4 * n & 15;
    auto byte = static_cast<uint32_t>(bytes >> 8 * (choice & 7) & 0xff);
    if ((choice & 8) != 0) byte = (byte & 0x80) != 0 ? 0xff : 0;
    out |= byte << 8 * n;
  }
  return out;
}

template <typename T>
Handler SelectPlain(Op op) {
  switch (op) {
    case Op::kAnd:
      return &Map<And<T>>;
    case Op::kOr:
      return &Map<Or<T>>;
    case Op::kXor:
      return &Map<Xor<T>>;
    case Op::kNot:
      return &Map<Not<T>>;
    case Op::kCnot:
      return &Map<LogicalNot<T>>;
    case Op::kShl:
      return &Map<ShiftLeft<T>>;
    default:
      break;
  }
  if constexpr (sizeof(T) >= 4) {
    switch (op) {
      case Op::kBfi:
        return &Map<Insert<T>>;
      case Op::kBrev:
        return &Map<Reverse<T>>;
      case Op::kClz:
        return &Map<LeadingZeros<T>>;
      case Op::kPopc:
        return &Map<Ones<T>>;
      default:
        break;
    }
  }
  return nullptr;
}

Handler SelectPredicate(Op op) {
  switch (op) {
    case Op::kAnd:
      return &Map<And<bool>>;
    case Op::kOr:
      return &Map<Or<bool>>;
    case Op::kXor:
      return &Map<Xor<bool>>;
    case Op::kNot:
      return &Map<NotPredicate>;
    default:
      return nullptr;
  }
}

Handler SelectWord(const Instruction& i) {
  using enum Modifier;
  if (i.type != Type::kB32) return nullptr;
  if (i.op == Op::kLop3) return &Map<Lop3>;
  if (i.op == Op::kPrmt) return &Map<Permute>;
  const bool whole = i.Has(kL) != i.Has(kR) && i.Has(kWrap) != i.Has(kClamp);
  return whole ? &Map<Funnel> : nullptr;
}

}  // namespace

Handler SelectLogic(const Instruction& i) {
  switch (i.op) {
    case Op::kLop3:
    case Op::kPrmt:
    case Op::kShf:
      return SelectWord(i);
    case Op::kShr:
      return VisitInteger(i.type, [](auto x) -> Handler {
        return &Map<ShiftRight<decltype(x)>>;
      });
    case Op::kBfe:
    case Op::kBfind:
      if (!IsInteger(i.type)) return nullptr;
      return VisitInteger(i.type, [&](auto x) -> Handler {
        using T = decltype(x);
        if constexpr (sizeof(T) == 2) {
          return nullptr;
        } else {
          return i.op == Op::kBfe ? &Map<Extract<T>> : &Map<FindBit<T>>;
        }
      });
    default:
      break;
  }
  if (i.type == Type::kPred) return SelectPredicate(i.op);
  if (!IsBits(i.type)) return nullptr;
  return VisitInteger(i.type, [&](auto x) -> Handler {
    return SelectPlain<std::make_unsigned_t<decltype(x)>>(i.op);
  });
}

}  // namespace encore::ptx
