#include <algorithm>

#include "encore/backends/cuda/codegen/scalar_code.h"
#include "encore/backends/cuda/codegen/tile_emitter.h"
#include "encore/ir/support/strings.h"

namespace encore::backends::cuda {
namespace {

// mma.m16n8; as deep along k as 32 bytes.
constexpr int kFirst = 16, kSecond = 8;

constexpr std::string_view kInlined = "__attribute__((always_inline))";

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
                factor.along_k ? "false" : "true", ", 0>");
}

}  // namespace

void TileEmitter::EmitTensor() {
  StrAppend(
      &out_, "const int lane = thread % 32;\n",
      "const int part_m = thread / 32 / ", plan_.parts_n(), " * ", plan_.part_m,
      ", part_n = thread / 32 % ", plan_.parts_n(), " * ", plan_.part_n,
      ";\nstruct Stage { ", TileType(plan_, plan_.m, plan_.tile_m), " m; ",
      TileType(plan_, plan_.n, plan_.tile_n), " n; };\nstatic_assert(",
      plan_.stages, " * sizeof(Stage) <= ", plan_.shared_bytes(),
      ", \"\");\nextern __shared__ __align__(16) unsigned char pool[];\n"
      "Stage* const stages = (Stage*)pool;\nf32 acc[",
      plan_.part_m / kFirst, "][", plan_.part_n / kSecond, "][4] = {};\n");
  EmitTensorProducts();
  EmitTensorSums();
  EmitTensorResults();
}

// By groups, where the memory is aligned to them, and by elements.
void TileEmitter::EmitTensorSums() {
  std::string aligned;
  for (const TileFactor* factor : {&plan_.m, &plan_.n}) {
    if (factor->group == 1) continue;
    const Expr& value = region_.expr(factor->value);
    StrAppend(&aligned, aligned.empty() ? "" : " && ", "(u64)in",
              region_.accesses[value.number].number, " % 16 == 0");
  }
  if (aligned.empty()) {
    EmitTensorSteps(/*groups=*/false);
    return;
  }
  StrAppend(&out_, "if (", aligned, ") {\n");
  EmitTensorSteps(/*groups=*/true);
  out_ += "} else {\n";
  EmitTensorSteps(/*groups=*/false);
  out_ += "}\n";
}

// While a tile is multiplied the next ones are under way. One barrier a tile:
// behind it what all threads copied is there, and what the tile before lay in
// is free. The next copies begin between the halves of a tile's products.
void TileEmitter::EmitTensorSteps(bool groups) {
  const std::string_view type = context_.index_type();
  const int ahead = plan_.stages - 1, half = plan_.tile_k / 2;
  StrAppend(&out_, "const auto fill = [&](Stage& to, ", type, " k0) ", kInlined,
            " {\n");
  EmitTensorFill(plan_.m, groups, "to.m", plan_.tile_m, "first_m");
  EmitTensorFill(plan_.n, groups, "to.n", plan_.tile_n, "first_n");
  // Elements are much text.
  StrAppend(&out_, "CommitCopies();\n};\n#pragma unroll ", groups ? ahead : 1,
            "\nfor (int s = 0; s < ", ahead, "; ++s) fill(stages[s], ",
            FirstK(), " + s * ", plan_.tile_k,
            ");\nint stage = 0, next = ", ahead, ";\nfor (", type,
            " k = ", FirstK(), "; k < ", EndK(), "; k += ", plan_.tile_k,
            ") {\nAwaitCopies<", ahead - 1,
            ">();\n__syncthreads();\nmultiply(stages[stage], 0);\n"
            "fill(stages[next], k + ",
            ahead * plan_.tile_k, ");\nmultiply(stages[stage], ", half,
            ");\nstage = stage == ", ahead,
            " ? 0 : stage + 1;\nnext = next == ", ahead,
            " ? 0 : next + 1;\n}\nAwaitCopies<0>();\n__syncthreads();\n");
}

// Loads that are under way at once: as many as registers beside the sums have
// room for. What is computed is much text.
int TileEmitter::ElementsAtOnce(const TileFactor& factor) const {
  constexpr int kManySums = 64;  // of a lane
  const bool computed = region_.expr(factor.value).kind != Expr::Kind::kLoad;
  if (computed || factor.group > 1) return 4;
  return plan_.part_m * plan_.part_n / 32 > kManySums ? 8 : 32;
}

