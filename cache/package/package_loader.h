// A package on this machine's devices, with the code and weights that it
// brings.
//
// Nothing here compiles: where the code does not run on this machine, or may
// not be trusted, package_graph.h gives the graph to compile again.
#ifndef ENCORE_CACHE_PACKAGE_PACKAGE_LOADER_H_
#define ENCORE_CACHE_PACKAGE_PACKAGE_LOADER_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "encore/cache/package/loaded.h"
#include "encore/cache/package/package.h"
#include "encore/ir/support/status.h"
#include "encore/runtime/device/device.h"
#include "encore/runtime/device/thread_pool.h"
#include "encore/runtime/plan/compiled_graph.h"

namespace encore::cache {

// A device for each of graph.devices, in order (backends/devices.h).
using DeviceMaker =
    std::function<StatusOr<std::vector<std::shared_ptr<runtime::Device>>>(
        const runtime::CompiledGraph& graph)>;

// Verifies the plan and loads it. REQUIRES that the package's code may be run.
// DataLoss where plan, weights and signature are not of one graph;
// FailedPrecondition names what the code requires and the machine lacks;
// NotFound a backend that is not there. `threads` outlives the result.
StatusOr<std::shared_ptr<const Loaded>> LoadPackage(
    const Package& package, const DeviceMaker& devices,
    runtime::ThreadPool* threads);

// The plan and everything that it must agree with: names, parameters, derived
// slots, calls. DataLoss otherwise. Safe on any contents.
Status CheckPackage(const Package& package);

// Names of the signature, in its order.
Loaded::Names NamesOf(const Package& package);

}  // namespace encore::cache

#endif  // ENCORE_CACHE_PACKAGE_PACKAGE_LOADER_H_
