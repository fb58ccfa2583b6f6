#include "encore/backends/host/device.h"

#include "encore/backends/host/kernel.h"
#include "encore/backends/host/program.h"
#include "encore/backends/host_memory_device.h"

namespace encore::backends::host {

StatusOr<std::unique_ptr<runtime::Device>> NewDevice(uint32_t ordinal) {
  return NewHostMemoryDevice(kHostBackend, ordinal, LoadHostKernel);
}

}  // namespace encore::backends::host
