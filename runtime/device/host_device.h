// HostDevice: the memory half of a Device for backends whose pool is host
// memory (cpu, ref). Such a backend derives from it and adds Load and
// runs_on_host.
#ifndef ENCORE_RUNTIME_DEVICE_HOST_DEVICE_H_
#define ENCORE_RUNTIME_DEVICE_HOST_DEVICE_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "encore/ir/support/status.h"
#include "encore/runtime/device/device.h"

namespace encore::runtime {

class HostDevice : public Device {
 public:
  explicit HostDevice(std::string backend) : backend_(std::move(backend)) {}

  std::string_view backend() const override { return backend_; }
  StatusOr<void*> Allocate(int64_t bytes) override;
  void Deallocate(void* data, int64_t bytes) override;
  Status CopyFromHost(void* dst, const void* src, int64_t bytes,
                      Queue* queue) override;
  Status CopyToHost(void* dst, const void* src, int64_t bytes,
                    Queue* queue) override;
  Status CopyWithin(void* dst, const void* src, int64_t bytes,
                    Queue* queue) override;

 private:
  std::string backend_;
};

}  // namespace encore::runtime

#endif  // ENCORE_RUNTIME_DEVICE_HOST_DEVICE_H_
