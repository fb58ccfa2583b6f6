// What executes the instructions of a family: a function each, in a file of its
// name. Null for instructions of other families, and for combinations that the
// emulator does not execute.
#ifndef ENCORE_BACKENDS_CUDA_EMULATOR_OPS_FAMILIES_H_
#define ENCORE_BACKENDS_CUDA_EMULATOR_OPS_FAMILIES_H_

#include "encore/backends/cuda/emulator/module.h"

namespace encore::ptx {

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

}  // namespace encore::ptx

#endif  // ENCORE_BACKENDS_CUDA_EMULATOR_OPS_FAMILIES_H_
