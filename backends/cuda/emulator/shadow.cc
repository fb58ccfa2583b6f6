#include "encore/backends/cuda/emulator/shadow.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace encore::ptx {
namespace {

constexpr uint8_t kInitialized = 1;
constexpr uint8_t kInFlight = 2;

// Whether an access of `lanes` of a warp in an epoch comes before what `who`
// does now.
bool Ordered(uint32_t warp, uint32_t epoch, uint32_t lanes,
             const Accessor& who) {
  if (warp == who.clock->warp()) {
    return epoch < who.clock->epoch() || lanes == 1u << who.lane;
  }
  return who.clock->Seen(warp) >= epoch;
}

// Whether two accesses, both strong, are of one block or both of wider scope.
bool MorallyStrong(uint32_t warp, bool strong, bool block_scope,
                   const Accessor& who) {
  if (!strong || !who.strong) return false;
  if (!block_scope && !who.block_scope) return true;
  return who.clock->SameBlock(warp);
}

}  // namespace

void Shadow::Reset(uint64_t bytes, bool follow_bytes, bool initialized) {
  bytes_ = bytes;
  pages_.clear();
  pages_.resize((bytes + kPageBytes - 1) / kPageBytes);
  states_.assign(follow_bytes ? bytes : 0, initialized ? kInitialized : 0);
}

Shadow::Page& Shadow::PageFor(uint64_t offset, uint64_t bytes) {
  std::unique_ptr<Page>& page = pages_[offset / kPageBytes];
  if (page == nullptr) {
    page = std::make_unique<Page>();
    page->cells.resize(kPageBytes >> page->shift);
  }
  const int shift = std::min(std::countr_zero(offset | bytes), 2);
  if (shift < page->shift) {
    std::vector<Cell> finer(kPageBytes >> shift);
    for (size_t i = 0; i < finer.size(); ++i) {
      finer[i] = page->cells[i >> (page->shift - shift)];
    }
    page->cells = std::move(finer);
    page->shift = shift;
  }
  return *page;
}

template <typename Visit>
std::optional<Race> Shadow::VisitCells(uint64_t offset, uint64_t bytes,
                                       Visit visit) {
  // Accesses are aligned and no larger than a page.
  Page& page = PageFor(offset, bytes);
  const uint64_t begin = offset % kPageBytes >> page.shift;
  const uint64_t end = begin + (bytes >> page.shift);
  for (uint64_t i = begin; i < end; ++i) {
    if (const auto race = visit(page.cells[i])) return race;
  }
  return std::nullopt;
}

std::optional<Race> Shadow::Against(const LastWrite& write,
                                    const Accessor& who) {
  if (write.warp == kNobody) return std::nullopt;
  const uint32_t warp = write.warp - 1;
  if (Ordered(warp, write.epoch, 1u << write.lane, who) ||
      MorallyStrong(warp, write.strong, write.block_scope, who)) {
    return std::nullopt;
  }
  return Race{true, warp, write.lane, write.line};
}

std::optional<Race> Shadow::Against(const LastRead& read, const Accessor& who) {
  if (read.warp == kNobody) return std::nullopt;
  const uint32_t warp = read.warp - 1;
  if (Ordered(warp, read.epoch, read.lanes, who) ||
      MorallyStrong(warp, read.strong, read.block_scope, who)) {
    return std::nullopt;
  }
  uint32_t lanes = read.lanes;
  if (warp == who.clock->warp()) lanes &= ~(1u << who.lane);
  return Race{false, warp, static_cast<uint32_t>(std::countr_zero(lanes)),
              read.line};
}

void Shadow::Note(Cell& cell, const Accessor& who) {
  const uint32_t warp = who.clock->warp() + 1;
  const uint32_t epoch = who.clock->epoch();
  for (LastRead& read : cell.reads) {
    if (read.warp != warp || read.epoch != epoch) continue;
    read.lanes |= 1u << who.lane;
    read.strong = read.strong && who.strong;
    read.block_scope = read.block_scope || who.block_scope;
    return;
  }
  LastRead* place = &cell.reads[1];
  for (LastRead& read : cell.reads) {
    if (read.warp != kNobody &&
        !Ordered(read.warp - 1, read.epoch, read.lanes, who)) {
      continue;
    }
    place = &read;
    break;
  }
  *place = {warp, epoch, who.line, 1u << who.lane, who.strong, who.block_scope};
}

std::optional<Race> Shadow::Read(uint64_t offset, uint64_t bytes,
                                 const Accessor& who) {
  return VisitCells(offset, bytes, [&](Cell& cell) {
    const auto race = Against(cell.write, who);
    if (!race.has_value()) Note(cell, who);
    return race;
  });
}

std::optional<Race> Shadow::Write(uint64_t offset, uint64_t bytes,
                                  const Accessor& who) {
  return VisitCells(offset, bytes, [&](Cell& cell) -> std::optional<Race> {
    if (const auto race = Against(cell.write, who)) return race;
    for (const LastRead& read : cell.reads) {
      if (const auto race = Against(read, who)) return race;
    }
    cell.write = {
        who.clock->warp() + 1,          who.clock->epoch(), who.line,
        static_cast<uint8_t>(who.lane), who.strong,         who.block_scope};
    // Whatever comes after this write and is ordered with it is ordered with
    // what came before it; strong readers race with none of the strong writes
    // and are kept for the weak ones.
    if (!who.strong) cell.reads = {};
    return std::nullopt;
  });
}

std::optional<uint64_t> Shadow::FirstUninitialized(uint64_t offset,
                                                   uint64_t bytes) const {
  if (states_.empty()) return std::nullopt;
  for (uint64_t i = offset; i < offset + bytes; ++i) {
    if ((states_[i] & kInitialized) == 0) return i;
  }
  return std::nullopt;
}

void Shadow::MarkInitialized(uint64_t offset, uint64_t bytes) {
  if (states_.empty()) return;
  for (uint64_t i = offset; i < offset + bytes; ++i) states_[i] |= kInitialized;
}

bool Shadow::AnyInFlight(uint64_t offset, uint64_t bytes) const {
  if (states_.empty()) return false;
  return std::any_of(states_.begin() + static_cast<ptrdiff_t>(offset),
                     states_.begin() + static_cast<ptrdiff_t>(offset + bytes),
                     [](uint8_t state) { return (state & kInFlight) != 0; });
}

void Shadow::SetInFlight(uint64_t offset, uint64_t bytes, bool in_flight) {
  if (states_.empty()) return;
  for (uint64_t i = offset; i < offset + bytes; ++i) {
    states_[i] = static_cast<uint8_t>(in_flight ? states_[i] | kInFlight
                                                : states_[i] & ~kInFlight);
  }
}

}  // namespace encore::ptx
