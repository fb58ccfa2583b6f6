// The body of a function: declarations, labels and instructions between braces.
#ifndef ENCORE_BACKENDS_CUDA_EMULATOR_PARSE_FUNCTION_PARSER_H_
#define ENCORE_BACKENDS_CUDA_EMULATOR_PARSE_FUNCTION_PARSER_H_

#include <cstdint>

#include "encore/backends/cuda/emulator/module.h"
#include "encore/backends/cuda/emulator/parse/lexer.h"
#include "encore/backends/cuda/emulator/parse/scope.h"
#include "encore/ir/support/status.h"

namespace encore::ptx {

// Reads from '{' to its '}'. The head of module->functions[function] is known.
// Shared variables that are declared in the body become variables of the
// module.
Status ParseBody(Lexer& lexer, const ModuleNames& names, uint32_t function,
                 Module* module);

}  // namespace encore::ptx

#endif  // ENCORE_BACKENDS_CUDA_EMULATOR_PARSE_FUNCTION_PARSER_H_
