#include "encore/opt/tensor/rule_text.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "encore/ir/support/lexer.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/text/attribute_text.h"
#include "encore/opt/tensor/composites/decomposition_pattern.h"

namespace encore::opt {
namespace {

using text::Lexer;
using text::Token;
using text::TokenKind;

// Terms nest at most this deep.
constexpr int kMaxDepth = 32;
constexpr std::string_view kTags[] = {"exact", "definition", "reassociating",
                                      "finite_math"};

// Primitives that compute each element from the elements in its place.
std::vector<Op> ElementwiseOps(int operands) {
  std::vector<Op> ops;
  for (const OpInfo& info : AllOps()) {
    const Signature& signature = info.signature();
    if (info.level == OpLevel::kPrimitive && info.has(kElementwise) &&
        !info.has(kNonFlatValues) && !signature.variadic_operands &&
        static_cast<int>(signature.operands.size()) == operands) {
      ops.push_back(info.op);
    }
  }
  return ops;
}

// Primitives that never decrease where their operand increases, and are numbers
// wherever it is.
std::vector<Op> IncreasingOps() {
  return {Op::kAsinh, Op::kAtan, Op::kCbrt,     Op::kCeil,
          Op::kErf,   Op::kExp,  Op::kExpm1,    Op::kFloor,
          Op::kRound, Op::kSinh, Op::kLogistic, Op::kTanh};
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text), lexer_(text) {}

  StatusOr<std::vector<TextRule>> Parse() {
    std::vector<TextRule> rules;
    while (lexer_.peek().kind != TokenKind::kEnd) {
      ENCORE_RETURN_IF_ERROR(ParseRule(&rules));
    }
    return rules;
  }

 private:
  // The lines of comment right above the line of `offset`.
  std::string AlgebraAbove(size_t offset) const {
    std::string algebra;
    size_t end = text_.substr(0, offset).rfind('\n');
    while (end != std::string_view::npos) {
      const size_t before = text_.substr(0, end).rfind('\n');
      const size_t begin = before == std::string_view::npos ? 0 : before + 1;
      const std::string_view line = text_.substr(begin, end - begin);
      if (!line.starts_with("// ")) break;
      algebra = algebra.empty() ? std::string(line.substr(3))
                                : StrCat(line.substr(3), "\n", algebra);
      end = before;
    }
    return algebra;
  }

  Status ParseRule(std::vector<TextRule>* rules) {
    rule_ = TextRule();
    range_name_.clear();
    const size_t offset = lexer_.peek().offset;
    rule_.algebra = AlgebraAbove(offset);
    if (!lexer_.AcceptName("rule")) return lexer_.Expected("'rule'");
    ENCORE_ASSIGN_OR_RETURN(rule_.name, lexer_.ExpectName("a rule's name"));
    if (rule_.algebra.empty()) {
      return lexer_.ErrorAt(offset, StrCat("rule ", rule_.name,
                                           " needs its algebra in a line of "
                                           "comment above it"));
    }
    ENCORE_RETURN_IF_ERROR(ParseTag());
    ENCORE_RETURN_IF_ERROR(ParseRange());
    ENCORE_RETURN_IF_ERROR(lexer_.Expect("{"));
    ENCORE_RETURN_IF_ERROR(ParseSides(&rule_.left));
    const bool both = lexer_.Accept("<");
    ENCORE_RETURN_IF_ERROR(lexer_.Expect("->"));
    if (lexer_.AcceptName("decomposition")) {
      RuleTerm term;
      term.decomposition = true;
      rule_.right.push_back({.name = "", .term = AddTerm(std::move(term))});
    } else {
      ENCORE_RETURN_IF_ERROR(ParseSides(&rule_.right));
    }
    while (lexer_.AcceptName("where")) ENCORE_RETURN_IF_ERROR(ParseClause());
    ENCORE_RETURN_IF_ERROR(lexer_.Expect("}"));
    return AddRule(offset, both, rules);
  }

  Status AddRule(size_t offset, bool both, std::vector<TextRule>* rules) {
    const bool lone = rule_.left.size() == 1 && rule_.right.size() == 1 &&
                      rule_.left[0].name.empty() && rule_.right[0].name.empty();
    for (const auto* sides : {&rule_.left, &rule_.right}) {
      for (const RuleSide& side : *sides) {
        if (!lone && side.name.empty()) {
          return lexer_.ErrorAt(
              offset, StrCat("rule ", rule_.name,
                             " has several sides, which all need names"));
        }
      }
    }
    TextRule back;
    if (rule_.terms[rule_.right[0].term].decomposition) {
      ENCORE_RETURN_IF_ERROR(CheckDecomposition(offset));
      rule_.decomposed = OpsOfDecomposition(rule_);
      if (both) {
        ENCORE_ASSIGN_OR_RETURN(back, RecognitionOf(rule_));
      }
    } else if (both) {
      back = rule_;
      std::swap(back.left, back.right);
    }
    back.name = StrCat(rule_.name, "_back");
    rules->push_back(std::move(rule_));
    if (both) rules->push_back(std::move(back));
    for (size_t i = rules->size() - (both ? 2 : 1); i < rules->size(); ++i) {
      if (names_.insert((*rules)[i].name).second) continue;
      return lexer_.ErrorAt(offset,
                            StrCat("a second rule called ", (*rules)[i].name));
    }
    return OkStatus();
  }

