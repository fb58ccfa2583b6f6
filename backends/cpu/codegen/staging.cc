#include "encore/backends/cpu/codegen/staging.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

namespace encore::backends::cpu {
namespace {

bool ReadsStages(const Region& region, const std::vector<bool>& needed) {
  for (size_t e = 0; e < needed.size(); ++e) {
    if (needed[e] && region.exprs[e].kind == Expr::Kind::kLoad &&
        region.accesses[region.exprs[e].number].source ==
            Access::Source::kStage) {
      return true;
    }
  }
  return false;
}

std::vector<ExprId> Roots(const Region& region) {
  std::vector<ExprId> roots;
  for (const Stage& stage : region.stages) {
    std::ranges::copy(RootsOf(stage), std::back_inserter(roots));
  }
  return roots;
}

// What nobody needs must not stand in the way of merging variables.
void Neutralize(Region* region) {
  const std::vector<bool> needed = Reachable(*region, Roots(*region));
  std::vector<bool> loaded(region->accesses.size());
  for (size_t e = 0; e < region->exprs.size(); ++e) {
    Expr& expr = region->exprs[e];
    if (expr.kind == Expr::Kind::kLoad && needed[e]) loaded[expr.number] = true;
    if (expr.kind == Expr::Kind::kVariable && !needed[e]) {
      expr.kind = Expr::Kind::kConstant;
    }
  }
  for (size_t a = 0; a < loaded.size(); ++a) {
    if (loaded[a]) continue;
    Access& access = region->accesses[a];
    access.checked = false;
    access.fill = {};
    access.indices.assign(access.indices.size(), Index{});
  }
}

// `flat`'s region with factor `side` of a sum as a new input. `others`: what
// else the factor depends on.
Staging Replace(const FlatRegion& flat, size_t stage, int side,
                const std::vector<uint32_t>& others,
                const std::vector<uint32_t>& points) {
  Staging staging;
  staging.stage = stage;
  staging.region = *flat.region;
  Region& region = staging.region;
  Stage& sum = region.stages[stage];
  Expr product = region.expr(sum.value);
  staging.value = product.operands[side];
  Access access;
  access.number = static_cast<uint32_t>(region.inputs.size());
  Operand staged{region.expr(staging.value).dtype, {}, {}};
  const auto add = [&](uint32_t v) {
    Index index;
    index.terms = {{v, 1}};
    access.indices.push_back(std::move(index));
    staged.dims.push_back(region.extents[v]);
    return region.extents[v].constant();
  };
  for (const uint32_t v : others) add(v);
  for (const uint32_t v : sum.reduced) staging.reduced_points *= add(v);
  for (const uint32_t v : points) staging.points *= add(v);
  region.inputs.push_back(std::move(staged));
  Expr load;
  load.kind = Expr::Kind::kLoad;
  load.dtype = region.expr(staging.value).dtype;
  load.number = AddAccess(&region, std::move(access));
  product.operands[side] = AddExpr(&region, load);
  sum.value = AddExpr(&region, product);
  if (region.contraction.has_value()) region.contraction.reset();
  Neutralize(&region);
  return staging;
}

// The last of the variables with those that merge into it when it is staged.
std::optional<Staging> WithMergedPoints(const FlatRegion& flat, size_t stage,
                                        int side, std::vector<uint32_t> others,
                                        std::vector<uint32_t> points) {
  Staging staging = Replace(flat, stage, side, others, points);
  std::optional<FlatRegion> other = Flatten(staging.region);
  if (!other) return std::nullopt;
  const auto stays = [&other](uint32_t v) {
    return std::find(other->outer.begin(), other->outer.end(), v) !=
           other->outer.end();
  };
  if (!stays(points.back())) return std::nullopt;
  size_t first = points.size() - 1;
  while (first > 0 && !stays(points[first - 1])) --first;
  if (first > 0) {
    others.insert(others.end(), points.begin(), points.begin() + first);
    points.erase(points.begin(), points.begin() + first);
    staging = Replace(flat, stage, side, others, points);
    other = Flatten(staging.region);
    if (!other || !stays(points.back())) return std::nullopt;
  }
  staging.vector_variable = points.back();
  if (other->extents[staging.vector_variable] != staging.points) {
    return std::nullopt;
  }
  for (const uint32_t v : other->outer) {
    int64_t extent = 1;
    for (const uint32_t u : OriginalVariables(flat, *other, v)) {
      extent *= flat.extents[u];
    }
    if (extent != other->extents[v]) return std::nullopt;
  }
  return staging;
}

std::optional<Staging> StageFactor(const FlatRegion& flat, size_t stage,
                                   int side) {
  const Region& region = *flat.region;
  const Expr& product = region.expr(region.stages[stage].value);
  const ExprId value = product.operands[side];
  const ExprId factor = product.operands[1 - side];
  if (ReadsStages(region, Reachable(region, {value}))) return std::nullopt;
  std::vector<uint32_t> points, others;
  bool reused = false;
  for (uint32_t v = 0; v < region.outer; ++v) {
    if (region.extents[v] == Dim(1)) continue;
    // A merged variable behaves as the one it was merged into.
    const auto at = std::find_if(flat.outer.begin(), flat.outer.end(),
                                 [v](uint32_t u) { return u >= v; });
    if (at == flat.outer.end()) return std::nullopt;
    const bool here = DependsOn(flat, value, *at);
    const bool there = DependsOn(flat, factor, *at);
    if (here) (there ? others : points).push_back(v);
    reused |= there && !here;
  }
  if (points.empty() || !reused) return std::nullopt;
  return WithMergedPoints(flat, stage, side, std::move(others),
                          std::move(points));
}

}  // namespace

std::vector<uint32_t> OriginalVariables(const FlatRegion& original,
                                        const FlatRegion& other,
                                        uint32_t variable) {
  // Variables merge into later ones.
  std::vector<uint32_t> variables;
  for (const uint32_t u : original.outer) {
    const auto at = std::find_if(other.outer.begin(), other.outer.end(),
                                 [u](uint32_t v) { return v >= u; });
    if (at != other.outer.end() && *at == variable) variables.push_back(u);
  }
  return variables;
}

bool DependsOn(const FlatRegion& flat, ExprId value, uint32_t variable) {
  const Region& region = *flat.region;
  const std::vector<bool> needed = Reachable(region, {value});
  for (size_t e = 0; e < needed.size(); ++e) {
    if (!needed[e]) continue;
    const Expr& expr = region.exprs[e];
    if (expr.kind == Expr::Kind::kVariable && expr.number == variable) {
      return true;
    }
    if (expr.kind != Expr::Kind::kLoad) continue;
    const FlatAccess& load = flat.loads[expr.number];
    if (load.panel == variable || load.address.Coefficient(variable) != 0 ||
        load.DynamicIn(variable)) {
      return true;
    }
  }
  return false;
}

std::vector<ExprId> RootsOf(const Stage& stage) {
  std::vector<ExprId> roots = {stage.value};
  for (const Store& store : stage.stores) {
    roots.push_back(store.value);
    for (const Index& index : store.indices) roots.push_back(index.indirect);
  }
  return roots;
}

std::vector<bool> MovingIn(const FlatRegion& flat, size_t stage) {
  const Region& region = *flat.region;
  std::vector<uint32_t> variables = flat.loops[stage];
  variables.insert(variables.end(), flat.reduced[stage].begin(),
                   flat.reduced[stage].end());
  std::vector<bool> moving(region.exprs.size(), variables.empty());
  const auto any = [&](const auto& of) {
    return std::ranges::any_of(variables, of);
  };
  const auto moves = [&](ExprId id) {
    return id.valid() && moving[id.value()];
  };
  for (size_t e = 0; e < moving.size(); ++e) {
    const Expr& expr = region.exprs[e];
    bool here = std::ranges::any_of(expr.operands, moves);
    if (expr.kind == Expr::Kind::kVariable) {
      here = any([&](uint32_t v) { return v == expr.number; });
    } else if (expr.kind == Expr::Kind::kLoad) {
      const FlatAccess& load = flat.loads[expr.number];
      const Access& access = region.accesses[expr.number];
      here = moves(access.fill) ||
             std::ranges::any_of(access.indices, moves, &Index::indirect) ||
             any([&](uint32_t v) {
               return load.panel == v || load.DynamicIn(v) ||
                      !(load.address.Coefficient(v) == 0);
             });
    } else if (expr.kind == Expr::Kind::kChecked) {
      here |= any([&](uint32_t v) {
        return !(flat.positions[expr.number].Coefficient(v) == 0);
      });
    }
    moving[e] = moving[e] || here;
  }
  return moving;
}

std::vector<Staging> MakeStagings(const FlatRegion& flat) {
  std::vector<Staging> stagings;
  const Region& region = *flat.region;
  for (const int64_t extent : flat.extents) {
    if (extent == 0) return stagings;
  }
  for (size_t s = 0; s < region.stages.size(); ++s) {
    const Stage& stage = region.stages[s];
    if (stage.kind != Stage::Kind::kReduce || !stage.loops.empty() ||
        stage.combiner != RegionCombiner::kSum || !IsFloat(stage.accumulate)) {
      continue;
    }
    const Expr& product = region.expr(stage.value);
    if (product.kind != Expr::Kind::kOp || product.op != Op::kMul ||
        product.dtype != stage.accumulate) {
      continue;
    }
    for (int side = 0; side < 2; ++side) {
      std::optional<Staging> staging = StageFactor(flat, s, side);
      if (staging) stagings.push_back(*std::move(staging));
    }
  }
  return stagings;
}

}  // namespace encore::backends::cpu
