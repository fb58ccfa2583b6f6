#include "encore/backends/cuda/emulator/parse/function_parser.h"

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "encore/backends/cuda/emulator/opcodes.h"
#include "encore/backends/cuda/emulator/ops/handlers.h"
#include "encore/backends/cuda/emulator/parse/operands.h"
#include "encore/backends/cuda/emulator/parse/variable_parser.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::ptx {
namespace {

constexpr uint64_t kMostRegisters = 1 << 20;
constexpr size_t kMostDepth = 256;
constexpr uint64_t kMostFrameBytes = uint64_t{512} << 10;

class BodyParser {
 public:
  BodyParser(Lexer& lexer, const ModuleNames& names, Module& module,
             uint32_t function)
      : lexer_(lexer),
        module_(module),
        names_(names),
        scope_(module, names, &module.functions[function]) {}

  Status Parse();

 private:
  Status DeclareParameters();
  Status Statement();
  Status Directive(std::string_view word);
  Status Registers();
  Status Local(bool is_parameter);
  Status Shared();
  Status BranchTargets(std::string_view label);
  Status Instruct(Token word);
  Status Words(const Token& word, const OpRow** row, Instruction* out);
  Status Finish(const OpRow& row, Instruction* out);

  FindVariable Finder() const {
    return [this](std::string_view name) -> std::optional<uint32_t> {
      const auto found = names_.variables.find(std::string(name));
      if (found == names_.variables.end()) return std::nullopt;
      return found->second;
    };
  }

