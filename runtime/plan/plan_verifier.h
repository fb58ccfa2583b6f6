// VerifyPlan: whether a compiled graph may be replayed. This page is the
// contract of CompiledGraph: a graph that satisfies it cannot make the replayer
// touch memory outside its slots or read what the program did not put there,
// whoever wrote it; kernels are trusted to stay within the buffers they are
// given.
//
// It shares no code with the planner. Structure (P1 to P11) is checked per
// item; flow (P12 to P19) by running the plans on an abstract memory that knows
// for each byte which tensor's value it holds. Branches are run one by one and
// joined; loop bodies are run twice, the second time on what the first left.
//
//   P1  ids are in range; dims are valid and use the graph's symbols
//   P2  slots: arenas and places are temporaries; host objects lie in host
//       memory, without base or size; constant sizes and extents are not
//       negative; inputs, outputs and parameters have their dense size;
//       parameters, derived slots and constants have constant sizes; input
//       sizes use no run-time symbol
//   P3  constants lie inside their blob, at a multiple of kAlignment
//   P4  a base is an arena, or a tensor that is no view, of the same pool; what
//       can be known of the range lies in the base; places are aligned, and
//       neither they nor arenas depend on run-time symbols
//   P5  inputs, outputs and parameters list the slots of those roles once each
//   P6  symbols have ordered bounds and come from a dim of an input, or from an
//       element of an i64 slot
//   P7  every plan hangs below run or prepare exactly once, at most 8 deep
//   P8  devices name the pool of theirs; a binary is launched on one device,
//       of its backend, with its arity, on slots of the device's pool or host
//       objects; at most 4096 reads, writes and args
//   P9  a copy is between two different slots of equal size and one kind, of
//       any pools
//   P10 allocate and deallocate name an arena or temporary without base (or an
//       output of run-time size, allocate only), its pool and its size
//   P11 invokes have the plans, selector, states and elements their kind wants;
//       a scan does not write what says how long its wholes are
//   P12 storage is allocated when it is used
//   P13 nothing is allocated twice or freed twice
//   P14 what a plan allocates it frees, outputs excepted, and nothing else
//   P15 what is read was written on every path, and no byte of it was
//       overwritten through another tensor since
//   P16 a step's writes overlap neither each other nor its reads, but for a
//       slot in both lists and in_place pairs of equal place and size
//   P17 sub-plans touch what is their own, external, or declared by their
//       invoke
//   P18 inputs, parameters and constants are never written; derived slots by
//       prepare only; prepare reads no input and uses no symbol
//   P19 outputs are written by run, derived slots by prepare, in whole
//   P20 a run-time symbol is used after its slot was written, and does not
//       change while memory of its size is allocated
#ifndef ENCORE_RUNTIME_PLAN_PLAN_VERIFIER_H_
#define ENCORE_RUNTIME_PLAN_PLAN_VERIFIER_H_

#include <cstdint>
#include <span>

#include "encore/ir/support/status.h"
#include "encore/runtime/plan/compiled_graph.h"

namespace encore::runtime {

// OK, or InvalidArgument with the invariant and the place: "P15: plan 1 step 4:
// …". Any contents of `graph` are safe. Cost: linear in steps for plain plans;
// twice as much per level of loops.
Status VerifyPlan(const CompiledGraph& graph);

// The same where blobs need not be here: `blob_sizes[i]` are the bytes that
// graph.blobs[i] stands for. REQUIRES a size per blob. Whoever replays the
// graph has it verified as it is.
Status VerifyPlan(const CompiledGraph& graph,
                  std::span<const int64_t> blob_sizes);

}  // namespace encore::runtime

#endif  // ENCORE_RUNTIME_PLAN_PLAN_VERIFIER_H_
