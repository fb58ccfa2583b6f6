#include "encore/backends/host_memory_device.h"

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "encore/backends/absent.h"
#include "encore/ir/support/status_macros.h"
#include "encore/runtime/device/host_device.h"

namespace encore::backends {
namespace {

class HostMemoryDevice : public runtime::HostDevice {
 public:
  HostMemoryDevice(std::string_view backend, KernelLoader load)
      : HostDevice(std::string(backend)), load_(load) {}

  bool runs_on_host() const override { return true; }
  StatusOr<std::vector<std::unique_ptr<runtime::Kernel>>> Load(
      std::span<const runtime::LoadRequest> requests,
      runtime::ThreadPool*) override {
    std::vector<std::unique_ptr<runtime::Kernel>> kernels;
    for (const runtime::LoadRequest& request : requests) {
      ENCORE_ASSIGN_OR_RETURN(auto kernel, load_(request));
      kernels.push_back(std::move(kernel));
    }
    return kernels;
  }

 private:
  KernelLoader load_;
};

}  // namespace

StatusOr<std::unique_ptr<runtime::Device>> NewHostMemoryDevice(
    std::string_view backend, uint32_t ordinal, KernelLoader load) {
  if (ordinal > 0) return NoDevice(backend, ordinal);
  return std::unique_ptr<runtime::Device>(
      std::make_unique<HostMemoryDevice>(backend, load));
}

}  // namespace encore::backends
