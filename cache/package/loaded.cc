#include "encore/cache/package/loaded.h"

#include <algorithm>
#include <deque>
#include <set>
#include <span>
#include <string_view>
#include <utility>
#include <variant>

#include "encore/ir/support/overloaded.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/runtime/replay/host_object.h"

namespace encore::cache {
namespace {

using runtime::HostObject;
using runtime::Slot;

// What the caller calls these nodes, each once: what a node was made into has
// its name.
std::string OriginsOf(std::span<const uint32_t> numbers,
                      const Loaded::Names& names) {
  std::vector<std::string> origins;
  std::set<std::string_view> known;
  for (const uint32_t number : numbers) {
    if (number < names.origins.size() && !names.origins[number].empty() &&
        known.insert(names.origins[number]).second) {
      origins.push_back(Quote(names.origins[number]));
    }
  }
  return origins.empty() ? "replay" : StrCat("node ", StrJoin(origins, ", "));
}

bool Writes(const runtime::Step& step, runtime::SlotId slot) {
  return std::visit(Overloaded{
                        [&](const runtime::Copy& op) { return op.dst == slot; },
                        [&](const runtime::Launch& op) {
                          return std::ranges::count(op.writes, slot) > 0;
                        },
                        // Its own steps make what a fault may be about.
                        [](const runtime::Invoke&) { return false; },
                        // They make room, not a value.
                        [](const runtime::Allocate&) { return false; },
                        [](const runtime::Deallocate&) { return false; },
                    },
                    step.op);
}

// What a copy moves; invalid for steps that are no copy.
runtime::SlotId CopiedFrom(const runtime::Step& step) {
  runtime::SlotId source;
  std::visit(Overloaded{[&](const runtime::Copy& op) { source = op.src; },
                        Ignore<runtime::Allocate, runtime::Launch,
                               runtime::Deallocate, runtime::Invoke>()},
             step.op);
  return source;
}

// The step whose origins say what `step` is about: a copy has none, it moves
// what another step of its plan made. `step` itself where there is no other.
const runtime::Step* MakerOf(const runtime::CompiledGraph& graph,
                             const runtime::Step* step) {
  for (const runtime::Plan& plan : graph.plans) {
    const auto& steps = plan.steps;
    if (step == nullptr || steps.empty() || step < &steps.front() ||
        step > &steps.back()) {
      continue;
    }
    for (auto at = step; step->origins.empty() && at != &steps.front();) {
      const runtime::SlotId source = CopiedFrom(*step);
      if (!source.valid()) break;
      if (Writes(*--at, source)) step = at;
    }
    break;
  }
  return step;
}

}  // namespace

std::shared_ptr<const Loaded> Loaded::WithNames(Names names) const {
  return std::make_shared<const Loaded>(compiled_, weights_, std::move(names),
                                        found_in_, threads_, weights_digest_);
}

StatusOr<std::unique_ptr<runtime::Replayer>> Loaded::NewReplayer() const {
  return runtime::Replayer::Create(compiled_->executable, weights_, threads_);
}

Status Loaded::Replay(runtime::Replayer& replayer,
                      runtime::Profiler* profiler) const {
  const Status status = replayer.Replay(profiler);
  if (status.ok()) return status;
  if (const auto failed = replayer.failed_origin()) {
    return Annotate(status, OriginsOf({&*failed, 1}, names_));
  }
  const runtime::Step* maker =
      MakerOf(replayer.graph(), replayer.failed_step());
  return Annotate(
      status,
      OriginsOf(maker == nullptr ? std::span<const uint32_t>() : maker->origins,
                names_));
}

StatusOr<std::vector<Literal>> Loaded::Run(
    std::span<const Literal> inputs) const {
  ENCORE_ASSIGN_OR_RETURN(const std::unique_ptr<runtime::Replayer> replayer,
                          NewReplayer());
  return Run(*replayer, inputs);
}

StatusOr<std::vector<Literal>> Loaded::Run(
    runtime::Replayer& replayer, std::span<const Literal> inputs) const {
  if (inputs.size() != graph().inputs.size()) {
    return InvalidArgumentError(
        StrCat(inputs.size(), " inputs, expected ", graph().inputs.size()));
  }
  std::vector<Literal> kept;       // alive until the replay is over
  std::deque<HostObject> objects;  // at stable addresses
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Slot& slot = graph().slot(graph().inputs[i]);
    const std::string what = StrCat("input ", names_.inputs[i]);
    if (inputs[i].dtype() != slot.type.dtype ||
        inputs[i].kind() != slot.type.kind) {
      return InvalidArgumentError(
          StrCat(what, " is ", inputs[i].type(), ", expected ", slot.type));
    }
    Status bound;
    if (slot.is_host_object()) {
      objects.push_back({inputs[i]});
      bound = replayer.BindInput(i, &objects.back());
    } else {
      kept.push_back(inputs[i].Aligned());
      bound = replayer.BindHostInput(i, kept.back().bytes().data(),
                                     kept.back().bytes().size(),
                                     kept.back().dims());
    }
    if (!bound.ok()) return Annotate(bound, what);
  }
  ENCORE_RETURN_IF_ERROR(Replay(replayer));
  std::vector<Literal> outputs;
  for (size_t i = 0; i < graph().outputs.size(); ++i) {
    ENCORE_ASSIGN_OR_RETURN(Literal output, replayer.CopyOutput(i));
    outputs.push_back(std::move(output));
  }
  return outputs;
}

}  // namespace encore::cache
