#include "encore/opt/tensor/rule_printer.h"

#include <string_view>
#include <variant>
#include <vector>

#include "encore/ir/ops/op.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/text/attribute_text.h"

namespace encore::opt {
namespace {

// Stands for the operator of a range.
constexpr std::string_view kRanged = "f";

std::string Join(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) {
    StrAppend(&text, text.empty() ? "" : ", ", part);
  }
  return text;
}

std::string Text(const RuleCall& call) {
  std::vector<std::string> arguments;
  for (const RuleArgument& argument : call.arguments) {
    switch (argument.kind) {
      case RuleArgument::Kind::kTensor:
        arguments.push_back(StrCat("%", argument.name));
        break;
      case RuleArgument::Kind::kAttributes:
        arguments.push_back(argument.name);
        break;
      case RuleArgument::Kind::kInteger:
        arguments.push_back(StrCat(argument.integer));
        break;
      case RuleArgument::Kind::kNumber:
        arguments.push_back(StrCat(argument.number));
    }
  }
  return StrCat(call.function, "(", Join(arguments), ")");
}

std::string AttributesText(const RuleTerm& term) {
  if (const auto* name = std::get_if<std::string>(&term.attributes)) {
    return StrCat(" {", *name, "}");
  }
  if (const auto* call = std::get_if<RuleCall>(&term.attributes)) {
    return StrCat(" {", Text(*call), "}");
  }
  const auto* const values = std::get_if<Attributes>(&term.attributes);
  if (values == nullptr) return "";
  std::string text;
  text::AppendAttributes(&text, *values, {});
  if (text.empty()) return " {}";
  return text.front() == ' ' ? text : StrCat(" ", text);
}

std::string Sides(const TextRule& rule, const std::vector<RuleSide>& sides) {
  std::vector<std::string> parts;
  for (const RuleSide& side : sides) {
    parts.push_back(
        StrCat(side.name.empty() ? "" : StrCat("%", side.name, " = "),
               PrintTerm(rule, side.term)));
  }
  return Join(parts);
}

}  // namespace

// Terms nest as deep as the parser lets them.
std::string PrintTerm(const TextRule& rule, uint32_t term) {
  const RuleTerm& t = rule.terms[term];
  if (!t.variable.empty()) return StrCat("%", t.variable);
  if (t.decomposition) return "decomposition";
  std::vector<std::string> operands;
  for (const uint32_t operand : t.operands) {
    operands.push_back(PrintTerm(rule, operand));
  }
  return StrCat(t.ranged ? kRanged : Mnemonic(t.op), "(", Join(operands), ")",
                AttributesText(t));
}

std::string PrintRule(const TextRule& rule) {
  std::string text =
      StrCat("// ", rule.name, "\nrule ", rule.name, " ", Name(rule.tag));
  if (!rule.range.empty()) {
    StrAppend(&text, " for ", kRanged, " in ", rule.set);
  }
  StrAppend(&text, " {\n  ", Sides(rule, rule.left), "\n  -> ",
            Sides(rule, rule.right), "\n");
  for (const RuleClause& clause : rule.clauses) {
    StrAppend(&text, "  where ", Join(clause.results),
              clause.results.empty() ? "" : " = ", Text(clause.call), "\n");
  }
  return StrCat(text, "}\n");
}

std::string PrintRules(std::span<const TextRule> rules) {
  std::string text;
  for (const TextRule& rule : rules) {
    StrAppend(&text, text.empty() ? "" : "\n", PrintRule(rule));
  }
  return text;
}

}  // namespace encore::opt
