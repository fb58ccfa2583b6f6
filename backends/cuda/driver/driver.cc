#include "encore/backends/cuda/driver/driver.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::backends::cuda {
namespace {

// Every form of functions.def is in a driver of this CUDA. No driver that is
// left out could do more, since what NVRTC makes needs one of 13.0 (README,
// "What a module is").
constexpr int kLeastVersion = std::max({
#define ENCORE_CUDA_FUNCTION(name, version, parameters) version,
#include "encore/backends/cuda/driver/functions.def"
#undef ENCORE_CUDA_FUNCTION
});

constexpr char kRemedy[] =
    "; install NVIDIA's driver, or ENCORE_CUDA_DRIVER says where its library "
    "is";

std::string VersionText(int version) {
  return StrCat(version / 1000, ".", version % 1000 / 10);
}

}  // namespace

std::string DriverLibrary() {
  const char* const path = std::getenv("ENCORE_CUDA_DRIVER");
  return path == nullptr || *path == 0 ? "libcuda.so.1" : path;
}

StatusOr<std::shared_ptr<const Driver>> Driver::Load(
    const std::string& library) {
  // Never closed: a driver has threads and state of its own.
  void* const handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    return NotFoundError(
        StrCat("no CUDA driver can be loaded: ", dlerror(), kRemedy));
  }
  void* const find = dlsym(handle, "cuGetProcAddress_v2");
  if (find == nullptr) {
    return FailedPreconditionError(
        StrCat(library, " has no function cuGetProcAddress_v2; a driver of ",
               "CUDA ", VersionText(kLeastVersion), " or later is needed"));
  }
  return Bind(reinterpret_cast<FindFunction>(find), library);
}

StatusOr<std::shared_ptr<const Driver>> Driver::Bind(FindFunction find,
                                                     std::string_view name) {
  std::shared_ptr<Driver> driver(new Driver(name));
  ENCORE_RETURN_IF_ERROR(driver->Init(find));
  return driver;
}

Status Driver::Init(FindFunction find) {
  const auto bind = [&](auto& function, const char* symbol,
                        int version) -> Status {
    void* found = nullptr;
    const Result result = find(symbol, &found, version, 0, nullptr);
    if (result == Result::kSuccess && found != nullptr) {
      function = reinterpret_cast<std::decay_t<decltype(function)>>(found);
      return OkStatus();
    }
    if (result == Result::kStubLibrary) {
      return NotFoundError(
          StrCat(name_, " is a stub to link with and no driver", kRemedy));
    }
    return FailedPreconditionError(
        StrCat(name_, " has no function ", symbol, " of CUDA ",
               VersionText(version), "; a driver of CUDA ",
               VersionText(kLeastVersion), " or later is needed"));
  };
#define ENCORE_CUDA_FUNCTION(name, version, parameters) \
  ENCORE_RETURN_IF_ERROR(bind(api.name, #name, version));
#include "encore/backends/cuda/driver/functions.def"
#undef ENCORE_CUDA_FUNCTION
  const Result started = api.cuInit(0);
  if (started == Result::kStubLibrary) {
    return NotFoundError(
        StrCat(name_, " is a stub to link with and no driver", kRemedy));
  }
  if (started != Result::kNoDevice && started != Result::kSuccess) {
    return FailedPreconditionError(
        StrCat(Message(ToStatus(started, "cuInit")),
               "; `nvidia-smi` shows whether the driver works"));
  }
  if (started == Result::kSuccess) {
    ENCORE_RETURN_IF_ERROR(
        ToStatus(api.cuDriverGetVersion(&version_), "cuDriverGetVersion"));
    ENCORE_RETURN_IF_ERROR(
        ToStatus(api.cuDeviceGetCount(&device_count_), "cuDeviceGetCount"));
  }
  if (device_count_ > 0) return OkStatus();
  return NotFoundError(
      StrCat(name_, " finds no CUDA device; CUDA_VISIBLE_DEVICES may hide it"));
}

Status Driver::ToStatus(Result result, std::string_view what) const {
  if (result == Result::kSuccess) return OkStatus();
  const char* error = nullptr;
  const char* text = nullptr;
  if (api.cuGetErrorName(result, &error) != Result::kSuccess) error = nullptr;
  if (api.cuGetErrorString(result, &text) != Result::kSuccess) text = nullptr;
  const std::string message =
      StrCat(what, ": ", error == nullptr ? "error" : error, " (",
             static_cast<uint32_t>(result), ")", text == nullptr ? "" : ": ",
             text == nullptr ? "" : text);
  return result == Result::kOutOfMemory ? ResourceExhaustedError(message)
                                        : InternalError(message);
}

}  // namespace encore::backends::cuda
