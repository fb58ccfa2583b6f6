// Driver: NVIDIA's driver as a table of functions, found at run time, so that
// one program runs with and without it.
//
//   auto driver = Driver::Load(DriverLibrary());
//   if (!driver.ok()) ...  // says what is not there, and what would help
//   Result result = (*driver)->api.cuStreamSynchronize(stream);
//
// The table is filled through cuGetProcAddress, with the version of each
// function's form (functions.def), so that a newer driver gives that form.
// Source: NVIDIA's documentation of the driver API, "Driver Entry Point
// Access".
#ifndef ENCORE_BACKENDS_CUDA_DRIVER_DRIVER_H_
#define ENCORE_BACKENDS_CUDA_DRIVER_DRIVER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "encore/backends/cuda/driver/types.h"
#include "encore/ir/support/status.h"

namespace encore::backends::cuda {

// A pointer to each function, under its name without a suffix.
struct DriverTable {
#define ENCORE_CUDA_FUNCTION(name, version, parameters) \
  Result(*name) parameters = nullptr;
#include "encore/backends/cuda/driver/functions.def"
#undef ENCORE_CUDA_FUNCTION
};

// cuGetProcAddress as of CUDA 12.0; what it says of the symbol may be null.
using FindFunction = Result (*)(const char* symbol, void** function,
                                int version, cuuint64_t flags, uint32_t* found);

// Immutable, thread-safe. Lives as long as anything uses a function of it.
class Driver {
 public:
  // The driver in `library`, a path or a name that the dynamic linker looks
  // for, initialized. NotFound where there is no such library or no device
  // (NVIDIA's link stub among them); FailedPrecondition where the library lacks
  // a function, or cannot be initialized. Each error says what would help.
  static StatusOr<std::shared_ptr<const Driver>> Load(
      const std::string& library);
  // The same of functions that `find` finds. `name` is for messages.
  static StatusOr<std::shared_ptr<const Driver>> Bind(FindFunction find,
                                                      std::string_view name);

  // Ok for kSuccess; else names `what` was done, the error and its number:
  // ResourceExhausted for lack of memory, Internal otherwise.
  Status ToStatus(Result result, std::string_view what) const;

  DriverTable api;
  const std::string& name() const { return name_; }
  // The newest CUDA that it serves: 13000 for 13.0.
  int version() const { return version_; }
  // Devices; at least one.
  int device_count() const { return device_count_; }

 private:
  explicit Driver(std::string_view name) : name_(name) {}
  Status Init(FindFunction find);

  const std::string name_;
  int version_ = 0;
  int device_count_ = 0;
};

// ENCORE_CUDA_DRIVER where it is set, else libcuda.so.1.
std::string DriverLibrary();

}  // namespace encore::backends::cuda

#endif  // ENCORE_BACKENDS_CUDA_DRIVER_DRIVER_H_
