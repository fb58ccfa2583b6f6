#include "encore/backends/cuda/emulator/parse/operands.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "encore/backends/cuda/emulator/mma_shape.h"
#include "encore/backends/cuda/emulator/parse/variable_parser.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::ptx {
namespace {

// A width that an operand must have, or may be wider than.
struct Width {
  Type type;  // for immediates, and for messages
  int bits;
  bool relaxed = false;
};

class Reader {
 public:
  Reader(Lexer& lexer, const OpRow& row, FunctionScope& scope,
         Instruction& instruction)
      : lexer_(lexer), row_(row), scope_(scope), i_(instruction) {}

  Status Read();

 private:
  void Push(uint32_t slot) { scope_.function().operands.push_back(slot); }
  Status Comma() {
    if (first_) {
      first_ = false;
      return OkStatus();
    }
    return lexer_.Expect(',');
  }
  Width WidthOf(char letter) const;
  Status Letter(char letter);
  Status BySignature();
  StatusOr<uint32_t> Register(const Width& width);
  StatusOr<uint32_t> Value(const Width& width);
  StatusOr<uint32_t> SymbolValue(std::string_view name, const Width& width);
  StatusOr<uint32_t> Predicate(bool may_be_negated);
  Status Destination(const Width& width, bool with_predicate);
  Status Vector(size_t count, const Width& width, bool is_destination);
  Status Address();
  Status AddressBase(int which);
  Status Mov();
  Status MovVector(size_t count, bool unpack);
  Status Mma();
  Status Branch();
  Status Call();
  Status FrameNames(std::vector<CallSite::Part>* parts);
  Status WrongWidth(std::string_view name, Type type, const Width& width);

