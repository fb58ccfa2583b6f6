#include "encore/backends/devices.h"

#include <string>

#include "encore/backends/cpu/device.h"
#include "encore/backends/host/device.h"
#include "encore/backends/host/program.h"
#include "encore/backends/ref/device.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::backends {
namespace {

struct DeviceRow {
  std::string_view backend;
  StatusOr<std::unique_ptr<runtime::Device>> (*make)(uint32_t ordinal);
};

StatusOr<std::unique_ptr<runtime::Device>> NewCpuDevice(uint32_t ordinal) {
  if (ordinal > 0) {
    return NotFoundError(StrCat("no device cpu:", ordinal, "; there is cpu:0"));
  }
  return cpu::NewCpuDevice();
}

constexpr DeviceRow kDevices[] = {
    {"cpu", NewCpuDevice},
    {host::kHostBackend, host::NewDevice},
    {"ref", ref::NewDevice},
};

}  // namespace

StatusOr<std::unique_ptr<runtime::Device>> NewDevice(std::string_view backend,
                                                     uint32_t ordinal) {
  std::string names;
  for (const DeviceRow& row : kDevices) {
    if (row.backend == backend) return row.make(ordinal);
    StrAppend(&names, names.empty() ? "" : ", ", row.backend);
  }
  return NotFoundError(
      StrCat("no backend ", Quote(backend), "; there are: ", names));
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
