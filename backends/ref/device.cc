#include "encore/backends/ref/device.h"

#include "encore/backends/host_memory_device.h"
#include "encore/backends/region/interpreted_kernel.h"

namespace encore::backends::ref {

StatusOr<std::unique_ptr<runtime::Device>> NewDevice(uint32_t ordinal) {
  return NewHostMemoryDevice("ref", ordinal, LoadInterpretedKernel);
}

}  // namespace encore::backends::ref