  Lexer& lexer_;
  const OpRow& row_;
  FunctionScope& scope_;
  Instruction& i_;
  bool first_ = true;
  int addresses_ = 0;
};

Width Reader::WidthOf(char letter) const {
  const int wide = i_.Has(Modifier::kWide) ? 2 : 1;
  switch (letter) {
    case 'D':
    case 'A':
      return {i_.type, BitWidth(i_.type) * wide};
    case 's':
      return {i_.source_type, BitWidth(i_.source_type)};
    case 'X':
      return {i_.source_type, BitWidth(i_.source_type), true};
    case 'x':
    case 'e':
    case 'E':
      return {i_.type, BitWidth(i_.type), true};
    case 'u':
    case 'U':
    case 'W':
    case 'M':
      return {Type::kB32, 32};
    case 'h':
      return {Type::kB64, 64};
    default:
      return {i_.type, BitWidth(i_.type)};
  }
}

Status Reader::WrongWidth(std::string_view name, Type type,
                          const Width& width) {
  return lexer_.ErrorAt(
      lexer_.peek().line,
      StrCat("register ", name, " is of type .", Name(type), ", expected ",
             width.relaxed ? "at least " : "", width.bits, " bits"));
}

StatusOr<uint32_t> Reader::Register(const Width& width) {
  ENCORE_ASSIGN_OR_RETURN(const std::string_view name,
                          lexer_.ExpectWord("a register"));
  if (name == "_") return scope_.ScratchSlot();
  const auto symbol = scope_.Find(name);
  if (!symbol.has_value() || symbol->kind != Symbol::Kind::kRegister) {
    return lexer_.ErrorAt(lexer_.peek().line,
                          StrCat("expected a register, found ", Quote(name)));
  }
  const int bits = BitWidth(symbol->type);
  const bool fits = width.relaxed ? bits >= width.bits : bits == width.bits;
  if (!fits) return WrongWidth(name, symbol->type, width);
  if (row_.operands.empty() || width.relaxed || i_.register_bytes == 0) {
    i_.register_bytes = static_cast<uint8_t>(bits / 8);
  }
  return symbol->index;
}

StatusOr<uint32_t> Reader::SymbolValue(std::string_view name,
                                       const Width& width) {
  if (const auto special = FindSpecialRegister(name)) {
    return scope_.SpecialSlotOf(*special);
  }
  const auto symbol = scope_.Find(name);
  if (!symbol.has_value()) {
    return lexer_.ErrorAt(lexer_.peek().line,
                          StrCat("nothing is called ", Quote(name)));
  }
  if (symbol->kind == Symbol::Kind::kRegister) {
    const int bits = BitWidth(symbol->type);
    const bool fits = width.relaxed ? bits >= width.bits : bits == width.bits;
    if (!fits) return WrongWidth(name, symbol->type, width);
    return symbol->index;
  }
  Constant constant;
  constant.addend = symbol->offset;
  if (symbol->kind == Symbol::Kind::kModuleVariable) {
    constant.base = Constant::Base::kModule;
    constant.variable = symbol->index;
  } else if (symbol->kind == Symbol::Kind::kFrameVariable) {
    constant.base = Constant::Base::kFrame;
  }
  if (lexer_.Accept('+')) {
    ENCORE_ASSIGN_OR_RETURN(const uint64_t addend,
                            lexer_.ExpectInteger("an offset"));
    constant.addend += addend;
  }
  return scope_.ConstantSlot(constant);
}

StatusOr<uint32_t> Reader::Value(const Width& width) {
  if (width.bits == 1) return Predicate(false);
  const bool negative = lexer_.Accept('-');
  if (lexer_.peek().kind == TokenKind::kNumber) {
    const auto bits = NumberBits(lexer_.peek().text, negative, width.type);
    if (!bits.has_value()) {
      return lexer_.Expected(StrCat("a number of type .", Name(width.type)));
    }
    lexer_.Next();
    if (width.bits > BitWidth(width.type) && negative) {
      // An addend of twice the width keeps its sign.
      const int shift = 64 - BitWidth(width.type);
      return scope_.ConstantSlot(
          static_cast<uint64_t>(static_cast<int64_t>(*bits << shift) >> shift));
    }
    return scope_.ConstantSlot(*bits);
  }
  if (negative) return lexer_.Expected("a number");
  ENCORE_ASSIGN_OR_RETURN(const std::string_view name,
                          lexer_.ExpectWord("a register or a number"));
  return SymbolValue(name, width);
}

StatusOr<uint32_t> Reader::Predicate(bool may_be_negated) {
  if (may_be_negated && lexer_.Accept('!')) i_.predicate_negated = true;
  const bool negative = lexer_.Accept('-');
  if (lexer_.peek().kind == TokenKind::kNumber) {
    ENCORE_ASSIGN_OR_RETURN(const uint64_t value,
                            lexer_.ExpectInteger("a predicate"));
    return scope_.ConstantSlot(value != 0 ? 1 : 0);
  }
  if (negative) return lexer_.Expected("a number");
  return Register({Type::kPred, 1});
}

Status Reader::Destination(const Width& width, bool with_predicate) {
  ENCORE_ASSIGN_OR_RETURN(const uint32_t slot, Register(width));
  Push(slot);
  if (!with_predicate) return OkStatus();
  if (!lexer_.Accept('|')) {
    Push(kNoSlot);
    return OkStatus();
  }
  ENCORE_ASSIGN_OR_RETURN(const uint32_t second, Register({Type::kPred, 1}));
  Push(second);
  return OkStatus();
}

Status Reader::Vector(size_t count, const Width& width, bool is_destination) {
  const bool braced = lexer_.Accept('{');
  if (!braced && count > 1) return lexer_.Expected("'{'");
  for (size_t n = 0; n < count; ++n) {
    if (n > 0) ENCORE_RETURN_IF_ERROR(lexer_.Expect(','));
    auto slot = is_destination ? Register(width) : Value(width);
    if (!slot.ok()) return slot.status();
    Push(*slot);
  }
  return braced ? lexer_.Expect('}') : OkStatus();
}

Status Reader::AddressBase(int which) {
  if (lexer_.peek().kind == TokenKind::kNumber) {
    ENCORE_ASSIGN_OR_RETURN(const uint64_t value,
                            lexer_.ExpectInteger("an address"));
    i_.offset[which] = static_cast<int64_t>(value);
    Push(scope_.ConstantSlot(0));
    return OkStatus();
  }
  ENCORE_ASSIGN_OR_RETURN(const std::string_view name,
                          lexer_.ExpectWord("a register or a variable"));
  const auto symbol = scope_.Find(name);
  if (!symbol.has_value()) {
    return lexer_.ErrorAt(lexer_.peek().line,
                          StrCat("nothing is called ", Quote(name)));
  }
  switch (symbol->kind) {
    case Symbol::Kind::kRegister:
      if (BitWidth(symbol->type) < 32) {
        return WrongWidth(name, symbol->type, {Type::kB32, 32, true});
      }
      Push(symbol->index);
      return OkStatus();
    case Symbol::Kind::kKernelParameter:
      i_.offset[which] = static_cast<int64_t>(symbol->offset);
      Push(scope_.ConstantSlot(0));
      return OkStatus();
    case Symbol::Kind::kFrameVariable:
      // Parameters of functions and calls lie in the thread's own memory.
      if (which == 0 && i_.space == Space::kParam) i_.space = Space::kLocal;
      [[fallthrough]];
    case Symbol::Kind::kModuleVariable: {
      Constant constant;
      constant.addend = symbol->offset;
      constant.variable = symbol->index;
      constant.base = symbol->kind == Symbol::Kind::kFrameVariable
                          ? Constant::Base::kFrame
                          : Constant::Base::kModule;
      const Space space = which == 0 ? i_.space : i_.source_space;
      constant.generic = space == Space::kGeneric;
      Push(scope_.ConstantSlot(constant));
      return OkStatus();
    }
  }
  return OkStatus();
}

Status Reader::Address() {
  ENCORE_RETURN_IF_ERROR(lexer_.Expect('['));
  const int which = addresses_++;
  ENCORE_RETURN_IF_ERROR(AddressBase(which));
  if (lexer_.Is('+') || lexer_.Is('-')) {
    lexer_.Accept('+');
    ENCORE_ASSIGN_OR_RETURN(const uint64_t offset,
                            lexer_.ExpectInteger("an offset"));
    i_.offset[which] =
        static_cast<int64_t>(static_cast<uint64_t>(i_.offset[which]) + offset);
  }
  return lexer_.Expect(']');
}

Status Reader::Letter(char letter) {
  const Width width = WidthOf(letter);
  switch (letter) {
    case 'd':
    case 'D':
    case 'x':
    case 'U':
      return Destination(width, false);
    case 'w':
    case 'W':
      return Destination(width, true);
    case 'p':
      return Destination({Type::kPred, 1}, false);
    case 'q':
      return Destination({Type::kPred, 1}, true);
    case 'e':
      return Vector(i_.vector, width, true);
    case 'E':
      return Vector(i_.vector, width, false);
    case 'M':
      return Vector(i_.vector, width, row_.op == Op::kLdmatrix);
    case 'm':
      return Address();
    case 'P': {
      ENCORE_ASSIGN_OR_RETURN(const uint32_t slot, Predicate(true));
      Push(slot);
      return OkStatus();
    }
    default: {
      ENCORE_ASSIGN_OR_RETURN(const uint32_t slot, Value(width));
      Push(slot);
      return OkStatus();
    }
  }
}

Status Reader::BySignature() {
  const size_t given = CountOperands(lexer_);
  const size_t required = static_cast<size_t>(
      std::ranges::count(row_.operands, size_t{1}, &std::string_view::size));
  if (given < required || given > row_.operands.size()) {
    return lexer_.ErrorAt(
        lexer_.peek().line,
        StrCat("expected ", required,
               required == row_.operands.size()
                   ? std::string()
                   : StrCat(" to ", row_.operands.size()),
               " operands of ", row_.name, ", found ", given));
  }
  size_t spare = given - required;
  for (const std::string_view operand : row_.operands) {
    if (operand.size() > 1) {
      if (spare == 0) {
        Push(kNoSlot);
        continue;
      }
      --spare;
    }
    ENCORE_RETURN_IF_ERROR(Comma());
    ENCORE_RETURN_IF_ERROR(Letter(operand[0]));
  }
  return OkStatus();
}

Status Reader::MovVector(size_t count, bool unpack) {
  const int bits = BitWidth(i_.type);
  if ((count != 2 && count != 4) || bits / static_cast<int>(count) < 8) {
    return lexer_.Expected("two or four parts of the type");
  }
  const int part = bits / static_cast<int>(count);
  const Type type = part == 8    ? Type::kB8
                    : part == 16 ? Type::kB16
                                 : Type::kB32;
  i_.op = unpack ? Op::kMovUnpack : Op::kMovPack;
  i_.vector = static_cast<uint8_t>(count);
  return Vector(count, {type, part}, unpack);
}

Status Reader::Mov() {
  const Width width = {i_.type, BitWidth(i_.type)};
  if (const size_t parts = CountBraced(lexer_); parts > 0) {
    ENCORE_RETURN_IF_ERROR(MovVector(parts, true));
    ENCORE_RETURN_IF_ERROR(lexer_.Expect(','));
    return Letter('a');
  }
  ENCORE_RETURN_IF_ERROR(Destination(width, false));
  ENCORE_RETURN_IF_ERROR(lexer_.Expect(','));
  if (const size_t parts = CountBraced(lexer_); parts > 0) {
    return MovVector(parts, false);
  }
  const auto special = FindSpecialRegister(lexer_.peek().text);
  if (special.has_value() && IsClock(*special)) {
    lexer_.Next();
    i_.op = Op::kMovClock;
    return OkStatus();
  }
  return Letter('a');
}

Status Reader::Mma() {
  const auto shape = MmaShapeOf(i_);
  if (!shape.has_value()) {
    return lexer_.ErrorAt(lexer_.peek().line,
                          "this shape and these types of mma.sync are not "
                          "executed");
  }
  for (size_t n = 0; n < 4; ++n) {
    if (n > 0) ENCORE_RETURN_IF_ERROR(lexer_.Expect(','));
    ENCORE_RETURN_IF_ERROR(Vector(static_cast<size_t>(shape->registers[n]),
                                  {Type::kB32, 32}, n == 0));
  }
  return OkStatus();
}

Status Reader::Branch() {
  const uint32_t line = lexer_.peek().line;
  if (row_.op == Op::kBrx) {
    ENCORE_RETURN_IF_ERROR(Letter('u'));
    ENCORE_RETURN_IF_ERROR(lexer_.Expect(','));
  }
  ENCORE_ASSIGN_OR_RETURN(const std::string_view label,
                          lexer_.ExpectWord("a label"));
  if (row_.op == Op::kBrx) {
    i_.target = scope_.TableNumber(label);
  } else {
    scope_.BranchTo(label, line);
  }
  return OkStatus();
}

Status Reader::FrameNames(std::vector<CallSite::Part>* parts) {
  ENCORE_RETURN_IF_ERROR(lexer_.Expect('('));
  while (!lexer_.Accept(')')) {
    if (!parts->empty()) ENCORE_RETURN_IF_ERROR(lexer_.Expect(','));
    ENCORE_ASSIGN_OR_RETURN(const std::string_view name,
                            lexer_.ExpectWord("a .param variable"));
    const auto symbol = scope_.Find(name);
    if (!symbol.has_value() || symbol->kind != Symbol::Kind::kFrameVariable) {
      return lexer_.ErrorAt(
          lexer_.peek().line,
          StrCat("expected a .param variable, found ", Quote(name)));
    }
    parts->push_back({symbol->offset, symbol->bytes});
  }
  return OkStatus();
}

Status Reader::Call() {
  CallSite site;
  site.line = lexer_.peek().line;
  if (lexer_.Is('(')) {
    ENCORE_RETURN_IF_ERROR(FrameNames(&site.results));
    ENCORE_RETURN_IF_ERROR(lexer_.Expect(','));
  }
  ENCORE_ASSIGN_OR_RETURN(const std::string_view name,
                          lexer_.ExpectWord("a function"));
  const auto callee = scope_.FindFunction(name);
  if (!callee.has_value()) {
    return lexer_.ErrorAt(
        site.line, StrCat("no function is called ", Quote(name),
                          "; calls through a register are not executed"));
  }
  site.callee = name;
  if (lexer_.Accept(',')) {
    ENCORE_RETURN_IF_ERROR(FrameNames(&site.arguments));
  }
  const Function& function = scope_.FunctionAt(*callee);
  if (function.parameters.size() != site.arguments.size() ||
      function.results.size() != site.results.size()) {
    return lexer_.ErrorAt(
        site.line, StrCat(function.name, " takes ", function.parameters.size(),
                          " parameters and gives ", function.results.size()));
  }
  i_.target = static_cast<uint32_t>(scope_.function().calls.size());
  scope_.function().calls.push_back(std::move(site));
  return OkStatus();
}

Status Reader::Read() {
  i_.first_operand = static_cast<uint32_t>(scope_.function().operands.size());
  Status status;
  switch (row_.op) {
    case Op::kMov:
      status = Mov();
      break;
    case Op::kMma:
      status = Mma();
      break;
    case Op::kBra:
    case Op::kBrx:
      status = Branch();
      break;
    case Op::kCall:
      status = Call();
      break;
    default:
      status = BySignature();
  }
  ENCORE_RETURN_IF_ERROR(status);
  i_.operand_count = static_cast<uint16_t>(scope_.function().operands.size() -
                                           i_.first_operand);
  return lexer_.Expect(';');
}

}  // namespace

Status ReadOperands(Lexer& lexer, const OpRow& row, FunctionScope& scope,
                    Instruction* instruction) {
  return Reader(lexer, row, scope, *instruction).Read();
}

}  // namespace encore::ptx
