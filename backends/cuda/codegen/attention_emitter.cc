#include "encore/backends/cuda/codegen/attention_emitter.h"

#include <algorithm>

#include "encore/backends/cuda/codegen/combiner_code.h"
#include "encore/backends/cuda/codegen/hidden_keys.h"
#include "encore/backends/cuda/codegen/scalar_code.h"
#include "encore/ir/support/strings.h"

namespace encore::backends::cuda {
namespace {

constexpr int kGroup = 8;
constexpr int kUnrolled = 8;

}  // namespace

AttentionEmitter::AttentionEmitter(const EmitContext& context,
                                   const AttentionRegion& attention,
                                   const AttentionPlan& plan, std::string* out)
    : context_(context),
      attention_(attention),
      region_(attention.region()),
      plan_(plan),
      out_(*out),
      exprs_(context, out),
      key_{attention.key_variable()},
      column_{attention.column_variable()} {
  if (attention.depth_variable() >= 0) {
    depth_.push_back(static_cast<uint32_t>(attention.depth_variable()));
  }
}

int64_t AttentionEmitter::PartElements(const AttentionRegion& attention,
                                       const AttentionPlan& plan) {
  return plan.pieces * attention.head_count() * attention.row_count() *
         (attention.columns() + 2);
}

std::string AttentionEmitter::PartOf(std::string_view row) const {
  return StrCat("parts[(((i64)piece * ", attention_.head_count(), " + head) * ",
                attention_.row_count(), " + ", row, ") * ",
                attention_.columns() + 2, " + ");
}

std::string_view AttentionEmitter::Factor() const {
  // So that what f16 leaves of a weight is no subnormal.
  return plan_.tensor == DType::kF16 ? "4096.0f" : "1.0f";
}

void AttentionEmitter::EmitBlock() {
  const std::string_view type = context_.index_type();
  const int64_t tiles = plan_.tiles(attention_);
  const int64_t across = tiles * plan_.column_tiles(attention_);
  StrAppend(&out_,
            "const int thread = threadIdx.x, lane = thread % 32, warp = thread "
            "/ 32;\nconst ",
            type, " first = (", type, ")blockIdx.x % ", tiles, " * ",
            plan_.rows, ", c0 = (", type, ")blockIdx.x / ", tiles, " % ",
            plan_.column_tiles(attention_), " * ", plan_.columns, ", head = (",
            type, ")blockIdx.x / ", across, " % ", attention_.head_count(),
            ", piece = (", type, ")blockIdx.x / ", across, " / ",
            attention_.head_count(), ";\nconst ", type, " k_begin = piece * ",
            plan_.piece_keys(attention_), ", k_behind = k_begin + ",
            plan_.piece_keys(attention_), ";\nconst ", type,
            " k_end = k_behind < ", attention_.keys(),
            " ? k_behind : ", attention_.keys(), ";\n");
  exprs_.DeclareVariables(attention_.heads(), "head");
  exprs_.OpenScope(attention_.heads());
}

void AttentionEmitter::EmitFirstStep() {
  const std::string_view type = context_.index_type();
  if (!plan_.skips_hidden) {
    StrAppend(&out_, "const ", type, " k_first = k_begin;\n");
    return;
  }
  std::vector<ExprId> conditions;
  (void)HiddenKeysCode(attention_, [&](ExprId id) {
    conditions.push_back(id);
    return std::string("x");
  });
  StrAppend(&out_, "const auto next_seen = [&](", type,
            " k) {\nfor (; k < k_end; k += ", plan_.keys,
            ") {\nbool seen = false;\nfor (int t = thread; t < ",
            plan_.rows * plan_.keys, " && !seen; t += ", plan_.threads(),
            ") {\nconst ", type, " ar = first + t / ", plan_.keys,
            ", ak = k + t % ", plan_.keys, ";\nif (ar < ",
            attention_.row_count(), " && ak < k_end) {\n");
  exprs_.DeclareVariables(attention_.rows(), "ar");
  exprs_.DeclareVariables(key_, "ak");
  std::vector<uint32_t> variables = attention_.rows();
  variables.push_back(key_[0]);
  exprs_.OpenScope(variables);
  exprs_.Declare(Reachable(region_, conditions));
  const std::string hidden = HiddenKeysCode(
      attention_, [&](ExprId id) { return std::string(exprs_.NameOf(id)); });
  StrAppend(&out_, "seen = !", hidden,
            ";\n}\n}\nif (__syncthreads_or(seen)) break;\n}\nreturn k;\n};\n",
            "const ", type, " k_first = next_seen(k_begin);\n");
  exprs_.CloseScope();
}

void AttentionEmitter::OpenSteps() {
  StrAppend(&out_, "for (", context_.index_type(),
            " k0 = k_first, k_next; k0 < k_end; k0 = k_next) {\nk_next = ",
            plan_.skips_hidden ? "next_seen(k0 + " : "k0 + ", plan_.keys,
            plan_.skips_hidden ? ");\n" : ";\n");
}

void AttentionEmitter::Emit() {
  EmitBlock();
  plan_.tensor ? EmitTensor() : EmitLanes();
  exprs_.CloseScope();
}

void AttentionEmitter::OpenElement(const Fill& fill, std::string_view row,
                                   std::string_view column) {
  exprs_.DeclareVariables(fill.row_variables, row);
  exprs_.DeclareVariables(fill.column_variables, column);
  std::vector<uint32_t> variables = fill.row_variables;
  variables.insert(variables.end(), fill.column_variables.begin(),
                   fill.column_variables.end());
  exprs_.OpenScope(variables);
}

void AttentionEmitter::EmitFill(const Fill& fill) {
  if (!fill.group_place.empty()) {
    const Expr& value = region_.expr(fill.factor->value);
    StrAppend(&out_, "if ((u64)in", region_.accesses[value.number].number,
              " % 16 == 0) {\n");
    EmitGroups(fill);
    out_ += "} else {\n";
  }
  const std::string_view type = context_.index_type();
  const int rows = fill.rows, columns = fill.columns, slice = fill.slice;
  std::string row, column;
  if (fill.by_blocks) {
    row = StrCat("t / 8 % 4 + t / ", 4 * columns, " * 4");
    column = StrCat("t % 8 + t / 32 % ", columns / 8, " * 8");
  } else if (fill.factor->along_rows) {
    row = StrCat("t % 8 + t / 32 % ", rows / 8, " * 8");
    column = StrCat("t / 8 % 4 + t / ", 4 * rows, " * 4");
  } else {
    row = StrCat("t / ", slice, " % ", rows);
    column = StrCat("t % ", slice, " + t / ", slice * rows, " * ", slice);
  }
  OpenTurns(rows * columns);
  StrAppend(&out_, "const int tr = ", row, ", tk = ", column, ";\nconst ", type,
            " fr = ", fill.first_row, " + ", fill.row_of,
            ", fk = ", fill.first_column, " + tk;\nf32 x = 0;\nif (fr < ",
            fill.row_end, " && fk < ", fill.column_end, ") {\n");
  OpenElement(fill, "fr", "fk");
  exprs_.Declare(Reachable(region_, {fill.factor->value}));
  StrAppend(&out_, "x = ", exprs_.NameOf(fill.factor->value), ";\n}\n",
            "__syncwarp();\n", fill.store,
            fill.group_place.empty() ? ";\n}\n" : ";\n}\n}\n");
  exprs_.CloseScope();
}

// t below `count`, one of the block's threads each, in as many turns as are
// known when it is compiled.
void AttentionEmitter::OpenTurns(int count) {
  const int threads = plan_.threads();
  const int turns = (count + threads - 1) / threads;
  StrAppend(&out_, "#pragma unroll ", std::min(turns, kUnrolled),
            "\nfor (int turn = 0; turn < ", turns,
            "; ++turn) {\nconst int t = thread + turn * ", threads, ";\n");
  if (count % threads != 0) StrAppend(&out_, "if (t >= ", count, ") break;\n");
}

// As EmitFill, 16 bytes at a time.
void AttentionEmitter::EmitGroups(const Fill& fill) {
  const std::string_view type = context_.index_type();
  const Expr& value = region_.expr(fill.factor->value);
  const int slice = fill.slice / kGroup;
  const std::string line = StrCat("t / ", slice);
  const std::string row = fill.by_fours
                              ? StrCat("(", line, " / 8 * 8 + ", line,
                                       " % 2 * 4 + ", line, " / 2 % 4)")
                              : line;
  OpenTurns(fill.rows * fill.columns / kGroup);
  StrAppend(&out_, "const int tr = ", row, " % ", fill.rows, ", tk = (t % ",
            slice, " + t / ", slice * fill.rows, " * ", slice, ") * ", kGroup,
            ";\nconst ", type, " fr = ", fill.first_row, " + ", fill.row_of,
            ", fk = ", fill.first_column, " + tk;\nconst bool there = fr < ",
            fill.row_end, " && fk < ", fill.column_end, ";\n");
  OpenElement(fill, "fr", "fk");
  const ExprEmitter::Place place =
      exprs_.PlaceOf(context_.flat->loads[value.number], "group");
  StrAppend(&out_, "CopyAsync(", fill.group_place, ", in",
            region_.accesses[value.number].number, " + (there ? ",
            place.address, " : 0), there);\n}\n");
  exprs_.CloseScope();
}

void AttentionEmitter::EmitScores(int rows, int each, std::string_view row_of,
                                  std::string_view key_of) {
  const std::string_view type = context_.index_type();
  const auto stage = static_cast<uint32_t>(attention_.products());
  const CombinerCode combiner = CombinerOf(region_, stage);
  StrAppend(&out_, "#pragma unroll\nfor (int r = 0; r < ", rows,
            "; ++r) {\n#pragma unroll\nfor (int i = 0; i < ", each,
            "; ++i) {\nconst ", type, " ar = first + ", row_of, ", ak = k0 + ",
            key_of, ";\nf32 score = __int_as_float(0xff800000);\nif (ar < ",
            attention_.row_count(), " && ak < k_end) {\n");
  exprs_.DeclareVariables(attention_.rows(), "ar");
  exprs_.DeclareVariables(key_, "ak");
  std::vector<uint32_t> variables = attention_.rows();
  variables.push_back(key_[0]);
  exprs_.OpenScope(variables);
  StrAppend(&out_, combiner.type, " product = {scores.At(r, i)};\nconst ",
            CType(ResultType(region_, stage)), " s", stage,
            "_0 = ", combiner.Result("product", 0, "1"), ";\n");
  exprs_.Declare(Reachable(region_, {attention_.score()}));
  StrAppend(&out_, "score = ", exprs_.NameOf(attention_.score()),
            ";\n}\nscores.At(r, i) = score;\n}\n}\n");
  exprs_.CloseScope();
}

void AttentionEmitter::EmitWeigh(int rows, int each, int lanes) {
  StrAppend(&out_, "Weigh<", each, ", ", lanes, ", ", rows, ">(scores, rows, ",
            Factor(), ");\n");
}

void AttentionEmitter::EmitSums(int rows, int lanes, std::string_view row_of) {
  StrAppend(&out_, "AddLanes<", lanes, ">(rows, ", Factor(), ");\n");
  if (plan_.pieces == 1) return;
  StrAppend(
      &out_, "#pragma unroll\nfor (int r = 0; r < ", rows, "; ++r) {\nconst ",
      context_.index_type(), " ar = first + ", row_of, ";\nif (lane % ", lanes,
      " != 0 || c0 != 0 || ar >= ", attention_.row_count(), ") continue;\n",
      PartOf("ar"), attention_.columns(), "] = rows.largest[r];\n",
      PartOf("ar"), attention_.columns() + 1, "] = rows.sum[r];\n}\n");
}

void AttentionEmitter::EmitStrip(int strip_rows, std::string_view row_of) {
  StrAppend(&out_, "for (int t = thread; t < ", strip_rows * plan_.columns,
            "; t += ", plan_.threads(), ") {\nconst int sr = t / ",
            plan_.columns, ", sc = t % ", plan_.columns,
            ";\n__syncwarp();\nconst f32 y = strip[sr][sc];\nconst ",
            context_.index_type(), " ar = first + ", row_of,
            ", ac = c0 + sc;\nif (ar < ", attention_.row_count(), " && ac < ",
            attention_.columns(), ") {\n");
  if (plan_.pieces > 1) {
    StrAppend(&out_, PartOf("ar"), "ac] = y;\n");
  } else {
    EmitResult();
  }
  out_ += "}\n}\n";
}

void AttentionEmitter::EmitResult() {
  exprs_.DeclareVariables(attention_.rows(), "ar");
  exprs_.DeclareVariables(column_, "ac");
  std::vector<uint32_t> variables = attention_.rows();
  variables.push_back(column_[0]);
  exprs_.OpenScope(variables);
  const auto stage = static_cast<uint32_t>(attention_.results());
  const CombinerCode combiner = CombinerOf(region_, stage);
  StrAppend(&out_, combiner.type, " result = {y};\nconst ",
            CType(ResultType(region_, stage)), " s", stage,
            "_0 = ", combiner.Result("result", 0, "1"), ";\n");
  for (uint32_t s = stage + 1; s < region_.stages.size(); ++s) {
    exprs_.Declare(exprs_.NeededBy(s));
    exprs_.EmitStores(s);
  }
  exprs_.CloseScope();
}

void AttentionEmitter::EmitMerge() {
  const std::string_view type = context_.index_type();
  const int64_t columns = attention_.columns(), rows = attention_.row_count();
  const int64_t points = attention_.head_count() * rows * columns;
  StrAppend(&out_, "const ", type, " point = (", type, ")blockIdx.x * ",
            kMergeThreads, " + threadIdx.x;\nif (point >= ", points,
            ") return;\nconst ", type, " ac = point % ", columns,
            ", ar = point / ", columns, " % ", rows, ", head = point / ",
            columns, " / ", rows,
            ";\nf32 largest = __int_as_float(0xff800000);\nfor (int piece = 0; "
            "piece < ",
            plan_.pieces, "; ++piece) largest = op_max(largest, ", PartOf("ar"),
            columns, "]);\nconst f32 base = BaseOf(largest);\n",
            "f32 sum = 0, results = 0;\nfor (int piece = 0; piece < ",
            plan_.pieces, "; ++piece) {\nconst f32 scale = op_exp(",
            PartOf("ar"), columns, "] - base);\nsum += scale * ", PartOf("ar"),
            columns + 1, "];\nresults += scale * ", PartOf("ar"),
            "ac];\n}\nconst f32 y = results / sum;\n");
  exprs_.DeclareVariables(attention_.heads(), "head");
  exprs_.OpenScope(attention_.heads());
  EmitResult();
  exprs_.CloseScope();
}

}  // namespace encore::backends::cuda
