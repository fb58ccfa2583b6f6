// What executes an instruction, chosen by its op, types and modifiers.
#ifndef ENCORE_BACKENDS_CUDA_EMULATOR_OPS_HANDLERS_H_
#define ENCORE_BACKENDS_CUDA_EMULATOR_OPS_HANDLERS_H_

#include "encore/backends/cuda/emulator/module.h"

namespace encore::ptx {

// Null where the emulator does not execute that combination. Control flow,
// which the executor does itself, has a handler that does nothing.
Handler SelectHandler(const Instruction& instruction);

// One for each family, in a file of its name; null for ops of other families.
Handler SelectInteger(const Instruction& instruction);
Handler SelectLogic(const Instruction& instruction);
Handler SelectFloating(const Instruction& instruction);
Handler SelectSpecial(const Instruction& instruction);
Handler SelectHalf(const Instruction& instruction);
Handler SelectCompare(const Instruction& instruction);
Handler SelectConvert(const Instruction& instruction);
Handler SelectMove(const Instruction& instruction);
Handler SelectLoadStore(const Instruction& instruction);
Handler SelectAtomic(const Instruction& instruction);
Handler SelectAsync(const Instruction& instruction);
Handler SelectCrossLane(const Instruction& instruction);
Handler SelectMatrix(const Instruction& instruction);
Handler SelectControl(const Instruction& instruction);

}  // namespace encore::ptx

#endif  // ENCORE_BACKENDS_CUDA_EMULATOR_OPS_HANDLERS_H_
