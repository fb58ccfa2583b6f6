#include <algorithm>
#include <iterator>

#include "encore/backends/cuda/codegen/launch_emitter.h"
#include "encore/ir/support/strings.h"

namespace encore::backends::cuda {
namespace {

bool Contains(const std::vector<uint32_t>& list, uint32_t value) {
  return std::ranges::find(list, value) != list.end();
}

}  // namespace

void LaunchEmitter::EmitHeld() {
  const std::string_view type = context_.index_type();
  const int width = launch_.row_width;
  const std::string count = exprs_.Count(launch_.row);
  for (const uint32_t e : launch_.held) {
    StrAppend(&out_, "__shared__ __align__(16) mem_", region_.exprs[e].dtype,
              " h", e, "[", count, "];\n");
  }
  StrAppend(&out_, "for (", type, " t = threadIdx.x * ", width, "; t < ", count,
            "; t += ", launch_.threads * width, ") {\n");
  exprs_.DeclareVariables(launch_.row, "t");
  for (const uint32_t e : launch_.held) {
    const Expr& expr = region_.exprs[e];
    StrAppend(&out_, "mem_", expr.dtype, " x", e, "[", width,
              "];\nLoadVector(x", e, ", in",
              region_.accesses[expr.number].number, " + ",
              exprs_.AffineCode(flat_.loads[expr.number].address),
              ");\nCopyVector<", width, ">(h", e, " + t, x", e, ");\n");
  }
  out_ += "}\n__syncthreads();\n";
}

LaunchEmitter::Groups LaunchEmitter::GroupsOf(
    const StagePlan& stage, std::span<const uint32_t> variables) const {
  const int width = stage.groups->width;
  const int step = launch_.lanes() * width;
  const int pieces = stage.in_row ? 1 : launch_.pieces();
  const std::string count = exprs_.Count(variables);
  Groups groups;
  groups.step = step * stage.groups_at_once;
  groups.begin = StrCat("lane * ", width);
  groups.end = count;
  if (pieces > 1) {
    const std::string each = PieceSize(count, width);
    StrAppend(&groups.begin, " + piece * ", each);
    groups.end = StrCat("Min(", count, ", (piece + 1) * ", each, ")");
  }
  Size points = 1;
  for (const uint32_t v : variables) points *= flat_.extents[v];
  const bool whole = points.is_constant() &&
                     int64_t{points} % (int64_t{pieces} * groups.step) == 0;
  const std::string first = stage.in_row ? groups.begin : "q";
  groups.open =
      StrCat("#pragma unroll\nfor (int j = 0; j < ", stage.groups_at_once,
             "; ++j) {\nconst ", context_.index_type(), " g = ", first,
             " + j * ", step, ";\n");
  if (!whole) StrAppend(&groups.open, "if (g >= ", groups.end, ") continue;\n");
  return groups;
}

std::vector<uint32_t> LaunchEmitter::LoadsOf(const StagePlan& stage) const {
  std::vector<uint32_t> loads;
  for (const uint32_t e : stage.groups->loads) {
    // The row's are by its steps.
    const bool there =
        stage.in_row && (exprs_.IsFilled(e) || Contains(loaded_, e) ||
                         Contains(launch_.held, e));
    if (!there) loads.push_back(e);
  }
  return loads;
}

void LaunchEmitter::DeclareGroups(const StagePlan& stage,
                                  std::span<const uint32_t> loads,
                                  std::string_view prefix) {
  for (const uint32_t e : loads) {
    StrAppend(&out_, "mem_", region_.exprs[e].dtype, " ", prefix, e, "[",
              stage.groups->width * stage.groups_at_once, "];\n");
  }
}

void LaunchEmitter::LoadGroups(const StagePlan& stage,
                               std::span<const uint32_t> variables,
                               std::span<const uint32_t> loads,
                               std::string_view prefix) {
  if (loads.empty()) return;
  const int width = stage.groups->width;
  std::string aligned;
  for (const uint32_t e : loads) {
    const Expr& expr = region_.exprs[e];
    StrAppend(&aligned, aligned.empty() ? "" : " && ", "IsAligned<",
              width * BitWidth(expr.dtype) / 8, ">(in",
              region_.accesses[expr.number].number, ")");
  }
  for (const std::string_view copy : {"CopyVector", "CopyEach"}) {
    if (copy == "CopyVector") {
      StrAppend(&out_, "if (", aligned, ") {\n");
    } else {
      out_ += "} else {\n";
    }
    out_ += GroupsOf(stage, variables).open;
    exprs_.DeclareVariables(variables, "g");
    for (const uint32_t e : loads) {
      const uint32_t number = region_.exprs[e].number;
      StrAppend(&out_, copy, "<", width, ">(", prefix, e, " + j * ", width,
                ", in", region_.accesses[number].number, " + ",
                exprs_.AffineCode(flat_.loads[number].address), ");\n");
    }
    out_ += "}\n";
  }
  out_ += "}\n";
}

const StagePlan* LaunchEmitter::FirstInRow() const {
  const auto first = std::ranges::find_if(launch_.stages, &StagePlan::in_row);
  return first == launch_.stages.end() ? nullptr : &*first;
}

void LaunchEmitter::LoadAhead(std::string_view point) {
  const StagePlan& stage = *FirstInRow();
  StrAppend(&out_, "{\nconst ", context_.index_type(), " ahead = ", point,
            ";\nif (ahead < ", exprs_.Count(launch_.points), ") {\n");
  exprs_.DeclareVariables(launch_.points, "ahead");
  LoadGroups(stage, launch_.row, LoadsOf(stage), "p");
  out_ += "}\n}\n";
}

void LaunchEmitter::EmitAhead() {
  const StagePlan& stage = *FirstInRow();
  const std::vector<uint32_t> loads = LoadsOf(stage);
  DeclareGroups(stage, loads, "x");
  StrAppend(&out_, "#pragma unroll\nfor (int i = 0; i < ", launch_.steps,
            "; ++i) {\n");
  for (const uint32_t e : loads) {
    StrAppend(&out_, "x", e, "[i] = p", e, "[i];\n");
  }
  StrAppend(&out_, "}\nif (n + 1 < ", launch_.points_of_team, ") ");
  LoadAhead("point + 1");
  loaded_.insert(loaded_.end(), loads.begin(), loads.end());
}

void LaunchEmitter::OpenGroups(const StagePlan& stage,
                               std::span<const uint32_t> variables,
                               std::string_view counter,
                               const std::vector<bool>& needed) {
  exprs_.DeclareHere(needed, !MayBeEmpty(variables));
  const std::string_view type = context_.index_type();
  const int width = stage.groups->width;
  const uint32_t last = variables.back();
  const Groups groups = GroupsOf(stage, variables);
  if (!stage.in_row) {
    StrAppend(&out_, "for (", type, " q = ", groups.begin, "; q < ", groups.end,
              "; q += ", groups.step, ") {\n");
  }
  // All loads before anything is made of them, so that they are under way at
  // once.
  const std::vector<uint32_t> loads = LoadsOf(stage);
  DeclareGroups(stage, loads, "x");
  LoadGroups(stage, variables, loads, "x");
  std::vector<uint32_t> held;
  if (stage.in_row) {
    loaded_.insert(loaded_.end(), loads.begin(), loads.end());
    // Stages of a row have one scope: what one has declared is there.
    std::ranges::copy_if(
        stage.groups->loads, std::back_inserter(held), [&](uint32_t e) {
          return Contains(launch_.held, e) && !Contains(loaded_, e);
        });
    loaded_.insert(loaded_.end(), held.begin(), held.end());
  }
  DeclareGroups(stage, held, "x");
  out_ += groups.open;
  exprs_.DeclareVariables(variables, "g");
  for (const uint32_t e : held) {
    StrAppend(&out_, "CopyVector<", width, ">(x", e, " + j * ", width, ", h", e,
              " + g);\n");
  }
  const std::vector<Store>& stores = region_.stages[stage.stage].stores;
  for (size_t s = 0; s < stage.groups->stores.size(); ++s) {
    if (!stage.groups->stores[s]) continue;
    StrAppend(&out_, "mem_", region_.outputs[stores[s].output].dtype, " y", s,
              "[", width, "];\n");
  }
  exprs_.UseVectors(&*stage.groups, "i");
  exprs_.OpenScope(variables.first(variables.size() - 1));
  exprs_.DeclareHere(needed, /*loads=*/true);
  StrAppend(&out_, "const ", type, " base = v", last,
            ";\n#pragma unroll\nfor (int w = 0; w < ", width,
            "; ++w) {\nconst ", type, " v", last, " = base + w, ", counter,
            " = g + w;\nconst int i = j * ", width, " + w;\n");
  exprs_.OpenScope(variables);
  exprs_.set_in_row(stage.in_row);
}

void LaunchEmitter::CloseGroups(const StagePlan& stage) {
  out_ += "}\n";
  exprs_.CloseScope();
  const std::vector<Store>& stores = region_.stages[stage.stage].stores;
  for (size_t s = 0; s < stage.groups->stores.size(); ++s) {
    if (!stage.groups->stores[s]) continue;
    StrAppend(&out_, "StoreVector(out", stores[s].output, " + ",
              exprs_.AffineCode(flat_.stores[stage.stage][s].address), ", y", s,
              ");\n");
  }
  out_ += stage.in_row ? "}\n" : "}\n}\n";
  exprs_.CloseScope();
  exprs_.set_in_row(false);
  exprs_.UseVectors(nullptr);
}

}  // namespace encore::backends::cuda
