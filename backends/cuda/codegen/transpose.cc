#include "encore/backends/cuda/codegen/transpose.h"

#include <algorithm>
#include <span>

#include "encore/ir/support/strings.h"

namespace encore::backends::cuda {
namespace {

constexpr int64_t kLeastExtent = 8;
constexpr double kLeastPoints = 4096;
// Of one size, before a larger one is taken.
constexpr double kLeastTiles = 128;
constexpr int kMostWidth = 4;
constexpr int kUnitBytes = 8;
constexpr int kSharedBytes = 40 * 1024;

// The variable whose neighbours lie side by side; nothing where there is none,
// or the address depends on data.
std::optional<uint32_t> Along(const FlatAccess& access) {
  if (!access.dynamic.empty()) return std::nullopt;
  for (const auto& [v, coefficient] : access.address.terms) {
    if (coefficient == 1) return v;
  }
  return std::nullopt;
}

// Behind rows of tiles of units: a word where elements are less, so that rows
// are longer than the banks.
int Padding(DType dtype, int width) {
  return std::max(width, 32 / BitWidth(dtype));
}

int64_t SharedBytes(const FlatRegion& flat, int width,
                    const std::vector<uint32_t>& loads) {
  const int64_t tile = int64_t{TransposePlan::kUnits} * width;
  int64_t bytes = 0;
  for (const uint32_t e : loads) {
    const DType dtype = flat.region->exprs[e].dtype;
    bytes += tile * (tile + Padding(dtype, width)) * (BitWidth(dtype) / 8);
  }
  return bytes;
}

// Whether tiles may have units of `width`; then sets it, with what else lies
// side by side.
bool SetWidth(const FlatRegion& flat, int width, TransposePlan* plan) {
  const Region& region = *flat.region;
  const uint32_t m[] = {plan->m}, n[] = {plan->n};
  const auto along_m = FindGroups(flat, 0, m, width);
  const auto along_n = FindGroups(flat, 0, n, width);
  if (!along_m || !along_n || !along_n->stores[0]) return false;
  for (const uint32_t e : plan->loads) {
    const int bytes = BitWidth(region.exprs[e].dtype) / 8;
    if (BitWidth(region.exprs[e].dtype) !=
            BitWidth(region.exprs[plan->loads[0]].dtype) ||
        std::ranges::find(along_m->loads, e) == along_m->loads.end() ||
        width * bytes > kUnitBytes) {
      return false;
    }
  }
  if (SharedBytes(flat, width, plan->loads) > kSharedBytes) return false;
  plan->width = width;
  plan->vectors = *along_n;
  return true;
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
      !large(plan.n) || SharedBytes(flat, 1, plan.loads) > kSharedBytes) {
    return std::nullopt;
  }
  for (const uint32_t v : flat.outer) {
    if (v != plan.m && v != plan.n) plan.others.push_back(v);
  }
  plan.vectors.stores = {false};
  for (int width = kMostWidth; width > 1; width /= 2) {
    const double tile = TransposePlan::kUnits * width;
    if (points < kLeastTiles * tile * tile) continue;
    if (SetWidth(flat, width, &plan)) break;
  }
  return plan;
}

namespace {

class TransposeEmitter {
 public:
  TransposeEmitter(const EmitContext& context, const TransposePlan& plan,
                   std::string* out)
      : context_(context),
        flat_(*context.flat),
        region_(*context.flat->region),
        plan_(plan),
        out_(*out),
        exprs_(context, out) {}

  void Emit() {
    const std::string_view type = context_.index_type();
    const std::string m = Tiles(plan_.m), n = Tiles(plan_.n);
    StrAppend(&out_,
              "const int lane = threadIdx.x % 32, first = threadIdx.x / 32;\n"
              "const ",
              type, " first_n = (", type, ")blockIdx.x % ", n, " * ",
              plan_.tile(), ", first_m = (", type, ")blockIdx.x / ", n, " % ",
              m, " * ", plan_.tile(), ", point = (", type, ")blockIdx.x / ", n,
              " / ", m, ";\n");
    exprs_.DeclareVariables(plan_.others, "point");
    exprs_.OpenScope(plan_.others);
    EmitLoads();
    out_ += "__syncthreads();\n";
    EmitStores();
    exprs_.CloseScope();
  }

 private:
  std::string Tiles(uint32_t variable) const {
    return StrCat("((", Count(variable), " + ", plan_.tile() - 1, ") / ",
                  plan_.tile(), ")");
  }
  std::string Count(uint32_t variable) const {
    return exprs_.Count(std::span(&variable, 1));
  }

  // Opens a loop over the thread's part of `rows` rows g, with m and n there.
  void Open(int rows, std::string_view m, std::string_view n) {
    StrAppend(&out_, "#pragma unroll\nfor (int k = 0; k < ",
              rows / plan_.warps(), "; ++k) {\nconst int g = first + k * ",
              plan_.warps(), ";\nconst ", context_.index_type(), " v", plan_.m,
              " = first_m + ", m, ", v", plan_.n, " = first_n + ", n, ";\n");
    for (const uint32_t v : {plan_.m, plan_.n}) {
      const Size& extent = flat_.extents[v];
      if (extent.is_constant() && int64_t{extent} % plan_.tile() == 0) continue;
      StrAppend(&out_, "if (v", v, " >= ", Count(v), ") continue;\n");
    }
  }
  // Rows lie so that those of a lane's square, of which lanes read the same at
  // once, are neighbours of other lanes': then a column has all banks.
  void OpenRows() {
    const int width = plan_.width;
    Open(plan_.tile(), StrCat("lane * ", width),
         width == 1 ? "g" : StrCat("g % 32 * ", width, " + g / 32"));
  }

