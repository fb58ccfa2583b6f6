// PTX text to a module.
//
// Reads what nvcc and NVRTC of CUDA 13 emit, and what is inlined into it.
// Debugging directives (.file, .loc, .section, .pragma) are passed over. Each
// opcode, type and modifier must be known, allowed there, and executed by the
// emulator; registers must have the width that the instruction asks for. An
// error (InvalidArgument; Unimplemented for what PTX has and the emulator does
// not execute) says the line, what was expected, what is there, and the line's
// text. Any text is safe.
#ifndef ENCORE_BACKENDS_CUDA_EMULATOR_PARSE_PARSER_H_
#define ENCORE_BACKENDS_CUDA_EMULATOR_PARSE_PARSER_H_

#include <string_view>

#include "encore/backends/cuda/emulator/module.h"
#include "encore/ir/support/status.h"

namespace encore::ptx {

StatusOr<Module> ParseModule(std::string_view text);

}  // namespace encore::ptx

#endif  // ENCORE_BACKENDS_CUDA_EMULATOR_PARSE_PARSER_H_
