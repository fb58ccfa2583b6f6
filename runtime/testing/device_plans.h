// Plans over several devices, for tests of what runs at once.
#ifndef ENCORE_RUNTIME_TESTING_DEVICE_PLANS_H_
#define ENCORE_RUNTIME_TESTING_DEVICE_PLANS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "encore/runtime/plan/assign_memory.h"
#include "encore/runtime/plan/compiled_graph.h"

namespace encore::runtime {

// The devices of such a plan: kernels of TestDevice under these names. The
// first works in host memory, the others have a pool each.
inline const std::vector<std::string> kPlanDevices = {"host", "one", "two"};

struct DevicePlanOptions {
  int kernels = 8;  // in each straight piece
  bool control_flow = true;
  // Above 0: the device on which all of it is, but for inputs and outputs.
  uint32_t only = 0;
  MemoryOptions memory = {};
};

// A sound plan, with memory, of test kernels on all of these devices, of copies
// between their pools, of branches and loops whose selectors, sizes and carried
// values lie in any pool. Inputs: two of f32[16], of which elements are 0, and
// one of i64[1]. Outputs: f32[16], and, with control flow, f32[n] where n is
// found by a step. Every byte of an output is that of the input's values alone.
// The same for equal arguments.
CompiledGraph RandomDevicePlan(uint32_t seed,
                               const DevicePlanOptions& options = {});

}  // namespace encore::runtime

#endif  // ENCORE_RUNTIME_TESTING_DEVICE_PLANS_H_
