#include "encore/backends/ref/device.h"

#include <vector>

#include "encore/backends/absent.h"
#include "encore/backends/region/interpreted_kernel.h"
#include "encore/ir/support/status_macros.h"
#include "encore/runtime/device/host_device.h"

namespace encore::backends::ref {
namespace {

class RefDevice : public runtime::HostDevice {
 public:
  RefDevice() : HostDevice("ref") {}

  bool runs_on_host() const override { return true; }
  StatusOr<std::vector<std::unique_ptr<runtime::Kernel>>> Load(
      std::span<const runtime::LoadRequest> requests,
      runtime::ThreadPool*) override {
    std::vector<std::unique_ptr<runtime::Kernel>> kernels;
    for (const runtime::LoadRequest& request : requests) {
      ENCORE_ASSIGN_OR_RETURN(auto kernel, LoadInterpretedKernel(request));
      kernels.push_back(std::move(kernel));
    }
    return kernels;
  }
};

}  // namespace

StatusOr<std::unique_ptr<runtime::Device>> NewDevice(uint32_t ordinal) {
  if (ordinal > 0) return NoDevice("ref", ordinal);
  return std::unique_ptr<runtime::Device>(std::make_unique<RefDevice>());
}

}  // namespace encore::backends::ref
