// mov, cvta, isspacep.
#include "encore/backends/cuda/emulator/address_map.h"
#include "encore/backends/cuda/emulator/ops/bits.h"
#include "encore/backends/cuda/emulator/ops/families.h"
#include "encore/backends/cuda/emulator/types.h"

namespace encore::ptx {
namespace {

void Move(Warp& warp, const Instruction& i, uint32_t mask) {
  uint64_t* out = warp.Destination(i, 0);
  const uint64_t* in = warp.Source(i, 1);
  const int bits = BitWidth(i.type);
  ForEachLane(mask,
              [&](uint32_t lane) { out[lane] = LowBits(in[lane], bits); });
}

// Parts come from the low bits on.
void Pack(Warp& warp, const Instruction& i, uint32_t mask) {
  uint64_t* out = warp.Destination(i, 0);
  const int bits = BitWidth(i.type) / i.vector;
  ForEachLane(mask, [&](uint32_t lane) {
    uint64_t packed = 0;
    for (uint32_t n = 0; n < i.vector; ++n) {
      packed |= LowBits(warp.Source(i, 1 + n)[lane], bits)
                << bits * static_cast<int>(n);
    }
    out[lane] = packed;
  });
}

void Unpack(Warp& warp, const Instruction& i, uint32_t mask) {
  const uint64_t* in = warp.Source(i, i.vector);
  const int bits = BitWidth(i.type) / i.vector;
  ForEachLane(mask, [&](uint32_t lane) {
    const uint64_t packed = in[lane];
    for (uint32_t n = 0; n < i.vector; ++n) {
      warp.Destination(i, n)[lane] =
          LowBits(packed >> bits * static_cast<int>(n), bits);
    }
  });
}

// Time is the count of steps.
void ReadClock(Warp& warp, const Instruction& i, uint32_t mask) {
  uint64_t* out = warp.Destination(i, 0);
  const uint64_t now = LowBits(warp.launch->counters.steps, BitWidth(i.type));
  ForEachLane(mask, [&](uint32_t lane) { out[lane] = now; });
}

void ConvertAddress(Warp& warp, const Instruction& i, uint32_t mask) {
  uint64_t* out = warp.Destination(i, 0);
  const uint64_t* in = warp.Source(i, 1);
  const uint64_t window = WindowOf(i.space);
  const bool to = i.Has(Modifier::kTo);
  ForEachLane(mask, [&](uint32_t lane) {
    out[lane] = to ? in[lane] - window : in[lane] + window;
  });
}

void IsInSpace(Warp& warp, const Instruction& i, uint32_t mask) {
  uint64_t* out = warp.Destination(i, 0);
  const uint64_t* in = warp.Source(i, 1);
  ForEachLane(mask, [&](uint32_t lane) {
    out[lane] = SpaceAt(in[lane]) == i.space ? 1 : 0;
  });
}

}  // namespace

Handler SelectMove(const Instruction& i) {
  const bool one_space = i.space != Space::kGeneric;
  switch (i.op) {
    case Op::kMov:
      return &Move;
    case Op::kMovPack:
      return &Pack;
    case Op::kMovUnpack:
      return &Unpack;
    case Op::kMovClock:
      return &ReadClock;
    case Op::kCvta:
      return one_space && BitWidth(i.type) == 64 ? &ConvertAddress : nullptr;
    case Op::kIsspacep:
      // Constants lie among global memory here.
      return one_space && i.space != Space::kConst ? &IsInSpace : nullptr;
    default:
      return nullptr;
  }
}

}  // namespace encore::ptx
