#include "encore/runtime/plan/derived_identity.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "encore/ir/support/bytes.h"
#include "encore/ir/support/overloaded.h"
#include "encore/ir/types/dim_codec.h"
#include "encore/runtime/plan/hazards.h"
#include "encore/runtime/plan/views.h"

namespace encore::runtime {
namespace {

// The steps of a plan in their order, each with what its slots hold by then.
class Walk {
 public:
  Walk(const CompiledGraph& graph, std::span<const Digest> parameters)
      : graph_(graph), held_(graph.slots.size()) {
    for (size_t i = 0; i < parameters.size(); ++i) {
      held_[graph.parameters[i].value()] = parameters[i];
    }
  }

  void Run() {
    for (const Step& step : graph_.plan(graph_.prepare).steps) {
      std::visit(Overloaded{
                     [&](const Launch& op) { Note(op); },
                     [&](const Copy& op) { Note(op); },
                     [](const Allocate&) {},
                     [](const Deallocate&) {},
                     [&](const Invoke&) { Forget(step); },
                 },
                 step.op);
    }
  }

  const std::optional<Digest>& Of(SlotId slot) const {
    return held_[slot.value()];
  }

 private:
  void Forget(const Step& step) {
    ForEachAccess(graph_, step, [&](SlotId slot, bool is_write) {
      if (is_write) held_[TensorOf(graph_, slot).value()].reset();
    });
  }

  // What `slot` holds, with where it lies in what it is a view of; false where
  // that is not known.
  bool Read(SlotId slot, ByteWriter* out) {
    const SlotId tensor = TensorOf(graph_, slot);
    std::optional<Digest>& held = held_[tensor.value()];
    const Slot& of = graph_.slot(tensor);
    if (!held && of.role == SlotRole::kConstant && of.bytes.is_constant()) {
      const Blob& blob = graph_.blobs[of.blob.value()];
      held = Sha256Of(blob.bytes.subspan(of.blob_offset, of.bytes.constant()));
    }
    if (!held) return false;
    out->Raw(held->view());
    return Place(slot, out);
  }

  // Where a slot lies in what it is a view of, and its size.
  bool Place(SlotId slot, ByteWriter* out) const {
    const Slot& of = graph_.slot(slot);
    const bool view = TensorOf(graph_, slot) != slot;
    const Dim offset = view ? of.offset : Dim(0);
    if (!of.bytes.is_constant() || !offset.is_constant()) return false;
    out->Signed(offset.constant());
    out->Signed(of.bytes.constant());
    return true;
  }

  // `made`: what makes the i-th thing that a step writes; nothing: not known. A
  // part that is written does not replace the rest.
  void Write(SlotId slot, const std::optional<std::string>& made, size_t i) {
    const SlotId tensor = TensorOf(graph_, slot);
    std::optional<Digest>& held = held_[tensor.value()];
    if (!made) return held.reset();
    ByteWriter out;
    out.String(*made);
    out.Varint(i);
    if (!Place(slot, &out)) return held.reset();
    if (held) {
      out.Raw(held->view());
    } else if (tensor != slot) {
      out.String("a part of what nothing wrote");
    }
    held = Sha256Of(out.str());
  }

  std::optional<std::string> MadeBy(const Launch& op) {
    const KernelBinary& binary = graph_.kernel_binary(op.binary);
    if (binary.identity.empty()) return std::nullopt;
    ByteWriter out;
    out.String("launch");
    out.String(binary.backend);
    out.Varint(binary.identity.size());
    out.Raw(binary.identity);
    out.Varint(op.args.size());
    for (const Dim& arg : op.args) {
      if (!arg.is_constant()) return std::nullopt;
      WriteDim(arg, &out);
    }
    out.Varint(op.reads.size());
    for (const SlotId slot : op.reads) {
      if (!Read(slot, &out)) return std::nullopt;
    }
    out.Varint(op.writes.size());
    for (const SlotId slot : op.writes) {
      if (!Place(slot, &out)) return std::nullopt;
    }
    return out.Take();
  }

