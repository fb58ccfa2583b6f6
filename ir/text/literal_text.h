// Text of literals, exact for every bit pattern:
//
//   f32[2,3] 1.5                    every element is 1.5
//   i64[3] [1, -2, 3]               elements in row-major order
//   f32[1000] hex "0000803f…"       the bytes, where there are many
//   f32[2] [0x7fc00001, inf]        0x: the bits of an element
//
// Floats are the shortest decimals that read back to the same bits.
#ifndef ENCORE_IR_TEXT_LITERAL_TEXT_H_
#define ENCORE_IR_TEXT_LITERAL_TEXT_H_

#include <cstdint>
#include <string>

#include "encore/ir/support/lexer.h"
#include "encore/ir/support/status.h"
#include "encore/ir/types/literal.h"

namespace encore::text {

void AppendLiteral(std::string* out, const Literal& literal);

// Memory is bounded by the text's size, but for the first form: its bytes are
// taken off `*budget` and refused where that is not enough.
StatusOr<Literal> ParseLiteral(Lexer& lexer, int64_t* budget);

}  // namespace encore::text

#endif  // ENCORE_IR_TEXT_LITERAL_TEXT_H_