  // A decomposition is that of one composite, of variables.
  Status CheckDecomposition(size_t offset) const {
    const RuleTerm& left = rule_.terms[rule_.left[0].term];
    const bool of_variables =
        std::ranges::all_of(left.operands, [&](uint32_t operand) {
          return !rule_.terms[operand].variable.empty();
        });
    if (rule_.left.size() == 1 && left.variable.empty() && !left.ranged &&
        Info(left.op).level == OpLevel::kComposite && of_variables &&
        rule_.tag == RuleTag::kDefinition) {
      return OkStatus();
    }
    return lexer_.ErrorAt(
        offset, StrCat("rule ", rule_.name,
                       ": a decomposition is the definition of one composite "
                       "of variables"));
  }

  Status ParseTag() {
    const size_t offset = lexer_.peek().offset;
    ENCORE_ASSIGN_OR_RETURN(const std::string tag, lexer_.ExpectName("a tag"));
    const auto it = std::ranges::find(kTags, tag);
    if (it == std::end(kTags)) {
      return lexer_.ErrorAt(offset, StrCat("no tag is called ", Quote(tag),
                                           "; there are exact, definition, "
                                           "reassociating, finite_math"));
    }
    rule_.tag = static_cast<RuleTag>(it - std::begin(kTags));
    return OkStatus();
  }

  Status ParseRange() {
    if (!lexer_.AcceptName("for")) return OkStatus();
    ENCORE_ASSIGN_OR_RETURN(range_name_,
                            lexer_.ExpectName("an operator's name"));
    if (!lexer_.AcceptName("in")) return lexer_.Expected("'in'");
    const size_t offset = lexer_.peek().offset;
    ENCORE_ASSIGN_OR_RETURN(const std::string set, lexer_.ExpectName("a set"));
    constexpr std::string_view kSets[] = {"unary", "binary", "ternary",
                                          "increasing"};
    const auto it = std::ranges::find(kSets, set);
    if (it == std::end(kSets)) {
      return lexer_.ErrorAt(offset, StrCat("no set is called ", Quote(set),
                                           "; there are unary, binary, "
                                           "ternary, increasing"));
    }
    const auto number = static_cast<int>(it - std::begin(kSets));
    rule_.range = number == 3 ? IncreasingOps() : ElementwiseOps(number + 1);
    rule_.set = set;
    return OkStatus();
  }

  Status ParseSides(std::vector<RuleSide>* sides) {
    do {
      RuleSide side;
      Lexer ahead = lexer_;
      const Token first = ahead.Next();
      if (first.kind == TokenKind::kValue && ahead.Accept("=")) {
        side.name = first.text;
        lexer_ = ahead;
      }
      ENCORE_ASSIGN_OR_RETURN(side.term, ParseTerm(0));
      sides->push_back(std::move(side));
    } while (lexer_.Accept(","));
    return OkStatus();
  }

  // Recursion is at most kMaxDepth deep.
  StatusOr<uint32_t> ParseTerm(int depth) {
    if (depth > kMaxDepth) return lexer_.Expected("less nesting");
    RuleTerm term;
    if (lexer_.peek().kind == TokenKind::kValue) {
      term.variable = lexer_.Next().text;
      return AddTerm(std::move(term));
    }
    const size_t offset = lexer_.peek().offset;
    ENCORE_ASSIGN_OR_RETURN(const std::string name,
                            lexer_.ExpectName("an operator or a %variable"));
    term.ranged = !range_name_.empty() && name == range_name_;
    if (!term.ranged) {
      const std::optional<Op> op = ParseOp(name);
      if (!op) {
        return lexer_.ErrorAt(offset,
                              StrCat("no operator is called ", Quote(name)));
      }
      term.op = *op;
    }
    ENCORE_RETURN_IF_ERROR(lexer_.Expect("("));
    while (!lexer_.Is(")")) {
      ENCORE_ASSIGN_OR_RETURN(const uint32_t operand, ParseTerm(depth + 1));
      term.operands.push_back(operand);
      if (!lexer_.Accept(",")) break;
    }
    ENCORE_RETURN_IF_ERROR(lexer_.Expect(")"));
    ENCORE_RETURN_IF_ERROR(CheckOperator(term, offset));
    ENCORE_RETURN_IF_ERROR(ParseTermAttributes(&term));
    return AddTerm(std::move(term));
  }

