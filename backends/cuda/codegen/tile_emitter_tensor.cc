#include "encore/backends/cuda/codegen/scalar_code.h"
#include "encore/backends/cuda/codegen/tile_emitter.h"
#include "encore/ir/support/strings.h"

namespace encore::backends::cuda {
namespace {

// mma.m16n8; as deep along k as 32 bytes.
constexpr int kFirst = 16, kSecond = 8;
constexpr int kGroup = 8;

bool IsTf32(const TilePlan& plan) { return *plan.tensor == DType::kF32; }

std::string_view ElementType(const TilePlan& plan) {
  return IsTf32(plan) ? "u32" : "u16";
}

// What functions of device/tensor.cuh call the elements.
std::string_view ElementName(const TilePlan& plan) {
  return IsTf32(plan) ? "tf32" : Name(*plan.tensor);
}

std::string TileType(const TilePlan& plan, const TileFactor& factor, int rows) {
  return StrCat("Tile<", ElementType(plan), ", ", rows, ", ",
                factor.along_k || IsTf32(plan) ? "false" : "true", ">");
}

}  // namespace

void TileEmitter::EmitTensor() {
  const std::string_view type = context_.index_type();
  const std::string type_m = TileType(plan_, plan_.m, plan_.tile_m);
  const std::string type_n = TileType(plan_, plan_.n, plan_.tile_n);
  StrAppend(&out_, "const int lane = thread % 32;\n",
            "const int part_m = thread / 32 / ", plan_.parts_n(), " * ",
            plan_.part_m, ", part_n = thread / 32 % ", plan_.parts_n(), " * ",
            plan_.part_n, ";\n", "struct Stage { ", type_m, " m; ", type_n,
            " n; };\n", "__shared__ __align__(16) Stage stages[2];\n",
            "f32 acc[", plan_.part_m / kFirst, "][", plan_.part_n / kSecond,
            "][4] = {};\nint stage = 0;\n", "for (", type, " k0 = ", FirstK(),
            "; k0 < ", EndK(), " + ", plan_.tile_k, "; k0 += ", plan_.tile_k,
            ") {\nif (k0 < ", EndK(), ") {\n");
  EmitTensorFill(plan_.m, "stages[stage].m", plan_.tile_m, "first_m");
  EmitTensorFill(plan_.n, "stages[stage].n", plan_.tile_n, "first_n");
  StrAppend(&out_, "}\nCommitCopies();\nstage ^= 1;\nif (k0 == ", FirstK(),
            ") continue;\nAwaitCopies();\n__syncthreads();\n");
  EmitTensorProducts();
  out_ += "__syncthreads();\n}\n";
  EmitTensorResults();
}

void TileEmitter::EmitTensorFill(const TileFactor& factor,
                                 std::string_view tile, int rows,
                                 std::string_view first_row) {
  if (factor.in_groups) {
    const Expr& value = region_.expr(factor.value);
    StrAppend(&out_, "if ((u64)in", region_.accesses[value.number].number,
              " % 16 == 0) {\n");
    EmitGroups(factor, tile, rows, first_row);
    out_ += "} else\n";
  }
  const std::string_view type = context_.index_type();
  const std::string of_row =
      factor.along_k ? StrCat("t / ", plan_.tile_k) : StrCat("t % ", rows);
  const std::string of_k =
      factor.along_k ? StrCat("t % ", plan_.tile_k) : StrCat("t / ", rows);
  StrAppend(&out_, "for (int t = thread; t < ", rows * plan_.tile_k,
            "; t += ", plan_.threads(), ") {\nconst int tr = ", of_row,
            ", tk = ", of_k, ";\nconst ", type, " r = ", first_row,
            " + tr, k = k0 + tk;\nf32 x = 0;\nif (r < ",
            exprs_.Count(factor.rows), " && k < ", exprs_.Count(plan_.k),
            ") {\n");
  OpenElement(factor);
  exprs_.Declare(Reachable(region_, {factor.value}));
  StrAppend(&out_, "x = ", exprs_.NameOf(factor.value), ";\n}\n*", tile,
            ".Place(tr, tk) = (", ElementType(plan_), ")encode_",
            ElementName(plan_), "(x);\n}\n");
  exprs_.CloseScope();
}

// As EmitTensorFill, 16 bytes at a time.
void TileEmitter::EmitGroups(const TileFactor& factor, std::string_view tile,
                             int rows, std::string_view first_row) {
  const std::string_view type = context_.index_type();
  const Expr& value = region_.expr(factor.value);
  const int across = (factor.along_k ? plan_.tile_k : rows) / kGroup;
  const std::string near = StrCat("t % ", across, " * ", kGroup);
  const std::string far = StrCat("t / ", across);
  StrAppend(&out_, "for (int t = thread; t < ", rows * plan_.tile_k / kGroup,
            "; t += ", plan_.threads(),
            ") {\nconst int tr = ", factor.along_k ? far : near,
            ", tk = ", factor.along_k ? near : far, ";\nconst ", type,
            " r = ", first_row, " + tr, k = k0 + tk;\nconst bool there = r < ",
            exprs_.Count(factor.rows), " && k < ", exprs_.Count(plan_.k),
            ";\n");
  OpenElement(factor);
  const ExprEmitter::Place place =
      exprs_.PlaceOf(context_.flat->loads[value.number], "group");
  StrAppend(&out_, "CopyAsync(", tile, ".Place(tr, tk), in",
            region_.accesses[value.number].number, " + (there ? ",
            place.address, " : 0), there);\n}\n");
  exprs_.CloseScope();
}

void TileEmitter::EmitTensorProducts() {
  const int first = plan_.part_m / kFirst, second = plan_.part_n / kSecond;
  StrAppend(
      &out_,
      "Stage& now = stages[stage];\n#pragma unroll\nfor (int tk = 0; tk < ",
      plan_.tile_k, "; tk += ", plan_.tile_k / 2, ") {\nu32 a[", first,
      "][4], b[", second / 2, "][4];\n#pragma unroll\nfor (int i = 0; i < ",
      first, "; ++i) now.m.LoadFirst(a[i], part_m + i * ", kFirst,
      ", tk, lane);\n#pragma unroll\nfor (int j = 0; j < ", second / 2,
      "; ++j) now.n.LoadSecond(b[j], part_n + j * ", 2 * kSecond,
      ", tk, lane);\n#pragma unroll\nfor (int i = 0; i < ", first,
      "; ++i)\n#pragma unroll\nfor (int j = 0; j < ", second,
      "; ++j) Multiply_", ElementName(plan_),
      "(acc[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);\n}\n");
}

// Sixteen rows of each warp at a time, by way of shared memory, so that
// neighbours in a row are stored by neighbours.
void TileEmitter::EmitTensorResults() {
  const std::string_view index = context_.index_type();
  const int first = plan_.part_m / kFirst, second = plan_.part_n / kSecond;
  const int rows = plan_.parts_m() * kFirst;
  const int pitch = plan_.tile_n + 8;
  StrAppend(
      &out_, "f32 (*const strip)[", pitch, "] = (f32 (*)[", pitch,
      "])stages;\nstatic_assert(sizeof(f32) * ", rows * pitch,
      " <= sizeof(stages), \"\");\n#pragma unroll 1\nfor (int s = 0; s < ",
      first, "; ++s) {\n#pragma unroll\nfor (int i = 0; i < ", first,
      "; ++i) {\nif (i != s) continue;\n#pragma unroll\nfor (int j = 0; j < ",
      second, "; ++j) {\nconst int sr = part_m / ", plan_.part_m, " * ", kFirst,
      " + lane / 4, sc = part_n + j * ", kSecond,
      " + lane % 4 * 2;\n*(float2*)&strip[sr][sc] = make_float2(acc[i][j][0], "
      "acc[i][j][1]);\n*(float2*)&strip[sr + 8][sc] = "
      "make_float2(acc[i][j][2], acc[i][j][3]);\n}\n}\n__syncthreads();\nfor "
      "(int t = thread; t < ",
      rows * plan_.tile_n, "; t += ", plan_.threads(),
      ") {\nconst int sr = t / ", plan_.tile_n, ", sc = t % ", plan_.tile_n,
      ";\nconst ", index, " rm = first_m + sr / ", kFirst, " * ", plan_.part_m,
      " + s * ", kFirst, " + sr % ", kFirst, ", rn = first_n + sc;\nif (rm < ",
      exprs_.Count(plan_.m.rows), " && rn < ", exprs_.Count(plan_.n.rows),
      ") {\n", combiner_.type, " sum = {strip[sr][sc]};\n");
  EmitElement();
  out_ += "}\n}\n__syncthreads();\n}\n";
}

}  // namespace encore::backends::cuda
