#include "encore/opt/tensor/find/instances.h"

#include <cstddef>
#include <map>
#include <utility>

namespace encore::opt {
namespace {

using Substitution = std::map<char, std::string_view>;

// The operator of a term; the whole of an input.
std::string_view HeadOf(std::string_view term) {
  return term.substr(0, term.find('['));
}

// The operands of a term.
std::vector<std::string_view> OperandsOf(std::string_view term) {
  std::vector<std::string_view> operands;
  const size_t open = term.find('[');
  if (open == std::string_view::npos) return operands;
  int depth = 0;
  size_t begin = open + 1;
  for (size_t i = begin; i < term.size(); ++i) {
    if (term[i] == '[') ++depth;
    const bool ends = (term[i] == ',' || term[i] == ']') && depth == 0;
    if (term[i] == ']') --depth;
    if (!ends) continue;
    operands.push_back(term.substr(begin, i - begin));
    begin = i + 2;  // behind ", "
  }
  return operands;
}

bool Match(std::string_view pattern, std::string_view term,
           Substitution* substitution) {
  std::vector<std::pair<std::string_view, std::string_view>> work = {
      {pattern, term}};
  while (!work.empty()) {
    const auto [p, t] = work.back();
    work.pop_back();
    if (p.size() == 1) {
      const auto [it, fresh] = substitution->try_emplace(p[0], t);
      if (!fresh && it->second != t) return false;
      continue;
    }
    if (HeadOf(p) != HeadOf(t)) return false;
    const auto patterns = OperandsOf(p), terms = OperandsOf(t);
    if (patterns.size() != terms.size()) return false;
    for (size_t i = 0; i < patterns.size(); ++i) {
      work.emplace_back(patterns[i], terms[i]);
    }
  }
  return true;
}

}  // namespace

bool IsInstance(const MissingRule& general, const MissingRule& special) {
  Substitution forward, backward;
  return (Match(general.from, special.from, &forward) &&
          Match(general.to, special.to, &forward)) ||
         (Match(general.from, special.to, &backward) &&
          Match(general.to, special.from, &backward));
}

void DropInstances(std::vector<MissingRule>* rules) {
  const auto head_of = [](std::string_view term) {
    return term.size() == 1 ? std::string_view() : HeadOf(term);
  };
  // By what both sides begin with; an input, which is anything, with nothing.
  std::map<std::pair<std::string_view, std::string_view>, std::vector<size_t>>
      by_heads;
  for (size_t i = 0; i < rules->size(); ++i) {
    by_heads[{head_of((*rules)[i].from), head_of((*rules)[i].to)}].push_back(i);
  }
  std::vector<bool> dropped(rules->size());
  const auto drop = [&](size_t i, std::string_view from, std::string_view to) {
    const auto it = by_heads.find({from, to});
    if (it == by_heads.end()) return;
    for (const size_t j : it->second) {
      if (dropped[i]) return;
      if (i == j || dropped[j]) continue;
      dropped[i] = IsInstance((*rules)[j], (*rules)[i]) &&
                   (j < i || !IsInstance((*rules)[i], (*rules)[j]));
    }
  };
  for (size_t i = 0; i < rules->size(); ++i) {
    const std::string_view from = head_of((*rules)[i].from);
    const std::string_view to = head_of((*rules)[i].to);
    for (const auto& [a, b] : {std::pair(from, to), std::pair(to, from)}) {
      for (const std::string_view first : {a, std::string_view()}) {
        for (const std::string_view second : {b, std::string_view()}) {
          drop(i, first, second);
        }
      }
    }
  }
  std::vector<MissingRule> kept;
  for (size_t i = 0; i < rules->size(); ++i) {
    if (!dropped[i]) kept.push_back(std::move((*rules)[i]));
  }
  *rules = std::move(kept);
}

}  // namespace encore::opt
