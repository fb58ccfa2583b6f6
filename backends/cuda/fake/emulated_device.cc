#include "encore/backends/cuda/fake/emulated_device.h"

#include <cstdlib>
#include <string>

#include "encore/backends/cuda/device.h"
#include "encore/backends/cuda/driver/driver.h"
#include "encore/backends/cuda/fake/fake_driver.h"
#include "encore/backends/cuda/fake/options.h"

namespace encore::backends::cuda {
namespace {

// One for the life of the process.
std::shared_ptr<const Driver> SharedDriver() {
  static const auto* const driver = [] {
    const char* const seed = std::getenv("ENCORE_EMULATED_SEED");
    const fake::FakeOptions options = {
        .seed = seed == nullptr ? 1 : static_cast<uint32_t>(std::atol(seed)),
        .devices = 2,
        .memory = uint64_t{8} << 30,
        .pinned = uint64_t{8} << 30};
    return new std::shared_ptr<const Driver>(
        fake::FakeDriver::New(options)->driver());
  }();
  return *driver;
}

}  // namespace

StatusOr<std::unique_ptr<runtime::Device>> NewEmulatedDevice(uint32_t ordinal) {
  return NewDevice(SharedDriver(), ordinal, std::string(kEmulatedBackend));
}

}  // namespace encore::backends::cuda
