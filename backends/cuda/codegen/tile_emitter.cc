#include "encore/backends/cuda/codegen/tile_emitter.h"

#include "encore/backends/cuda/codegen/scalar_code.h"
#include "encore/ir/support/strings.h"

namespace encore::backends::cuda {
namespace {

constexpr int kBanks = 32;
// The same behind rows of results, of which two meet in a warp.
constexpr int kStripPadding = 16;

}  // namespace

TileEmitter::TileEmitter(const EmitContext& context, const TilePlan& plan,
                         std::string* out)
    : context_(context),
      region_(*context.flat->region),
      plan_(plan),
      out_(*out),
      exprs_(context, out),
      combiner_(CombinerOf(region_, plan.stage)) {}

std::string TileEmitter::Tiles(const std::vector<uint32_t>& variables,
                               int size) const {
  return StrCat("((", exprs_.Count(variables), " + ", size - 1, ") / ", size,
                ")");
}

void TileEmitter::EmitBlock() {
  const std::string_view type = context_.index_type();
  const std::string tiles_m = Tiles(plan_.m.rows, plan_.tile_m);
  const std::string tiles_n = Tiles(plan_.n.rows, plan_.tile_n);
  StrAppend(
      &out_, "const int thread = threadIdx.x;\nconst ", type, " first_n = (",
      type, ")blockIdx.x % ", tiles_n, " * ", plan_.tile_n, ";\nconst ", type,
      " first_m = (", type, ")blockIdx.x / ", tiles_n, " % ", tiles_m, " * ",
      plan_.tile_m, ";\nconst ", type, " point = (", type, ")blockIdx.x / ",
      tiles_n, " / ", tiles_m,
      plan_.pieces > 1 ? StrCat(" % ", exprs_.Count(plan_.batch)) : "", ";\n");
  if (plan_.pieces > 1) {
    const std::string count = exprs_.Count(plan_.k);
    StrAppend(&out_, "const ", type, " piece = (", type, ")blockIdx.x / ",
              tiles_n, " / ", tiles_m, " / ", exprs_.Count(plan_.batch),
              ";\nconst ", type, " k_piece = (", count, " + ",
              plan_.pieces * plan_.tile_k - 1, ") / ",
              plan_.pieces * plan_.tile_k, " * ", plan_.tile_k, ";\nconst ",
              type, " k_begin = piece * k_piece;\nconst ", type,
              " k_end = k_begin + k_piece < ", count,
              " ? k_begin + k_piece : ", count, ";\n");
  }
  exprs_.DeclareVariables(plan_.batch, "point");
  exprs_.OpenScope(plan_.batch);
}

std::string TileEmitter::EndK() const {
  return plan_.pieces > 1 ? "k_end" : exprs_.Count(plan_.k);
}

void TileEmitter::Emit() {
  EmitBlock();
  if (plan_.tensor) {
    EmitTensor();
    exprs_.CloseScope();
    return;
  }
  const std::string& type = combiner_.value;
  const std::string_view index = context_.index_type();
  // Lanes that fill neighbours along k do not meet in a bank.
  const int padding = kBanks / plan_.tile_k;
  StrAppend(&out_, "const int row = thread / ", plan_.parts_n(),
            ", column = thread % ", plan_.parts_n(), ";\n__shared__ ", type,
            " tile_m[", plan_.tile_k, "][", plan_.tile_m + padding,
            "], tile_n[", plan_.tile_k, "][", plan_.tile_n + padding, "];\n",
            type, " acc[", plan_.part_m, "][", plan_.part_n, "] = {};\n",
            "for (", index, " k0 = ", FirstK(), "; k0 < ", EndK(),
            "; k0 += ", plan_.tile_k, ") {\n");
  EmitFill(plan_.m, "tile_m", plan_.tile_m, "first_m");
  EmitFill(plan_.n, "tile_n", plan_.tile_n, "first_n");
  out_ += "__syncthreads();\n";
  EmitProducts();
  out_ += "__syncthreads();\n}\n";
  EmitResults();
  exprs_.CloseScope();
}

void TileEmitter::OpenElement(const TileFactor& factor) {
  exprs_.DeclareVariables(factor.rows, "r");
  exprs_.DeclareVariables(plan_.k, "k");
  std::vector<uint32_t> variables = factor.rows;
  variables.insert(variables.end(), plan_.k.begin(), plan_.k.end());
  exprs_.OpenScope(variables);
}

void TileEmitter::EmitFill(const TileFactor& factor, std::string_view tile,
                           int rows, std::string_view first_row) {
  const std::string_view type = context_.index_type();
  const std::string of_row =
      factor.along_k ? StrCat("t / ", plan_.tile_k) : StrCat("t % ", rows);
  const std::string of_k =
      factor.along_k ? StrCat("t % ", plan_.tile_k) : StrCat("t / ", rows);
  StrAppend(&out_, "for (int t = thread; t < ", rows * plan_.tile_k,
            "; t += ", plan_.threads(), ") {\nconst int tr = ", of_row,
            ", tk = ", of_k, ";\nconst ", type, " r = ", first_row,
            " + tr, k = k0 + tk;\n", combiner_.value, " x = 0;\nif (r < ",
            exprs_.Count(factor.rows), " && k < ", exprs_.Count(plan_.k),
            ") {\n");
  OpenElement(factor);
  exprs_.Declare(Reachable(region_, {factor.value}));
  StrAppend(&out_, "x = (", combiner_.value, ")", exprs_.NameOf(factor.value),
            ";\n}\n", tile, "[tk][tr] = x;\n}\n");
  exprs_.CloseScope();
}

// Rows and columns of a thread lie apart, so that those of neighbours are side
// by side.
void TileEmitter::EmitProducts() {
  const std::string& type = combiner_.value;
  const int down = plan_.parts_m();
  const int across = plan_.parts_n();
  StrAppend(&out_, "#pragma unroll\nfor (int tk = 0; tk < ", plan_.tile_k,
            "; ++tk) {\n", type, " a[", plan_.part_m, "], b[", plan_.part_n,
            "];\n#pragma unroll\nfor (int i = 0; i < ", plan_.part_m,
            "; ++i) a[i] = tile_m[tk][row + i * ", down,
            "];\n#pragma unroll\nfor (int j = 0; j < ", plan_.part_n,
            "; ++j) b[j] = tile_n[tk][column + j * ", across,
            "];\n#pragma unroll\nfor (int i = 0; i < ", plan_.part_m,
            "; ++i)\n#pragma unroll\nfor (int j = 0; j < ", plan_.part_n,
            "; ++j) acc[i][j] = op_add(acc[i][j], op_mul(a[i], b[j]));\n}\n");
}

void TileEmitter::EmitResults() {
  const std::string& type = combiner_.value;
  const std::string_view index = context_.index_type();
  const int down = plan_.parts_m();
  const int across = plan_.parts_n();
  StrAppend(&out_, "__shared__ ", type, " strip[", down, "][",
            plan_.tile_n + kStripPadding,
            "];\n#pragma unroll 1\nfor (int s = 0; s < ", plan_.part_m,
            "; ++s) {\n#pragma unroll\nfor (int i = 0; i < ", plan_.part_m,
            "; ++i) {\nif (i != s) continue;\n#pragma unroll\nfor (int j = 0; "
            "j < ",
            plan_.part_n, "; ++j) strip[row][column + j * ", across,
            "] = acc[i][j];\n}\n__syncthreads();\nfor (int t = thread; t < ",
            down * plan_.tile_n, "; t += ", plan_.threads(), ") {\nconst ",
            index, " rm = first_m + s * ", down, " + t / ", plan_.tile_n,
            ", rn = first_n + t % ", plan_.tile_n, ";\nif (rm < ",
            exprs_.Count(plan_.m.rows), " && rn < ", exprs_.Count(plan_.n.rows),
            ") {\n", combiner_.type, " sum = {strip[t / ", plan_.tile_n,
            "][t % ", plan_.tile_n, "]};\n");
  EmitElement();
  out_ += "}\n}\n__syncthreads();\n}\n";
}

void TileEmitter::EmitElement() {
  if (plan_.pieces == 1) {
    EmitResult();
    return;
  }
  StrAppend(&out_, "parts[(((i64)piece * ", exprs_.Count(plan_.batch),
            " + point) * ", exprs_.Count(plan_.m.rows), " + rm) * ",
            exprs_.Count(plan_.n.rows), " + rn] = sum.v;\n");
}

void TileEmitter::EmitMerge() {
  const std::string_view type = context_.index_type();
  const std::string m = exprs_.Count(plan_.m.rows);
  const std::string n = exprs_.Count(plan_.n.rows);
  const std::string points =
      StrCat("(i64)", exprs_.Count(plan_.batch), " * ", m, " * ", n);
  StrAppend(&out_, "const i64 i = (i64)blockIdx.x * ", kMergeThreads,
            " + threadIdx.x;\nif (i >= ", points, ") return;\n", combiner_.type,
            " sum = {parts[i]};\n",
            "#pragma unroll\nfor (int piece = 1; piece < ", plan_.pieces,
            "; ++piece) sum.v = op_add(sum.v, parts[i + piece * (", points,
            ")]);\nconst ", type, " rn = (", type, ")(i % ", n, "), rm = (",
            type, ")(i / ", n, " % ", m, "), point = (", type, ")(i / ", n,
            " / ", m, ");\n");
  exprs_.DeclareVariables(plan_.batch, "point");
  exprs_.OpenScope(plan_.batch);
  EmitResult();
  exprs_.CloseScope();
}

void TileEmitter::EmitResult() {
  exprs_.DeclareVariables(plan_.m.rows, "rm");
  exprs_.DeclareVariables(plan_.n.rows, "rn");
  std::vector<uint32_t> variables = plan_.m.rows;
  variables.insert(variables.end(), plan_.n.rows.begin(), plan_.n.rows.end());
  exprs_.OpenScope(variables);
  StrAppend(&out_, "const ", CType(ResultType(region_, plan_.stage)), " s",
            plan_.stage, "_0 = ", combiner_.Result("sum", 0, "1"), ";\n");
  for (uint32_t s = plan_.stage + 1; s < region_.stages.size(); ++s) {
    exprs_.Declare(exprs_.NeededBy(s));
    const Stage& stage = region_.stages[s];
    if (stage.value.valid()) {
      StrAppend(&out_, "const ", CType(ResultType(region_, s)), " s", s,
                "_0 = ", exprs_.NameOf(stage.value), ";\n");
    }
    exprs_.EmitStores(s);
  }
  exprs_.CloseScope();
}

}  // namespace encore::backends::cuda
