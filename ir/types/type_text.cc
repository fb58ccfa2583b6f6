#include "encore/ir/types/type_text.h"

#include <string>
#include <tuple>
#include <utility>

#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::text {
namespace {

// Parentheses and operations may nest so deep; a Dim allows kMaxDimDepth.
constexpr int kMaxNesting = 2 * kMaxDimDepth;
// Each factor is multiplied into all before it, so that longer products would
// take time by their square.
constexpr int kMaxFactors = 256;

StatusOr<Dim> ParseSum(Lexer& lexer, const SymbolLookup& symbols, int depth);

using BinaryDim = Dim (*)(const Dim&, const Dim&);

BinaryDim OperationNamed(std::string_view name) {
  if (name == "floor_div")
    return [](const Dim& a, const Dim& b) { return FloorDiv(a, b); };
  if (name == "mod")
    return [](const Dim& a, const Dim& b) { return Mod(a, b); };
  if (name == "max")
    return [](const Dim& a, const Dim& b) { return Max(a, b); };
  if (name == "min")
    return [](const Dim& a, const Dim& b) { return Min(a, b); };
  return nullptr;
}

StatusOr<Dim> ParseFactor(Lexer& lexer, const SymbolLookup& symbols, int depth,
                          bool negative) {
  if (depth > kMaxNesting) {
    return lexer.ErrorAt(lexer.peek().offset,
                         "the operations of a dim nest too deep");
  }
  if (lexer.peek().kind == TokenKind::kNumber) {
    const Token token = lexer.peek();
    const auto value =
        ParseInt64(StrCat(negative ? "-" : "", std::string(token.text)));
    if (!value) return lexer.Expected("an integer that fits 64 bits");
    lexer.Next();
    return Dim(*value);
  }
  Dim factor;
  if (lexer.Accept("(")) {
    ENCORE_ASSIGN_OR_RETURN(factor, ParseSum(lexer, symbols, depth + 1));
    ENCORE_RETURN_IF_ERROR(lexer.Expect(")"));
  } else {
    const Token token = lexer.peek();
    ENCORE_ASSIGN_OR_RETURN(const std::string name,
                            lexer.ExpectName("a dim: an integer or a symbol"));
    const BinaryDim operation = OperationNamed(name);
    if (operation != nullptr && lexer.Accept("(")) {
      ENCORE_ASSIGN_OR_RETURN(const Dim a, ParseSum(lexer, symbols, depth + 1));
      ENCORE_RETURN_IF_ERROR(lexer.Expect(","));
      ENCORE_ASSIGN_OR_RETURN(const Dim b, ParseSum(lexer, symbols, depth + 1));
      ENCORE_RETURN_IF_ERROR(lexer.Expect(")"));
      factor = operation(a, b);
    } else {
      StatusOr<uint32_t> symbol = symbols(name);
      if (!symbol.ok()) {
        return lexer.ErrorAt(token.offset, Message(symbol.status()));
      }
      factor = Dim::OfSymbol(*symbol);
    }
  }
  return negative ? Dim(-1) * factor : factor;
}

StatusOr<Dim> ParseProduct(Lexer& lexer, const SymbolLookup& symbols, int depth,
                           bool negative) {
  ENCORE_ASSIGN_OR_RETURN(Dim product,
                          ParseFactor(lexer, symbols, depth, negative));
  for (int factors = 2; lexer.Accept("*"); ++factors) {
    if (factors > kMaxFactors) {
      return lexer.ErrorAt(
          lexer.peek().offset,
          StrCat("a product of more than ", kMaxFactors, " factors"));
    }
    const bool minus = lexer.Accept("-");
    ENCORE_ASSIGN_OR_RETURN(const Dim factor,
                            ParseFactor(lexer, symbols, depth, minus));
    product = product * factor;
  }
  return product;
}

StatusOr<Dim> ParseSum(Lexer& lexer, const SymbolLookup& symbols, int depth) {
  const bool minus = lexer.Accept("-");
  ENCORE_ASSIGN_OR_RETURN(Dim sum, ParseProduct(lexer, symbols, depth, minus));
  while (lexer.Is("+") || lexer.Is("-")) {
    const bool negative = lexer.Next().text == "-";
    ENCORE_ASSIGN_OR_RETURN(const Dim term,
                            ParseProduct(lexer, symbols, depth, negative));
    sum = sum + term;
  }
  return sum;
}

}  // namespace

StatusOr<Dim> ParseDim(Lexer& lexer, const SymbolLookup& symbols) {
  const size_t offset = lexer.peek().offset;
  ENCORE_ASSIGN_OR_RETURN(Dim dim, ParseSum(lexer, symbols, 0));
  if (!dim.valid()) {
    return lexer.ErrorAt(offset, "an invalid dim, or one too large");
  }
  return dim;
}

StatusOr<std::vector<Dim>> ParseDims(Lexer& lexer,
                                     const SymbolLookup& symbols) {
  ENCORE_RETURN_IF_ERROR(lexer.Expect("["));
  std::vector<Dim> dims;
  if (lexer.Accept("]")) return dims;
  do {
    ENCORE_ASSIGN_OR_RETURN(Dim dim, ParseDim(lexer, symbols));
    dims.push_back(std::move(dim));
  } while (lexer.Accept(","));
  ENCORE_RETURN_IF_ERROR(lexer.Expect("]"));
  return dims;
}

StatusOr<DType> ParseDTypeName(Lexer& lexer) {
  const auto dtype = lexer.peek().kind == TokenKind::kName
                         ? ParseDType(lexer.peek().text)
                         : std::nullopt;
  if (!dtype) return lexer.Expected("a dtype");
  lexer.Next();
  return *dtype;
}

StatusOr<TensorType> ParseType(Lexer& lexer, const SymbolLookup& symbols) {
  TensorType type;
  int open = 0;
  for (const auto& [name, kind, inside] :
       {std::tuple{"optional", ValueKind::kOptional, ValueKind::kTensor},
        std::tuple{"sequence", ValueKind::kSequence,
                   ValueKind::kOptionalSequence}}) {
    if (!lexer.AcceptName(name)) continue;
    type.kind = open == 0 ? kind : inside;
    ENCORE_RETURN_IF_ERROR(lexer.Expect("<"));
    ++open;
  }
  ENCORE_ASSIGN_OR_RETURN(type.dtype, ParseDTypeName(lexer));
  if (open == 0) {
    ENCORE_ASSIGN_OR_RETURN(std::vector<Dim> dims, ParseDims(lexer, symbols));
    type.shape = Shape(std::move(dims));
  }
  for (; open > 0; --open) ENCORE_RETURN_IF_ERROR(lexer.Expect(">"));
  return type;
}

}  // namespace encore::text
