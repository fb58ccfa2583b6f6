// What executes an instruction, chosen by its op, types and modifiers.
#ifndef ENCORE_BACKENDS_CUDA_EMULATOR_OPS_HANDLERS_H_
#define ENCORE_BACKENDS_CUDA_EMULATOR_OPS_HANDLERS_H_

#include "encore/backends/cuda/emulator/module.h"

namespace encore::ptx {

// Null where the emulator does not execute that combination. Control flow,
// which the executor does itself, has a handler that does nothing.
Handler SelectHandler(const Instruction& instruction);

}  // namespace encore::ptx

#endif  // ENCORE_BACKENDS_CUDA_EMULATOR_OPS_HANDLERS_H_
