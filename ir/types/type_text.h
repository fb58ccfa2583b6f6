// Text of dims, types and symbols, shared by arguments and attributes.
#ifndef ENCORE_IR_TYPES_TYPE_TEXT_H_
#define ENCORE_IR_TYPES_TYPE_TEXT_H_

#include <functional>
#include <string_view>
#include <vector>

#include "encore/ir/support/lexer.h"
#include "encore/ir/support/status.h"
#include "encore/ir/types/dim.h"
#include "encore/ir/types/shape.h"

namespace encore::text {

// The number of the symbol of that name, or why there is none.
using SymbolLookup = std::function<StatusOr<uint32_t>(std::string_view name)>;

// A sum of products of integers, symbols, floor_div, mod, max, min and
// parentheses. Nesting is limited, so is the size of what comes out (dim.h).
StatusOr<Dim> ParseDim(Lexer& lexer, const SymbolLookup& symbols);

// "[N, 2*N + 1]"; without the brackets' limit on rank.
StatusOr<std::vector<Dim>> ParseDims(Lexer& lexer, const SymbolLookup& symbols);

// "f32[N,784]", "sequence<f32>", "optional<sequence<i64>>": types of host
// objects have no shapes.
StatusOr<TensorType> ParseType(Lexer& lexer, const SymbolLookup& symbols);

// "f32"; what follows is not looked at.
StatusOr<DType> ParseDTypeName(Lexer& lexer);

}  // namespace encore::text

#endif  // ENCORE_IR_TYPES_TYPE_TEXT_H_
