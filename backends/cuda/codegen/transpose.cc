#include "encore/backends/cuda/codegen/transpose.h"

#include <algorithm>
#include <span>

#include "encore/ir/support/strings.h"

namespace encore::backends::cuda {
namespace {

constexpr int64_t kLeastExtent = 8;
constexpr double kLeastPoints = 4096;

// The variable whose neighbours lie side by side; nothing where there is none,
// or the address depends on data.
std::optional<uint32_t> Along(const FlatAccess& access) {
  if (!access.dynamic.empty()) return std::nullopt;
  for (const auto& [v, coefficient] : access.address.terms) {
    if (coefficient == 1) return v;
  }
  return std::nullopt;
}

}  // namespace

std::optional<TransposePlan> FindTranspose(const FlatRegion& flat) {
  const Region& region = *flat.region;
  if (region.stages.size() != 1 || !region.checks.empty() ||
      region.stages[0].kind != Stage::Kind::kMap || !flat.loops[0].empty() ||
      flat.stores[0].size() != 1) {
    return std::nullopt;
  }
  TransposePlan plan;
  const std::optional<uint32_t> n = Along(flat.stores[0][0]);
  if (!n) return std::nullopt;
  plan.n = *n;
  double points = 1;
  for (const uint32_t v : flat.outer) {
    points *= static_cast<double>(flat.extents[v].typical());
  }
  for (uint32_t e = 0; e < region.exprs.size(); ++e) {
    const Expr& expr = region.exprs[e];
    if (expr.kind != Expr::Kind::kLoad || IsPacked(expr.dtype) ||
        region.accesses[expr.number].source != Access::Source::kInput) {
      continue;
    }
    const FlatAccess& load = flat.loads[expr.number];
    const std::optional<uint32_t> m = Along(load);
    if (!m || *m == plan.n || load.address.Coefficient(plan.n) == 0 ||
        (!plan.loads.empty() && *m != plan.m)) {
      continue;
    }
    plan.m = *m;
    plan.loads.push_back(e);
  }
  const auto large = [&](uint32_t v) {
    return flat.extents[v].typical() >= kLeastExtent;
  };
  if (plan.loads.empty() || points < kLeastPoints || !large(plan.m) ||
      !large(plan.n)) {
    return std::nullopt;
  }
  for (const uint32_t v : flat.outer) {
    if (v != plan.m && v != plan.n) plan.others.push_back(v);
  }
  return plan;
}

void EmitTranspose(const EmitContext& context, const TransposePlan& plan,
                   std::string* out) {
  constexpr int kTile = TransposePlan::kTile;
  const Region& region = *context.flat->region;
  const std::string_view type = context.index_type();
  ExprEmitter exprs(context, out);
  const uint32_t m[] = {plan.m}, n[] = {plan.n};
  const auto tiles = [&](std::span<const uint32_t> variables) {
    return StrCat("((", exprs.Count(variables), " + ", kTile - 1, ") / ", kTile,
                  ")");
  };
  StrAppend(out, "const int lane = threadIdx.x % ", kTile,
            ", first = threadIdx.x / ", kTile, ";\nconst ", type,
            " first_n = (", type, ")blockIdx.x % ", tiles(n), " * ", kTile,
            ", first_m = (", type, ")blockIdx.x / ", tiles(n), " % ", tiles(m),
            " * ", kTile, ", point = (", type, ")blockIdx.x / ", tiles(n),
            " / ", tiles(m), ";\n");
  exprs.DeclareVariables(plan.others, "point");
  exprs.OpenScope(plan.others);
  for (const uint32_t e : plan.loads) {
    // Rows are a word longer than the banks, so that a column has all of them.
    const int word = std::max(1, 32 / BitWidth(region.exprs[e].dtype));
    StrAppend(out, "__shared__ mem_", region.exprs[e].dtype, " x", e, "[",
              kTile, "][", kTile + word, "];\n");
  }
  const auto open = [&](std::string_view of_m, std::string_view of_n) {
    StrAppend(out, "for (int g = first; g < ", kTile,
              "; g += ", TransposePlan::kRows, ") {\nconst ", type, " v",
              plan.m, " = first_m + ", of_m, ", v", plan.n, " = first_n + ",
              of_n, ";\nif (v", plan.m, " < ", exprs.Count(m), " && v", plan.n,
              " < ", exprs.Count(n), ") {\n");
  };
  open("lane", "g");
  for (const uint32_t e : plan.loads) {
    const uint32_t number = region.exprs[e].number;
    StrAppend(out, "x", e, "[g][lane] = in", region.accesses[number].number,
              "[", exprs.AffineCode(context.flat->loads[number].address),
              "];\n");
  }
  *out += "}\n}\n__syncthreads();\n";
  open("g", "lane");
  const uint32_t both[] = {plan.m, plan.n};
  exprs.OpenScope(both);
  exprs.UseTiles(plan.loads);
  exprs.Declare(exprs.NeededBy(0));
  exprs.EmitStores(0);
  exprs.CloseScope();
  *out += "}\n}\n";
  exprs.CloseScope();
}

}  // namespace encore::backends::cuda
