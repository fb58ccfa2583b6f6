// FakeDriver: a driver in the place of NVIDIA's that executes: kernels of PTX
// by the emulator, everything else by itself.
//
//   auto fake = FakeDriver::New({.seed = 3});
//   auto driver = fake->driver();  // as any other Driver
//
// It keeps the laws of the real one where that leaves no choice and is as late
// as it may be where there is one (work.h): what waits too little computes
// wrong results, or fails, under some seed. Device memory cannot be read by the
// host (memory.h). A kernel that does what none may (bounds, races, ...) loses
// its context as on a device: every later call of it returns that error, whose
// text says what the emulator saw. Cubins are refused (kNoBinaryForGpu): there
// is nothing that could execute them. The null stream is refused, too.
//
// Any call can be made to fail, and any piece of work when its turn comes. All
// calls are counted, the last ones kept, and what was never given back is
// named. One at a time in a process, as the functions of a driver have no
// object. Thread-safe.
#ifndef ENCORE_BACKENDS_CUDA_FAKE_FAKE_DRIVER_H_
#define ENCORE_BACKENDS_CUDA_FAKE_FAKE_DRIVER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "encore/backends/cuda/driver/driver.h"
#include "encore/backends/cuda/driver/types.h"
#include "encore/backends/cuda/fake/options.h"

namespace encore::backends::cuda::fake {

class FakeState;

class FakeDriver : public std::enable_shared_from_this<FakeDriver> {
 public:
  // REQUIRES that no other is alive.
  static std::shared_ptr<FakeDriver> New(const FakeOptions& options);
  // Forgets whatever is left in it.
  ~FakeDriver();
  FakeDriver(const FakeDriver&) = delete;
  FakeDriver& operator=(const FakeDriver&) = delete;

  // Keeps this alive.
  std::shared_ptr<const Driver> driver() {
    return {shared_from_this(), driver_.get()};
  }

  // As the cuGetProcAddress of the one that is alive, for drivers that put
  // something between.
  static Result Find(const char* symbol, void** function, int version,
                     cuuint64_t flags, uint32_t* found);

  // From now on the k-th call (from 0) of `function`, of any where that is
  // empty, returns `code` and does nothing else, unless it ends, gives back
  // or waits;
  // -1: none. cuGetErrorName and cuGetErrorString never fail so.
  void FailCall(std::string_view function, int64_t k, Result code);
  // The same of launches and copies when their turn comes: the context is then
  // lost with that code.
  void FailWork(int64_t k, Result code);
  // Calls of `function`, of all but those two where that is empty, since
  // FailCall or the beginning; pieces of work since FailWork.
  int64_t calls(std::string_view function = "") const;
  int64_t works() const;

  // The last kernels and copies that were done since this was asked before,
  // oldest first.
  std::vector<Activity> TakeActivities();

  // The last calls, oldest first: "cuMemAlloc 0", with the result.
  std::vector<std::string> log() const;
  // A line for each thing that was made and not given back: "2 streams". Work
  // that nobody waited for is such a thing.
  std::vector<std::string> leaks() const;

 private:
  explicit FakeDriver(const FakeOptions& options);

  const std::unique_ptr<FakeState> state_;
  std::shared_ptr<const Driver> driver_;
};

}  // namespace encore::backends::cuda::fake

#endif  // ENCORE_BACKENDS_CUDA_FAKE_FAKE_DRIVER_H_
