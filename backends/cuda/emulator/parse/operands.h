// Operands of one instruction: text to slots.
#ifndef ENCORE_BACKENDS_CUDA_EMULATOR_PARSE_OPERANDS_H_
#define ENCORE_BACKENDS_CUDA_EMULATOR_PARSE_OPERANDS_H_

#include "encore/backends/cuda/emulator/module.h"
#include "encore/backends/cuda/emulator/opcodes.h"
#include "encore/backends/cuda/emulator/parse/lexer.h"
#include "encore/backends/cuda/emulator/parse/scope.h"
#include "encore/ir/support/status.h"

namespace encore::ptx {

// Reads the operands of `instruction`, whose op, types and modifiers are known,
// up to the semicolon: their slots go to scope.function().operands, offsets,
// spaces and counts to `instruction`.
Status ReadOperands(Lexer& lexer, const OpRow& row, FunctionScope& scope,
                    Instruction* instruction);

}  // namespace encore::ptx

#endif  // ENCORE_BACKENDS_CUDA_EMULATOR_PARSE_OPERANDS_H_
