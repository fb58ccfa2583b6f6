// Barriers of a block: bar and barrier, in all their forms.
#ifndef ENCORE_BACKENDS_CUDA_EMULATOR_BARRIER_H_
#define ENCORE_BACKENDS_CUDA_EMULATOR_BARRIER_H_

#include <cstdint>

#include "encore/backends/cuda/emulator/module.h"
#include "encore/backends/cuda/emulator/warp.h"

namespace encore::ptx {

bool IsBlockBarrier(Op op);
// Whether all lanes of the warp must execute it together.
bool IsAligned(const Instruction& i);

// The lanes of `mask` arrive; those that wait stop until enough threads have
// arrived. Their program counters are to be behind the instruction already.
void ArriveAtBarrier(Warp& warp, const Instruction& i, uint32_t mask);

// After threads have exited: opens barriers that waited only for them.
void OpenBarriers(Block& block);

}  // namespace encore::ptx

#endif  // ENCORE_BACKENDS_CUDA_EMULATOR_BARRIER_H_
