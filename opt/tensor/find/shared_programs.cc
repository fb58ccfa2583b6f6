#include "encore/opt/tensor/find/shared_programs.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "encore/opt/tensor/find/find_operators.h"

namespace encore::opt {
namespace {

// By how much a program is cheaper at least.
constexpr double kGain = 0.01;

class Collector {
 public:
  using Program = std::array<uint32_t, 2>;

  Collector(const Expressions& expressions, int operators,
            const std::function<std::optional<double>(Program)>& seconds)
      : expressions_(expressions),
        operators_(static_cast<size_t>(operators)),
        seconds_(seconds),
        nodes_(expressions.size()),
        readers_(expressions.size()),
        representative_(expressions.size()) {
    // Operands come before what reads them.
    for (uint32_t i = 0; i < expressions.size(); ++i) {
      representative_[i] = i;
      for (const uint32_t operand : OperandsOf(i)) {
        nodes_[i].insert(nodes_[i].end(), nodes_[operand].begin(),
                         nodes_[operand].end());
        if (expressions[operand].op >= 0) readers_[operand].push_back(i);
      }
      if (expressions[i].op >= 0) nodes_[i].push_back(i);
      std::ranges::sort(nodes_[i]);
      const auto repeated = std::ranges::unique(nodes_[i]);
      nodes_[i].erase(repeated.begin(), repeated.end());
    }
    for (const Expressions::Pair& pair : expressions.pairs()) {
      representative_[pair.made] = pair.representative;
    }
  }

  std::vector<SharedProgram> Run() {
    for (uint32_t i = 0; i < expressions_.size(); ++i) {
      // A program of two representatives is the one that it is compared with.
      if (representative_[i] != i) CollectWith(i);
    }
    std::vector<SharedProgram> programs;
    for (const auto& [apart, best] : best_) {
      programs.push_back({.apart = apart, .shared = best.program});
    }
    return programs;
  }

 private:
  struct Best {
    Program program;
    double seconds = 0;
  };

  std::span<const uint32_t> OperandsOf(uint32_t i) const {
    const Expressions::Expression& expression = expressions_[i];
    if (expression.op < 0) return {};
    const auto count = static_cast<size_t>(
        FindOperators()[static_cast<size_t>(expression.op)].operands);
    return std::span(expression.operands).first(count);
  }

  // The nodes of `other` that `expression` does not have.
  size_t Added(uint32_t expression, uint32_t other) const {
    size_t added = 0;
    for (const uint32_t node : nodes_[other]) {
      added += !std::ranges::binary_search(nodes_[expression], node);
    }
    return added;
  }

  // All that reads one of its nodes and has few nodes more, operands before
  // readers: what has too many is read by nothing that has few.
  void CollectWith(uint32_t expression) {
    if (nodes_[expression].size() > operators_) return;
    const size_t most = operators_ - nodes_[expression].size();
    std::vector<uint32_t> reached = nodes_[expression];
    std::set<uint32_t> seen(reached.begin(), reached.end());
    for (size_t i = 0; i < reached.size(); ++i) {
      if (reached[i] != expression) Offer({expression, reached[i]});
      for (const uint32_t reader : readers_[reached[i]]) {
        if (Added(expression, reader) > most) continue;
        if (seen.insert(reader).second) reached.push_back(reader);
      }
    }
  }

  void Offer(Program shared) {
    Program apart = {representative_[shared[0]], representative_[shared[1]]};
    if (apart[0] == apart[1]) return;  // one result
    for (const uint32_t result : apart) {
      if (expressions_[result].op < 0 || expressions_[result].zero) return;
    }
    if (apart[0] > apart[1]) {
      std::swap(apart[0], apart[1]);
      std::swap(shared[0], shared[1]);
    }
    // The first program of a form stands for all.
    const auto [form, fresh] =
        forms_.try_emplace(std::min(expressions_.Form({apart[0], apart[1]}),
                                    expressions_.Form({apart[1], apart[0]})),
                           apart);
    if (form->second != apart) return;
    const std::optional<double> before = SecondsApart(apart);
    const std::optional<double> after = seconds_(shared);
    if (!before || !after || *after >= *before * (1 - kGain)) return;
    const auto [best, first] =
        best_.try_emplace(apart, Best{.program = shared, .seconds = *after});
    if (!first && *after < best->second.seconds) {
      best->second = {.program = shared, .seconds = *after};
    }
  }

  std::optional<double> SecondsApart(const Program& apart) {
    const auto [it, fresh] = apart_seconds_.try_emplace(apart);
    if (fresh) it->second = seconds_(apart);
    return it->second;
  }

  const Expressions& expressions_;
  const size_t operators_;
  const std::function<std::optional<double>(Program)>& seconds_;
  std::vector<std::vector<uint32_t>> nodes_;    // that are no inputs, sorted
  std::vector<std::vector<uint32_t>> readers_;  // of nodes that are no inputs
  std::vector<uint32_t> representative_;
  std::map<std::string, Program> forms_;
  std::map<Program, std::optional<double>> apart_seconds_;
  std::map<Program, Best> best_;
};

}  // namespace

std::vector<SharedProgram> SharedPrograms(
    const Expressions& expressions, int operators,
    const std::function<std::optional<double>(std::array<uint32_t, 2>)>&
        seconds) {
  return Collector(expressions, operators, seconds).Run();
}

}  // namespace encore::opt