  void EmitLoads() {
    const int width = plan_.width, each = plan_.tile() / plan_.warps();
    std::string aligned;
    for (const uint32_t e : plan_.loads) {
      const Expr& expr = region_.exprs[e];
      const int pad = Padding(expr.dtype, width);
      StrAppend(&out_, "__shared__ __align__(16) mem_", expr.dtype, " x", e,
                "[", plan_.tile(), "][", plan_.tile() + pad, "];\nmem_",
                expr.dtype, " r", e, "[", each, "][", width, "];\n");
      StrAppend(&aligned, aligned.empty() ? "" : " && ", "IsAligned<",
                width * BitWidth(expr.dtype) / 8, ">(in",
                region_.accesses[expr.number].number, ")");
    }
    StrAppend(&out_, "if (", aligned, ") {\n");
    LoadRows("CopyVector");
    out_ += "} else {\n";
    LoadRows("CopyEach");
    out_ += "}\n";
    OpenRows();
    for (const uint32_t e : plan_.loads) {
      StrAppend(&out_, "CopyVector<", width, ">(x", e, "[g] + lane * ", width,
                ", r", e, "[k]);\n");
    }
    out_ += "}\n";
  }

  void LoadRows(std::string_view copy) {
    OpenRows();
    for (const uint32_t e : plan_.loads) {
      const uint32_t number = region_.exprs[e].number;
      StrAppend(&out_, copy, "<", plan_.width, ">(r", e, "[k], in",
                region_.accesses[number].number, " + ",
                exprs_.AffineCode(flat_.loads[number].address), ");\n");
    }
    out_ += "}\n";
  }

  void EmitStores() {
    const int width = plan_.width;
    const std::string_view type = context_.index_type();
    Open(TransposePlan::kUnits, StrCat("g * ", width),
         StrCat("lane * ", width));
    for (const uint32_t e : plan_.loads) {
      StrAppend(&out_, "mem_", region_.exprs[e].dtype, " t", e, "[", width,
                "][", width, "];\n#pragma unroll\nfor (int w = 0; w < ", width,
                "; ++w) CopyVector<", width, ">(t", e, "[w], x", e,
                "[w * 32 + lane] + g * ", width, ");\n");
    }
    StrAppend(&out_, "const ", type, " base_m = v", plan_.m, ", base = v",
              plan_.n, ";\n#pragma unroll\nfor (int h = 0; h < ", width,
              "; ++h) {\nconst ", type, " v", plan_.m, " = base_m + h;\n");
    EmitGroup();
    out_ += "}\n}\n";
  }

  // Neighbours in n at one m.
  void EmitGroup() {
    const int width = plan_.width;
    const std::string_view type = context_.index_type();
    const Store& store = region_.stages[0].stores[0];
    for (const uint32_t e : plan_.vectors.loads) {
      const Expr& expr = region_.exprs[e];
      StrAppend(&out_, "mem_", expr.dtype, " x", e, "[", width,
                "];\nLoadVector(x", e, ", in",
                region_.accesses[expr.number].number, " + ",
                exprs_.AffineCode(flat_.loads[expr.number].address), ");\n");
    }
    if (plan_.vectors.stores[0]) {
      StrAppend(&out_, "mem_", region_.outputs[store.output].dtype, " y0[",
                width, "];\n");
    }
    const uint32_t m[] = {plan_.m}, n[] = {plan_.n};
    const std::vector<bool> needed = exprs_.NeededBy(0);
    exprs_.UseTiles(plan_.loads);
    exprs_.UseVectors(&plan_.vectors);
    exprs_.OpenScope(m);
    exprs_.DeclareHere(needed, /*loads=*/true);
    StrAppend(&out_, "#pragma unroll\nfor (int w = 0; w < ", width,
              "; ++w) {\nconst ", type, " v", plan_.n, " = base + w;\n");
    exprs_.OpenScope(n);
    exprs_.Declare(needed);
    exprs_.EmitStores(0);
    exprs_.CloseScope();
    out_ += "}\n";
    if (plan_.vectors.stores[0]) {
      StrAppend(&out_, "StoreVector(out", store.output, " + ",
                exprs_.AffineCode(flat_.stores[0][0].address), ", y0);\n");
    }
    exprs_.CloseScope();
  }

  const EmitContext& context_;
  const FlatRegion& flat_;
  const Region& region_;
  const TransposePlan& plan_;
  std::string& out_;
  ExprEmitter exprs_;
};

}  // namespace

void EmitTranspose(const EmitContext& context, const TransposePlan& plan,
                   std::string* out) {
  TransposeEmitter(context, plan, out).Emit();
}

}  // namespace encore::backends::cuda
