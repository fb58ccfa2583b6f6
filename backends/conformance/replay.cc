#include "encore/backends/conformance/replay.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <utility>

#include "encore/backends/backends.h"
#include "encore/ir/graph/stencil.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/runtime/device/device.h"
#include "encore/runtime/device/thread_pool.h"
#include "encore/runtime/replay/executable.h"
#include "encore/runtime/replay/host_object.h"
#include "encore/runtime/replay/replayer.h"
#include "encore/runtime/replay/weights.h"

namespace encore::backends {
namespace {

// The error of a replay, with the node of `graph` that it came from.
Status WithOrigin(Status status, const runtime::Replayer& replayer,
                  const Graph& graph) {
  const std::optional<uint32_t> failed = replayer.failed_origin();
  if (!failed) return status;
  const Stencil stencil = MakeStencil(graph);
  const Stencil::Place& place = stencil.places[*failed];
  return Annotate(status, StrCat("node ", place.graph->origin(place.node)));
}

StatusOr<std::vector<Literal>> OutputsOf(runtime::Replayer& replayer) {
  std::vector<Literal> outputs;
  const size_t count = replayer.executable().graph().outputs.size();
  for (size_t i = 0; i < count; ++i) {
    ENCORE_ASSIGN_OR_RETURN(Literal output, replayer.CopyOutput(i));
    outputs.push_back(std::move(output));
  }
  return outputs;
}

}  // namespace

StatusOr<std::vector<Literal>> Replay(const Graph& graph,
                                      const runtime::CompiledGraph& compiled,
                                      std::span<const Backend* const> backends,
                                      std::span<const Literal> arguments) {
  runtime::ThreadPool threads(2);
  ENCORE_ASSIGN_OR_RETURN(const auto devices, NewDevices(compiled, backends));
  ENCORE_ASSIGN_OR_RETURN(
      const auto executable,
      runtime::Executable::Load(
          std::make_shared<runtime::CompiledGraph>(compiled), devices,
          &threads));
  std::vector<runtime::Blob> parameters;
  std::vector<Literal> inputs;
  for (size_t i = 0; i < graph.arguments().size(); ++i) {
    if (graph.arguments()[i].is_parameter) {
      parameters.push_back(runtime::Blob::Copy(arguments[i].bytes()));
    } else {
      inputs.push_back(arguments[i].Aligned());
    }
  }
  ENCORE_ASSIGN_OR_RETURN(
      const auto weights,
      runtime::Weights::Prepare(executable, parameters, &threads));
  ENCORE_ASSIGN_OR_RETURN(
      const auto replayer,
      runtime::Replayer::Create(executable, weights, &threads));
  std::deque<runtime::HostObject> objects;  // at stable addresses
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (compiled.slot(compiled.inputs[i]).is_host_object()) {
      objects.push_back({inputs[i]});
      ENCORE_RETURN_IF_ERROR(replayer->BindInput(i, &objects.back()));
      continue;
    }
    ENCORE_RETURN_IF_ERROR(replayer->BindHostInput(
        i, inputs[i].bytes().data(),
        static_cast<int64_t>(inputs[i].bytes().size()), inputs[i].dims()));
  }
  if (const Status status = replayer->Replay(); !status.ok()) {
    return WithOrigin(status, *replayer, graph);
  }
  ENCORE_ASSIGN_OR_RETURN(std::vector<Literal> results, OutputsOf(*replayer));
  // What devices record at the second replay gives the same bits, then and as
  // it was recorded.
  const bool records = std::ranges::any_of(devices, &runtime::Device::records);
  for (int again = 0; records && again < 2; ++again) {
    ENCORE_RETURN_IF_ERROR(replayer->Replay());
    ENCORE_ASSIGN_OR_RETURN(const std::vector<Literal> recorded,
                            OutputsOf(*replayer));
    if (recorded != results) {
      return InternalError("a recorded replay gives other outputs");
    }
  }
  return results;
}

}  // namespace encore::backends
