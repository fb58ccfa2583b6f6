#include "encore/backends/devices.h"

#include "encore/backends/absent.h"
#include "encore/backends/cpu/device.h"
#include "encore/backends/cuda/device.h"
#include "encore/backends/host/device.h"
#include "encore/backends/host/program.h"
#include "encore/backends/ref/device.h"
#include "encore/ir/support/status_macros.h"

namespace encore::backends {
namespace {

struct DeviceRow {
  std::string_view backend;
  StatusOr<std::unique_ptr<runtime::Device>> (*make)(uint32_t ordinal);
};

constexpr DeviceRow kDevices[] = {
    {"cpu", cpu::NewDevice},
    {"cuda", cuda::NewDevice},
    {host::kHostBackend, host::NewDevice},
    {"ref", ref::NewDevice},
};

}  // namespace

StatusOr<std::unique_ptr<runtime::Device>> NewDevice(std::string_view backend,
                                                     uint32_t ordinal) {
  std::vector<std::string_view> known;
  for (const DeviceRow& row : kDevices) {
    if (row.backend == backend) return row.make(ordinal);
    known.push_back(row.backend);
  }
  return NoBackend(backend, known);
}

StatusOr<std::vector<std::shared_ptr<runtime::Device>>> NewDevices(
    const runtime::CompiledGraph& graph) {
  std::vector<std::shared_ptr<runtime::Device>> devices;
  for (const runtime::DeviceInfo& info : graph.devices) {
    ENCORE_ASSIGN_OR_RETURN(std::unique_ptr<runtime::Device> device,
                            NewDevice(info.backend, info.ordinal));
    devices.push_back(std::move(device));
  }
  return devices;
}

}  // namespace encore::backends
