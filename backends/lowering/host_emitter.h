// HostEmitter: nodes on host objects as launches on the device "host".
#ifndef ENCORE_BACKENDS_LOWERING_HOST_EMITTER_H_
#define ENCORE_BACKENDS_LOWERING_HOST_EMITTER_H_

#include <map>
#include <set>
#include <vector>

#include "encore/backends/host/program.h"
#include "encore/backends/lowering/plan_draft.h"
#include "encore/ir/graph/graph.h"
#include "encore/ir/graph/symbol_definitions.h"
#include "encore/ir/support/status.h"
#include "encore/ir/types/literal.h"
#include "encore/runtime/plan/compiled_graph.h"

namespace encore::backends {

class HostEmitter {
 public:
  // All are used as long as this is.
  HostEmitter(const Graph& graph, const SymbolDefinitions& definitions,
              PlanDraft* draft);

  // Where the result of a node is wanted.
  void Claim(ValueId value, runtime::SlotId slot) {
    claims_.emplace(value, slot);
  }
  // An object that nobody outside of the plan reads.
  void Own(runtime::SlotId object) { donatable_.insert(object); }

  // The node, whose operands are in `reads`, slots in host memory. Its results
  // get slots. InvalidArgument where a symbol that it defines has a value.
  Status Emit(NodeId node, std::vector<runtime::SlotId> reads);
  // An object of the plan with the constant, a tensor of strings.
  runtime::SlotId Constant(const Literal& literal);

 private:
  using SlotId = runtime::SlotId;

  // A launch of `program`, without operands.
  runtime::Launch Launch(const host::HostProgram& program);
  // Whether the node is the only one that reads the object, so that it may have
  // what is in it.
  bool MayDonate(NodeId node, int operand) const;
  // Whether a dim of the shape is a symbol that the node defines.
  bool DefinesSymbols(NodeId node, const Shape& shape) const;
  // Says that these symbols are in `dims`, a vector that the node writes.
  Status DefineSizes(NodeId node, const Shape& shape, SlotId dims);
  // The tensor `value` out of the object `box`.
  void Unpack(NodeId node, SlotId box, ValueId value);
  // A slot for a result.
  SlotId ResultSlot(ValueId value);

  const Graph& graph_;
  const SymbolDefinitions& definitions_;
  PlanDraft& draft_;
  std::vector<int> uses_;  // by value
  std::set<SlotId> donatable_;
  std::map<ValueId, SlotId> claims_;
};

}  // namespace encore::backends

#endif  // ENCORE_BACKENDS_LOWERING_HOST_EMITTER_H_
