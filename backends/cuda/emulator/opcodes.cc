#include "encore/backends/cuda/emulator/opcodes.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <unordered_map>
#include <utility>

#include "encore/ir/support/check.h"
#include "encore/ir/support/strings.h"

namespace encore::ptx {
namespace {

struct TextRow {
  Op op;
  std::string_view name;
  InstructionClass instruction_class;
  int types;
  std::string_view operands;
  std::string_view modifiers;
};

constexpr TextRow kRows[] = {
#define PTX_OP(Enumerator, name, class_, types, operands, modifiers) \
  {Op::k##Enumerator, name,     InstructionClass::k##class_, types,  \
   operands,          modifiers},
#define PTX_GROUP(name, modifiers)
#include "encore/backends/cuda/emulator/opcodes.def"
#undef PTX_OP
#undef PTX_GROUP
};

struct Group {
  std::string_view name;
  std::string_view modifiers;
};

constexpr Group kGroups[] = {
#define PTX_OP(Enumerator, name, class_, types, operands, modifiers)
#define PTX_GROUP(name, modifiers) {name, modifiers},
#include "encore/backends/cuda/emulator/opcodes.def"
#undef PTX_OP
#undef PTX_GROUP
};

void AllowWord(std::string_view word, ModifierSet* allowed) {
  const auto modifier = FindModifier(word);
  ENCORE_CHECK(modifier.has_value()) << "no modifier of the table: " << word;
  allowed->set(static_cast<size_t>(*modifier));
}

ModifierSet AllowedOf(std::string_view text) {
  ModifierSet allowed;
  for (const std::string_view word : StrSplit(text, ' ')) {
    if (word.empty()) continue;
    if (word[0] != '@') {
      AllowWord(word, &allowed);
      continue;
    }
    const auto* group = std::ranges::find(kGroups, word, &Group::name);
    ENCORE_CHECK(group != std::end(kGroups)) << "no group: " << word;
    for (const std::string_view member : StrSplit(group->modifiers, ' ')) {
      AllowWord(member, &allowed);
    }
  }
  return allowed;
}

struct Tables {
  std::vector<OpRow> rows;
  std::unordered_map<std::string_view, const OpRow*> by_name;
  int most_words = 0;
};

const Tables& AllRows() {
  static const Tables* const kTables = [] {
    auto* tables = new Tables;
    for (const TextRow& row : kRows) {
      std::vector<std::string_view> operands;
      if (!row.operands.empty()) operands = StrSplit(row.operands, ' ');
      const auto words =
          static_cast<int>(std::ranges::count(row.name, '.')) + 1;
      tables->most_words = std::max(tables->most_words, words);
      tables->rows.push_back({row.op, row.name, row.instruction_class,
                              row.types, std::move(operands),
                              AllowedOf(row.modifiers), words});
    }
    for (const OpRow& row : tables->rows) {
      tables->by_name.emplace(row.name, &row);
    }
    return tables;
  }();
  return *kTables;
}

}  // namespace

std::string_view Name(InstructionClass instruction_class) {
  static constexpr std::string_view kNames[] = {
      "integer", "float",   "special", "logic",  "compare",
      "convert", "move",    "memory",  "atomic", "async",
      "barrier", "shuffle", "matrix",  "control"};
  static_assert(std::size(kNames) ==
                static_cast<size_t>(InstructionClass::kCount));
  return kNames[static_cast<size_t>(instruction_class)];
}

const OpRow* FindOp(std::span<const std::string_view> words) {
  const Tables& tables = AllRows();
  std::string name;
  const OpRow* found = nullptr;
  const size_t most =
      std::min(words.size(), static_cast<size_t>(tables.most_words));
  for (size_t i = 0; i < most; ++i) {
    if (i > 0) name += '.';
    name += words[i];
    const auto row = tables.by_name.find(name);
    if (row != tables.by_name.end()) found = row->second;
  }
  return found;
}

const OpRow& RowOf(Op op) { return AllRows().rows[static_cast<size_t>(op)]; }

}  // namespace encore::ptx
