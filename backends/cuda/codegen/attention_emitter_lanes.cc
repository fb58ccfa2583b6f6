#include <algorithm>

#include "encore/backends/cuda/codegen/attention_emitter.h"
#include "encore/ir/support/strings.h"

namespace encore::backends::cuda {
namespace {

// Lanes of a warp that share a row, and rows that a warp has beside each other.
constexpr int kRowLanes = 8;
constexpr int kRowsAbreast = 4;
// Elements of the depth that lie in shared memory at a time.
constexpr int kSliceDepth = 32;
// Behind each row: eight rows of a column of four words are in 32 banks, and so
// are four rows of eight weights.
constexpr int kPadding = 4;
constexpr int kWeightPadding = 8;

// Keys whose values lie in shared memory at a time.
int ValueKeys(const AttentionPlan& plan) {
  return plan.columns <= 128 ? plan.keys : plan.keys / 2;
}

int SliceElements(const AttentionPlan& plan) {
  return std::max(plan.keys * (kSliceDepth + kPadding),
                  ValueKeys(plan) * (plan.columns + kPadding));
}

// Rows of a lane.
int LaneRows(const AttentionPlan& plan) {
  return plan.rows / plan.warps / kRowsAbreast;
}

// Of row r of the lane.
std::string LaneRow(const AttentionPlan& plan) {
  return StrCat("(warp * ", plan.rows / plan.warps, " + r * ", kRowsAbreast,
                " + lane / ", kRowLanes, ")");
}

}  // namespace

AttentionEmitter::Fill AttentionEmitter::Query() const {
  Fill fill;
  fill.factor = &plan_.query;
  fill.row_variables = attention_.rows();
  fill.column_variables = depth_;
  fill.first_row = "first";
  fill.row_end = attention_.row_count();
  fill.column_end = attention_.depth();
  fill.rows = plan_.rows;
  fill.columns = fill.slice = plan_.depth;
  fill.store = StrCat("queries[tr * ", plan_.depth + kPadding, " + tk] = x");
  return fill;
}

AttentionEmitter::Fill AttentionEmitter::Key(std::string_view first_key) const {
  Fill fill;
  fill.factor = &plan_.key;
  fill.row_variables = key_;
  fill.column_variables = depth_;
  fill.first_row = first_key;
  fill.first_column = "d0";
  fill.row_end = attention_.keys();
  fill.column_end = attention_.depth();
  fill.rows = plan_.keys;
  fill.columns = fill.slice = kSliceDepth;
  fill.store = StrCat("slice[tr * ", kSliceDepth + kPadding, " + tk] = x");
  return fill;
}

AttentionEmitter::Fill AttentionEmitter::Value(
    std::string_view first_key) const {
  Fill fill;
  fill.factor = &plan_.value;
  fill.row_variables = key_;
  fill.column_variables = column_;
  fill.first_row = first_key;
  fill.first_column = "c0";
  fill.row_end = attention_.keys();
  fill.column_end = attention_.columns();
  fill.rows = ValueKeys(plan_);
  fill.columns = fill.slice = plan_.columns;
  fill.store = StrCat("slice[tr * ", plan_.columns + kPadding, " + tk] = x");
  return fill;
}

void AttentionEmitter::EmitLanes() {
  const int queries = plan_.rows * (plan_.depth + kPadding);
  const int weights = plan_.rows * (plan_.keys + kWeightPadding);
  const int rows = LaneRows(plan_);
  StrAppend(&out_, "__shared__ __align__(16) f32 pool[",
            queries + SliceElements(plan_) + weights,
            "];\nf32* const queries = pool, * const slice = pool + ", queries,
            ", * const weights = slice + ", SliceElements(plan_), ";\nRowsOf<",
            rows, "> rows;\nf32 acc[", rows, "][", plan_.columns / kRowLanes,
            "] = {};\n");
  EmitFirstStep();
  EmitFill(Query());
  OpenSteps();
  EmitLaneProducts();
  const int each = plan_.keys / kRowLanes;
  EmitScores(rows, each, LaneRow(plan_), StrCat("lane % 8 + i * ", kRowLanes));
  EmitWeigh(rows, each, kRowLanes);
  EmitLaneResults();
  out_ += "}\n";
  // There may have been no step behind the queries.
  if (plan_.skips_hidden) out_ += "__syncthreads();\n";
  EmitSums(rows, kRowLanes, LaneRow(plan_));
  // Every warp is behind its last use of the pool.
  const int pitch = plan_.columns + kPadding;
  StrAppend(
      &out_, "f32 (*const strip)[", pitch, "] = (f32 (*)[", pitch,
      "])pool;\nstatic_assert(", plan_.rows * pitch,
      " <= sizeof(pool) / sizeof(f32), \"\");\n#pragma unroll\nfor (int "
      "r = 0; r < ",
      rows,
      "; ++r) {\nconst f32 sum = ", plan_.pieces > 1 ? "1" : "rows.sum[r]",
      ";\n#pragma unroll\nfor (int c = 0; c < ", plan_.columns / kRowLanes,
      "; c += 4) *(float4*)&strip[", LaneRow(plan_),
      "][c * 8 + lane % 8 * 4] = make_float4(acc[r][c] / sum, acc[r][c + "
      "1] / sum, acc[r][c + 2] / sum, acc[r][c + 3] / "
      "sum);\n}\n__syncthreads();\n");
  EmitStrip(plan_.rows, "sr");
}

void AttentionEmitter::EmitLaneProducts() {
  const int rows = LaneRows(plan_), each = plan_.keys / kRowLanes;
  StrAppend(&out_, "LaneScores<", rows, ", ", each,
            "> scores = {};\nfor (int d0 = 0; d0 < ", plan_.depth,
            "; d0 += ", kSliceDepth, ") {\n");
  EmitFill(Key("k0"));
  StrAppend(
      &out_, "__syncthreads();\n#pragma unroll 1\nfor (int d = 0; d < ",
      kSliceDepth, "; d += 4) {\nfloat4 a[", rows, "], b[", each,
      "];\n#pragma unroll\nfor (int r = 0; r < ", rows,
      "; ++r) a[r] = *(const float4*)&queries[", LaneRow(plan_), " * ",
      plan_.depth + kPadding,
      " + d0 + d];\n#pragma unroll\nfor (int i = 0; i "
      "< ",
      each, "; ++i) b[i] = *(const float4*)&slice[(lane % 8 + i * ", kRowLanes,
      ") * ", kSliceDepth + kPadding,
      " + d];\n#pragma unroll\nfor (int r = 0; r < ", rows,
      "; ++r)\n#pragma unroll\nfor (int i = 0; i < ", each,
      "; ++i) scores.at[r][i] += a[r].x * b[i].x + a[r].y * b[i].y + a[r].z * "
      "b[i].z + a[r].w * b[i].w;\n}\n__syncthreads();\n}\n");
}

// The weights go by shared memory, of the warp alone; the values of some keys
// take the place of the last slice.
void AttentionEmitter::EmitLaneResults() {
  const int rows = LaneRows(plan_), each = plan_.keys / kRowLanes;
  const int columns = plan_.columns / kRowLanes, keys = ValueKeys(plan_);
  const int weight_pitch = plan_.keys + kWeightPadding;
  StrAppend(&out_, "#pragma unroll\nfor (int r = 0; r < ", rows,
            "; ++r) {\n#pragma unroll\nfor (int i = 0; i < ", each,
            "; ++i) weights[", LaneRow(plan_), " * ", weight_pitch,
            " + lane % 8 + i * ", kRowLanes,
            "] = scores.at[r][i];\n#pragma unroll\nfor (int c = 0; c < ",
            columns, "; ++c) acc[r][c] *= rows.scale[r];\n}\n",
            "for (int k1 = 0; k1 < ", plan_.keys, "; k1 += ", keys, ") {\n");
  EmitFill(Value("k0 + k1"));
  StrAppend(
      &out_, "__syncthreads();\n#pragma unroll 1\nfor (int k = 0; k < ", keys,
      "; k += 4) {\nf32 w[", rows,
      "][4];\n#pragma unroll\nfor (int r = 0; r < ", rows,
      "; ++r) *(float4*)w[r] = *(const float4*)&weights[", LaneRow(plan_),
      " * ", weight_pitch,
      " + k1 + k];\n#pragma unroll\nfor (int j = 0; j < 4; ++j) {\n#pragma "
      "unroll\nfor (int c = 0; c < ",
      columns,
      "; c += 4) {\nconst float4 v = *(const float4*)&slice[(k + j) * ",
      plan_.columns + kPadding,
      " + c * 8 + lane % 8 * 4];\n#pragma unroll\nfor (int r = 0; r < ", rows,
      "; ++r) {\nacc[r][c] += w[r][j] * v.x;\nacc[r][c + 1] += w[r][j] * "
      "v.y;\nacc[r][c + 2] += w[r][j] * v.z;\nacc[r][c + 3] += w[r][j] * "
      "v.w;\n}\n}\n}\n}\n__syncthreads();\n}\n");
}

}  // namespace encore::backends::cuda