  void Note(const Launch& op) {
    const std::optional<std::string> made = MadeBy(op);
    // What is written over is gone.
    for (const Launch::InPlace& pair : op.in_place) {
      held_[TensorOf(graph_, op.reads[pair.read]).value()].reset();
    }
    for (size_t i = 0; i < op.writes.size(); ++i) Write(op.writes[i], made, i);
  }

  void Note(const Copy& op) {
    ByteWriter out;
    out.String("copy");
    const bool known = Read(op.src, &out);
    Write(op.dst, known ? std::optional(out.Take()) : std::nullopt, 0);
  }

  const CompiledGraph& graph_;
  std::vector<std::optional<Digest>> held_;  // by slot that is no view
};

// Which steps the `needed` slots, which grow by what these read, are made by.
std::vector<bool> StepsFor(const CompiledGraph& graph,
                           const std::vector<Step>& steps,
                           std::vector<bool>* needed) {
  std::vector<bool> keep(steps.size());
  for (size_t s = steps.size(); s-- > 0;) {
    keep[s] = std::holds_alternative<Allocate>(steps[s].op) ||
              std::holds_alternative<Deallocate>(steps[s].op);
    ForEachAccess(graph, steps[s], [&](SlotId slot, bool is_write) {
      if (is_write && (*needed)[TensorOf(graph, slot).value()]) keep[s] = true;
    });
    if (!keep[s]) continue;
    ForEachAccess(graph, steps[s], [&](SlotId slot, bool is_write) {
      if (!is_write) (*needed)[TensorOf(graph, slot).value()] = true;
    });
  }
  return keep;
}

}  // namespace

std::vector<SlotId> DerivedSlots(const CompiledGraph& graph) {
  std::vector<SlotId> derived;
  for (uint32_t s = 0; s < graph.slots.size(); ++s) {
    if (graph.slots[s].role == SlotRole::kDerived) derived.push_back(SlotId(s));
  }
  return derived;
}

std::vector<std::optional<Digest>> DerivedIdentities(
    const CompiledGraph& graph, std::span<const Digest> parameters) {
  std::vector<std::optional<Digest>> identities;
  const std::vector<SlotId> derived = DerivedSlots(graph);
  if (!graph.prepare.valid()) {
    identities.resize(derived.size());
    return identities;
  }
  Walk walk(graph, parameters);
  walk.Run();
  for (const SlotId slot : derived) identities.push_back(walk.Of(slot));
  return identities;
}

CompiledGraph WithPartOfPrepare(const CompiledGraph& graph,
                                std::vector<bool>* wanted) {
  CompiledGraph part = graph;
  if (!graph.prepare.valid()) return part;
  const std::vector<SlotId> derived = DerivedSlots(graph);
  const std::vector<Step>& steps = graph.plan(graph.prepare).steps;
  std::vector<bool> keep;
  bool more = true;
  while (more) {
    std::vector<bool> needed(graph.slots.size());
    for (size_t i = 0; i < derived.size(); ++i) {
      if ((*wanted)[i]) needed[derived[i].value()] = true;
    }
    keep = StepsFor(graph, steps, &needed);
    more = false;
    for (size_t s = 0; s < steps.size(); ++s) {
      if (!keep[s]) continue;
      ForEachAccess(graph, steps[s], [&](SlotId slot, bool is_write) {
        const auto at =
            std::ranges::lower_bound(derived, TensorOf(graph, slot));
        if (!is_write || at == derived.end() || *at != TensorOf(graph, slot)) {
          return;
        }
        const auto i = static_cast<size_t>(at - derived.begin());
        more |= !(*wanted)[i];
        (*wanted)[i] = true;
      });
    }
  }
  std::vector<Step>& kept = part.plans[graph.prepare.value()].steps;
  kept.clear();
  for (size_t s = 0; s < steps.size(); ++s) {
    if (keep[s]) kept.push_back(steps[s]);
  }
  return part;
}

}  // namespace encore::runtime
