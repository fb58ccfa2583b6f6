// Tuner: times the kernels that a backend has for a region, on the machine that
// compiles.
#ifndef ENCORE_BACKENDS_LOWERING_TUNER_H_
#define ENCORE_BACKENDS_LOWERING_TUNER_H_

#include <chrono>
#include <optional>
#include <span>

#include "encore/backends/backend.h"
#include "encore/backends/measurement.h"
#include "encore/backends/options.h"
#include "encore/runtime/device/thread_pool.h"

namespace encore::backends {

class Tuner {
 public:
  using Clock = std::chrono::steady_clock;

  // Kernels run on as many threads as `options` plan for.
  explicit Tuner(const CompileOptions& options);

  // Compiles each candidate on its own and runs it on data that depend on
  // nothing but the region. The first is the incumbent. A candidate whose
  // results are not the incumbent's, up to the rounding of sums of that length,
  // or that does not compile, gets infinite seconds; the others are launched in
  // turn with the incumbent. The seconds of the incumbent are its least, those
  // of the others the larger of the least in either half of their launches:
  // noise can only hide a gain. Regions whose tensors take over 1 GiB keep the
  // incumbent.
  //
  // Nothing where the incumbent does not run on this machine, or `deadline`
  // came before the launches were done. REQUIRES a region without symbols.
  std::optional<Measurement> Measure(const Backend& backend,
                                     const KernelRequest& request,
                                     std::span<const Candidate> candidates,
                                     Clock::time_point deadline);

 private:
  const CompileOptions options_;
  runtime::ThreadPool threads_;
};

}  // namespace encore::backends

#endif  // ENCORE_BACKENDS_LOWERING_TUNER_H_