void TileEmitter::EmitTensorFill(const TileFactor& factor, bool groups,
                                 std::string_view tile, int rows,
                                 std::string_view first_row) {
  if (groups && factor.group > 1) {
    EmitGroups(factor, tile, rows, first_row);
    return;
  }
  const int near = factor.along_k ? plan_.tile_k : rows;
  StrAppend(&out_, "if (k0 < ", EndK(), ") ");
  OpenStep();
  OpenSpread(rows * plan_.tile_k, near, ElementsAtOnce(factor));
  StrAppend(&out_, "const int tr = ", factor.along_k ? "far" : "near",
            ", tk = ", factor.along_k ? "near" : "far", ";\n");
  EmitElementOf(factor, rows, first_row, "f32");
  const std::string element =
      IsTf32(plan_) ? "__float_as_uint(x)"
                    : StrCat("(u16)encode_", ElementName(plan_), "(x)");
  StrAppend(&out_, "*", tile, ".Place(tr, tk) = ", element, ";\n}\n}\n");
}

// Element `near`, below `extent`, and `far` of as many as `count`, one of the
// block's threads each, in as many turns as are known when it is compiled.
void TileEmitter::OpenSpread(int count, int extent, int unrolled) {
  const int threads = plan_.threads();
  const int turns = (count + threads - 1) / threads;
  StrAppend(&out_, "#pragma unroll ", std::min(turns, unrolled),
            "\nfor (int turn = 0; turn < ", turns, "; ++turn) {\n");
  if (extent > threads) {
    const int each = extent / threads;
    StrAppend(&out_, "const int near = thread + turn % ", each, " * ", threads,
              ", far = turn / ", each, ";\n");
  } else {
    StrAppend(&out_, "const int near = thread % ", extent, ", far = thread / ",
              extent, " + turn * ", threads / extent, ";\n");
  }
  if (count % threads != 0) {
    StrAppend(&out_, "if (far >= ", count / extent, ") break;\n");
  }
}

// As EmitTensorFill, 16 bytes at a time. What is behind the end is zeros, and
// not read.
void TileEmitter::EmitGroups(const TileFactor& factor, std::string_view tile,
                             int rows, std::string_view first_row) {
  const std::string_view type = context_.index_type();
  const Expr& value = region_.expr(factor.value);
  const int across = (factor.along_k ? plan_.tile_k : rows) / factor.group;
  const std::string near = StrCat("near * ", factor.group);
  OpenSpread(rows * plan_.tile_k / factor.group, across, 16);
  StrAppend(&out_, "const int tr = ", factor.along_k ? "far" : near,
            ", tk = ", factor.along_k ? near : "far", ";\nconst ", type,
            " r = ", first_row, " + tr, k = k0 + tk;\nconst bool there = r < ",
            exprs_.Count(factor.rows), " && k < ", EndK(), ";\n");
  OpenElement(factor);
  const ExprEmitter::Place place =
      exprs_.PlaceOf(context_.flat->loads[value.number], "group");
  StrAppend(&out_, "CopyAsync(", tile, ".Place(tr, tk), in",
            region_.accesses[value.number].number, " + (there ? ",
            place.address, " : 0), there);\n}\n");
  exprs_.CloseScope();
}

// The products of half a tile, from tk on.
void TileEmitter::EmitTensorProducts() {
  const int first = plan_.part_m / kFirst, second = plan_.part_n / kSecond;
  const std::string_view round_first =
      IsTf32(plan_) ? "RoundToTf32(a[i]);\n" : "";
  const std::string_view round_second =
      IsTf32(plan_) ? "RoundToTf32(b[j]);\n" : "";
  StrAppend(
      &out_, "const auto multiply = [&](Stage& now, int tk) ", kInlined,
      " {\nu32 a[", first, "][4], b[", second / 2,
      "][4];\n#pragma unroll\nfor (int i = 0; i < ", first,
      "; ++i) {\nnow.m.LoadFirst(a[i], part_m + i * ", kFirst, ", tk, lane);\n",
      round_first, "}\n#pragma unroll\nfor (int j = 0; j < ", second / 2,
      "; ++j) {\nnow.n.LoadSecond(b[j], part_n + j * ", 2 * kSecond,
      ", tk, lane);\n", round_second, "}\n#pragma unroll\nfor (int i = 0; i < ",
      first, "; ++i)\n#pragma unroll\nfor (int j = 0; j < ", second,
      "; ++j) Multiply_", ElementName(plan_),
      "(acc[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);\n};\n");
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
      "])pool;\nstatic_assert(sizeof(f32) * ", rows * pitch,
      " <= ", plan_.shared_bytes(),
      ", \"\");\n#pragma unroll 1\nfor (int s = 0; s < ", first,
      "; ++s) {\n#pragma unroll\nfor (int i = 0; i < ", first,
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
