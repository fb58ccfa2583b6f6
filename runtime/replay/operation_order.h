// OrderOperations: an order of independent operations in which engines have
// little to wait for: list scheduling by the longest path behind.
#ifndef ENCORE_RUNTIME_REPLAY_OPERATION_ORDER_H_
#define ENCORE_RUNTIME_REPLAY_OPERATION_ORDER_H_

#include <cstdint>
#include <span>
#include <vector>

namespace encore::runtime {

// Operations in their present order, which is one of those allowed.
struct OperationGraph {
  // By operation: who does it, one operation at a time; 0 is the host, which
  // also enqueues what others do.
  std::vector<uint32_t> engine;
  // By operation: earlier ones that it must come after.
  std::vector<std::vector<uint32_t>> after;
};

// Their numbers in an order that keeps `after`. All are taken to last equally
// long. What the host enqueues comes before operations of its own that it need
// not come after. Equal arguments give equal orders. Cost: n log n.
std::vector<uint32_t> OrderOperations(const OperationGraph& graph);

}  // namespace encore::runtime

#endif  // ENCORE_RUNTIME_REPLAY_OPERATION_ORDER_H_
