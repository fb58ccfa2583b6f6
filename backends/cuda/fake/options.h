// What a fake driver is told.
#ifndef ENCORE_BACKENDS_CUDA_FAKE_OPTIONS_H_
#define ENCORE_BACKENDS_CUDA_FAKE_OPTIONS_H_

#include <cstdint>

#include "encore/backends/cuda/driver/types.h"

namespace encore::backends::cuda::fake {

struct FakeOptions {
  uint32_t seed = 0;  // of the order in which work is done
  int devices = 1;
  int capability = 90;                    // 90 for sm_90
  int driver = 13000;                     // 13000 for CUDA 13.0
  uint64_t memory = uint64_t{1} << 30;    // bytes of each device
  uint64_t pinned = uint64_t{256} << 20;  // bytes that the host may pin
  // Whether kernels run; without, launches are counted and do nothing.
  bool run_kernels = true;
  // Whether approximate instructions are off by up to their documented error.
  bool perturb_approximations = true;
};

// A kernel or copy that was done, by the clock of the driver: of each
// microsecond that one takes from event to event it ran for 700 ns.
struct Activity {
  CUstream stream = nullptr;  // null: of a graph
  bool is_copy = false;
  int64_t begin_ns = 0, end_ns = 0;
};

}  // namespace encore::backends::cuda::fake

#endif  // ENCORE_BACKENDS_CUDA_FAKE_OPTIONS_H_
