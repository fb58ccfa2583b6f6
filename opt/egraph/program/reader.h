// Reads the text of a program into one flat array of S-expressions.
//
// Nodes stand in the order of their first byte; a list is followed by its
// elements, and `end` of a node is the index after its last descendant, so the
// elements of list i are i+1, end(i+1), ... up to end(i). Nothing recurses:
// depth is bounded by memory only.
//
// Tokens: ( ) strings in double quotes with the escapes \n \t \\ \", and
// atoms, which end at white space, a parenthesis or a semicolon. An atom that
// is an integer, a number with a point or an exponent, NaN, inf, -inf, true
// or false is a literal; any other one is a symbol. A semicolon starts a
// comment to the end of the line.
#ifndef ENCORE_OPT_EGRAPH_PROGRAM_READER_H_
#define ENCORE_OPT_EGRAPH_PROGRAM_READER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "encore/opt/egraph/program/interner.h"

namespace encore::opt::program {

enum class SexprKind : uint8_t {
  kList,
  kSymbol,
  kString,
  kInteger,
  kFloat,
  kBool
};

struct Sexpr {
  SexprKind kind;
  uint32_t offset;  // of the first byte in the text
  uint32_t end;
  // Symbol and string: id in the interner. Integer, float: the 64 bits. Bool:
  // 0 or 1. List: unused.
  uint64_t payload;
};

struct ReadError {
  uint32_t offset;
  std::string message;
};

// What Read returns: the complete top-level forms before the first error, and
// that error where there is one.
struct SexprFile {
  std::vector<Sexpr> nodes;
  std::optional<ReadError> error;
};

// REQUIRES text.size() < 2^31. Linear time.
SexprFile Read(std::string_view text, Interner* interner);

}  // namespace encore::opt::program

#endif  // ENCORE_OPT_EGRAPH_PROGRAM_READER_H_
