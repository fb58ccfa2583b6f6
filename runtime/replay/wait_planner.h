// PlanWaits: the fewest waits that put operations of several queues in order.
//
// An operation that conflicts with an earlier one waits for it unless it comes
// after it anyway: through its queue's order, or through other waits, of its
// queue, of the host before it was enqueued, or of whoever is waited for.
//
// What is known is a must-analysis over the blocks: for the host and each queue
// the operations whose latest run is done before anything enqueued next, and
// for each operation those whose latest run was done before its own. Within a
// block that is a vector clock an operation; across blocks, where an operation
// runs many times, it is sets of the operations that are waited for across
// blocks. Waits are added block by block where something is not known, then
// each that the others imply is taken out. Without loops and branches that is
// the transitive reduction.
#ifndef ENCORE_RUNTIME_REPLAY_WAIT_PLANNER_H_
#define ENCORE_RUNTIME_REPLAY_WAIT_PLANNER_H_

#include <cstdint>
#include <functional>
#include <vector>

namespace encore::runtime {

struct WaitProblem {
  // A straight piece of code, operations [begin, end), and those that may
  // follow it. The first is where all begins; nothing ran before.
  struct Block {
    uint32_t begin = 0, end = 0;
    std::vector<uint32_t> next;
  };
  std::vector<Block> blocks;
  // By operation: its queue; 0, the host does it at once.
  std::vector<uint16_t> queue;
  // By operation: those in queues whose latest run it must come after, each
  // once.
  std::vector<std::vector<uint32_t>> conflicts;
  uint16_t queues = 1;  // with that of the host
  // Whether a queue can wait for another; where it cannot, the host does before
  // it enqueues.
  std::function<bool(uint16_t waiter, uint16_t other)> can_wait;
};

struct WaitFor {
  uint32_t op;
  bool by_host;
};

// By operation: what to wait for before it.
std::vector<std::vector<WaitFor>> PlanWaits(const WaitProblem& problem);

}  // namespace encore::runtime

#endif  // ENCORE_RUNTIME_REPLAY_WAIT_PLANNER_H_
