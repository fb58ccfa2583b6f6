// What steps touch, and which earlier accesses a new one must come after.
//
// Two accesses conflict when one writes bytes that the other reads or writes.
// All is derived from the steps' declarations alone.
#ifndef ENCORE_RUNTIME_PLAN_HAZARDS_H_
#define ENCORE_RUNTIME_PLAN_HAZARDS_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <variant>
#include <vector>

#include "encore/ir/support/overloaded.h"
#include "encore/ir/types/dim_symbols.h"
#include "encore/runtime/plan/compiled_graph.h"
#include "encore/runtime/plan/sizes.h"

namespace encore::runtime {

// Calls visit(SlotId, bool is_write) for the slots that a step declares to read
// and write, one of them possibly several times. Allocate and Deallocate write
// their slot: what lies in it is gone. What a run-time size is read from counts
// as read. Sub-plans do not show but through their Invoke.
template <typename Visit>
void ForEachAccess(const CompiledGraph& graph, const Step& step,
                   const Visit& visit);

// Bytes of a storage: those that a slot may occupy under any values of the
// symbols. A host object is one byte.
struct Place {
  uint32_t storage = 0;  // the number of the slot whose memory it is
  int64_t begin = 0, end = 0;

  bool Overlaps(const Place& other) const {
    return storage == other.storage && begin < other.end && other.begin < end;
  }
  bool Covers(const Place& other) const {
    return storage == other.storage && begin <= other.begin && other.end <= end;
  }
  auto operator<=>(const Place&) const = default;
};

// The places of all slots. A slice of a scan may be any part of what it is a
// slice of. REQUIRES a graph that VerifyPlan accepts.
class Places {
 public:
  explicit Places(const CompiledGraph& graph);
  const Place& operator[](SlotId slot) const { return places_[slot.value()]; }

 private:
  std::vector<Place> places_;
};

struct Access {
  Place place;
  uint32_t by = 0;  // whose access it is, a number of the caller's
  bool is_write = false;

  auto operator<=>(const Access&) const = default;
};

// The accesses that a new one may conflict with. A write takes the place of
// what it covers: who comes after the write comes after that.
class AccessHistory {
 public:
  // Of `storages` storages, numbered from 0.
  explicit AccessHistory(size_t storages) : by_storage_(storages) {}

  // Calls visit(by) for each access that the new one conflicts with, but those
  // of its own `by`; then keeps it, if `keep`. Cost: the accesses of its
  // storage that are kept.
  template <typename Visit>
  void Add(const Access& access, bool keep, const Visit& visit);

  // Keeps it without looking for conflicts.
  void Keep(const Access& access);

  // Forgets all.
  void Clear();

  // All that are kept, each once, in ascending order.
  std::vector<Access> Kept() const;

 private:
  std::vector<std::vector<Access>> by_storage_;
  std::vector<uint32_t> used_;  // storages with accesses
};

// Implementation.

template <typename Visit>
void ForEachAccess(const CompiledGraph& graph, const Step& step,
                   const Visit& visit) {
  const auto read_sizes = [&](const Dim& dim) {
    ForEachSymbol(dim, [&](uint32_t symbol) {
      const SymbolInfo& info = graph.symbols[symbol];
      if (info.source == SymbolInfo::Source::kSlot) {
        visit(SlotId(info.index), false);
      }
    });
  };
  const auto all = [&](const std::vector<SlotId>& slots, bool is_write) {
    for (const SlotId slot : slots) visit(slot, is_write);
  };
  std::visit(Overloaded{
                 [&](const Allocate& op) {
                   read_sizes(op.bytes);
                   visit(op.slot, true);
                 },
                 [&](const Copy& op) {
                   visit(op.src, false);
                   visit(op.dst, true);
                 },
                 [&](const Launch& op) {
                   all(op.reads, false);
                   all(op.writes, true);
                   for (const Dim& arg : op.args) read_sizes(arg);
                 },
                 [&](const Deallocate& op) { visit(op.slot, true); },
                 [&](const Invoke& op) {
                   all(op.reads, false);
                   all(op.writes, true);
                   // A While's selector is its condition's own where nothing
                   // else uses it.
                   if (op.selector.valid()) visit(op.selector, false);
                   read_sizes(op.trips);
                 },
             },
             step.op);
}

template <typename Visit>
void AccessHistory::Add(const Access& access, bool keep, const Visit& visit) {
  std::vector<Access>& list = by_storage_[access.place.storage];
  std::erase_if(list, [&](const Access& earlier) {
    if (!earlier.place.Overlaps(access.place) ||
        !(earlier.is_write || access.is_write)) {
      return false;
    }
    if (earlier.by != access.by) visit(earlier.by);
    return access.is_write && access.place.Covers(earlier.place);
  });
  if (keep) Keep(access);
}

}  // namespace encore::runtime

#endif  // ENCORE_RUNTIME_PLAN_HAZARDS_H_
