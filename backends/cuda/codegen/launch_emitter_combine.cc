#include "encore/backends/cuda/codegen/launch_emitter.h"
#include "encore/backends/cuda/codegen/scalar_code.h"
#include "encore/ir/support/strings.h"

namespace encore::backends::cuda {

void LaunchEmitter::EmitReduction(const StagePlan& stage,
                                  const CombinerCode& combiner) {
  const std::vector<uint32_t>& reduced =
      stage.totals ? flat_.loops[stage.stage] : flat_.reduced[stage.stage];
  const std::vector<bool> needed = exprs_.NeededBy(stage.stage);
  const ExprId value = region_.stages[stage.stage].value;
  const std::string_view type = context_.index_type();
  const int open = open_;
  const std::string acc = StrCat("acc", stage.stage);
  const bool shares = stage.shares_reduction && !reduced.empty();
  StrAppend(&out_, combiner.type, " ", acc, " = ", combiner.identity, ";\n");
  std::string order = "0";
  if (shares) {
    stage.groups ? OpenGroups(stage, reduced, "r", needed)
                 : OpenShared(stage, reduced, "r", needed);
    order = "r";
  } else {
    Affine number;
    Size stride = 1;
    for (size_t i = reduced.size(); i-- > 0;) {
      number.AddTerm(reduced[i], stride);
      stride *= flat_.extents[reduced[i]];
    }
    order = StrCat("(", type, ")(", exprs_.AffineCode(number), ")");
    for (const uint32_t v : reduced) OpenSerial(v, needed);
  }
  exprs_.Declare(needed);
  out_ += combiner.Add(acc, exprs_.NameOf(value), order);
  if (shares && stage.groups) CloseGroups(stage);
  for (; open_ > open; --open_) {
    out_ += "}\n";
    exprs_.CloseScope();
  }
  exprs_.set_in_row(false);
  if (shares) MergeLanes(stage, combiner);
}

void LaunchEmitter::MergeLanes(const StagePlan& stage,
                               const CombinerCode& combiner) {
  const std::string acc = StrCat("acc", stage.stage);
  if (launch_.team == Team::kWarp) {
    StrAppend(&out_, acc, " = WarpReduce(", acc, ", lane);\n");
  } else {
    StrAppend(&out_, "__shared__ ", combiner.type, " partial", stage.stage,
              "[64];\n", acc, " = BlockReduce(", acc, ", partial", stage.stage,
              ", &turn", stage.stage, ", lane, ", launch_.threads, ");\n");
  }
}

void LaunchEmitter::EmitReduce(const StagePlan& stage) {
  const CombinerCode combiner = CombinerOf(region_, stage.stage);
  if (stage.pieces > 1) {
    stage.merges ? EmitMerge(stage, combiner) : EmitPieces(stage, combiner);
    return;
  }
  OpenLoops(stage, exprs_.NeededBy(stage.stage));
  EmitReduction(stage, combiner);
  KeepResult(stage, combiner);
  CloseLoops();
}

void LaunchEmitter::KeepResult(const StagePlan& stage,
                               const CombinerCode& combiner) {
  const std::vector<uint32_t>& reduced = flat_.reduced[stage.stage];
  const std::string last =
      reduced.empty() ? "1" : exprs_.SizeCode(flat_.extents[reduced.back()]);
  const bool guarded =
      HasLanes() && stage.spread.empty() &&
      context_.plan->results[stage.stage] != Storage::kRegister;
  if (guarded) out_ += "if (lane == 0) {\n";
  for (int c = 0; c < ComponentCount(combiner.combiner); ++c) {
    Keep(stage.stage, c, combiner.Result(StrCat("acc", stage.stage), c, last));
  }
  if (guarded) out_ += "}\n";
}

void LaunchEmitter::EmitPieces(const StagePlan& stage,
                               const CombinerCode& combiner) {
  EmitReduction(stage, combiner);
  StrAppend(&out_, "if (lane == 0) parts", stage.stage, "[(i64)point * ",
            stage.pieces, " + piece] = acc", stage.stage, ";\n");
}

void LaunchEmitter::EmitMerge(const StagePlan& stage,
                              const CombinerCode& combiner) {
  const std::string acc = StrCat("acc", stage.stage);
  StrAppend(&out_, combiner.type, " ", acc, " = ", combiner.identity,
            ";\nfor (int part = lane; part < ", stage.pieces,
            "; part += ", launch_.lanes(), ") ", acc, ".Merge(parts",
            stage.stage, "[(i64)point * ", stage.pieces, " + part]);\n");
  MergeLanes(stage, combiner);
  KeepResult(stage, combiner);
}

void LaunchEmitter::EmitScan(const StagePlan& stage) {
  const CombinerCode combiner = CombinerOf(region_, stage.stage);
  const Stage& of = region_.stages[stage.stage];
  if (stage.totals) {
    EmitPieces(stage, combiner);
    return;
  }
  if (HasLanes() && !flat_.loops[stage.stage].empty()) {
    EmitSharedScan(stage, combiner);
    return;
  }
  const std::vector<bool> needed = exprs_.NeededBy(stage.stage);
  const std::string acc = StrCat("acc", stage.stage);
  StrAppend(&out_, combiner.type, " ", acc, " = ", combiner.identity, ";\n");
  for (const uint32_t v : flat_.loops[stage.stage]) OpenSerial(v, needed);
  exprs_.Declare(needed);
  const std::string add = combiner.Add(acc, exprs_.NameOf(of.value), "0");
  if (!of.exclusive) out_ += add;
  Keep(stage.stage, 0, combiner.Result(acc, 0, "1"));
  if (of.exclusive) out_ += add;
  CloseLoops();
}

// Tile by tile, a point for each lane, with what all tiles before make.
void LaunchEmitter::EmitSharedScan(const StagePlan& stage,
                                   const CombinerCode& combiner) {
  const uint32_t v = flat_.loops[stage.stage][0];
  const Stage& of = region_.stages[stage.stage];
  const std::vector<bool> needed = exprs_.NeededBy(stage.stage);
  const std::string_view type = context_.index_type();
  const std::string extent = exprs_.SizeCode(flat_.extents[v]);
  const bool block = launch_.team == Team::kBlock;
  const int lanes = launch_.lanes();
  out_ += "{\n";
  if (block) {
    StrAppend(&out_, "__shared__ ", combiner.type, " partial[33];\n");
  }
  StrAppend(&out_, combiner.type, " carry = ", combiner.identity, ";\nconst ",
            type, " each = ", stage.pieces > 1 ? PieceSize(extent, 1) : extent,
            ", begin = ", stage.pieces > 1 ? "piece * each" : "0",
            ", end = begin + each < ", extent, " ? begin + each : ", extent,
            ";\n");
  if (stage.pieces > 1) {
    StrAppend(&out_,
              "for (int part = lane % 32; part < piece; part += 32) "
              "carry.Merge(parts",
              stage.stage, "[(i64)point * ", stage.pieces,
              " + part]);\ncarry = WarpReduce(carry, lane % 32);\n");
  }
  StrAppend(&out_, "for (", type, " base = begin; base < end; base += ", lanes,
            ") {\n", "const ", type, " l = base + lane;\n", combiner.type,
            " acc = ", combiner.identity, ";\n{\nconst ", type, " v", v,
            " = l - ", of.exclusive ? 1 : 0, ";\nif (l < end && v", v,
            " >= begin) {\n");
  const uint32_t variables[] = {v};
  exprs_.OpenScope(variables);
  exprs_.Declare(needed);
  out_ += combiner.Add("acc", exprs_.NameOf(of.value), "0");
  exprs_.CloseScope();
  out_ += "}\n}\n";
  if (block) {
    StrAppend(&out_, "acc = BlockScan(acc, partial, lane, ", lanes,
              ");\nif (lane == ", lanes - 1,
              ") partial[32] = acc;\n__syncthreads();\n", "const ",
              combiner.type, " all = partial[32];\n__syncthreads();\n");
  } else {
    StrAppend(&out_, "acc = WarpScan(acc, lane);\nconst ", combiner.type,
              " all = FromLane(acc, 31);\n");
  }
  StrAppend(&out_, combiner.type, " with = carry;\nwith.Merge(acc);\n",
            "carry.Merge(all);\n{\nconst ", type, " v", v,
            " = l;\nif (l < end) {\n");
  exprs_.OpenScope(variables);
  Keep(stage.stage, 0, combiner.Result("with", 0, "1"));
  exprs_.CloseScope();
  out_ += "}\n}\n}\n}\n";
}

}  // namespace encore::backends::cuda
