// cp.async and the mbarriers that it tells.
//
// A copy's bytes are read when it is issued and written when it is waited for,
// no earlier; until then nobody may touch them. An mbarrier is a word of 64
// bits in shared memory: arrivals that are pending (bits 0 to 19) and expected
// (20 to 39) in a phase, whose parity is bit 40.
#include "encore/backends/cuda/emulator/ops/async.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "encore/backends/cuda/emulator/access.h"
#include "encore/backends/cuda/emulator/ops/bits.h"
#include "encore/backends/cuda/emulator/ops/families.h"
#include "encore/ir/support/strings.h"

namespace encore::ptx {
namespace {

constexpr uint64_t kCountMask = (1u << 20) - 1;
constexpr uint64_t kParity = uint64_t{1} << 40;

// For violations that show when a copy arrives: the line that issued it.
Instruction ArrivalOf(uint32_t line) {
  Instruction i;
  i.op = Op::kCpAsync;
  i.line = line;
  i.space = Space::kShared;
  return i;
}

void Land(Warp& warp, uint32_t lane, const std::vector<PendingCopy>& copies) {
  Shadow& shadow = warp.block->shared.shadow;
  for (const PendingCopy& copy : copies) {
    shadow.SetInFlight(copy.to - warp.block->shared.address, copy.bytes, false);
    std::byte* to = Access(warp, ArrivalOf(copy.line), lane, Space::kShared,
                           copy.to, copy.bytes, AccessKind::kArrive);
    if (to == nullptr) return;
    std::memcpy(to, copy.data.data(), copy.bytes);
  }
}

// dst, src, bytes[, bytes of src that are read; others are zeros]
void Issue(Warp& warp, const Instruction& i, uint32_t mask) {
  const auto to = Addresses(warp, i, 0, 0);
  const auto from = Addresses(warp, i, 1, 1);
  const auto bytes = static_cast<uint32_t>(warp.Source(i, 2)[0]);
  CountAccess(warp, i.source_space, from, mask, bytes, AccessKind::kRead);
  CountAccess(warp, i.space, to, mask, bytes, AccessKind::kWrite);
  ForEachLane(mask, [&](uint32_t lane) {
    const auto size = static_cast<uint32_t>(warp.Source(i, 2)[lane]);
    if (size != 4 && size != 8 && size != 16) {
      return warp.Fail(i, lane, StrCat("a copy of ", size, " bytes"));
    }
    PendingCopy copy;
    copy.to = to[lane];
    copy.bytes = size;
    copy.line = i.line;
    const auto present =
        warp.HasOperand(i, 3)
            ? std::min(static_cast<uint32_t>(warp.Source(i, 3)[lane]), size)
            : size;
    // The address is checked as a whole; what is not read may be out of bounds.
    if (from[lane] % size != 0) {
      return warp.Fail(i, lane, "the source of the copy is misaligned");
    }
    for (uint32_t n = 0; n < present;) {
      const uint32_t part = present == size ? size : 1;
      const std::byte* read = Access(warp, i, lane, i.source_space,
                                     from[lane] + n, part, AccessKind::kRead);
      if (read == nullptr) return;
      std::memcpy(copy.data.data() + n, read, part);
      n += part;
    }
    if (Access(warp, i, lane, Space::kShared, copy.to, size,
               AccessKind::kWrite) == nullptr) {
      return;
    }
    warp.block->shared.shadow.SetInFlight(copy.to - warp.block->shared.address,
                                          size, true);
    warp.open_copies[lane].push_back(copy);
  });
}

void Commit(Warp& warp, const Instruction&, uint32_t mask) {
  ForEachLane(mask, [&](uint32_t lane) {
    warp.copy_groups[lane].push_back(std::exchange(warp.open_copies[lane], {}));
  });
}

void WaitGroups(Warp& warp, const Instruction& i, uint32_t mask) {
  const uint64_t* left = warp.Source(i, 0);
  ForEachLane(mask, [&](uint32_t lane) {
    LandCopies(warp, lane, static_cast<uint32_t>(left[lane]));
  });
}

void WaitAll(Warp& warp, const Instruction&, uint32_t mask) {
  ForEachLane(mask, [&](uint32_t lane) { LandAllCopies(warp, lane); });
}

// The word of an mbarrier; null after a violation.
std::byte* Word(Warp& warp, const Instruction& i, uint32_t lane,
                uint64_t address) {
  const Place place = Resolve(i.space, address);
  if (place.space != Space::kShared) {
    warp.Fail(i, lane, "an mbarrier lies in shared memory");
    return nullptr;
  }
  return Access(warp, i, lane, Space::kShared, place.address, 8,
                AccessKind::kAtomic);
}

uint64_t Value(const std::byte* word) {
  uint64_t value;
  std::memcpy(&value, word, sizeof(value));
  return value;
}

void Arrive(Warp& warp, const Instruction& i, uint32_t lane, std::byte* word,
            uint64_t count) {
  uint64_t value = Value(word);
  const uint64_t pending = value & kCountMask;
  if (count == 0 || count > pending) {
    return warp.Fail(i, lane,
                     StrCat(count,
                            " arrivals at an mbarrier that "
                            "awaits ",
                            pending));
  }
  value -= count;
  if (pending == count) {
    value = (value ^ kParity) | (value >> 20 & kCountMask);
  }
  std::memcpy(word, &value, sizeof(value));
}

// Arrivals that copies bring, at the time somebody looks.
void LandDeferred(Warp& warp, uint64_t address) {
  Block& block = *warp.block;
  for (size_t n = 0; n < block.deferred.size();) {
    if (block.deferred[n].address != address) {
      ++n;
      continue;
    }
    const DeferredArrival arrival = std::move(block.deferred[n]);
    block.deferred.erase(block.deferred.begin() + static_cast<ptrdiff_t>(n));
    Warp& issuer = block.warps[arrival.warp];
    Land(issuer, arrival.lane, arrival.copies);
    Instruction i = ArrivalOf(arrival.line);
    i.modifiers.set(static_cast<size_t>(Modifier::kRelease));
    Publish(issuer, i, Space::kShared, address);
    std::byte* word = Word(issuer, i, arrival.lane, address);
    if (word == nullptr) return;
    // Without .noinc the arrival was added to the expected ones of this phase.
    Arrive(issuer, i, arrival.lane, word, 1);
  }
}

void InitBarrier(Warp& warp, const Instruction& i, uint32_t mask) {
  const auto addresses = Addresses(warp, i, 0);
  const uint64_t* count = warp.Source(i, 1);
  ForEachLane(mask, [&](uint32_t lane) {
    const uint64_t expected = count[lane];
    if (expected == 0 || expected > kCountMask) {
      return warp.Fail(i, lane,
                       StrCat("an mbarrier for ", expected,
                              " arrivals; 1 to 1048575 are possible"));
    }
    const Place place = Resolve(i.space, addresses[lane]);
    std::byte* word = Access(warp, i, lane, place.space, place.address, 8,
                             AccessKind::kWrite);
    if (word == nullptr) return;
    const uint64_t value = expected << 20 | expected;
    std::memcpy(word, &value, sizeof(value));
  });
}

void ArriveByThread(Warp& warp, const Instruction& i, uint32_t mask) {
  const auto addresses = Addresses(warp, i, 1);
  uint64_t* state = warp.Destination(i, 0);
  Instruction releasing = i;
  releasing.modifiers.set(static_cast<size_t>(Modifier::kRelease));
  ForEachLane(mask, [&](uint32_t lane) {
    Publish(warp, releasing, i.space, addresses[lane]);
    std::byte* word = Word(warp, i, lane, addresses[lane]);
    if (word == nullptr) return;
    const uint64_t before = Value(word);
    const uint64_t count =
        warp.HasOperand(i, 2) ? warp.Source(i, 2)[lane] & 0xffffffffu : 1;
    Arrive(warp, i, lane, word, count);
    state[lane] = before;
  });
}

// Whether the phase of a state, or of a parity, is over.
void TestWait(Warp& warp, const Instruction& i, uint32_t mask) {
  const auto addresses = Addresses(warp, i, 1);
  uint64_t* out = warp.Destination(i, 0);
  const uint64_t* phase = warp.Source(i, 2);
  const bool by_parity =
      i.op == Op::kMbarrierTestParity || i.op == Op::kMbarrierTryParity;
  Instruction acquiring = i;
  acquiring.modifiers.set(static_cast<size_t>(Modifier::kAcquire));
  ForEachLane(mask, [&](uint32_t lane) {
    LandDeferred(warp, Resolve(i.space, addresses[lane]).address);
    const std::byte* word = Word(warp, i, lane, addresses[lane]);
    if (word == nullptr) return;
    const bool now = (Value(word) & kParity) != 0;
    const bool asked =
        by_parity ? (phase[lane] & 1) != 0 : (phase[lane] & kParity) != 0;
    out[lane] = now != asked ? 1 : 0;
    if (now != asked) Acquire(warp, acquiring, i.space, addresses[lane]);
  });
}

void ArriveByCopies(Warp& warp, const Instruction& i, uint32_t mask) {
  const auto addresses = Addresses(warp, i, 0);
  ForEachLane(mask, [&](uint32_t lane) {
    DeferredArrival arrival;
    arrival.warp = warp.index;
    arrival.lane = lane;
    arrival.address = Resolve(i.space, addresses[lane]).address;
    arrival.line = i.line;
    for (auto& group : warp.copy_groups[lane]) {
      arrival.copies.insert(arrival.copies.end(), group.begin(), group.end());
      group.clear();
    }
    auto& open = warp.open_copies[lane];
    arrival.copies.insert(arrival.copies.end(), open.begin(), open.end());
    open.clear();
    if (!i.Has(Modifier::kNoinc)) {
      std::byte* word = Word(warp, i, lane, addresses[lane]);
      if (word == nullptr) return;
      const uint64_t value = Value(word) + 1;
      std::memcpy(word, &value, sizeof(value));
    }
    warp.block->deferred.push_back(std::move(arrival));
  });
}

// The word becomes plain memory.
void Invalidate(Warp& warp, const Instruction& i, uint32_t mask) {
  const auto addresses = Addresses(warp, i, 0);
  ForEachLane(
      mask, [&](uint32_t lane) { (void)Word(warp, i, lane, addresses[lane]); });
}

}  // namespace

void LandCopies(Warp& warp, uint32_t lane, size_t groups_left) {
  auto& groups = warp.copy_groups[lane];
  if (groups.size() <= groups_left) return;
  const auto end =
      groups.begin() + static_cast<ptrdiff_t>(groups.size() - groups_left);
  for (auto group = groups.begin(); group != end; ++group) {
    Land(warp, lane, *group);
  }
  groups.erase(groups.begin(), end);
}

void LandAllCopies(Warp& warp, uint32_t lane) {
  LandCopies(warp, lane, 0);
  Land(warp, lane, std::exchange(warp.open_copies[lane], {}));
}

Handler SelectAsync(const Instruction& i) {
  const bool word = i.type == Type::kB64;
  switch (i.op) {
    case Op::kCpAsync:
      return i.Has(Modifier::kGlobal) && i.space == Space::kShared ? &Issue
                                                                   : nullptr;
    case Op::kCpAsyncCommit:
      return &Commit;
    case Op::kCpAsyncWait:
      return &WaitGroups;
    case Op::kCpAsyncWaitAll:
      return &WaitAll;
    case Op::kCpAsyncArrive:
      return word ? &ArriveByCopies : nullptr;
    case Op::kMbarrierInit:
      return word ? &InitBarrier : nullptr;
    case Op::kMbarrierInval:
      return word ? &Invalidate : nullptr;
    case Op::kMbarrierArrive:
      return word ? &ArriveByThread : nullptr;
    case Op::kMbarrierTestWait:
    case Op::kMbarrierTestParity:
    case Op::kMbarrierTryWait:
    case Op::kMbarrierTryParity:
      return word ? &TestWait : nullptr;
    default:
      return nullptr;
  }
}

}  // namespace encore::ptx
