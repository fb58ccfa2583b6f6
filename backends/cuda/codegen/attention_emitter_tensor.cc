#include "encore/backends/cuda/codegen/attention_emitter.h"
#include "encore/backends/cuda/codegen/scalar_code.h"
#include "encore/ir/support/strings.h"

namespace encore::backends::cuda {
namespace {

// mma.m16n8: a warp has 16 rows, of which a lane has two, which it shares with
// the other three of its four.
constexpr int kWarpRows = 16;
constexpr int kRowLanes = 4;
// Of the keys, and of the columns, of a product.
constexpr int kTile = 8;

bool IsTf32(const AttentionPlan& plan) { return *plan.tensor == DType::kF32; }

std::string_view ElementType(const AttentionPlan& plan) {
  return IsTf32(plan) ? "u32" : "u16";
}

// What functions of device/tensor.cuh call the elements.
std::string_view ElementName(const AttentionPlan& plan) {
  return IsTf32(plan) ? "tf32" : Name(*plan.tensor);
}

// Elements in a row of a Tile of device/tensor.cuh: 64 bytes; and those of one
// product.
int TileDepth(const AttentionPlan& plan) { return IsTf32(plan) ? 16 : 32; }
int ProductDepth(const AttentionPlan& plan) { return TileDepth(plan) / 2; }

std::string TileType(const AttentionPlan& plan, int rows, bool transposed) {
  return StrCat("Tile<", ElementType(plan), ", ", rows, ", ",
                transposed ? "true" : "false", ">");
}

std::string StoreTo(const AttentionPlan& plan, std::string_view place) {
  return StrCat("*", place, " = (", ElementType(plan), ")encode_",
                ElementName(plan), "(x)");
}

// Of row r of the lane.
constexpr std::string_view kLaneRow = "(warp * 16 + lane / 4 + r * 8)";

}  // namespace

AttentionEmitter::Fill AttentionEmitter::TensorQuery() const {
  Fill fill = Query();
  fill.slice = TileDepth(plan_);
  const std::string place =
      StrCat("queries[tk / ", fill.slice, "].Place(tr, tk % ", fill.slice, ")");
  fill.store = StoreTo(plan_, place);
  if (fill.factor->in_groups) fill.group_place = place;
  return fill;
}

AttentionEmitter::Fill AttentionEmitter::TensorKey(
    std::string_view first_key) const {
  Fill fill = Key(first_key);
  fill.first_column = "0";
  fill.columns = plan_.depth;
  fill.slice = TileDepth(plan_);
  const std::string place =
      StrCat("keys[tk / ", fill.slice, "].Place(tr, tk % ", fill.slice, ")");
  fill.store = StoreTo(plan_, place);
  if (fill.factor->in_groups) fill.group_place = place;
  return fill;
}

// Values are the second factor with their columns as rows. Of TF32 they lie
// that way, in the order of keys in which a lane has its weights: the even ones
// of eight first.
AttentionEmitter::Fill AttentionEmitter::TensorValue(
    std::string_view first_key) const {
  Fill fill = Value(first_key);
  fill.rows = plan_.keys;
  const int depth = TileDepth(plan_);
  const std::string place =
      StrCat("values[tr / ", depth, "].Place(tk, tr % ", depth, ")");
  fill.store = StoreTo(plan_, place);
  if (IsTf32(plan_)) {
    fill.by_blocks = true;
    fill.row_of = "tr / 8 * 8 + tr % 4 * 2 + tr / 4 % 2";
  } else if (fill.factor->in_groups) {
    fill.group_place = place;
    // Eight groups of one row, or of two that are four apart, are in 32 banks.
    fill.slice = 32;
    fill.by_fours = true;
  }
  return fill;
}

void AttentionEmitter::EmitTensor() {
  const int depth = TileDepth(plan_);
  const std::string keys = StrCat(TileType(plan_, plan_.keys, false), " keys[",
                                  plan_.depth / depth, "]");
  const std::string values =
      StrCat(TileType(plan_, plan_.columns, !IsTf32(plan_)), " values[",
             plan_.keys / depth, "]");
  StrAppend(&out_, "struct Factors {\n", TileType(plan_, plan_.rows, false),
            " queries[", plan_.depth / depth, "];\n",
            plan_.overlaps ? "" : "union {\n", keys, ";\n", values, ";\n",
            plan_.overlaps ? "" : "};\n",
            "};\nunion Pool {\nFactors factors;\n", "f32 strip[",
            plan_.strip_rows(), "][", plan_.strip_pitch(),
            "];\n};\nstatic_assert(sizeof(Pool) == ", plan_.tensor_bytes(),
            ", \"\");\n__shared__ __align__(16) Pool pool;\n"
            "auto& queries = pool.factors.queries;\nauto& keys = "
            "pool.factors.keys;\nauto& values = pool.factors.values;\n"
            "RowsOf<2> rows;\nf32 acc[",
            plan_.columns / kTile, "][4] = {};\n");
  EmitFirstStep();
  EmitFill(TensorQuery());
  if (plan_.overlaps) {
    EmitFill(TensorKey("k_first"));
    out_ += "CommitCopies();\n";
  }
  OpenSteps();
  // Of the groups of copies all but the last are awaited.
  EmitFill(plan_.overlaps ? TensorValue("k0") : TensorKey("k0"));
  out_ += plan_.overlaps ? "" : "CommitCopies();\n";
  out_ += "CommitCopies();\nAwaitCopies<1>();\n__syncthreads();\n";
  EmitTensorProducts();
  out_ += "__syncthreads();\n";
  if (plan_.overlaps) {
    out_ += "if (k_next < k_end) {\n";
    EmitFill(TensorKey("k_next"));
    out_ += "}\n";
  } else {
    EmitFill(TensorValue("k0"));
    out_ += "CommitCopies();\n";
  }
  out_ += "CommitCopies();\n";
  const int each = plan_.keys / kRowLanes;
  EmitScores(2, each, kLaneRow, "i / 2 * 8 + lane % 4 * 2 + i % 2");
  EmitWeigh(2, each, kRowLanes);
  out_ += "AwaitCopies<1>();\n__syncthreads();\n";
  EmitTensorWeights();
  out_ += "__syncthreads();\n}\n";
  if (plan_.skips_hidden) {
    // There may have been no step that awaited the first copies.
    out_ += "CommitCopies();\nAwaitCopies<1>();\n__syncthreads();\n";
  }
  EmitSums(2, kRowLanes, kLaneRow);
  EmitTensorResults();
}

void AttentionEmitter::EmitTensorProducts() {
  const int step = ProductDepth(plan_);
  StrAppend(&out_, "MatrixScores<", plan_.keys / kTile,
            "> scores = {};\n#pragma unroll 2\nfor (int d = 0; d < ",
            plan_.depth, "; d += ", step, ") {\nconst int slice = d / ",
            TileDepth(plan_), ", tk = d % ", TileDepth(plan_),
            ";\nu32 a[4];\nqueries[slice].LoadFirst(a, warp * ", kWarpRows,
            ", tk, lane);\n#pragma unroll\nfor (int j = 0; j < ",
            plan_.keys / kTile, "; j += 2) {\nu32 b[4];\n",
            "keys[slice].LoadSecond(b, j * ", kTile, ", tk, lane);\nMultiply_",
            ElementName(plan_), "(scores.at[j], a, b[0], b[1]);\nMultiply_",
            ElementName(plan_), "(scores.at[j + 1], a, b[2], b[3]);\n}\n}\n");
}

// What mma leaves of a product's result is what it takes of a factor, but for
// the order of the keys of TF32.
void AttentionEmitter::EmitTensorWeights() {
  const int step = ProductDepth(plan_), depth = TileDepth(plan_);
  const std::string_view name = ElementName(plan_);
  StrAppend(&out_, "#pragma unroll\nfor (int j = 0; j < ",
            plan_.columns / kTile,
            "; ++j) {\nacc[j][0] *= rows.scale[0];\nacc[j][1] *= "
            "rows.scale[0];\nacc[j][2] *= rows.scale[1];\nacc[j][3] *= "
            "rows.scale[1];\n}\n#pragma unroll\nfor (int k = 0; k < ",
            plan_.keys, "; k += ", step, ") {\nu32 w[", plan_.terms,
            "][4];\n#pragma unroll\nfor (int term = 0; term < ", plan_.terms,
            "; ++term) {\n");
  if (IsTf32(plan_)) {
    StrAppend(&out_, "f32 (&s)[4] = scores.at[k / ", kTile,
              "];\nw[term][0] = encode_tf32(s[0]);\nw[term][1] = "
              "encode_tf32(s[2]);\nw[term][2] = encode_tf32(s[1]);\nw[term][3] "
              "= encode_tf32(s[3]);\n}\n");
  } else {
    StrAppend(&out_, "f32 (&s)[4] = scores.at[k / ", kTile,
              "], (&t)[4] = scores.at[k / ", kTile, " + 1];\n");
    constexpr std::string_view kPairs[] = {"s[0], s[1]", "s[2], s[3]",
                                           "t[0], t[1]", "t[2], t[3]"};
    for (int i = 0; i < 4; ++i) {
      StrAppend(&out_, "w[term][", i, "] = TakePair_", name, "(", kPairs[i],
                ");\n");
    }
    out_ += "}\n";
  }
  StrAppend(&out_, "#pragma unroll\nfor (int j = 0; j < ",
            plan_.columns / kTile, "; j += 2) {\nu32 b[4];\nvalues[k / ", depth,
            "].LoadSecond(b, j * ", kTile, ", k % ", depth,
            ", lane);\n#pragma unroll\nfor (int term = 0; term < ", plan_.terms,
            "; ++term) {\nMultiply_", name,
            "(acc[j], w[term], b[0], b[1]);\nMultiply_", name,
            "(acc[j + 1], w[term], b[2], b[3]);\n}\n}\n}\n");
}

// Eight rows of each warp at a time, by way of shared memory, so that
// neighbours in a row are stored by neighbours.
void AttentionEmitter::EmitTensorResults() {
  StrAppend(&out_,
            "auto& strip = pool.strip;\n#pragma unroll 1\nfor (int r = 0; r < "
            "2; ++r) {\nconst f32 sum = ",
            plan_.pieces > 1 ? "1" : "r == 0 ? rows.sum[0] : rows.sum[1]",
            ";\n#pragma unroll\nfor (int j = 0; j < ", plan_.columns / kTile,
            "; ++j) *(float2*)&strip[warp * 8 + lane / 4][j * ", kTile,
            " + lane % 4 * 2] = make_float2((r == 0 ? acc[j][0] : acc[j][2]) / "
            "sum, (r == 0 ? acc[j][1] : acc[j][3]) / "
            "sum);\n__syncthreads();\n");
  EmitStrip(plan_.strip_rows(), "sr / 8 * 16 + r * 8 + sr % 8");
  out_ += "__syncthreads();\n}\n";
}

}  // namespace encore::backends::cuda
