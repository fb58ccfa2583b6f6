// Indices that may not leave their axis. The record is FaultRecord of
// kernel_params.h; of all faults the first in the order of CheckFault stays.
struct Fault {
  u32 lock, found, check, node, component, unused;
  i64 position, index, count, extent;
};
static __device__ __noinline__ void Report(Fault* fault, u32 check, u32 node, u32 component, i64 position,
                                           i64 index, i64 count, i64 extent) {
  volatile Fault* record = fault;
  for (bool done = false; !done;) {
    if (atomicCAS(&fault->lock, 0u, 1u) != 0u) continue;
    __threadfence();
    const bool later = record->found != 0 &&
        (record->node != node           ? record->node < node
         : record->position != position ? record->position < position
                                        : record->component <= component);
    if (!later) {
      record->found = 1;
      record->check = check;
      record->node = node;
      record->component = component;
      record->position = position;
      record->index = index;
      record->count = count;
      record->extent = extent;
    }
    __threadfence();
    atomicExch(&fault->lock, 0u);
    done = true;
  }
}
