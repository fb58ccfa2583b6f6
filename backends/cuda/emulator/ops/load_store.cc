// ld, ldu, st, prefetch.
#include <bit>
#include <cstring>

#include "encore/backends/cuda/emulator/access.h"
#include "encore/backends/cuda/emulator/ops/bits.h"
#include "encore/backends/cuda/emulator/ops/families.h"
#include "encore/backends/cuda/emulator/types.h"

namespace encore::ptx {
namespace {

// What a register of `bytes` holds after a value of `type` was loaded.
uint64_t Extend(uint64_t value, Type type, int register_bytes) {
  if (!IsSigned(type)) return value;
  const int shift = 64 - BitWidth(type);
  const auto wide =
      static_cast<uint64_t>(static_cast<int64_t>(value << shift) >> shift);
  return LowBits(wide, register_bytes * 8);
}

void Load(Warp& warp, const Instruction& i, uint32_t mask) {
  const auto width = static_cast<uint32_t>(ByteWidth(i.type));
  const uint32_t bytes = width * i.vector;
  const auto addresses = Addresses(warp, i, i.vector);
  const bool strong = IsStrong(i);
  CountAccess(warp, i.space, addresses, mask, bytes, AccessKind::kRead);
  ForEachLane(mask, [&](uint32_t lane) {
    const std::byte* from = Access(warp, i, lane, i.space, addresses[lane],
                                   bytes, AccessKind::kRead);
    if (from == nullptr) return;
    if (strong) Acquire(warp, i, i.space, addresses[lane]);
    for (uint32_t n = 0; n < i.vector; ++n) {
      uint64_t value = 0;
      std::memcpy(&value, from + n * width, width);
      warp.Destination(i, n)[lane] = Extend(value, i.type, i.register_bytes);
    }
  });
}

void Store(Warp& warp, const Instruction& i, uint32_t mask) {
  const auto width = static_cast<uint32_t>(ByteWidth(i.type));
  const uint32_t bytes = width * i.vector;
  const auto addresses = Addresses(warp, i, 0);
  const bool strong = IsStrong(i);
  CountAccess(warp, i.space, addresses, mask, bytes, AccessKind::kWrite);
  ForEachLane(mask, [&](uint32_t lane) {
    if (strong) Publish(warp, i, i.space, addresses[lane]);
    std::byte* to = Access(warp, i, lane, i.space, addresses[lane], bytes,
                           AccessKind::kWrite);
    if (to == nullptr) return;
    for (uint32_t n = 0; n < i.vector; ++n) {
      const uint64_t value = warp.Source(i, 1 + n)[lane];
      std::memcpy(to + n * width, &value, width);
    }
  });
}

// A hint; its address may be anything.
void Prefetch(Warp&, const Instruction&, uint32_t) {}

}  // namespace

Handler SelectLoadStore(const Instruction& i) {
  const bool plain =
      i.type != Type::kPred && ByteWidth(i.type) * i.vector <= 32;
  switch (i.op) {
    case Op::kLd:
    case Op::kLdu:
      return plain ? &Load : nullptr;
    case Op::kSt:
      return plain ? &Store : nullptr;
    case Op::kPrefetch:
    case Op::kPrefetchu:
      return &Prefetch;
    default:
      return nullptr;
  }
}

}  // namespace encore::ptx
