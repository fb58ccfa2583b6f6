#include "encore/runtime/plan/recompute.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "encore/ir/types/shape.h"
#include "encore/runtime/plan/hazards.h"
#include "encore/runtime/plan/sizes.h"
#include "encore/runtime/plan/step_kinds.h"
#include "encore/runtime/plan/views.h"

namespace encore::runtime {
namespace {

// Of those that would gain most, so many are looked at.
constexpr size_t kMostTried = 16;
// A round looks at all steps and slots for each of them: about a second of
// rounds, as those who wait for memory wait.
constexpr size_t kMostLookedAt = 1 << 20;

// What the steps of the plan do with a tensor, its views included.
struct Uses {
  std::vector<uint32_t> steps;    // ascending, each once
  std::vector<uint32_t> writers;  // the same
  bool in_invoke = false;

  bool empty() const { return steps.empty(); }
  uint32_t first() const { return steps.front(); }
  uint32_t last() const { return steps.back(); }
};

void AddOnce(std::vector<uint32_t>* steps, uint32_t step) {
  if (steps->empty() || steps->back() != step) steps->push_back(step);
}

// A launch to be done again before step `before`, which makes `tensor`.
struct Repeat {
  SlotId tensor;
  uint32_t launch = 0, before = 0;
  uint32_t used_last = 0;  // the last use of `tensor` before that
  int64_t gain = 0;        // bytes at the peak
};

class Repeater {
 public:
  Repeater(CompiledGraph* graph, PoolId pool)
      : graph_(*graph),
        steps_(graph->plans[graph->run.value()].steps),
        pool_(pool),
        symbols_(DimSymbols(*graph)) {}

  void Run() {
    const size_t most =
        std::min(steps_.size(),
                 kMostLookedAt / (steps_.size() + graph_.slots.size() + 1));
    for (size_t i = 0; i < most; ++i) {
      FindUses();
      const std::vector<int64_t> live = Live();
      const auto repeat = Choose(live);
      if (!repeat) return;
      Apply(*repeat);
    }
  }

 private:
  int64_t BytesOf(SlotId slot) const {
    return MostBytes(graph_, slot, symbols_);
  }
  bool IsCounted(SlotId tensor) const {
    const Slot& slot = graph_.slot(tensor);
    return slot.role == SlotRole::kTemporary && slot.pool == pool_ &&
           !slot.base.valid() && !slot.is_host_object();
  }

  void FindUses() {
    uses_.assign(graph_.slots.size(), {});
    for (uint32_t i = 0; i < steps_.size(); ++i) {
      const bool in_invoke = !SubPlansOf(steps_[i]).empty();
      ForEachAccess(graph_, steps_[i], [&](SlotId slot, bool is_write) {
        Uses& uses = uses_[TensorOf(graph_, slot).value()];
        AddOnce(&uses.steps, i);
        if (is_write) AddOnce(&uses.writers, i);
        uses.in_invoke |= in_invoke;
      });
    }
  }

  // By step: bytes of the pool's temporaries, what is written in the place of
  // what is read for the last time counted once.
  std::vector<int64_t> Live() const {
    std::vector<int64_t> live(steps_.size() + 1);
    for (uint32_t s = 0; s < uses_.size(); ++s) {
      if (uses_[s].empty() || !IsCounted(SlotId(s))) continue;
      live[uses_[s].first()] += BytesOf(SlotId(s));
      live[uses_[s].last() + 1] -= BytesOf(SlotId(s));
    }
    for (size_t i = 1; i < live.size(); ++i) live[i] += live[i - 1];
    live.pop_back();
    for (uint32_t i = 0; i < steps_.size(); ++i) {
      const Launch* const launch = LaunchOf(steps_[i]);
      if (launch == nullptr) continue;
      for (const Launch::InPlace& pair : launch->in_place) {
        const SlotId from = launch->reads[pair.read];
        const SlotId to = launch->writes[pair.write];
        if (IsCounted(from) && IsCounted(to) &&
            uses_[from.value()].last() == i && uses_[to.value()].first() == i &&
            graph_.slot(from).bytes == graph_.slot(to).bytes) {
          live[i] -= BytesOf(to);
        }
      }
    }
    return live;
  }

  // The most bytes, and at how many steps.
  static std::pair<int64_t, int64_t> Peak(const std::vector<int64_t>& live) {
    const int64_t most = *std::ranges::max_element(live);
    return {most, std::ranges::count(live, most)};
  }

  std::optional<Repeat> Choose(const std::vector<int64_t>& live) const {
    if (live.empty()) return std::nullopt;
    const auto peak =
        static_cast<uint32_t>(std::ranges::max_element(live) - live.begin());
    std::vector<Repeat> all;
    for (uint32_t s = 0; s < uses_.size(); ++s) {
      const auto repeat = AcrossPeak(SlotId(s), peak);
      if (repeat && repeat->gain > 0) all.push_back(*repeat);
    }
    std::ranges::sort(all, {}, [](const Repeat& repeat) {
      return std::pair(-repeat.gain, repeat.tensor);
    });
    if (all.size() > kMostTried) all.resize(kMostTried);
    for (const Repeat& repeat : all) {
      if (Peak(LiveWith(repeat, live)) < Peak(live)) return repeat;
    }
    return std::nullopt;
  }

