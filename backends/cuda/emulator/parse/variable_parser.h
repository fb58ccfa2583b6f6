// Declarations of variables and parameters:
//   .global .align 4 .b8 name[16] = {1, 2};
#ifndef ENCORE_BACKENDS_CUDA_EMULATOR_PARSE_VARIABLE_PARSER_H_
#define ENCORE_BACKENDS_CUDA_EMULATOR_PARSE_VARIABLE_PARSER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "encore/backends/cuda/emulator/module.h"
#include "encore/backends/cuda/emulator/parse/lexer.h"
#include "encore/ir/support/status.h"

namespace encore::ptx {

// What is declared behind the space: alignment, type, name, sizes, value.
struct Declaration {
  std::string name;
  uint64_t bytes = 0;
  uint64_t alignment = 1;
  bool unsized = false;  // name[]
  std::vector<std::byte> value;
  std::vector<Variable::Pointer> pointers;
  uint32_t line = 0;
};

// The number of the module's variable of that name, for pointers in values.
using FindVariable =
    std::function<std::optional<uint32_t>(std::string_view name)>;

// Reads from the alignment or type on, up to what follows the value. Sizes are
// limited to 256 MiB. A `.param` may say `.ptr .global .align N` too.
StatusOr<Declaration> ParseDeclaration(Lexer& lexer, const FindVariable& find);

// The bits of a number token (or a minus and one) as an element of `type`: an
// integer, 0f…, 0d…, or a decimal fraction. Nothing where it is none.
std::optional<uint64_t> NumberBits(std::string_view text, bool negative,
                                   Type type);

}  // namespace encore::ptx

#endif  // ENCORE_BACKENDS_CUDA_EMULATOR_PARSE_VARIABLE_PARSER_H_