  Lexer& lexer_;
  Module& module_;
  const ModuleNames& names_;
  FunctionScope scope_;
};

Status BodyParser::DeclareParameters() {
  Function& function = scope_.function();
  for (auto* list : {&function.parameters, &function.results}) {
    for (const Parameter& parameter : *list) {
      Symbol symbol;
      symbol.kind = function.is_kernel ? Symbol::Kind::kKernelParameter
                                       : Symbol::Kind::kFrameVariable;
      symbol.offset = parameter.offset;
      symbol.bytes = parameter.bytes;
      if (!scope_.Declare(parameter.name, symbol)) {
        return lexer_.ErrorAt(
            function.line,
            StrCat("two parameters are called ", Quote(parameter.name)));
      }
    }
  }
  return OkStatus();
}

Status BodyParser::Registers() {
  const std::string_view word = lexer_.peek().text;
  const auto type =
      word.starts_with('.') ? FindType(word.substr(1)) : std::nullopt;
  if (!type.has_value()) return lexer_.Expected("a type");
  lexer_.Next();
  do {
    ENCORE_ASSIGN_OR_RETURN(const std::string_view name,
                            lexer_.ExpectWord("a register"));
    bool added;
    if (lexer_.Accept('<')) {
      ENCORE_ASSIGN_OR_RETURN(const uint64_t count,
                              lexer_.ExpectInteger("a number of registers"));
      if (count > kMostRegisters) {
        return lexer_.ErrorAt(lexer_.peek().line,
                              "more than 1048576 registers");
      }
      ENCORE_RETURN_IF_ERROR(lexer_.Expect('>'));
      added = scope_.DeclareRegisters(std::string(name), count, *type);
    } else {
      added = scope_.DeclareRegister(std::string(name), *type);
    }
    if (!added) {
      return lexer_.ErrorAt(lexer_.peek().line,
                            StrCat("register ", name, " is declared twice"));
    }
  } while (lexer_.Accept(','));
  return lexer_.Expect(';');
}

Status BodyParser::Local(bool is_parameter) {
  ENCORE_ASSIGN_OR_RETURN(Declaration declared,
                          ParseDeclaration(lexer_, Finder()));
  if (declared.unsized || !declared.value.empty()) {
    return lexer_.ErrorAt(declared.line,
                          StrCat(is_parameter ? "parameter " : "variable ",
                                 declared.name, " needs a size and no value"));
  }
  Symbol symbol;
  symbol.kind = Symbol::Kind::kFrameVariable;
  symbol.bytes = declared.bytes;
  symbol.offset = scope_.AddToFrame(declared.bytes, declared.alignment);
  if (scope_.function().frame_bytes > kMostFrameBytes) {
    return lexer_.ErrorAt(declared.line,
                          "a thread's local memory is over 512 KiB");
  }
  if (!scope_.Declare(declared.name, symbol)) {
    return lexer_.ErrorAt(declared.line,
                          StrCat(declared.name, " is declared twice"));
  }
  return lexer_.Expect(';');
}

Status BodyParser::Shared() {
  ENCORE_ASSIGN_OR_RETURN(Declaration declared,
                          ParseDeclaration(lexer_, Finder()));
  if (!declared.value.empty()) {
    return lexer_.ErrorAt(declared.line, "shared memory has no first value");
  }
  Variable variable;
  variable.name = declared.name;
  variable.space = Space::kShared;
  variable.bytes = declared.bytes;
  variable.alignment = declared.alignment;
  variable.external = declared.unsized;
  variable.line = declared.line;
  Symbol symbol;
  symbol.kind = Symbol::Kind::kModuleVariable;
  symbol.index = static_cast<uint32_t>(module_.variables.size());
  module_.variables.push_back(std::move(variable));
  if (!scope_.Declare(declared.name, symbol)) {
    return lexer_.ErrorAt(declared.line,
                          StrCat(declared.name, " is declared twice"));
  }
  return lexer_.Expect(';');
}

Status BodyParser::BranchTargets(std::string_view label) {
  const uint32_t table = scope_.TableNumber(label);
  if (!scope_.function().branch_tables[table].empty()) {
    return lexer_.ErrorAt(lexer_.peek().line,
                          StrCat("table ", label, " is declared twice"));
  }
  do {
    const uint32_t line = lexer_.peek().line;
    ENCORE_ASSIGN_OR_RETURN(const std::string_view target,
                            lexer_.ExpectWord("a label"));
    scope_.AddTableEntry(table, target, line);
  } while (lexer_.Accept(','));
  return lexer_.Expect(';');
}

Status BodyParser::Directive(std::string_view word) {
  if (word == ".reg") return Registers();
  if (word == ".local") return Local(false);
  if (word == ".param") return Local(true);
  if (word == ".shared") return Shared();
  if (word == ".loc") {
    // .loc file line column [, function_name label [+ n], inlined_at …]
    const uint32_t line = lexer_.peek().line;
    while (lexer_.peek().kind != TokenKind::kEnd &&
           lexer_.peek().line == line) {
      lexer_.Next();
    }
    return OkStatus();
  }
  if (word == ".pragma") {
    if (lexer_.peek().kind != TokenKind::kString) {
      return lexer_.Expected("a string");
    }
    lexer_.Next();
    return lexer_.Expect(';');
  }
  return lexer_.ErrorAt(
      lexer_.peek().line,
      StrCat("expected a directive of a function body, found ", Quote(word)));
}

// Types and modifiers of the words behind the name.
Status BodyParser::Words(const Token& word, const OpRow** row,
                         Instruction* out) {
  const std::vector<std::string_view> words = StrSplit(word.text, '.');
  *row = FindOp(words);
  if (*row == nullptr) {
    return lexer_.ErrorAt(word.line,
                          StrCat("unknown instruction ", Quote(words[0])));
  }
  std::vector<Type> types;
  for (const std::string_view part :
       std::span(words).subspan(static_cast<size_t>((*row)->words))) {
    if (const auto type = FindType(part)) {
      types.push_back(*type);
      continue;
    }
    const auto modifier = FindModifier(part);
    if (!modifier.has_value()) {
      return lexer_.ErrorAt(word.line, StrCat("unknown type or modifier ",
                                              Quote(part), " of ", word.text));
    }
    if (!(*row)->allowed[static_cast<size_t>(*modifier)]) {
      return lexer_.ErrorAt(
          word.line, StrCat((*row)->name, " takes no modifier ", Quote(part)));
    }
    out->modifiers.set(static_cast<size_t>(*modifier));
  }
  // cvt.pack has a third type, .b32, where it has a third operand.
  const bool third =
      (*row)->op == Op::kCvtPack && types.size() == 3 && types[2] == Type::kB32;
  if (third) types.pop_back();
  if (types.size() != static_cast<size_t>((*row)->types)) {
    return lexer_.ErrorAt(word.line,
                          StrCat("expected ", (*row)->types, " types of ",
                                 (*row)->name, ", found ", types.size()));
  }
  if (types.empty()) return OkStatus();
  out->type = types.front();
  out->source_type = types.back();
  if (types.size() == 4) {  // mma: d, a, b, c
    if (types[3] != types[0]) {
      return lexer_.ErrorAt(word.line,
                            "accumulators of two types are not executed");
    }
    out->source_type = types[1];
    out->second_type = types[2];
  }
  return OkStatus();
}

Space SpaceOf(const Instruction& i) {
  using enum Modifier;
  if (i.Has(kShared) || i.Has(kSharedCta)) return Space::kShared;
  if (i.Has(kGlobal)) return Space::kGlobal;
  if (i.Has(kLocal)) return Space::kLocal;
  if (i.Has(kConst)) return Space::kConst;
  if (i.Has(kParam) || i.Has(kParamEntry) || i.Has(kParamFunc)) {
    return Space::kParam;
  }
  return Space::kGeneric;
}

uint8_t VectorOf(const Instruction& i) {
  using enum Modifier;
  if (i.Has(kV2) || i.Has(kX2)) return 2;
  if (i.Has(kV4) || i.Has(kX4)) return 4;
  return i.Has(kV8) ? 8 : 1;
}

Status BodyParser::Finish(const OpRow& row, Instruction* out) {
  const uint32_t line = out->line;
  out->op = row.op;
  out->instruction_class = row.instruction_class;
  if (IsFloat(out->type) &&
      out->instruction_class == InstructionClass::kInteger) {
    out->instruction_class = InstructionClass::kFloat;
  }
  out->space = SpaceOf(*out);
  out->source_space = Space::kGlobal;  // of cp.async, the only one with two
  out->vector = VectorOf(*out);
  ENCORE_RETURN_IF_ERROR(ReadOperands(lexer_, row, scope_, out));
  out->handler = SelectHandler(*out);
  if (out->handler == nullptr) {
    return lexer_.ErrorAt(line, StrCat("these types and modifiers of ",
                                       row.name, " are not executed"));
  }
  scope_.function().code.push_back(*out);
  return OkStatus();
}

Status BodyParser::Instruct(Token word) {
  Instruction out;
  out.line = word.line;
  const OpRow* row = nullptr;
  ENCORE_RETURN_IF_ERROR(Words(word, &row, &out));
  return Finish(*row, &out);
}

Status BodyParser::Statement() {
  if (lexer_.Accept('@')) {
    Instruction out;
    out.line = lexer_.peek().line;
    out.guard_negated = lexer_.Accept('!');
    ENCORE_ASSIGN_OR_RETURN(const std::string_view name,
                            lexer_.ExpectWord("a predicate"));
    const auto symbol = scope_.Find(name);
    if (!symbol.has_value() || symbol->kind != Symbol::Kind::kRegister ||
        symbol->type != Type::kPred) {
      return lexer_.ErrorAt(
          out.line, StrCat("expected a predicate, found ", Quote(name)));
    }
    out.guard = symbol->index;
    if (lexer_.peek().kind != TokenKind::kWord) {
      return lexer_.Expected("an instruction");
    }
    const OpRow* row = nullptr;
    const Token word = lexer_.Next();
    ENCORE_RETURN_IF_ERROR(Words(word, &row, &out));
    return Finish(*row, &out);
  }
  if (lexer_.Accept(';')) return OkStatus();
  if (lexer_.peek().kind != TokenKind::kWord) {
    return lexer_.Expected("an instruction, a declaration or a label");
  }
  const Token word = lexer_.Next();
  if (word.text.starts_with('.')) return Directive(word.text);
  if (!lexer_.Accept(':')) return Instruct(word);
  if (lexer_.AcceptWord(".branchtargets")) return BranchTargets(word.text);
  if (!scope_.DefineLabel(word.text)) {
    return lexer_.ErrorAt(word.line,
                          StrCat("label ", word.text, " stands twice"));
  }
  return OkStatus();
}

Status BodyParser::Parse() {
  ENCORE_RETURN_IF_ERROR(lexer_.Expect('{'));
  scope_.Push();
  ENCORE_RETURN_IF_ERROR(DeclareParameters());
  while (scope_.depth() > 0) {
    if (lexer_.Accept('{')) {
      if (scope_.depth() >= kMostDepth) {
        return lexer_.ErrorAt(lexer_.peek().line, "over 256 nested braces");
      }
      scope_.Push();
      continue;
    }
    if (!lexer_.Is('}')) {
      ENCORE_RETURN_IF_ERROR(Statement());
      continue;
    }
    lexer_.Next();
    if (scope_.depth() == 1) {
      // Running off the end returns; labels may stand there.
      Instruction end;
      end.op = Op::kRet;
      end.line = lexer_.peek().line;
      end.handler = SelectHandler(end);
      scope_.function().code.push_back(end);
    }
    if (const auto unknown = scope_.Pop()) {
      return lexer_.ErrorAt(
          unknown->first, StrCat("label ", unknown->second, " stands nowhere"));
    }
  }
  for (const auto& table : scope_.function().branch_tables) {
    if (table.empty()) {
      return lexer_.ErrorAt(scope_.function().line,
                            "brx.idx names a table that is declared nowhere");
    }
  }
  return OkStatus();
}

}  // namespace

Status ParseBody(Lexer& lexer, const ModuleNames& names, uint32_t function,
                 Module* module) {
  return BodyParser(lexer, names, *module, function).Parse();
}

}  // namespace encore::ptx
