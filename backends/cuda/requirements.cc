#include "encore/backends/cuda/requirements.h"

#include <optional>
#include <string_view>

#include "encore/ir/support/parse_number.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::backends::cuda {
namespace {

constexpr std::string_view kDriver = "driver=";

// 13000 of "13.0".
std::optional<uint32_t> ParseVersion(std::string_view text) {
  const size_t dot = text.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const auto major = ParseNumber<uint32_t>(text.substr(0, dot));
  const auto minor = ParseNumber<uint32_t>(text.substr(dot + 1));
  if (!major || !minor || *major >= 1000 || *minor >= 100) return std::nullopt;
  return *major * 1000 + *minor * 10;
}

Status CheckDriver(uint32_t least, uint32_t driver) {
  if (least <= driver) return OkStatus();
  return FailedPreconditionError(
      StrCat("the program needs a driver of CUDA ", CudaVersionText(least),
             ", this machine's is of CUDA ", CudaVersionText(driver),
             "; install a newer one"));
}

Status CheckArchitecture(const Architecture& least,
                         const Architecture& device) {
  const bool fits = least.specific ? least.number() == device.number()
                                   : least.number() <= device.number();
  if (fits) return OkStatus();
  return FailedPreconditionError(StrCat("the program needs ", Name(least),
                                        ", the device is ", Name(device)));
}

}  // namespace

std::string CudaVersionText(uint32_t version) {
  return StrCat(version / 1000, ".", version % 1000 / 10);
}

std::vector<std::string> RequirementsOf(const Architecture& lowest,
                                        uint32_t driver) {
  return {Name(lowest), StrCat(kDriver, CudaVersionText(driver))};
}

Status CheckRequirements(std::span<const std::string> requirements,
                         const Architecture& device, uint32_t driver) {
  for (const std::string_view requirement : requirements) {
    std::optional<uint32_t> version;
    if (requirement.starts_with(kDriver)) {
      version = ParseVersion(requirement.substr(kDriver.size()));
    }
    if (version) {
      ENCORE_RETURN_IF_ERROR(CheckDriver(*version, driver));
    } else if (const auto least = ParseArchitecture(requirement)) {
      ENCORE_RETURN_IF_ERROR(CheckArchitecture(*least, device));
    } else {
      return FailedPreconditionError(
          StrCat("the program needs ", requirement,
                 ", which this release knows nothing of"));
    }
  }
  return OkStatus();
}

}  // namespace encore::backends::cuda
