#include "encore/backends/cpu/loops/keep.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "encore/backends/cpu/codegen/schedule.h"
#include "encore/backends/cpu/codegen/staging.h"
#include "encore/backends/cpu/loops/prune.h"
#include "encore/backends/region/affine.h"

namespace encore::backends::cpu {
namespace {

// Of a vector of values, one operation of which takes as long: more than it
// takes to store and load it.
constexpr double kLeastCycles = 8;
constexpr int kUsualLanes = 16;

class Keeper {
 public:
  explicit Keeper(const Region& region) : region_(region) {
    for (const Stage& stage : region.stages) {
      needed_.push_back(Reachable(region, RootsOf(stage)));
    }
  }

  // The last expression that is worth it: none that needs it is.
  std::optional<Region> Run() {
    for (auto e = static_cast<uint32_t>(region_.exprs.size()); e-- > 0;) {
      if (region_.exprs[e].kind != Expr::Kind::kOp || Users(e) < 2) continue;
      const std::vector<uint32_t> row = RowOf(ExprId(e));
      if (!row.empty() && Cycles(ExprId(e)) >= kLeastCycles) {
        return Keep(ExprId(e), row);
      }
    }
    return std::nullopt;
  }

 private:
  int64_t Users(uint32_t e) const {
    return std::ranges::count_if(needed_,
                                 [e](const auto& needed) { return needed[e]; });
  }
  size_t FirstUser(ExprId id) const {
    size_t s = 0;
    while (!needed_[s][id.value()]) ++s;
    return s;
  }

  bool DependsOn(const std::vector<bool>& needed, uint32_t variable) const {
    for (size_t e = 0; e < needed.size(); ++e) {
      const Expr& expr = region_.exprs[e];
      if (!needed[e]) continue;
      if (expr.kind == Expr::Kind::kVariable && expr.number == variable) {
        return true;
      }
      if (expr.kind != Expr::Kind::kLoad) continue;
      for (const Index& index : region_.accesses[expr.number].indices) {
        if (std::ranges::count(index.terms, variable, &Index::Term::variable)) {
          return true;
        }
      }
    }
    return false;
  }

  // The variables of the first stage that computes it that it depends on.
  std::vector<uint32_t> RowOf(ExprId id) const {
    const Stage& stage = region_.stages[FirstUser(id)];
    const std::vector<bool> needed = Reachable(region_, {id});
    std::vector<uint32_t> row;
    for (const auto* list : {&stage.loops, &stage.reduced}) {
      for (const uint32_t v : *list) {
        if (DependsOn(needed, v)) row.push_back(v);
      }
    }
    return row;
  }

  double Cycles(ExprId id) const {
    const std::vector<bool> needed = Reachable(region_, {id});
    double cycles = 0;
    for (size_t e = 0; e < needed.size(); ++e) {
      const Expr& expr = region_.exprs[e];
      if (needed[e] && expr.kind == Expr::Kind::kOp) {
        cycles += OpCycles(expr.op, kUsualLanes);
      }
    }
    return cycles;
  }

  Region Keep(ExprId kept, const std::vector<uint32_t>& row) const {
    Region region = region_;
    const auto first = static_cast<uint32_t>(FirstUser(kept));
    for (Access& access : region.accesses) {
      const bool behind =
          access.source == Access::Source::kStage && access.number >= first;
      access.number += behind ? 1 : 0;
    }
    const ExprId load(kept.value() + 1);
    // Expressions behind move by one, and read what is kept.
    const auto rename = [&](ExprId* id) {
      if (id->valid() && *id >= kept) *id = ExprId(id->value() + 1);
    };
    for (size_t e = kept.value() + 1; e < region.exprs.size(); ++e) {
      for (ExprId& operand : region.exprs[e].operands) rename(&operand);
    }
    for (uint32_t a = 0; a < region.accesses.size(); ++a) {
      rename(&region.accesses[a].fill);
      for (Index& index : region.accesses[a].indices) rename(&index.indirect);
    }
    for (Stage& stage : region.stages) {
      rename(&stage.value);
      for (Store& store : stage.stores) {
        rename(&store.value);
        for (Index& index : store.indices) rename(&index.indirect);
      }
    }
    Access access{.source = Access::Source::kStage,
                  .number = first,
                  .indices = {},
                  .fill = {}};
    for (const uint32_t v : row) access.indices.push_back(VariableIndex(v));
    const DType dtype = region.expr(kept).dtype;
    Expr expr{.kind = Expr::Kind::kLoad, .dtype = dtype};
    expr.number = AddAccess(&region, std::move(access));
    region.exprs.insert(region.exprs.begin() + load.value(), std::move(expr));
    Stage stage;
    stage.loops = row;
    stage.dtype = stage.accumulate = dtype;
    stage.value = kept;
    region.stages.insert(region.stages.begin() + first, std::move(stage));
    Prune(&region);
    return region;
  }

  const Region& region_;
  std::vector<std::vector<bool>> needed_;  // by stage and expression
};

}  // namespace

std::optional<Region> KeepRepeated(const Region& region) {
  const bool costly = std::ranges::any_of(region.exprs, [](const Expr& expr) {
    return expr.kind == Expr::Kind::kOp &&
           OpCycles(expr.op, kUsualLanes) >= kLeastCycles;
  });
  if (!costly || region.stages.size() < 2 || !region.checks.empty() ||
      region.symbols > 0) {
    return std::nullopt;
  }
  return Keeper(region).Run();
}

}  // namespace encore::backends::cpu
