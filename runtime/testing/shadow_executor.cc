#include "encore/runtime/testing/shadow_executor.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <variant>
#include <vector>

#include "encore/ir/types/dim_symbols.h"
#include "encore/runtime/plan/sizes.h"

namespace encore::runtime {
namespace {

constexpr int kMostTrips = 6;
// A symbol's value is at most so much above its lower bound.
constexpr int64_t kMostExtent = 15;

struct Harm : std::runtime_error {
  using std::runtime_error::runtime_error;
};
// A loop that does not end, a selector out of range: the program decides.
struct Stop {};

uint64_t Mix(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15;
  return hash ^ (hash >> 29);
}

struct Byte {
  uint8_t value = 0;
  bool defined = false;
};

class Shadow {
 public:
  explicit Shadow(const CompiledGraph& graph)
      : graph_(graph), element_at_(graph.slots.size()) {}

  void Run() {
    for (const PlanId root : {graph_.prepare, graph_.run}) {
      if (!root.valid()) continue;
      Reset(root == graph_.run);
      const auto live = live_;
      RunPlan(root);
      const SlotRole result =
          root == graph_.run ? SlotRole::kOutput : SlotRole::kDerived;
      for (uint32_t s = 0; s < graph_.slots.size(); ++s) {
        if (graph_.slots[s].role == result) Read(SlotId(s));
      }
      if (live_ != live) throw Harm("memory is left");
    }
  }

 private:
  using Memory = std::vector<std::vector<Byte>>;

  int64_t Size(const Dim& dim) const {
    ForEachSymbol(dim, [this](uint32_t symbol) {
      if (!known_[symbol]) throw Harm("a size has no value");
    });
    const std::optional<int64_t> size = dim.Evaluate(symbols_);
    if (!size) throw Stop();
    return *size;
  }
  // A host object is one byte here.
  int64_t Bytes(SlotId slot) const {
    return At(slot).is_host_object() ? 1 : Size(At(slot).bytes);
  }
  // At most, whatever the symbols become.
  int64_t MostBytes(SlotId slot) const {
    if (At(slot).is_host_object()) return 1;
    std::vector<Symbol> symbols = DimSymbols(graph_);
    for (Symbol& symbol : symbols) {
      symbol.upper = std::min(symbol.upper, symbol.lower + kMostExtent);
    }
    return std::max<int64_t>(At(slot).bytes.UpperBound(symbols), 0);
  }
  const Slot& At(SlotId slot) const { return graph_.slot(slot); }

  // The symbols that `slot` gives values to get them.
  void ReadSymbols(SlotId slot) {
    for (size_t s = 0; s < graph_.symbols.size(); ++s) {
      const SymbolInfo& info = graph_.symbols[s];
      if (info.source != SymbolInfo::Source::kSlot ||
          info.index != slot.value()) {
        continue;
      }
      const int64_t most = std::min(info.upper - info.lower, kMostExtent);
      symbols_[s] = info.lower + Own(slot, 0).value % (most + 1);
      known_[s] = true;
    }
  }

  // What is the caller's is defined; the rest has no memory yet.
  void Reset(bool is_run) {
    shared_.assign(graph_.slots.size(), {});
    own_.assign(graph_.slots.size(), {});
    live_.assign(graph_.slots.size(), false);
    symbols_.assign(graph_.symbols.size(), 0);
    known_.assign(graph_.symbols.size(), false);
    for (uint32_t s = 0; s < graph_.slots.size(); ++s) {
      const Slot& slot = graph_.slots[s];
      own_[s].resize(MostBytes(SlotId(s)));
      if (slot.role == SlotRole::kTemporary && !slot.is_host_object()) {
        continue;
      }
      const bool defined = slot.role == SlotRole::kInput ||
                           slot.role == SlotRole::kParameter ||
                           slot.role == SlotRole::kConstant ||
                           (slot.role == SlotRole::kDerived && is_run);
      for (size_t i = 0; i < own_[s].size(); ++i) {
        own_[s][i] = {static_cast<uint8_t>(Mix(s, i)), defined};
      }
      shared_[s] = own_[s];
      live_[s] = true;
    }
  }

  // Byte i of a slot in the plan's layout, and in a buffer of its tensor's.
  Byte& Shared(SlotId slot, int64_t i) {
    const SlotId accessed = slot;
    i += element_at_[slot.value()];
    for (; At(slot).base.valid(); slot = At(slot).base) {
      i += Size(At(slot).offset);
    }
    if (!live_[slot.value()]) throw Harm("memory is not there");
    return ByteOf(shared_, slot, i, accessed);
  }
  Byte& Own(SlotId slot, int64_t i) {
    const SlotId accessed = slot;
    i += element_at_[slot.value()];
    for (; At(slot).base.valid() && !At(At(slot).base).is_arena;
         slot = At(slot).base) {
      i += Size(At(slot).offset);
    }
    return ByteOf(own_, slot, i, accessed);
  }
  Byte& ByteOf(Memory& memory, SlotId storage, int64_t i, SlotId accessed) {
    std::vector<Byte>& bytes = memory[storage.value()];
    if (i >= static_cast<int64_t>(bytes.size()) && accessed != storage &&
        DependsOnRunTime(accessed)) {
      throw Stop();  // the replayer looks where these are, and refuses
    }
    return bytes.at(i);
  }
  // Whether what a slot takes, or where, is known at run time only.
  bool DependsOnRunTime(SlotId slot) const {
    for (; slot.valid(); slot = At(slot).base) {
      if (IsRunTimeSized(graph_, At(slot).bytes) ||
          IsRunTimeSized(graph_, At(slot).offset)) {
        return true;
      }
    }
    return false;
  }

