#include "encore/backends/cuda/codegen/tile_emitter.h"

#include <algorithm>
#include <span>

#include "encore/backends/cuda/codegen/scalar_code.h"
#include "encore/backends/cuda/codegen/tiles/tile_groups.h"
#include "encore/ir/support/strings.h"

namespace encore::backends::cuda {
namespace {

constexpr int kWarp = 32;

int GroupOf(int part) { return std::min(part, kTileGroup); }

// The element of a thread's part, i-th along m or n, from its first one.
std::string Offset(std::string_view i, int part, int parts) {
  const int group = GroupOf(part);
  if (group == part) return std::string(i);
  return StrCat("(", i, " / ", group, " * ", group * parts, " + ", i, " % ",
                group, ")");
}

std::string Condition(const std::string& first, const std::string& second) {
  if (first.empty() && second.empty()) return "true";
  if (first.empty() || second.empty()) return StrCat(first, second);
  return StrCat(first, " && ", second);
}

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

void TileEmitter::EmitOrigin(std::string_view thread, std::string_view block) {
  const std::string_view type = context_.index_type();
  const std::string tiles_m = Tiles(plan_.m.rows, plan_.tile_m);
  const std::string tiles_n = Tiles(plan_.n.rows, plan_.tile_n);
  StrAppend(&out_, plan_.tensor ? "const int" : "const u32",
            " thread = ", thread, ";\nconst ", type, " first_n = (", type, ")",
            block, " % ", tiles_n, " * ", plan_.tile_n, ";\nconst ", type,
            " first_m = (", type, ")", block, " / ", tiles_n, " % ", tiles_m,
            " * ", plan_.tile_m, ";\n");
  if (plan_.tensor) return;
  const auto [down, across] = LanesOf(plan_);
  const int warps = plan_.parts_n() / across;
  StrAppend(&out_, "const int row = (thread / ", kWarp * warps, " * ", down,
            " + thread % ", kWarp, " / ", across, ") * ", GroupOf(plan_.part_m),
            ", column = (thread / ", kWarp, " % ", warps, " * ", across,
            " + thread % ", across, ") * ", GroupOf(plan_.part_n), ";\n");
}

void TileEmitter::EmitBlock() {
  const std::string_view type = context_.index_type();
  const std::string tiles_m = Tiles(plan_.m.rows, plan_.tile_m);
  const std::string tiles_n = Tiles(plan_.n.rows, plan_.tile_n);
  EmitOrigin("threadIdx.x", "blockIdx.x");
  StrAppend(&out_, "const ", type, " point = (", type, ")blockIdx.x / ",
            tiles_n, " / ", tiles_m,
            plan_.pieces > 1 ? StrCat(" % ", exprs_.Count(plan_.batch)) : "",
            ";\n");
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
  } else {
    EmitLanes();
  }
  exprs_.CloseScope();
}

void TileEmitter::OpenElement(const TileFactor& factor) {
  exprs_.DeclareVariables(factor.rows, "r");
  exprs_.DeclareVariables(plan_.k, "k");
  std::vector<uint32_t> variables = factor.rows;
  variables.insert(variables.end(), plan_.k.begin(), plan_.k.end());
  exprs_.OpenScope(variables);
}

void TileEmitter::EmitLanes() {
  const std::string& type = combiner_.value;
  const std::string_view index = context_.index_type();
  const FlatRegion& flat = *context_.flat;
  const TileFill fills[] = {FillOf(flat, plan_, /*of_m=*/true),
                            FillOf(flat, plan_, /*of_m=*/false)};
  StrAppend(&out_, "struct Stage { ", type, " m[", plan_.tile_k, "][",
            fills[0].pitch, "], n[", plan_.tile_k, "][", fills[1].pitch,
            "]; };\n__shared__ __align__(16) Stage stages[2];\n", type, " acc[",
            plan_.part_m, "][", plan_.part_n, "] = {};\n");
  for (const TileFill& fill : fills) {
    const int each = (fill.count + plan_.threads() - 1) / plan_.threads();
    if (!fill.groups) {
      StrAppend(&out_, type, " next_", fill.name, "[", each, "];\n");
      continue;
    }
    const Expr& load = region_.expr(*fill.groups);
    const int bits =
        std::min(kTileGroup * BitWidth(load.dtype), kTileGroupBits);
    StrAppend(&out_, "mem_", load.dtype, " next_", fill.name, "[", each, "][",
              kTileGroup, "];\nconst bool groups_", fill.name, " = (u64)in",
              region_.accesses[load.number].number, " % ", bits / 8, " == 0");
    for (const Size& size : fill.conditions) {
      StrAppend(&out_, " && ", exprs_.SizeCode(size), " % ", kTileGroup,
                " == 0");
    }
    out_ += ";\n";
  }
  StrAppend(&out_, "int stage = 0;\nfor (", index, " k0 = ", FirstK(),
            ";; k0 += ", plan_.tile_k, ") {\nconst bool more = k0 < ", EndK(),
            ";\nif (more) {\n");
  for (const TileFill& fill : fills) EmitLoads(fill);
  StrAppend(&out_, "}\nif (k0 != ", FirstK(), ") {\n");
  EmitProducts();
  out_ += "}\nif (!more) break;\n";
  for (const TileFill& fill : fills) EmitWrites(fill);
  out_ += "__syncthreads();\nstage ^= 1;\n}\n";
  EmitLaneResults();
}

std::string TileEmitter::Below(std::string_view name,
                               const std::vector<uint32_t>& variables,
                               int size) const {
  Size count = 1;
  for (const uint32_t v : variables) count *= context_.flat->extents[v];
  if (count.is_constant() && int64_t{count} % size == 0) return "";
  return StrCat(name, " < ", exprs_.SizeCode(count));
}

// Opens the loop over what a thread has of a tile: i, at row tr and tk.
void TileEmitter::OpenSteps(const TileFill& fill) {
  const int threads = plan_.threads();
  StrAppend(&out_, "#pragma unroll\nfor (int i = 0; i < ",
            (fill.count + threads - 1) / threads,
            "; ++i) {\nconst u32 t = thread + i * ", threads, ";\n");
  if (fill.count % threads != 0) {
    StrAppend(&out_, "if (t >= ", fill.count, ") break;\n");
  }
  const int group = fill.groups ? kTileGroup : 1;
  if (fill.factor->along_k) {
    const int across = fill.groups ? kGroupsAcross : kElementsAcross;
    StrAppend(&out_, "const int tr = t / ", across, " % ", fill.rows,
              ", tk = (t % ", across, " + t / ", across * fill.rows, " * ",
              across, ") * ", group, ";\n");
  } else {
    StrAppend(&out_, "const int tr = t % ", fill.rows / group, " * ", group,
              ", tk = t / ", fill.rows / group, ";\n");
  }
}

void TileEmitter::OpenStep() {
  out_ += "{\n";
  if (!plan_.steps_in_last) return;
  const std::string_view type = context_.index_type();
  const std::span<const uint32_t> k(plan_.k);
  const std::string extent = exprs_.Count(k.last(1));
  StrAppend(&out_, "const ", type, " k_far = k0 / ", extent, ", k_near = k0 % ",
            extent, ";\n");
  exprs_.DeclareVariables(k.first(k.size() - 1), "k_far");
}

void TileEmitter::EmitElementOf(const TileFactor& factor, int rows,
                                std::string_view first_row,
                                std::string_view type) {
  const std::string_view index = context_.index_type();
  const std::string count = exprs_.Count(factor.rows);
  const std::string there = Below("k", plan_.k, plan_.tile_k);
  StrAppend(&out_, "const ", index, " row = ", first_row,
            " + tr, k = k0 + tk, r = ",
            Below("r", factor.rows, rows).empty()
                ? "row"
                : StrCat("row < ", count, " ? row : ", count, " - 1"),
            ";\n", type, " x = 0;\n",
            there.empty() ? "" : StrCat("if (", there, ") "), "{\n");
  if (plan_.steps_in_last) {
    StrAppend(&out_, "const ", index, " v", plan_.k.back(),
              " = k_near + tk;\n");
    exprs_.DeclareVariables(factor.rows, "r");
    std::vector<uint32_t> variables = factor.rows;
    variables.insert(variables.end(), plan_.k.begin(), plan_.k.end());
    exprs_.OpenScope(variables);
  } else {
    OpenElement(factor);
  }
  exprs_.set_loads_absent(true);
  exprs_.Declare(Reachable(region_, {factor.value}));
  exprs_.set_loads_absent(false);
  StrAppend(&out_, "x = (", type, ")", exprs_.NameOf(factor.value), ";\n}\n");
  exprs_.CloseScope();
}

void TileEmitter::EmitLoads(const TileFill& fill) {
  if (fill.groups) {
    EmitGroupLoads(fill);
    return;
  }
  OpenStep();
  OpenSteps(fill);
  EmitElementOf(*fill.factor, fill.rows, StrCat("first_", fill.name),
                combiner_.value);
  StrAppend(&out_, "next_", fill.name, "[i] = x;\n}\n}\n");
}

// Each group as one load, or, where memory does not lie so, as its elements:
// neighbours, of which all exist or none, unless a condition does not hold.
void TileEmitter::EmitGroupLoads(const TileFill& fill) {
  const std::string_view type = context_.index_type();
  const Expr& load = region_.expr(*fill.groups);
  const FlatAccess& access = context_.flat->loads[load.number];
  const std::string next = StrCat("next_", fill.name, "[i]");
  const std::string input = StrCat("in", region_.accesses[load.number].number);
  const std::string there = Condition(Below("r", fill.factor->rows, fill.rows),
                                      Below("k", plan_.k, plan_.tile_k));
  const bool always = fill.conditions.empty();
  OpenSteps(fill);
  StrAppend(&out_, "memset(", next, ", 0, sizeof(", next, "));\n",
            always ? "" : StrCat("if (groups_", fill.name, ") "), "{\nconst ",
            type, " r = first_", fill.name, " + tr, k = k0 + tk;\nif (", there,
            ") {\n");
  OpenElement(*fill.factor);
  const std::string group = exprs_.PlaceOf(access, "group").address;
  StrAppend(&out_, "const auto* const from = ", input, " + ", group, ";\n");
  if (always) StrAppend(&out_, "if (groups_", fill.name, ") ");
  StrAppend(&out_, "LoadAligned<", kTileGroup, ">(", next, ", from);\n");
  if (always) {
    StrAppend(&out_, "else {\n#pragma unroll\nfor (int w = 0; w < ", kTileGroup,
              "; ++w) ", next, "[w] = from[w];\n}\n");
  }
  out_ += "}\n}\n";
  exprs_.CloseScope();
  if (!always) {
    StrAppend(&out_, "else {\n#pragma unroll\nfor (int w = 0; w < ", kTileGroup,
              "; ++w) {\nconst ", type, " r = first_", fill.name, " + tr",
              fill.factor->along_k ? "" : " + w", ", k = k0 + tk",
              fill.factor->along_k ? " + w" : "", ";\nif (", there, ") {\n");
    OpenElement(*fill.factor);
    const std::string element = exprs_.PlaceOf(access, "element").address;
    StrAppend(&out_, next, "[w] = ", input, "[", element, "];\n}\n}\n}\n");
    exprs_.CloseScope();
  }
  out_ += "}\n";
}

void TileEmitter::EmitWrites(const TileFill& fill) {
  OpenSteps(fill);
  const std::string tile = StrCat("stages[stage].", fill.name);
  if (!fill.groups) {
    StrAppend(&out_, tile, "[tk][tr] = next_", fill.name, "[i];\n}\n");
    return;
  }
  StrAppend(&out_, combiner_.value, " x[", kTileGroup,
            "];\n#pragma unroll\nfor (int w = 0; w < ", kTileGroup,
            "; ++w) x[w] = (", combiner_.value, ")ld_",
            region_.expr(*fill.groups).dtype, "(next_", fill.name,
            "[i], w);\n");
  if (fill.factor->along_k) {
    StrAppend(&out_, "#pragma unroll\nfor (int w = 0; w < ", kTileGroup,
              "; ++w) ", tile, "[tk + w][tr] = x[w];\n}\n");
  } else {
    StrAppend(&out_, "StoreAligned<", kTileGroup, ">(&", tile,
              "[tk][tr], x);\n}\n");
  }
}

void TileEmitter::EmitProducts() {
  const std::string& type = combiner_.value;
  StrAppend(&out_, "const Stage& now = stages[stage ^ 1];\n#pragma unroll\n",
            "for (int tk = 0; tk < ", plan_.tile_k, "; ++tk) {\n", type, " a[",
            plan_.part_m, "], b[", plan_.part_n, "];\n");
  const auto read = [&](std::string_view to, std::string_view from,
                        std::string_view first, int part, int parts) {
    const int group = GroupOf(part);
    StrAppend(&out_, "#pragma unroll\nfor (int i = 0; i < ", part,
              "; i += ", group, ") LoadAligned<", group, ">(", to,
              " + i, &now.", from, "[tk][", first, " + i * ", parts, "]);\n");
  };
  read("a", "m", "row", plan_.part_m, plan_.parts_m());
  read("b", "n", "column", plan_.part_n, plan_.parts_n());
  StrAppend(&out_, "#pragma unroll\nfor (int i = 0; i < ", plan_.part_m,
            "; ++i)\n#pragma unroll\nfor (int j = 0; j < ", plan_.part_n,
            "; ++j) acc[i][j] = op_add(acc[i][j], op_mul(a[i], b[j]));\n}\n");
}

void TileEmitter::EmitLaneResults() {
  // Read anew, so that no register keeps it while products are summed.
  out_ += "{\n";
  EmitOrigin("ThreadAgain()", "BlockAgain()");
  const std::optional<VectorPlan> vectors =
      FindResultGroups(*context_.flat, plan_, CTypeBytes(combiner_.kept));
  if (vectors) {
    EmitResultGroups(*vectors);
  } else {
    EmitStrips();
  }
  out_ += "}\n";
}

// A row of a thread's part at a time.
void TileEmitter::EmitResultGroups(const VectorPlan& vectors) {
  const std::string_view index = context_.index_type();
  StrAppend(&out_, "#pragma unroll 1\nfor (int s = 0; s < ", plan_.part_m,
            "; ++s) {\n", combiner_.value, " mine[", plan_.part_n,
            "];\n#pragma unroll\nfor (int i = 0; i < ", plan_.part_m,
            "; ++i) {\nif (i != 0 && i != s) continue;\n#pragma unroll\nfor "
            "(int j = 0; j < ",
            plan_.part_n, "; ++j) mine[j] = acc[i][j];\n}\nconst ", index,
            " rm = first_m + row + ",
            Offset("s", plan_.part_m, plan_.parts_m()),
            ";\nif (rm >= ", exprs_.Count(plan_.m.rows),
            ") continue;\n#pragma unroll\nfor "
            "(int g = 0; g < ",
            plan_.part_n, "; g += ", kTileGroup, ") {\nconst ", index,
            " rn = first_n + column + g * ", plan_.parts_n(),
            ";\nif (rn >= ", exprs_.Count(plan_.n.rows), ") continue;\n");
  if (plan_.pieces > 1) {
    StrAppend(&out_, "StoreVector(&", PlaceOfPart(), ", *(const ",
              combiner_.value, " (*)[", kTileGroup, "])(mine + g));\n");
  } else {
    EmitGroup(vectors);
  }
  out_ += "}\n}\n";
}

void TileEmitter::EmitGroup(const VectorPlan& vectors) {
  const FlatRegion& flat = *context_.flat;
  const std::string_view index = context_.index_type();
  const uint32_t last = plan_.n.rows.back();
  exprs_.DeclareVariables(plan_.m.rows, "rm");
  exprs_.DeclareVariables(plan_.n.rows, "rn");
  std::vector<uint32_t> variables = plan_.m.rows;
  variables.insert(variables.end(), plan_.n.rows.begin(), plan_.n.rows.end());
  for (const uint32_t e : vectors.loads) {
    const Expr& expr = region_.exprs[e];
    StrAppend(&out_, "mem_", expr.dtype, " x", e, "[", kTileGroup,
              "];\nLoadVector(x", e, ", in",
              region_.accesses[expr.number].number, " + ",
              exprs_.AffineCode(flat.loads[expr.number].address), ");\n");
  }
  uint32_t storing = plan_.stage + 1;
  while (region_.stages[storing].stores.empty()) ++storing;
  const std::vector<Store>& stores = region_.stages[storing].stores;
  for (size_t i = 0; i < stores.size(); ++i) {
    StrAppend(&out_, "mem_", region_.outputs[stores[i].output].dtype, " y", i,
              "[", kTileGroup, "];\n");
  }
  StrAppend(&out_, "const ", index, " base = v", last,
            ";\n#pragma unroll\nfor (int w = 0; w < ", kTileGroup,
            "; ++w) {\nconst ", index, " v", last, " = base + w;\n",
            combiner_.type, " sum = {mine[g + w]};\n");
  exprs_.UseVectors(&vectors);
  exprs_.OpenScope(variables);
  EmitStages();
  exprs_.CloseScope();
  exprs_.UseVectors(nullptr);
  out_ += "}\n";
  for (size_t i = 0; i < stores.size(); ++i) {
    StrAppend(&out_, "StoreVector(out", stores[i].output, " + ",
              exprs_.AffineCode(flat.stores[storing][i].address), ", y", i,
              ");\n");
  }
}

// A row of each thread's part at a time, by way of the tiles' memory.
void TileEmitter::EmitStrips() {
  const std::string& type = combiner_.value;
  const std::string_view index = context_.index_type();
  const int rows = plan_.parts_m(), columns = plan_.tile_n;
  StrAppend(&out_, type, " (*const strip)[", columns, "] = (", type, " (*)[",
            columns, "])stages;\nstatic_assert(sizeof(", type, ") * ",
            rows * columns, " <= sizeof(stages), \"\");\n",
            "#pragma unroll 1\nfor (int s = 0; s < ", plan_.part_m,
            "; ++s) {\n__syncthreads();\n#pragma unroll\nfor (int i = 0; i < ",
            plan_.part_m,
            "; ++i) {\nif (i != s) continue;\n#pragma unroll\nfor (int j = 0; "
            "j < ",
            plan_.part_n, "; j += ", kTileGroup, ") StoreAligned<", kTileGroup,
            ">(&strip[row / ", GroupOf(plan_.part_m), "][column + j * ",
            plan_.parts_n(),
            "], acc[i] + j);\n}\n__syncthreads();\nfor (int t = thread; t < ",
            rows * columns, "; t += ", plan_.threads(), ") {\nconst ", index,
            " rm = first_m + t / ", columns, " * ", GroupOf(plan_.part_m),
            " + ", Offset("s", plan_.part_m, plan_.parts_m()),
            ", rn = first_n + t % ", columns, ";\nif (rm < ",
            exprs_.Count(plan_.m.rows), " && rn < ", exprs_.Count(plan_.n.rows),
            ") {\n", combiner_.type, " sum = {strip[t / ", columns, "][t % ",
            columns, "]};\n");
  EmitElement();
  out_ += "}\n}\n}\n";
}

void TileEmitter::EmitElement() {
  if (plan_.pieces == 1) {
    EmitResult();
    return;
  }
  StrAppend(&out_, PlaceOfPart(), " = sum.v;\n");
}

std::string TileEmitter::PlaceOfPart() const {
  return StrCat("parts[(((i64)piece * ", exprs_.Count(plan_.batch),
                " + point) * ", exprs_.Count(plan_.m.rows), " + rm) * ",
                exprs_.Count(plan_.n.rows), " + rn]");
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
  EmitStages();
  exprs_.CloseScope();
}

void TileEmitter::EmitStages() {
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
}

}  // namespace encore::backends::cuda