  // How `tensor` could be let go of at step `peak`; nothing where it cannot.
  std::optional<Repeat> AcrossPeak(SlotId tensor, uint32_t peak) const {
    const Uses& uses = uses_[tensor.value()];
    if (uses.empty() || !IsCounted(tensor) || uses.in_invoke ||
        uses.writers != std::vector<uint32_t>{uses.first()} ||
        std::ranges::binary_search(uses.steps, peak)) {
      return std::nullopt;
    }
    const auto next = std::ranges::lower_bound(uses.steps, peak);
    if (next == uses.steps.begin() || next == uses.steps.end()) {
      return std::nullopt;
    }
    Repeat repeat{tensor, uses.first(), *next, *std::prev(next), 0};
    if (!CanRepeat(repeat)) return std::nullopt;
    repeat.gain = BytesOf(tensor);
    for (const SlotId kept : Kept(repeat)) {
      if (uses_[kept.value()].last() < peak) repeat.gain -= BytesOf(kept);
    }
    return repeat;
  }

  bool CanRepeat(const Repeat& repeat) const {
    const Launch* const launch = LaunchOf(steps_[repeat.launch]);
    if (launch == nullptr) return false;
    for (const SlotId slot : launch->writes) {
      const Slot& of = graph_.slot(slot);
      const Uses& uses = uses_[slot.value()];
      if (of.role != SlotRole::kTemporary || of.base.valid() ||
          of.is_host_object() || uses.in_invoke || uses.writers.size() != 1 ||
          std::ranges::find(launch->reads, slot) != launch->reads.end()) {
        return false;
      }
    }
    return std::ranges::all_of(launch->reads, [&](SlotId slot) {
      const std::vector<uint32_t>& writers =
          uses_[TensorOf(graph_, slot).value()].writers;
      return !graph_.slot(slot).is_host_object() &&
             (writers.empty() || writers.back() < repeat.launch);
    });
  }

  // The temporaries that the launch reads and that live longer for it.
  std::vector<SlotId> Kept(const Repeat& repeat) const {
    std::vector<SlotId> kept;
    for (const SlotId slot : LaunchOf(steps_[repeat.launch])->reads) {
      const SlotId tensor = TensorOf(graph_, slot);
      if (IsCounted(tensor) && uses_[tensor.value()].last() < repeat.before &&
          std::ranges::find(kept, tensor) == kept.end()) {
        kept.push_back(tensor);
      }
    }
    return kept;
  }

  // What would be live at each step; the launch's own comes last.
  std::vector<int64_t> LiveWith(const Repeat& repeat,
                                std::vector<int64_t> live) const {
    for (uint32_t i = repeat.used_last + 1; i < repeat.before; ++i) {
      live[i] -= BytesOf(repeat.tensor);
    }
    int64_t at_launch = 0;
    for (const SlotId kept : Kept(repeat)) {
      at_launch += BytesOf(kept);
      for (uint32_t i = uses_[kept.value()].last() + 1; i < repeat.before;
           ++i) {
        live[i] += BytesOf(kept);
      }
    }
    for (uint32_t s = 0; s < uses_.size(); ++s) {
      const Uses& uses = uses_[s];
      if (uses.empty() || !IsCounted(SlotId(s)) || SlotId(s) == repeat.tensor) {
        continue;
      }
      if (uses.first() < repeat.before && uses.last() >= repeat.before) {
        at_launch += BytesOf(SlotId(s));
      }
    }
    for (const SlotId slot : LaunchOf(steps_[repeat.launch])->writes) {
      at_launch += BytesOf(slot);
    }
    live.push_back(at_launch);
    return live;
  }

  void Apply(const Repeat& repeat) {
    Step again = steps_[repeat.launch];
    auto& launch = std::get<Launch>(again.op);
    copies_.clear();
    for (SlotId& slot : launch.writes) {
      const SlotId made = AddSlot(&graph_, graph_.slot(slot));
      if (slot == repeat.tensor) copies_[slot] = made;
      slot = made;
    }
    for (uint32_t i = repeat.before; i < steps_.size(); ++i) {
      std::visit([this](auto& op) { Rename(op); }, steps_[i].op);
    }
    steps_.insert(steps_.begin() + repeat.before, std::move(again));
  }

  // The slot that has the value of `slot` now.
  SlotId CopyOf(SlotId slot) {
    if (const auto found = copies_.find(slot); found != copies_.end()) {
      return found->second;
    }
    const SlotId base = graph_.slot(slot).base;
    const auto found = base.valid() ? copies_.find(base) : copies_.end();
    if (found == copies_.end()) return slot;
    Slot view = graph_.slot(slot);
    view.base = found->second;
    return copies_[slot] = AddSlot(&graph_, std::move(view));
  }
  void Rename(Launch& op) {
    for (SlotId& slot : op.reads) slot = CopyOf(slot);
  }
  void Rename(Copy& op) { op.src = CopyOf(op.src); }
  // Tensors that others use are not let go of.
  void Rename(Invoke&) {}
  void Rename(Allocate&) {}
  void Rename(Deallocate&) {}

  CompiledGraph& graph_;
  std::vector<Step>& steps_;
  const PoolId pool_;
  const std::vector<Symbol> symbols_;
  std::vector<Uses> uses_;           // by slot
  std::map<SlotId, SlotId> copies_;  // of the tensor that is made again
};

}  // namespace

void Recompute(CompiledGraph* graph, PoolId pool) {
  Repeater(graph, pool).Run();
}

}  // namespace encore::runtime
