#include "encore/backends/cuda/emulator/parse/parser.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "encore/backends/cuda/emulator/parse/function_parser.h"
#include "encore/backends/cuda/emulator/parse/lexer.h"
#include "encore/backends/cuda/emulator/parse/scope.h"
#include "encore/backends/cuda/emulator/parse/variable_parser.h"
#include "encore/ir/support/parse_number.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::ptx {
namespace {

constexpr uint64_t kMostVariableBytes = uint64_t{256} << 20;

class ModuleParser {
 public:
  explicit ModuleParser(std::string_view text) : lexer_(text) {}

  StatusOr<Module> Parse();

 private:
  Status Head();
  Status Directive();
  Status Global(Space space);
  Status Callable(bool is_kernel);
  StatusOr<std::vector<Parameter>> Parameters();
  Status Bounds(Function* function);
  Status Place(Function* function);
  StatusOr<uint32_t> AddFunction(Function function);
  Status SkipSection();
  Status SkipFile();

  FindVariable Finder() const {
    return [this](std::string_view name) -> std::optional<uint32_t> {
      const auto found = names_.variables.find(std::string(name));
      if (found == names_.variables.end()) return std::nullopt;
      return found->second;
    };
  }

  Lexer lexer_;
  Module module_;
  ModuleNames names_;
  uint64_t variable_bytes_ = 0;
};

Status ModuleParser::Head() {
  if (!lexer_.AcceptWord(".version")) return lexer_.Expected(".version");
  const std::string_view number = lexer_.peek().text;
  const size_t dot = number.find('.');
  const auto major = ParseNumber<int>(number.substr(0, dot));
  const auto minor = dot == std::string_view::npos
                         ? std::nullopt
                         : ParseNumber<int>(number.substr(dot + 1));
  if (!major.has_value() || !minor.has_value() || *major > 99 || *minor > 9) {
    return lexer_.Expected("a version as 9.0");
  }
  module_.version = *major * 10 + *minor;
  lexer_.Next();
  if (!lexer_.AcceptWord(".target")) return lexer_.Expected(".target");
  ENCORE_ASSIGN_OR_RETURN(const std::string_view target,
                          lexer_.ExpectWord("a target as sm_80"));
  if (!target.starts_with("sm_")) {
    return lexer_.ErrorAt(
        lexer_.peek().line,
        StrCat("expected a target as sm_80, found ", Quote(target)));
  }
  module_.target = target;
  while (lexer_.Accept(',')) {
    ENCORE_RETURN_IF_ERROR(
        lexer_.ExpectWord("an option of the target").status());
  }
  if (!lexer_.AcceptWord(".address_size")) {
    return lexer_.Expected(".address_size");
  }
  ENCORE_ASSIGN_OR_RETURN(const uint64_t bits, lexer_.ExpectInteger("64"));
  if (bits == 64) return OkStatus();
  return lexer_.ErrorAt(lexer_.peek().line, "addresses have 64 bits only");
}

Status ModuleParser::Global(Space space) {
  ENCORE_ASSIGN_OR_RETURN(Declaration declared,
                          ParseDeclaration(lexer_, Finder()));
  Variable variable;
  variable.name = declared.name;
  variable.space = space;
  variable.bytes = declared.bytes;
  variable.alignment = declared.alignment;
  variable.external = declared.unsized;
  variable.value = std::move(declared.value);
  variable.pointers = std::move(declared.pointers);
  variable.line = declared.line;
  if (space == Space::kShared && !variable.value.empty()) {
    return lexer_.ErrorAt(declared.line, "shared memory has no first value");
  }
  if (space != Space::kShared && variable.external) {
    return lexer_.ErrorAt(declared.line,
                          StrCat("variable ", variable.name, " has no size"));
  }
  variable_bytes_ += variable.bytes;
  if (variable_bytes_ > kMostVariableBytes) {
    return lexer_.ErrorAt(declared.line, "the variables are over 256 MiB");
  }
  const auto index = static_cast<uint32_t>(module_.variables.size());
  if (!names_.variables.emplace(variable.name, index).second) {
    return lexer_.ErrorAt(declared.line,
                          StrCat(variable.name, " is declared twice"));
  }
  module_.variables.push_back(std::move(variable));
  return lexer_.Expect(';');
}

StatusOr<std::vector<Parameter>> ModuleParser::Parameters() {
  std::vector<Parameter> parameters;
  ENCORE_RETURN_IF_ERROR(lexer_.Expect('('));
  while (!lexer_.Accept(')')) {
    if (!parameters.empty()) ENCORE_RETURN_IF_ERROR(lexer_.Expect(','));
    if (!lexer_.AcceptWord(".param")) return lexer_.Expected(".param");
    ENCORE_ASSIGN_OR_RETURN(Declaration declared,
                            ParseDeclaration(lexer_, Finder()));
    if (declared.unsized || !declared.value.empty()) {
      return lexer_.ErrorAt(declared.line,
                            "a parameter has a size and no value");
    }
    parameters.push_back(
        {std::move(declared.name), declared.bytes, declared.alignment, 0});
  }
  return parameters;
}

// Launch bounds and other things said between head and body.
Status ModuleParser::Bounds(Function* function) {
  while (lexer_.peek().kind == TokenKind::kWord) {
    const std::string_view word = lexer_.Next().text;
    if (word == ".noreturn" || word == ".explicitcluster" ||
        word == ".blocksareclusters") {
      continue;
    }
    if (word == ".pragma") {
      lexer_.Next();
      ENCORE_RETURN_IF_ERROR(lexer_.Expect(';'));
      continue;
    }
    const bool threads = word == ".maxntid" || word == ".reqntid";
    if (!threads && word != ".minnctapersm" && word != ".maxnreg" &&
        word != ".reqnctapercluster" && word != ".maxclusterrank") {
      return lexer_.ErrorAt(
          lexer_.peek().line,
          StrCat("unknown directive of a function ", Quote(word)));
    }
    std::vector<uint64_t> numbers;
    do {
      ENCORE_ASSIGN_OR_RETURN(const uint64_t number,
                              lexer_.ExpectInteger("a number"));
      if (number == 0 || number > std::numeric_limits<uint16_t>::max()) {
        return lexer_.ErrorAt(lexer_.peek().line,
                              "the number is not in 1 to 65535");
      }
      numbers.push_back(number);
    } while (numbers.size() < 3 && lexer_.Accept(','));
    if (!threads) continue;
    numbers.resize(3, 1);
    if (word == ".reqntid") {
      std::ranges::copy(numbers, function->required_threads.begin());
    } else {
      function->most_threads = static_cast<uint32_t>(std::min<uint64_t>(
          numbers[0] * numbers[1] * numbers[2], uint64_t{1} << 31));
    }
  }
  return OkStatus();
}

// Offsets of parameters: of a kernel in its parameter buffer, else in the
// frame.
Status ModuleParser::Place(Function* function) {
  uint64_t end = 0;
  for (auto* list : {&function->parameters, &function->results}) {
    for (Parameter& parameter : *list) {
      end = (end + parameter.alignment - 1) / parameter.alignment *
            parameter.alignment;
      parameter.offset = end;
      end += parameter.bytes;
      function->frame_alignment =
          std::max(function->frame_alignment, parameter.alignment);
      if (end > 32764) {
        return lexer_.ErrorAt(function->line,
                              StrCat("the parameters of ", function->name,
                                     " are over 32764 bytes"));
      }
    }
  }
  if (function->is_kernel) {
    function->parameter_bytes = end;
  } else {
    function->frame_bytes = end;
  }
  return OkStatus();
}

StatusOr<uint32_t> ModuleParser::AddFunction(Function function) {
  const auto next = static_cast<uint32_t>(module_.functions.size());
  const auto [entry, added] = names_.functions.emplace(function.name, next);
  if (added) {
    module_.functions.push_back(std::move(function));
    return next;
  }
  const Function& earlier = module_.functions[entry->second];
  const bool same = earlier.parameters.size() == function.parameters.size() &&
                    earlier.results.size() == function.results.size() &&
                    earlier.is_kernel == function.is_kernel;
  if (earlier.defined || !same) {
    return lexer_.ErrorAt(function.line,
                          StrCat("function ", function.name,
                                 " is declared in two ways, or defined twice"));
  }
  module_.functions[entry->second] = std::move(function);
  return entry->second;
}

Status ModuleParser::Callable(bool is_kernel) {
  Function function;
  function.is_kernel = is_kernel;
  if (!is_kernel && lexer_.Is('(')) {
    ENCORE_ASSIGN_OR_RETURN(function.results, Parameters());
  }
  function.line = lexer_.peek().line;
  ENCORE_ASSIGN_OR_RETURN(const std::string_view name,
                          lexer_.ExpectWord("the name of a function"));
  function.name = name;
  if (lexer_.Is('(')) {
    ENCORE_ASSIGN_OR_RETURN(function.parameters, Parameters());
  }
  ENCORE_RETURN_IF_ERROR(Bounds(&function));
  ENCORE_RETURN_IF_ERROR(Place(&function));
  ENCORE_ASSIGN_OR_RETURN(const uint32_t index,
                          AddFunction(std::move(function)));
  if (lexer_.Accept(';')) return OkStatus();
  module_.functions[index].defined = true;
  return ParseBody(lexer_, names_, index, &module_);
}

Status ModuleParser::SkipSection() {
  ENCORE_RETURN_IF_ERROR(lexer_.ExpectWord("the name of a section").status());
  ENCORE_RETURN_IF_ERROR(lexer_.Expect('{'));
  size_t depth = 1;
  while (depth > 0) {
    if (lexer_.peek().kind == TokenKind::kEnd) return lexer_.Expected("'}'");
    if (lexer_.Is('{')) ++depth;
    if (lexer_.Is('}')) --depth;
    lexer_.Next();
  }
  return OkStatus();
}

// .file 1 "name" [, time, size]
Status ModuleParser::SkipFile() {
  ENCORE_RETURN_IF_ERROR(lexer_.ExpectInteger("a number").status());
  if (lexer_.peek().kind != TokenKind::kString)
    return lexer_.Expected("a name");
  lexer_.Next();
  while (lexer_.Accept(',')) {
    ENCORE_RETURN_IF_ERROR(lexer_.ExpectInteger("a number").status());
  }
  return OkStatus();
}

Status ModuleParser::Directive() {
  if (lexer_.peek().kind != TokenKind::kWord) {
    return lexer_.Expected("a directive");
  }
  const Token token = lexer_.Next();
  const std::string_view word = token.text;
  if (word == ".visible" || word == ".weak" || word == ".extern" ||
      word == ".common") {
    return OkStatus();
  }
  if (word == ".entry") return Callable(true);
  if (word == ".func") return Callable(false);
  if (word == ".global") return Global(Space::kGlobal);
  if (word == ".const") return Global(Space::kConst);
  if (word == ".shared") return Global(Space::kShared);
  if (word == ".file") return SkipFile();
  if (word == ".section") return SkipSection();
  if (word == ".pragma") {
    lexer_.Next();
    return lexer_.Expect(';');
  }
  return lexer_.ErrorAt(token.line, StrCat("unknown directive ", Quote(word)));
}

StatusOr<Module> ModuleParser::Parse() {
  ENCORE_RETURN_IF_ERROR(Head());
  while (lexer_.peek().kind != TokenKind::kEnd) {
    ENCORE_RETURN_IF_ERROR(Directive());
  }
  return std::move(module_);
}

}  // namespace

StatusOr<Module> ParseModule(std::string_view text) {
  return ModuleParser(text).Parse();
}

}  // namespace encore::ptx
