#include "encore/opt/egraph/program/declarations.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "encore/ir/support/strings.h"

namespace encore::opt::program {
namespace {

constexpr std::string_view kUnsupportedSorts[] = {"BigInt", "BigRat",
                                                  "Rational"};

// Within what egraph::Language takes; each sort has an operator of its own.
constexpr size_t kMaxColumns = 200;
constexpr size_t kMaxTables = 16000;
constexpr size_t kMaxSorts = 16000;

}  // namespace

bool DeclarationChecker::Declare(uint32_t i, NameKind kind, uint32_t id) {
  if (context_.node(i).kind != SexprKind::kSymbol) {
    context_.Reject(i, "a name is wanted");
    return false;
  }
  const std::string_view text = context_.Text(i);
  const auto name = static_cast<Symbol>(context_.node(i).payload);
  const auto primitives = Primitives();
  const bool primitive =
      kind == NameKind::kTable &&
      std::any_of(primitives.begin(), primitives.end(),
                  [&](const PrimitiveInfo& info) { return info.name == text; });
  if (primitive || text == "_" ||
      context_.scope->Find(name).kind != NameKind::kNone) {
    context_.Reject(i, StrCat(text, " is declared already"));
    return false;
  }
  context_.scope->Declare(name, {kind, id});
  return true;
}

std::optional<SortId> DeclarationChecker::DeclareSort(uint32_t i) {
  const auto id = static_cast<SortId>(context_.program->sorts.size());
  if (id >= kMaxSorts) {
    context_.Unsupported(i, StrCat("more than ", kMaxSorts, " sorts"));
    return std::nullopt;
  }
  if (!Declare(i, NameKind::kSort, id)) return std::nullopt;
  context_.program->sorts.push_back(
      static_cast<Symbol>(context_.node(i).payload));
  return id;
}

void DeclarationChecker::CheckSort(uint32_t i) {
  const std::vector<uint32_t> elements = context_.Elements(i);
  if (elements.size() > 2) {
    context_.Unsupported(i, "sort with parameters");
  } else if (elements.size() < 2) {
    context_.Reject(i, "usage: (sort NAME)");
  } else {
    DeclareSort(elements[1]);
  }
}

void DeclarationChecker::CheckDatatype(uint32_t i) {
  const std::vector<uint32_t> elements = context_.Elements(i);
  if (elements.size() < 2) {
    return context_.Reject(i, "usage: (datatype NAME VARIANT*)");
  }
  const std::optional<SortId> sort = DeclareSort(elements[1]);
  if (!sort.has_value()) return;
  for (size_t e = 2; e < elements.size(); ++e) CheckVariant(elements[e], *sort);
}

void DeclarationChecker::CheckDatatypes(uint32_t i) {
  const std::vector<uint32_t> datatypes = context_.Elements(i);
  std::vector<std::optional<SortId>> sorts(datatypes.size());
  for (size_t d = 1; d < datatypes.size(); ++d) {
    const Sexpr& node = context_.node(datatypes[d]);
    if (node.kind != SexprKind::kList || node.end == datatypes[d] + 1) {
      context_.Reject(datatypes[d], "usage: (datatype* (NAME VARIANT*)*)");
    } else if (context_.Text(datatypes[d] + 1) == "sort") {
      context_.Unsupported(datatypes[d], "sort with parameters");
    } else {
      sorts[d] = DeclareSort(datatypes[d] + 1);
    }
  }
  for (size_t d = 1; d < datatypes.size(); ++d) {
    if (!sorts[d].has_value()) continue;
    const std::vector<uint32_t> elements = context_.Elements(datatypes[d]);
    for (size_t e = 1; e < elements.size(); ++e) {
      CheckVariant(elements[e], *sorts[d]);
    }
  }
}

std::optional<SortId> DeclarationChecker::FindSort(uint32_t i) {
  const Sexpr& node = context_.node(i);
  if (node.kind != SexprKind::kSymbol) {
    context_.Reject(i, "the name of a sort is wanted");
    return std::nullopt;
  }
  const NameMeaning meaning =
      context_.scope->Find(static_cast<Symbol>(node.payload));
  if (meaning.kind == NameKind::kSort) return meaning.id;
  const std::string_view text = context_.Text(i);
  if (std::find(std::begin(kUnsupportedSorts), std::end(kUnsupportedSorts),
                text) != std::end(kUnsupportedSorts)) {
    context_.Unsupported(i, StrCat("sort ", text));
  } else {
    context_.Reject(i, StrCat("unknown sort ", text));
  }
  return std::nullopt;
}

bool DeclarationChecker::FindSorts(std::span<const uint32_t> elements,
                                   std::vector<SortId>* sorts) {
  bool good = true;
  for (const uint32_t i : elements) {
    const std::optional<SortId> sort = FindSort(i);
    good &= sort.has_value();
    sorts->push_back(sort.value_or(kUnitSort));
  }
  return good;
}

bool DeclarationChecker::ReadTableOptions(std::span<const uint32_t> elements,
                                          size_t first, Table* table) {
  const auto options = rules_.ParseOptions(elements, first);
  if (!options.has_value()) return false;
  for (const Option& option : *options) {
    const std::string_view name = context_.Text(option.name);
    if (name == ":unextractable" && option.values.empty()) {
      table->unextractable = true;
      continue;
    }
    if (name != ":cost" || option.values.size() != 1) {
      rules_.BadOption(option);
      return false;
    }
    const Sexpr& cost = context_.node(option.values[0]);
    if (cost.kind != SexprKind::kInteger ||
        static_cast<int64_t>(cost.payload) < 0) {
      context_.Reject(option.values[0],
                      ":cost wants an integer that is not negative");
      return false;
    }
    table->cost = cost.payload;
  }
  return true;
}

void DeclarationChecker::DeclareTable(uint32_t name, Table table) {
  if (table.arguments.size() > kMaxColumns ||
      context_.program->tables.size() >= kMaxTables) {
    return context_.Unsupported(
        name, StrCat("more than ", kMaxColumns, " columns or ", kMaxTables,
                     " tables"));
  }
  const auto id = static_cast<TableId>(context_.program->tables.size());
  if (!Declare(name, NameKind::kTable, id)) return;
  table.name = static_cast<Symbol>(context_.node(name).payload);
  context_.program->tables.push_back(std::move(table));
}

void DeclarationChecker::CheckVariant(uint32_t i, SortId sort) {
  const std::vector<uint32_t> elements = context_.Elements(i);
  if (context_.node(i).kind != SexprKind::kList || elements.empty()) {
    return context_.Reject(i, "usage: (NAME SORT* OPTION*)");
  }
  size_t option = 1;
  while (option < elements.size() &&
         !context_.Text(elements[option]).starts_with(':')) {
    ++option;
  }
  Table table;
  table.result = sort;
  const std::span<const uint32_t> all = elements;
  bool good = FindSorts(all.subspan(1, option - 1), &table.arguments);
  good &= ReadTableOptions(elements, option, &table);
  if (good) DeclareTable(elements[0], std::move(table));
}

void DeclarationChecker::CheckConstructor(uint32_t i) {
  const std::vector<uint32_t> elements = context_.Elements(i);
  if (elements.size() < 4 ||
      context_.node(elements[2]).kind != SexprKind::kList) {
    return context_.Reject(i, "usage: (constructor NAME (SORT*) SORT OPTION*)");
  }
  Table table;
  bool good = FindSorts(context_.Elements(elements[2]), &table.arguments);
  const std::optional<SortId> result = FindSort(elements[3]);
  good &= ReadTableOptions(elements, 4, &table);
  if (!good || !result.has_value()) return;
  if (!IsClassSort(*result)) {
    return context_.Reject(
        elements[3], StrCat("constructor ", context_.Text(elements[1]),
                            " cannot make a ", context_.Text(elements[3])));
  }
  table.result = *result;
  DeclareTable(elements[1], std::move(table));
}

void DeclarationChecker::CheckRelation(uint32_t i) {
  const std::vector<uint32_t> elements = context_.Elements(i);
  if (elements.size() != 3 ||
      context_.node(elements[2]).kind != SexprKind::kList) {
    return context_.Reject(i, "usage: (relation NAME (SORT*))");
  }
  Table table;
  table.relation = true;
  if (FindSorts(context_.Elements(elements[2]), &table.arguments)) {
    DeclareTable(elements[1], std::move(table));
  }
}

void DeclarationChecker::CheckRuleset(uint32_t i) {
  const std::vector<uint32_t> elements = context_.Elements(i);
  if (elements.size() != 2) {
    return context_.Reject(i, "usage: (ruleset NAME)");
  }
  const auto id = static_cast<RulesetId>(context_.program->rulesets.size());
  if (!Declare(elements[1], NameKind::kRuleset, id)) return;
  context_.program->rulesets.push_back(
      {static_cast<Symbol>(context_.node(elements[1]).payload), false, {}});
}

void DeclarationChecker::CheckCombinedRuleset(uint32_t i) {
  const std::vector<uint32_t> elements = context_.Elements(i);
  if (elements.size() < 2) {
    return context_.Reject(i, "usage: (unstable-combined-ruleset NAME NAME*)");
  }
  Ruleset ruleset{0, true, {}};
  for (size_t e = 2; e < elements.size(); ++e) {
    const Sexpr& node = context_.node(elements[e]);
    const NameMeaning meaning =
        node.kind == SexprKind::kSymbol
            ? context_.scope->Find(static_cast<Symbol>(node.payload))
            : NameMeaning{};
    if (meaning.kind != NameKind::kRuleset) {
      return context_.Reject(elements[e],
                             StrCat("no ruleset ", context_.Text(elements[e])));
    }
    ruleset.parts.push_back(meaning.id);
  }
  const auto id = static_cast<RulesetId>(context_.program->rulesets.size());
  if (!Declare(elements[1], NameKind::kRuleset, id)) return;
  ruleset.name = static_cast<Symbol>(context_.node(elements[1]).payload);
  context_.program->rulesets.push_back(std::move(ruleset));
}

}  // namespace encore::opt::program
