// Context: a device's primary context, which others in the process may use too,
// or one of the caller's, and the driver that it is of. What is made in it
// keeps the primary one alive. Thread-safe.
#ifndef ENCORE_BACKENDS_CUDA_RUNTIME_CONTEXT_H_
#define ENCORE_BACKENDS_CUDA_RUNTIME_CONTEXT_H_

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "encore/backends/cuda/driver/driver.h"
#include "encore/backends/cuda/driver/types.h"
#include "encore/ir/support/status.h"

namespace encore::backends::cuda {

class Context {
 public:
  // Of device `ordinal` of `driver`; REQUIRES that there is one. `callers`, of
  // that device, outlives all that is made in it; null: the primary one.
  // `cupti` is the library that work is timed by, empty for none.
  static StatusOr<std::shared_ptr<const Context>> New(
      std::shared_ptr<const Driver> driver, int ordinal,
      CUcontext callers = nullptr, std::string cupti = "");
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  // Makes the context the current one of this thread, and then the one of
  // before again.
  class Scope {
   public:
    explicit Scope(const Context& context);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    const DriverTable& api_;
    CUcontext before_ = nullptr;
    bool changed_ = false;
  };

  const DriverTable& api() const { return driver_->api; }
  const Driver& driver() const { return *driver_; }
  CUcontext handle() const { return handle_; }
  int ordinal() const { return ordinal_; }
  const std::string& cupti() const { return cupti_; }

  // Ok for kSuccess; else names what was done, the device and the error, and
  // says where the device is lost to this process what would help.
  Status ToStatus(Result result, std::string_view what) const;

 private:
  Context(std::shared_ptr<const Driver> driver, int ordinal, std::string cupti)
      : driver_(std::move(driver)),
        ordinal_(ordinal),
        cupti_(std::move(cupti)) {}

  const std::shared_ptr<const Driver> driver_;
  const int ordinal_;
  const std::string cupti_;
  CUcontext handle_ = nullptr;
  bool retained_ = false;
};

}  // namespace encore::backends::cuda

#endif  // ENCORE_BACKENDS_CUDA_RUNTIME_CONTEXT_H_
