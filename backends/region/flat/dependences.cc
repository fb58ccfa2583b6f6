#include "encore/backends/region/flat/dependences.h"

namespace encore::backends {

void Dependences::Include(size_t expr, ExprId operand) {
  if (!operand.valid()) return;
  const uint32_t from = operand.value();
  for (size_t v = 0; v < variables_[from].size(); ++v) {
    if (variables_[from][v]) variables_[expr][v] = true;
  }
  if (reads_[from]) reads_[expr] = true;
}

void Dependences::Include(size_t expr, const FlatRegion& flat,
                          const Affine& affine) {
  for (const auto& [v, coefficient] : affine.terms) {
    if (!(flat.extents[v] == 1)) variables_[expr][v] = true;
  }
}

Dependences::Dependences(const FlatRegion& flat) {
  const Region& region = *flat.region;
  for (size_t e = 0; e < region.exprs.size(); ++e) {
    const Expr& expr = region.exprs[e];
    variables_.emplace_back(region.extents.size());
    reads_.push_back(expr.kind == Expr::Kind::kLoad ||
                     expr.kind == Expr::Kind::kChecked);
    for (const ExprId operand : expr.operands) Include(e, operand);
    if (expr.kind == Expr::Kind::kVariable &&
        !(flat.extents[expr.number] == 1)) {
      variables_[e][expr.number] = true;
    } else if (expr.kind == Expr::Kind::kLoad) {
      const FlatAccess& access = flat.loads[expr.number];
      Include(e, region.accesses[expr.number].fill);
      Include(e, flat, access.address);
      for (const DynamicIndex& dynamic : access.dynamic) {
        Include(e, flat, dynamic.index);
        Include(e, dynamic.indirect);
      }
    } else if (expr.kind == Expr::Kind::kChecked) {
      Include(e, flat, flat.positions[expr.number]);
      Include(e, region.checks[expr.number].position.indirect);
    }
  }
}

}  // namespace encore::backends
