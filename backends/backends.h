// The backends that are built in. Others are passed to Compile by the caller.
#ifndef ENCORE_BACKENDS_BACKENDS_H_
#define ENCORE_BACKENDS_BACKENDS_H_

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "encore/backends/backend.h"
#include "encore/backends/options.h"
#include "encore/ir/support/status.h"
#include "encore/runtime/device/device.h"
#include "encore/runtime/plan/compiled_graph.h"

namespace encore::backends {

// All of them; they live as long as the process.
std::span<const Backend* const> AllBackends();

// The backend of the target called `name`; errors as of FindTarget
// (find_target.h).
StatusOr<const Backend*> FindBackend(
    std::string_view name,
    std::span<const Backend* const> backends = AllBackends());

// The backends of the targets in `text` (target_text.h), in order, each once.
// Errors as of ParseTargets and FindTarget.
StatusOr<std::vector<const Backend*>> FindBackends(
    std::string_view text,
    std::span<const Backend* const> backends = AllBackends());

// A device for each of graph.devices, in order, of `backends` and of the
// backend of host objects; errors as of FindBackend and Backend::NewDevice.
StatusOr<std::vector<std::shared_ptr<runtime::Device>>> NewDevices(
    const runtime::CompiledGraph& graph,
    std::span<const Backend* const> backends);

// `options` with those at their defaults that no backend of such a compile
// uses, so that they make no other cache key; the names of those that this
// changed and that have a flag go to `unused`. A target that is not there
// changes nothing.
CompileOptions UsedOptions(
    const CompileOptions& options, std::vector<std::string>* unused,
    std::span<const Backend* const> backends = AllBackends());

// InvalidArgument where an option that is refused when unused (options.def) is
// not at its default, and no backend of such a compile uses it: names flag,
// value, target and what is accepted. Ok for a target that is not there.
Status CheckUsed(const CompileOptions& options,
                 std::span<const Backend* const> backends = AllBackends());

}  // namespace encore::backends

#endif  // ENCORE_BACKENDS_BACKENDS_H_
