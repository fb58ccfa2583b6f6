#include "encore/runtime/plan/plan_verifier.h"

#include "encore/ir/support/status_macros.h"
#include "encore/runtime/plan/flow_checker.h"
#include "encore/runtime/plan/structure_checker.h"

namespace encore::runtime {

Status VerifyPlan(const CompiledGraph& graph) {
  ENCORE_RETURN_IF_ERROR(CheckStructure(graph));
  return CheckFlow(graph);
}

}  // namespace encore::runtime
