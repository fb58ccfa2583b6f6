#include "encore/backends/region/region.h"

#include "encore/ir/support/check.h"

namespace encore::backends {

int ComponentCount(RegionCombiner combiner) {
  return combiner == RegionCombiner::kWelford ||
                 combiner == RegionCombiner::kOnlineSoftmax
             ? 2
             : 1;
}

std::string_view Name(RegionCombiner combiner) {
  switch (combiner) {
    case RegionCombiner::kSum:
      return "sum";
    case RegionCombiner::kProduct:
      return "product";
    case RegionCombiner::kMax:
      return "max";
    case RegionCombiner::kMin:
      return "min";
    case RegionCombiner::kAnd:
      return "and";
    case RegionCombiner::kOr:
      return "or";
    case RegionCombiner::kArgMax:
      return "arg_max";
    case RegionCombiner::kArgMin:
      return "arg_min";
    case RegionCombiner::kArgMaxLast:
      return "arg_max_last";
    case RegionCombiner::kArgMinLast:
      return "arg_min_last";
    case RegionCombiner::kWelford:
      return "welford";
    case RegionCombiner::kOnlineSoftmax:
      return "online_softmax";
  }
  ENCORE_CHECK(false) << "no combiner";
  return "";
}

RegionCombiner ToRegionCombiner(Combiner combiner) {
  switch (combiner) {
    case Combiner::kSum:
      return RegionCombiner::kSum;
    case Combiner::kProduct:
      return RegionCombiner::kProduct;
    case Combiner::kMax:
      return RegionCombiner::kMax;
    case Combiner::kMin:
      return RegionCombiner::kMin;
    case Combiner::kAnd:
      return RegionCombiner::kAnd;
    case Combiner::kOr:
      return RegionCombiner::kOr;
  }
  ENCORE_CHECK(false) << "no combiner";
  return RegionCombiner::kSum;
}

DType AccumulateDType(DType dtype) {
  return IsFloat(dtype) && BitWidth(dtype) < 32 ? DType::kF32 : dtype;
}

std::vector<bool> Reachable(const Region& region,
                            const std::vector<ExprId>& roots) {
  std::vector<bool> needed(region.exprs.size());
  const auto need = [&needed](ExprId id) {
    if (id.valid()) needed[id.value()] = true;
  };
  for (const ExprId root : roots) need(root);
  // Operands come first, so one pass from the end sees each user before them.
  for (size_t i = needed.size(); i-- > 0;) {
    if (!needed[i]) continue;
    const Expr& expr = region.exprs[i];
    if (expr.kind == Expr::Kind::kOp) {
      for (const ExprId operand : expr.operands) need(operand);
    } else if (expr.kind == Expr::Kind::kChecked) {
      need(expr.operands[0]);
      need(region.checks[expr.number].position.indirect);
    } else if (expr.kind == Expr::Kind::kLoad) {
      const Access& access = region.accesses[expr.number];
      need(access.fill);
      for (const Index& index : access.indices) need(index.indirect);
    }
  }
  return needed;
}

ExprId AddExpr(Region* region, Expr expr) {
  region->exprs.push_back(std::move(expr));
  return ExprId(static_cast<uint32_t>(region->exprs.size() - 1));
}

uint32_t AddAccess(Region* region, Access access) {
  region->accesses.push_back(std::move(access));
  return static_cast<uint32_t>(region->accesses.size() - 1);
}

}  // namespace encore::backends
