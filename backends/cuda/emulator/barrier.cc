#include "encore/backends/cuda/emulator/barrier.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "encore/ir/support/strings.h"

namespace encore::ptx {
namespace {

bool IsArrive(Op op) {
  return op == Op::kBarArrive || op == Op::kBarCtaArrive ||
         op == Op::kBarrierArrive || op == Op::kBarrierCtaArrive;
}

bool IsReduction(Op op) {
  return op == Op::kBarRed || op == Op::kBarCtaRed || op == Op::kBarrierRed ||
         op == Op::kBarrierCtaRed;
}

void WriteReduction(Block& block, const Barrier& barrier,
                    const Barrier::Arrival& arrival) {
  const Instruction& i = *arrival.reduction;
  uint64_t value = barrier.true_threads;
  if (i.Has(Modifier::kAnd))
    value = barrier.true_threads == barrier.asked_threads;
  if (i.Has(Modifier::kOr)) value = barrier.true_threads > 0;
  uint64_t* out = block.warps[arrival.warp].Destination(i, 0);
  ForEachLane(arrival.lanes, [&](uint32_t lane) { out[lane] = value; });
}

// All that arrived know of each other and go on.
void Open(Block& block, Barrier& barrier) {
  const Barrier done = std::exchange(barrier, Barrier());
  if (block.launch->options.check_races) {
    Clock all = block.warps[done.arrivals.front().warp].clock;
    for (const Barrier::Arrival& arrival : done.arrivals) {
      all.JoinBlock(block.warps[arrival.warp].clock);
    }
    for (const Barrier::Arrival& arrival : done.arrivals) {
      Warp& warp = block.warps[arrival.warp];
      if (arrival.waits) warp.clock.JoinBlock(all);
      warp.clock.BeginEpoch();
    }
  }
  for (const Barrier::Arrival& arrival : done.arrivals) {
    if (arrival.reduction != nullptr) WriteReduction(block, done, arrival);
    Warp& warp = block.warps[arrival.warp];
    if (!arrival.waits) continue;
    warp.waiting &= ~arrival.lanes;
    ForEachLane(arrival.lanes,
                [&](uint32_t lane) { warp.waits[lane] = Wait::kNone; });
  }
}

}  // namespace

bool IsBlockBarrier(Op op) {
  return (op >= Op::kBarSync && op <= Op::kBarrierCtaRed);
}

bool IsAligned(const Instruction& i) {
  if (i.op >= Op::kBarSync && i.op <= Op::kBarCtaRed) return true;
  return i.Has(Modifier::kAligned);
}

void ArriveAtBarrier(Warp& warp, const Instruction& i, uint32_t mask) {
  Block& block = *warp.block;
  const bool reduces = IsReduction(i.op);
  const uint32_t first = reduces ? 1 : 0;
  const auto lane = static_cast<uint32_t>(std::countr_zero(mask));
  const uint64_t number = warp.Source(i, first)[lane] & 0xffffffffu;
  if (number >= block.barriers.size()) {
    return warp.Fail(i, lane, StrCat("there is no barrier ", number));
  }
  uint32_t expected = 0;
  if (warp.HasOperand(i, first + 1)) {
    expected = static_cast<uint32_t>(warp.Source(i, first + 1)[lane]);
    if (expected == 0 || expected % 32 != 0) {
      return warp.Fail(i, lane,
                       StrCat("a barrier for ", expected,
                              " threads; it must be a multiple of 32"));
    }
  }
  Barrier& barrier = block.barriers[number];
  if (!barrier.arrivals.empty() && barrier.expected != expected) {
    return warp.Fail(i, lane,
                     StrCat("barrier ", number, " is used for ", expected,
                            " threads and for ", barrier.expected));
  }
  barrier.expected = expected;
  Barrier::Arrival arrival{warp.index, mask, !IsArrive(i.op),
                           reduces ? &i : nullptr};
  // The warp counts as a whole where it arrives together.
  const bool whole = IsAligned(i) && expected != 0;
  barrier.arrived += whole ? 32u : static_cast<uint32_t>(std::popcount(mask));
  if (reduces) {
    barrier.asked_threads += static_cast<uint32_t>(std::popcount(mask));
    const uint64_t* value = warp.Source(i, 3);
    ForEachLane(mask, [&](uint32_t l) {
      if ((value[l] != 0) != i.predicate_negated) ++barrier.true_threads;
    });
  }
  barrier.arrivals.push_back(arrival);
  ++block.launch->counters.barriers;
  if (arrival.waits) {
    warp.waiting |= mask;
    ForEachLane(mask, [&](uint32_t l) { warp.waits[l] = Wait::kBarrier; });
  }
  OpenBarriers(block);
}

void OpenBarriers(Block& block) {
  for (Barrier& barrier : block.barriers) {
    if (barrier.arrivals.empty()) continue;
    const uint32_t needed =
        barrier.expected == 0 ? block.live_threads : barrier.expected;
    if (barrier.arrived >= needed) Open(block, barrier);
  }
}

}  // namespace encore::ptx
