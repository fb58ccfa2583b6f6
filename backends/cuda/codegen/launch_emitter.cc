#include "encore/backends/cuda/codegen/launch_emitter.h"

#include <algorithm>

#include "encore/backends/cuda/codegen/scalar_code.h"
#include "encore/backends/cuda/codegen/size_code.h"
#include "encore/ir/support/strings.h"

namespace encore::backends::cuda {

LaunchEmitter::LaunchEmitter(const EmitContext& context,
                             const LaunchPlan& launch, std::string* out)
    : context_(context),
      flat_(*context.flat),
      region_(*context.flat->region),
      launch_(launch),
      out_(*out),
      exprs_(context, out) {}

bool LaunchEmitter::MayBeEmpty(std::span<const uint32_t> variables) const {
  return std::ranges::any_of(variables, [&](uint32_t v) {
    const Size& extent = flat_.extents[v];
    return !extent.is_constant() || extent < 1;
  });
}

void LaunchEmitter::Barrier() {
  if (launch_.team == Team::kWarp) out_ += "__syncwarp();\n";
  if (launch_.team == Team::kBlock) out_ += "__syncthreads();\n";
}

void LaunchEmitter::EmitTeam() {
  const std::string_view type = context_.index_type();
  switch (launch_.team) {
    case Team::kThread:
      StrAppend(&out_, "const ", type, " point = (", type, ")blockIdx.x * ",
                launch_.threads, " + threadIdx.x;\n");
      break;
    case Team::kWarp:
      StrAppend(&out_, "const ", type, " team = (", type, ")blockIdx.x * ",
                launch_.teams_of_block(),
                " + threadIdx.x / 32;\nconst int lane = threadIdx.x % 32;\n");
      break;
    case Team::kBlock:
      StrAppend(&out_, "const ", type, " team = (", type,
                ")blockIdx.x;\nconst int lane = threadIdx.x;\n");
      break;
  }
}

void LaunchEmitter::EmitPoint() {
  const std::string_view type = context_.index_type();
  if (HasLanes() && launch_.points_of_team == 1) {
    const int pieces = launch_.pieces();
    StrAppend(&out_, "const ", type, " point = team / ", pieces,
              ", piece = team % ", pieces, ";\n");
  }
  if (launch_.points_of_team > 1) {
    const int points = launch_.points_of_team;
    StrAppend(&out_, "#pragma unroll 1\nfor (int n = 0; n < ", points,
              "; ++n) {\nconst ", type, " point = team * ", points,
              " + n;\nif (point >= ", exprs_.Count(launch_.points),
              ") break;\n");
  } else if (launch_.team != Team::kBlock) {
    StrAppend(&out_, "if (point >= ", exprs_.Count(launch_.points),
              ") return;\n");
  }
  exprs_.DeclareVariables(launch_.points, "point");
  EmitRow();
}

// Warps of a block read it by way of shared memory.
void LaunchEmitter::EmitShared() {
  const std::string_view type = context_.index_type();
  const std::string count = exprs_.Count(launch_.row);
  std::vector<bool> needed(region_.exprs.size());
  for (const uint32_t e : launch_.shared) needed[e] = true;
  if (launch_.team == Team::kWarp) {
    for (const uint32_t e : launch_.shared) {
      StrAppend(&out_, "__shared__ ", CType(region_.exprs[e].dtype), " h", e,
                "[", count, "];\n");
    }
    StrAppend(&out_, "for (", type, " t = threadIdx.x; t < ", count,
              "; t += ", launch_.threads, ") {\n");
    exprs_.DeclareVariables(launch_.row, "t");
    exprs_.OpenScope(launch_.row);
    exprs_.Declare(needed);
    for (const uint32_t e : launch_.shared) {
      StrAppend(&out_, "h", e, "[t] = ", exprs_.NameOf(ExprId(e)), ";\n");
    }
    exprs_.CloseScope();
    out_ += "}\n__syncthreads();\n";
  }
  StrAppend(&out_, "#pragma unroll\nfor (int i = 0; i < ", launch_.steps,
            "; ++i) {\nconst ", type, " l = ", StepCode(),
            ";\nif (l >= ", count, ") continue;\n");
  if (launch_.team == Team::kWarp) {
    for (const uint32_t e : launch_.shared) {
      StrAppend(&out_, "c", e, "[i] = h", e, "[l];\n");
    }
    exprs_.SetFilled(launch_.shared);
  } else {
    exprs_.DeclareVariables(launch_.row, "l");
    exprs_.OpenScope(launch_.row);
    exprs_.set_in_row(true);
    exprs_.Declare(needed);
    exprs_.set_in_row(false);
    exprs_.CloseScope();
  }
  out_ += "}\n";
}

void LaunchEmitter::EmitRow() {
  Affine row;
  Size stride = 1;
  for (size_t i = flat_.outer.size(); i-- > 0;) {
    row.AddTerm(flat_.outer[i], stride);
    stride *= flat_.extents[flat_.outer[i]];
  }
  StrAppend(&out_, "const ", context_.index_type(),
            " row = ", exprs_.AffineCode(row), ";\n");
}

void LaunchEmitter::EmitArrays() {
  for (const StagePlan& plan : launch_.stages) {
    const uint32_t s = plan.stage;
    const Storage storage = context_.plan->results[s];
    if (storage == Storage::kNone || storage == Storage::kScratch) continue;
    const std::string_view type = CType(ResultType(region_, s));
    for (int c = 0; c < ComponentCount(region_.stages[s].combiner); ++c) {
      const std::string name = StrCat(s, "_", c);
      if (storage == Storage::kRegister) {
        StrAppend(&out_, type, " s", name, ";\n");
        continue;
      }
      if (storage == Storage::kLane) {
        StrAppend(&out_, type, " b", name, "[", launch_.steps, "];\n");
        continue;
      }
      const std::string size =
          StrCat(std::max<int64_t>(flat_.result_sizes[s], 1));
      if (storage == Storage::kLocal) {
        StrAppend(&out_, type, " b", name, "[", size, "];\n");
      } else if (launch_.team == Team::kBlock) {
        StrAppend(&out_, "__shared__ ", type, " b", name, "[", size, "];\n");
      } else {
        StrAppend(&out_, "__shared__ ", type, " t", name, "[",
                  launch_.teams_of_block(), "][", size, "];\n", type,
                  "* const b", name, " = t", name, "[threadIdx.x / 32];\n");
      }
    }
  }
}

void LaunchEmitter::EmitVectors() {
  const VectorPlan& vectors = *launch_.vectors;
  const std::string_view type = context_.index_type();
  const uint32_t last = launch_.points.back();
  StrAppend(&out_, "const ", type, " point = ((", type, ")blockIdx.x * ",
            launch_.threads, " + threadIdx.x) * ", vectors.width,
            ";\nif (point >= ", exprs_.Count(launch_.points), ") return;\n");
  exprs_.DeclareVariables(launch_.points, "point");
  for (const uint32_t e : vectors.loads) {
    const Expr& expr = region_.exprs[e];
    StrAppend(&out_, "mem_", expr.dtype, " x", e, "[", vectors.width,
              "];\nLoadVector(x", e, ", in",
              region_.accesses[expr.number].number, " + ",
              exprs_.AffineCode(flat_.loads[expr.number].address), ");\n");
  }
  const std::vector<Store>& stores = region_.stages[0].stores;
  for (size_t s = 0; s < stores.size(); ++s) {
    if (!vectors.stores[s]) continue;
    StrAppend(&out_, "mem_", region_.outputs[stores[s].output].dtype, " y", s,
              "[", vectors.width, "];\n");
  }
  exprs_.OpenScope(std::span(launch_.points).first(launch_.points.size() - 1));
  exprs_.UseVectors(&vectors);
  const std::vector<bool> needed = exprs_.NeededBy(0);
  exprs_.DeclareHere(needed, /*loads=*/true);
  StrAppend(&out_, "const ", type, " base = v", last,
            ";\n#pragma unroll\nfor (int w = 0; w < ", vectors.width,
            "; ++w) {\nconst ", type, " v", last, " = base + w;\n");
  exprs_.OpenScope(launch_.points);
  exprs_.Declare(needed);
  exprs_.EmitStores(0);
  exprs_.CloseScope();
  out_ += "}\n";
  for (size_t s = 0; s < stores.size(); ++s) {
    if (!vectors.stores[s]) continue;
    StrAppend(&out_, "StoreVector(out", stores[s].output, " + ",
              exprs_.AffineCode(flat_.stores[0][s].address), ", y", s, ");\n");
  }
  exprs_.CloseScope();
}

void LaunchEmitter::Emit() {
  if (launch_.vectors) {
    EmitVectors();
    return;
  }
  EmitTeam();
  for (const StagePlan& stage : launch_.stages) {
    if (launch_.team != Team::kBlock || !stage.shares_reduction) continue;
    StrAppend(&out_, "int turn", stage.stage, " = 0;\n");
  }
  const std::vector<uint32_t> kept = KeptOfRow();
  for (const uint32_t e : kept) {
    StrAppend(&out_, CType(region_.exprs[e].dtype), " c", e, "[", launch_.steps,
              "];\n");
  }
  exprs_.KeepInRow(kept);
  if (!launch_.shared.empty()) EmitShared();
  if (launch_.loads_ahead) {
    const StagePlan& first = *FirstInRow();
    DeclareGroups(first, LoadsOf(first), "p");
    LoadAhead(StrCat("team * ", launch_.points_of_team));
  }
  if (!launch_.held.empty()) EmitHeld();
  EmitPoint();
  if (launch_.loads_ahead) EmitAhead();
  exprs_.OpenScope(launch_.points);
  EmitArrays();
  // Arrays of scratch: of this outer point.
  for (uint32_t s = 0; s < region_.stages.size(); ++s) {
    if (context_.plan->results[s] != Storage::kScratch) continue;
    for (int c = 0; c < ComponentCount(region_.stages[s].combiner); ++c) {
      StrAppend(&out_, CType(ResultType(region_, s)), "* const b", s, "_", c,
                " = t", s, "_", c, " + (i64)row * ",
                DimCode(flat_.result_sizes[s].dim()), ";\n");
    }
  }
  for (size_t i = 0; i < launch_.stages.size(); ++i) {
    EmitStage(launch_.stages[i], i + 1 == launch_.stages.size());
  }
  exprs_.CloseScope();
  if (launch_.points_of_team > 1) out_ += "}\n";
}

void LaunchEmitter::EmitStage(const StagePlan& stage, bool last) {
  const Stage& of = region_.stages[stage.stage];
  switch (of.kind) {
    case Stage::Kind::kMap:
      EmitMap(stage);
      break;
    case Stage::Kind::kReduce:
      EmitReduce(stage);
      break;
    case Stage::Kind::kScan:
      EmitScan(stage);
      break;
  }
  const Storage storage = context_.plan->results[stage.stage];
  const bool own =
      (storage == Storage::kRegister || storage == Storage::kLane) &&
      of.stores.empty();
  if (!last && !own) Barrier();
}

std::string LaunchEmitter::PieceSize(std::string_view count, int width) const {
  const int unit = launch_.lanes() * width, round = launch_.pieces() * unit;
  return StrCat("((", count, " + ", round - 1, ") / ", round, " * ", unit, ")");
}

std::string LaunchEmitter::StepCode() const {
  const int lanes = launch_.lanes(), width = launch_.row_width;
  if (width == 1) return StrCat("lane + i * ", lanes);
  return StrCat("(lane + i / ", width, " * ", lanes, ") * ", width, " + i % ",
                width);
}

void LaunchEmitter::OpenShared(const StagePlan& stage,
                               std::span<const uint32_t> variables,
                               std::string_view counter,
                               const std::vector<bool>& needed) {
  exprs_.DeclareHere(needed, !MayBeEmpty(variables));
  const std::string_view type = context_.index_type();
  const std::string count = exprs_.Count(variables);
  if (stage.in_row) {
    StrAppend(&out_, "#pragma unroll\nfor (int i = 0; i < ", launch_.steps,
              "; ++i) {\nconst ", type, " ", counter, " = lane + i * ",
              launch_.lanes(), ";\nif (", counter, " >= ", count,
              ") continue;\n");
    exprs_.set_in_row(true);
  } else {
    std::string begin = "lane", end = count;
    if (launch_.pieces() > 1) {
      // Of this piece.
      const std::string each = PieceSize(count, 1);
      StrAppend(&begin, " + piece * ", each);
      end = StrCat("Min(", count, ", (piece + 1) * ", each, ")");
    }
    StrAppend(&out_, "for (", type, " ", counter, " = ", begin, "; ", counter,
              " < ", end, "; ", counter, " += ", launch_.lanes(), ") {\n");
  }
  exprs_.DeclareVariables(variables, counter);
  exprs_.OpenScope(variables);
  ++open_;
}

std::vector<uint32_t> LaunchEmitter::KeptOfRow() const {
  std::vector<int> users(region_.exprs.size());
  for (const StagePlan& stage : launch_.stages) {
    if (!stage.in_row) continue;
    const std::vector<bool> needed = exprs_.NeededBy(stage.stage);
    for (size_t e = 0; e < needed.size(); ++e) users[e] += needed[e];
  }
  const auto grouped = [&](uint32_t e) {
    return std::ranges::any_of(launch_.stages, [e](const StagePlan& stage) {
      return stage.in_row && stage.groups &&
             std::ranges::find(stage.groups->loads, e) !=
                 stage.groups->loads.end();
    });
  };
  std::vector<uint32_t> kept = launch_.kept;
  for (uint32_t e = 0; e < users.size(); ++e) {
    const Expr& expr = region_.exprs[e];
    const bool shared =
        std::ranges::find(launch_.shared, e) != launch_.shared.end();
    if ((users[e] < 2 && !shared) || expr.kind != Expr::Kind::kLoad ||
        region_.accesses[expr.number].source != Access::Source::kInput) {
      continue;
    }
    if (!shared && grouped(e)) continue;
    if (exprs_.DependsOn(ExprId(e), launch_.row)) kept.push_back(e);
  }
  return kept;
}

void LaunchEmitter::OpenSerial(uint32_t variable,
                               const std::vector<bool>& needed) {
  const uint32_t variables[] = {variable};
  exprs_.DeclareHere(needed, !MayBeEmpty(variables));
  StrAppend(&out_, "for (", context_.index_type(), " v", variable, " = 0; v",
            variable, " < ", exprs_.SizeCode(flat_.extents[variable]), "; ++v",
            variable, ") {\n");
  exprs_.OpenScope(variables);
  ++open_;
}

void LaunchEmitter::OpenLoops(const StagePlan& stage,
                              const std::vector<bool>& needed) {
  if (!stage.spread.empty()) {
    stage.groups ? OpenGroups(stage, stage.spread, "l", needed)
                 : OpenShared(stage, stage.spread, "l", needed);
  }
  for (const uint32_t v : stage.serial) OpenSerial(v, needed);
}

void LaunchEmitter::CloseLoops() {
  for (; open_ > 0; --open_) {
    out_ += "}\n";
    exprs_.CloseScope();
  }
  exprs_.set_in_row(false);
}

void LaunchEmitter::Keep(uint32_t stage, int c, std::string_view value) {
  const Storage storage = context_.plan->results[stage];
  if (storage == Storage::kNone) return;
  const std::string name = StrCat(stage, "_", c);
  if (storage == Storage::kRegister) {
    StrAppend(&out_, "s", name, " = ", value, ";\n");
    return;
  }
  StrAppend(
      &out_, "b", name, "[",
      storage == Storage::kLane ? "i" : exprs_.AffineCode(flat_.results[stage]),
      "] = ", value, ";\n");
}

void LaunchEmitter::EmitMap(const StagePlan& stage) {
  const std::vector<bool> needed = exprs_.NeededBy(stage.stage);
  OpenLoops(stage, needed);
  exprs_.Declare(needed);
  const Stage& of = region_.stages[stage.stage];
  // What no loop is spread over, each lane has; one of them writes.
  const bool guarded = HasLanes() && stage.spread.empty();
  if (of.value.valid()) {
    const bool memory =
        context_.plan->results[stage.stage] != Storage::kRegister;
    if (guarded && memory) out_ += "if (lane == 0) ";
    Keep(stage.stage, 0, exprs_.NameOf(of.value));
  }
  if (!of.stores.empty()) {
    if (guarded) out_ += "if (lane == 0) {\n";
    exprs_.EmitStores(stage.stage);
    if (guarded) out_ += "}\n";
  }
  if (stage.groups) CloseGroups(stage);
  CloseLoops();
}

}  // namespace encore::backends::cuda
