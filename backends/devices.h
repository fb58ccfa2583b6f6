// Devices by name, without the compilers behind them: what a program that only
// replays needs of a backend.
#ifndef ENCORE_BACKENDS_DEVICES_H_
#define ENCORE_BACKENDS_DEVICES_H_

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "encore/ir/support/status.h"
#include "encore/runtime/device/device.h"
#include "encore/runtime/plan/compiled_graph.h"

namespace encore::backends {

// NotFound names the backends that are there, or says that the machine has no
// such device.
StatusOr<std::unique_ptr<runtime::Device>> NewDevice(std::string_view backend,
                                                     uint32_t ordinal);

// A device for each of graph.devices, in order.
StatusOr<std::vector<std::shared_ptr<runtime::Device>>> NewDevices(
    const runtime::CompiledGraph& graph);

}  // namespace encore::backends

#endif  // ENCORE_BACKENDS_DEVICES_H_
