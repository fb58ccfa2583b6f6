// Lanes of a warp with each other: shfl, vote, match, redux, elect.
//
// The executor has brought together the lanes that a member mask names.
#include <algorithm>
#include <array>
#include <bit>
#include <optional>

#include "encore/backends/cuda/emulator/ops/bits.h"
#include "encore/backends/cuda/emulator/ops/families.h"
#include "encore/ir/support/strings.h"

namespace encore::ptx {
namespace {

// The lane to read from, where that is within the segment. PTX ISA,
// "shfl.sync".
std::optional<uint32_t> SourceLane(const Instruction& i, uint32_t lane,
                                   uint32_t b, uint32_t c) {
  const uint32_t step = b & 31, clamp = c & 31, segment = c >> 8 & 31;
  const uint32_t last = (lane & segment) | (clamp & ~segment);
  const uint32_t first = lane & segment;
  uint32_t from;
  bool inside;
  if (i.Has(Modifier::kUp)) {
    from = lane - step;
    inside = static_cast<int32_t>(from) >= static_cast<int32_t>(last);
  } else {
    from = i.Has(Modifier::kDown)   ? lane + step
           : i.Has(Modifier::kBfly) ? lane ^ step
                                    : first | (step & ~segment);
    inside = from <= last;
  }
  if (!inside) return std::nullopt;
  return from;
}

void Shuffle(Warp& warp, const Instruction& i, uint32_t mask) {
  uint64_t* out = warp.Destination(i, 0);
  uint64_t* valid = warp.HasOperand(i, 1) ? warp.Destination(i, 1) : nullptr;
  const uint64_t* a = warp.Source(i, 2);
  const uint64_t* b = warp.Source(i, 3);
  const uint64_t* c = warp.Source(i, 4);
  std::array<uint64_t, 32> values;
  std::copy_n(a, 32, values.begin());
  ForEachLane(mask, [&](uint32_t lane) {
    const auto from = SourceLane(i, lane, static_cast<uint32_t>(b[lane]),
                                 static_cast<uint32_t>(c[lane]));
    if (from.has_value() && (mask >> *from & 1) == 0) {
      return warp.Fail(
          i, lane,
          StrCat("reads from lane ", *from,
                 ", which does not take part or has exited; members are ",
                 mask));
    }
    if (valid != nullptr) valid[lane] = from.has_value() ? 1 : 0;
    out[lane] = values[from.value_or(lane)] & 0xffffffffu;
  });
}

void Vote(Warp& warp, const Instruction& i, uint32_t mask) {
  using enum Modifier;
  uint64_t* out = warp.Destination(i, 0);
  const uint64_t* p = warp.Source(i, 1);
  uint32_t ballot = 0;
  ForEachLane(mask, [&](uint32_t lane) {
    if ((p[lane] != 0) != i.predicate_negated) ballot |= 1u << lane;
  });
  uint64_t value = ballot;
  if (i.Has(kAll)) value = ballot == mask;
  if (i.Has(kAny)) value = ballot != 0;
  if (i.Has(kUni)) value = ballot == mask || ballot == 0;
  ForEachLane(mask, [&](uint32_t lane) { out[lane] = value; });
}

void MatchAny(Warp& warp, const Instruction& i, uint32_t mask) {
  uint64_t* out = warp.Destination(i, 0);
  const uint64_t* a = warp.Source(i, 1);
  std::array<uint64_t, 32> same = {};
  ForEachLane(mask, [&](uint32_t lane) {
    ForEachLane(mask, [&](uint32_t other) {
      if (a[lane] == a[other]) same[lane] |= 1u << other;
    });
  });
  ForEachLane(mask, [&](uint32_t lane) { out[lane] = same[lane]; });
}

void MatchAll(Warp& warp, const Instruction& i, uint32_t mask) {
  uint64_t* out = warp.Destination(i, 0);
  uint64_t* all = warp.HasOperand(i, 1) ? warp.Destination(i, 1) : nullptr;
  const uint64_t* a = warp.Source(i, 2);
  const uint64_t first = a[std::countr_zero(mask)];
  bool same = true;
  ForEachLane(mask, [&](uint32_t lane) { same = same && a[lane] == first; });
  ForEachLane(mask, [&](uint32_t lane) {
    out[lane] = same ? mask : 0;
    if (all != nullptr) all[lane] = same ? 1 : 0;
  });
}

uint32_t Combine(const Instruction& i, uint32_t a, uint32_t b) {
  using enum Modifier;
  if (i.Has(kAdd)) return a + b;
  if (i.Has(kAnd)) return a & b;
  if (i.Has(kOr)) return a | b;
  if (i.Has(kXor)) return a ^ b;
  const bool less = i.type == Type::kS32
                        ? static_cast<int32_t>(a) < static_cast<int32_t>(b)
                        : a < b;
  return less == i.Has(kMin) ? a : b;
}

void Reduce(Warp& warp, const Instruction& i, uint32_t mask) {
  uint64_t* out = warp.Destination(i, 0);
  const uint64_t* a = warp.Source(i, 1);
  std::optional<uint32_t> value;
  ForEachLane(mask, [&](uint32_t lane) {
    const auto next = static_cast<uint32_t>(a[lane]);
    value = value.has_value() ? Combine(i, *value, next) : next;
  });
  ForEachLane(mask, [&](uint32_t lane) { out[lane] = *value; });
}

// The lowest lane, which is one of those that the ISA allows.
void Elect(Warp& warp, const Instruction& i, uint32_t mask) {
  uint64_t* out = warp.Destination(i, 0);
  uint64_t* is_leader =
      warp.HasOperand(i, 1) ? warp.Destination(i, 1) : nullptr;
  const auto leader = static_cast<uint32_t>(std::countr_zero(mask));
  ForEachLane(mask, [&](uint32_t lane) {
    out[lane] = leader;
    if (is_leader != nullptr) is_leader[lane] = lane == leader ? 1 : 0;
  });
}

void ActiveMask(Warp& warp, const Instruction& i, uint32_t mask) {
  uint64_t* out = warp.Destination(i, 0);
  ForEachLane(mask, [&](uint32_t lane) { out[lane] = mask; });
}

Handler SelectRedux(const Instruction& i) {
  using enum Modifier;
  if (i.Has(kAbs) || i.Has(kNaN)) return nullptr;
  if (i.type == Type::kB32) {
    return i.Has(kAnd) || i.Has(kOr) || i.Has(kXor) ? &Reduce : nullptr;
  }
  const bool whole = i.type == Type::kU32 || i.type == Type::kS32;
  return whole && (i.Has(kAdd) || i.Has(kMin) || i.Has(kMax)) ? &Reduce
                                                              : nullptr;
}

}  // namespace

Handler SelectCrossLane(const Instruction& i) {
  using enum Modifier;
  const bool ballot = i.Has(kBallot) && i.type == Type::kB32;
  const bool vote =
      i.type == Type::kPred && (i.Has(kAll) || i.Has(kAny) || i.Has(kUni));
  const bool wide = i.type == Type::kB32 || i.type == Type::kB64;
  const bool mode = i.Has(kUp) || i.Has(kDown) || i.Has(kBfly) || i.Has(kIdx);
  switch (i.op) {
    case Op::kShfl:
      return mode && i.type == Type::kB32 ? &Shuffle : nullptr;
    case Op::kVote:
      return ballot || vote ? &Vote : nullptr;
    case Op::kMatchAny:
      return wide ? &MatchAny : nullptr;
    case Op::kMatchAll:
      return wide ? &MatchAll : nullptr;
    case Op::kRedux:
      return SelectRedux(i);
    case Op::kElect:
      return &Elect;
    case Op::kActivemask:
      return i.type == Type::kB32 ? &ActiveMask : nullptr;
    default:
      return nullptr;
  }
}

}  // namespace encore::ptx
