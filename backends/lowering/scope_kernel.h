// ScopeKernel: a kernel of a graph or a body, before it is compiled.
#ifndef ENCORE_BACKENDS_LOWERING_SCOPE_KERNEL_H_
#define ENCORE_BACKENDS_LOWERING_SCOPE_KERNEL_H_

#include <cstdint>
#include <vector>

#include "encore/backends/lowering/group.h"
#include "encore/backends/region/build.h"
#include "encore/ir/graph/graph.h"

namespace encore::backends {

struct ScopeKernel {
  // With the layouts that were chosen. A value may be made in several of them:
  // one that has none is what control flow, views and outputs see.
  BuiltRegion built;
  KernelSite site;
  int kernel = -1;            // in the KernelTable, once it was added
  std::vector<NodeId> nodes;  // ascending; none: between layouts of a value
  std::vector<uint32_t> origins;
};

// Inputs that the prepare plan can give the kernel in a form of its own; what
// runs in the prepare plan itself has none. weights[v]: value v is known once
// parameters are.
inline std::vector<bool> WeightInputs(const std::vector<bool>& weights,
                                      const BuiltRegion& built,
                                      KernelSite site) {
  std::vector<bool> inputs;
  for (const ValueId input : built.inputs) {
    inputs.push_back(!site.prepare && weights[input.value()]);
  }
  return inputs;
}

}  // namespace encore::backends

#endif  // ENCORE_BACKENDS_LOWERING_SCOPE_KERNEL_H_
