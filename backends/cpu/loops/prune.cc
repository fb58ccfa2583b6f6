#include "encore/backends/cpu/loops/prune.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace encore::backends::cpu {
namespace {

// `visit` for every id that stages and checks name.
template <typename Visitor>
void VisitRoots(Region* region, Visitor visit) {
  for (Stage& stage : region->stages) {
    visit(&stage.value);
    for (Store& store : stage.stores) {
      visit(&store.value);
      for (Index& index : store.indices) visit(&index.indirect);
    }
  }
  for (IndexCheck& check : region->checks) visit(&check.position.indirect);
}

}  // namespace

void Prune(Region* region) {
  region->contraction.reset();
  std::vector<ExprId> roots;
  VisitRoots(region, [&](ExprId* id) { roots.push_back(*id); });
  const std::vector<bool> needed = Reachable(*region, roots);
  std::vector<ExprId> renamed(region->exprs.size());
  const auto rename = [&](ExprId* id) {
    if (id->valid()) *id = renamed[id->value()];
  };
  std::vector<Access> accesses = std::exchange(region->accesses, {});
  std::vector<uint32_t> numbers(accesses.size(), UINT32_MAX);
  const std::vector<Expr> exprs = std::exchange(region->exprs, {});
  for (uint32_t e = 0; e < exprs.size(); ++e) {
    if (!needed[e]) continue;
    Expr expr = exprs[e];
    for (ExprId& operand : expr.operands) rename(&operand);
    if (expr.kind == Expr::Kind::kLoad) {
      uint32_t& number = numbers[expr.number];
      if (number == UINT32_MAX) {
        Access access = std::move(accesses[expr.number]);
        rename(&access.fill);
        for (Index& index : access.indices) rename(&index.indirect);
        number = AddAccess(region, std::move(access));
      }
      expr.number = number;
    }
    renamed[e] = AddExpr(region, std::move(expr));
  }
  VisitRoots(region, rename);
}

}  // namespace encore::backends::cpu