  // What rules may be about: tensors, one result, no bodies.
  Status CheckOperator(const RuleTerm& term, size_t offset) const {
    const OpInfo& info = Info(term.ranged ? rule_.range.front() : term.op);
    const int count = static_cast<int>(term.operands.size());
    const Signature& signature = info.signature();
    if (!signature.AllowsOperands(count)) {
      return lexer_.ErrorAt(
          offset, StrCat(info.mnemonic, " takes no ", count, " operands"));
    }
    if (signature.results.size() != 1 || signature.variadic_results ||
        info.bodies > 0 || info.has(kNonFlatValues) ||
        info.has(kDefinesSymbols)) {
      return lexer_.ErrorAt(offset, StrCat(info.mnemonic,
                                           " stays as it is: no rule is about "
                                           "effects, bodies and host objects"));
    }
    return OkStatus();
  }

  uint32_t AddTerm(RuleTerm term) {
    rule_.terms.push_back(std::move(term));
    return static_cast<uint32_t>(rule_.terms.size() - 1);
  }

  Status ParseTermAttributes(RuleTerm* term) {
    if (!lexer_.Is("{")) return OkStatus();
    Lexer ahead = lexer_;
    ahead.Next();
    if (ahead.Accept("}")) {
      lexer_ = ahead;
      term->attributes = DefaultAttributes(Info(term->op).attributes);
      return OkStatus();
    }
    const Token name = ahead.Next();
    if (name.kind == TokenKind::kName && ahead.Is("=")) {
      Attributes attributes = DefaultAttributes(Info(term->op).attributes);
      int64_t budget = 1 << 20;
      ENCORE_RETURN_IF_ERROR(text::ParseAttributes(
          lexer_,
          [](std::string_view symbol) -> StatusOr<uint32_t> {
            return InvalidArgumentError(
                StrCat("a rule has no symbol ", symbol));
          },
          &budget, &attributes));
      term->attributes = std::move(attributes);
      return OkStatus();
    }
    ENCORE_RETURN_IF_ERROR(lexer_.Expect("{"));
    if (ahead.Is("(")) {
      ENCORE_ASSIGN_OR_RETURN(term->attributes, ParseCall());
    } else {
      ENCORE_ASSIGN_OR_RETURN(term->attributes,
                              lexer_.ExpectName("attributes"));
    }
    return lexer_.Expect("}");
  }

  StatusOr<RuleCall> ParseCall() {
    RuleCall call;
    ENCORE_ASSIGN_OR_RETURN(call.function,
                            lexer_.ExpectName("an attribute function"));
    ENCORE_RETURN_IF_ERROR(lexer_.Expect("("));
    while (!lexer_.Is(")")) {
      RuleArgument argument;
      if (lexer_.peek().kind == TokenKind::kValue) {
        argument.name = lexer_.Next().text;
      } else if (lexer_.peek().kind == TokenKind::kName) {
        argument.kind = RuleArgument::Kind::kAttributes;
        argument.name = lexer_.Next().text;
      } else {
        ENCORE_RETURN_IF_ERROR(ParseNumber(&argument));
      }
      call.arguments.push_back(std::move(argument));
      if (!lexer_.Accept(",")) break;
    }
    ENCORE_RETURN_IF_ERROR(lexer_.Expect(")"));
    return call;
  }

  Status ParseNumber(RuleArgument* argument) {
    Lexer ahead = lexer_;
    const bool negative = ahead.Accept("-");
    const Token token = ahead.Next();
    const std::string text = StrCat(negative ? "-" : "", token.text);
    if (const auto integer = ParseInt64(text)) {
      argument->kind = RuleArgument::Kind::kInteger;
      argument->integer = *integer;
    } else if (const auto number = ParseDouble(text);
               number && token.kind == TokenKind::kNumber) {
      argument->kind = RuleArgument::Kind::kNumber;
      argument->number = *number;
    } else {
      return lexer_.Expected("an argument");
    }
    lexer_ = ahead;
    return OkStatus();
  }

  Status ParseClause() {
    RuleClause clause;
    Lexer ahead = lexer_;
    ahead.Next();
    if (!ahead.Is("(")) {
      do {
        ENCORE_ASSIGN_OR_RETURN(std::string name,
                                lexer_.ExpectName("a name for attributes"));
        clause.results.push_back(std::move(name));
      } while (lexer_.Accept(","));
      ENCORE_RETURN_IF_ERROR(lexer_.Expect("="));
    }
    ENCORE_ASSIGN_OR_RETURN(clause.call, ParseCall());
    rule_.clauses.push_back(std::move(clause));
    return OkStatus();
  }

  std::string_view text_;
  Lexer lexer_;
  TextRule rule_;
  std::string range_name_;
  std::set<std::string> names_;
};

}  // namespace

std::string_view Name(RuleTag tag) { return kTags[static_cast<size_t>(tag)]; }

StatusOr<std::vector<TextRule>> ParseRules(std::string_view text) {
  return Parser(text).Parse();
}

}  // namespace encore::opt