  uint64_t Read(SlotId slot) {
    uint64_t hash = 1;
    for (int64_t i = 0; i < Bytes(slot); ++i) {
      const Byte own = Own(slot, i), shared = Shared(slot, i);
      if (!own.defined) throw Harm("an undefined byte is read");
      if (own.value != shared.value) throw Harm("a value was overwritten");
      hash = Mix(hash, own.value);
    }
    return hash;
  }

  void Write(SlotId slot, uint64_t seed) {
    const SlotRole role = At(slot).role;
    if (role == SlotRole::kInput || role == SlotRole::kParameter ||
        role == SlotRole::kConstant) {
      throw Harm("the caller's memory is written");
    }
    for (int64_t i = 0; i < Bytes(slot); ++i) {
      const auto value = static_cast<uint8_t>(Mix(seed, i));
      Own(slot, i) = {value, true};
      Shared(slot, i) = {value, true};
    }
    ReadSymbols(slot);
  }

  void RunPlan(PlanId plan) {
    for (const Step& step : graph_.plan(plan).steps) {
      if (++steps_ > 100000) throw Stop();
      std::visit([this](const auto& op) { RunStep(op); }, step.op);
    }
  }

  void RunStep(const Allocate& op) {
    if (live_[op.slot.value()]) throw Harm("allocated twice");
    live_[op.slot.value()] = true;
    shared_[op.slot.value()].assign(Size(op.bytes), {0xa5, false});
  }
  void RunStep(const Deallocate& op) {
    if (!live_[op.slot.value()]) throw Harm("freed twice");
    live_[op.slot.value()] = false;
  }

  void RunStep(const Copy& op) {
    const int64_t bytes = Bytes(op.dst);
    if (bytes != Bytes(op.src)) throw Harm("sizes differ");
    // A copy may go in any order: junk shows where the two overlap.
    Junk(op.dst);
    Read(op.src);
    std::vector<uint8_t> values(bytes);
    for (int64_t i = 0; i < bytes; ++i) values[i] = Own(op.src, i).value;
    Write(op.dst, 0);
    for (int64_t i = 0; i < bytes; ++i) {
      Own(op.dst, i).value = Shared(op.dst, i).value = values[i];
    }
    ReadSymbols(op.dst);
  }

  void Junk(SlotId slot) {
    for (int64_t i = 0; i < Bytes(slot); ++i) {
      Shared(slot, i).value ^= 0x5a;
    }
  }

  bool SharesPlace(const Launch& op, uint32_t write) {
    const SlotId w = op.writes[write];
    for (const Launch::InPlace& pair : op.in_place) {
      if (pair.write != write || pair.read >= op.reads.size()) continue;
      const SlotId r = op.reads[pair.read];
      const int64_t bytes = Bytes(w);
      if (bytes > 0 && bytes == Bytes(r) && &Shared(r, 0) == &Shared(w, 0)) {
        return true;
      }
    }
    return std::ranges::find(op.reads, w) != op.reads.end();
  }

  void RunStep(const Launch& op) {
    for (uint32_t w = 0; w < op.writes.size(); ++w) {
      if (!SharesPlace(op, w)) Junk(op.writes[w]);
    }
    uint64_t hash = Mix(2, op.binary.value());
    for (const SlotId slot : op.reads) hash = Mix(hash, Read(slot));
    for (uint32_t w = 0; w < op.writes.size(); ++w) {
      Write(op.writes[w], Mix(hash, w));
    }
    // All results must be there at the end, whatever the order of writing.
    for (const SlotId slot : op.writes) Read(slot);
  }

  bool Selected(SlotId selector) {
    return static_cast<uint8_t>(Read(selector)) % 2 != 0;
  }

  void Carry(const Invoke& op) {
    for (const Invoke::Carried& carried : op.carried) {
      RunStep(Copy{carried.next, carried.state});
    }
  }

  void RunStep(const Invoke& op) {
    if (op.kind == InvokeKind::kIf) {
      const size_t branch = Selected(op.selector);
      if (branch >= op.plans.size()) throw Stop();
      return RunPlan(op.plans[branch]);
    }
    if (op.kind == InvokeKind::kWhile) {
      for (int trip = 0;; ++trip) {
        RunPlan(op.plans[0]);
        if (!Selected(op.selector)) return;
        if (trip == kMostTrips) throw Stop();
        RunPlan(op.plans[1]);
        Carry(op);
      }
    }
    for (int64_t trip = 0; trip < Size(op.trips); ++trip) {
      for (const Invoke::StackedOperand& scanned : op.scanned) {
        element_at_[scanned.slice.value()] =
            (scanned.reversed ? Size(op.trips) - 1 - trip : trip) *
            Bytes(scanned.slice);
      }
      RunPlan(op.plans[0]);
      Carry(op);
    }
  }

  const CompiledGraph& graph_;
  std::vector<int64_t> element_at_;  // of scans' elements, in bytes
  Memory shared_, own_;
  std::vector<bool> live_;
  std::vector<int64_t> symbols_;
  std::vector<bool> known_;  // per symbol
  int steps_ = 0;
};

}  // namespace

std::string FindHarm(const CompiledGraph& graph) {
  try {
    Shadow(graph).Run();
  } catch (const Harm& harm) {
    return harm.what();
  } catch (const std::out_of_range&) {
    return "memory is left";
  } catch (const Stop&) {
  }
  return "";
}

}  // namespace encore::runtime
