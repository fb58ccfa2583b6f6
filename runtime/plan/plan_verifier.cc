#include "encore/runtime/plan/plan_verifier.h"

#include <vector>

#include "encore/ir/support/check.h"
#include "encore/ir/support/status_macros.h"
#include "encore/runtime/plan/flow_checker.h"
#include "encore/runtime/plan/structure_checker.h"

namespace encore::runtime {

Status VerifyPlan(const CompiledGraph& graph) {
  std::vector<int64_t> sizes;
  for (const Blob& blob : graph.blobs) {
    sizes.push_back(static_cast<int64_t>(blob.bytes.size()));
  }
  return VerifyPlan(graph, sizes);
}

Status VerifyPlan(const CompiledGraph& graph,
                  std::span<const int64_t> blob_sizes) {
  ENCORE_CHECK_EQ(blob_sizes.size(), graph.blobs.size());
  ENCORE_RETURN_IF_ERROR(CheckStructure(graph, blob_sizes));
  return CheckFlow(graph);
}

}  // namespace encore::runtime
