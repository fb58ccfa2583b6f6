// LaunchEmitter: the body of a launch's function.
#ifndef ENCORE_BACKENDS_CUDA_CODEGEN_LAUNCH_EMITTER_H_
#define ENCORE_BACKENDS_CUDA_CODEGEN_LAUNCH_EMITTER_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "encore/backends/cuda/codegen/combiner_code.h"
#include "encore/backends/cuda/codegen/expr_emitter.h"
#include "encore/backends/cuda/codegen/plan.h"

namespace encore::backends::cuda {

class LaunchEmitter {
 public:
  // Appends to *out, which expects the declarations of the operands, args and
  // arrays of scratch before. All outlive it.
  LaunchEmitter(const EmitContext& context, const LaunchPlan& launch,
                std::string* out);

  void Emit();

 private:
  void EmitTeam();
  void EmitPoint();
  // Loads what all points of the block read: what lanes keep, and what lies in
  // shared memory.
  void EmitShared();
  void EmitHeld();
  void EmitRow();
  // All of a launch whose threads have several points each.
  void EmitVectors();
  void EmitArrays();
  void EmitStage(const StagePlan& stage, bool last);
  void EmitMap(const StagePlan& stage);
  void EmitReduce(const StagePlan& stage);
  // The pieces of a reduction, and what they make together.
  void EmitPieces(const StagePlan& stage, const CombinerCode& combiner);
  void EmitMerge(const StagePlan& stage, const CombinerCode& combiner);
  void KeepResult(const StagePlan& stage, const CombinerCode& combiner);
  void EmitScan(const StagePlan& stage);
  // Points of a piece, of `count` in all: a multiple of the lanes' groups.
  std::string PieceSize(std::string_view count, int width) const;
  void EmitSharedScan(const StagePlan& stage, const CombinerCode& combiner);
  // The combination of all reduced points, as `acc`.
  void EmitReduction(const StagePlan& stage, const CombinerCode& combiner);
  // All lanes get, as `acc`, what they have together.
  void MergeLanes(const StagePlan& stage, const CombinerCode& combiner);

  // Opens loops over the stage's own variables: one over what lanes share, one
  // for each of the rest.
  void OpenLoops(const StagePlan& stage, const std::vector<bool>& needed);
  // Opens a loop over those points of `variables` that are the lane's: in steps
  // of the row, where the stage is in it.
  void OpenShared(const StagePlan& stage, std::span<const uint32_t> variables,
                  std::string_view counter, const std::vector<bool>& needed);
  // How a lane goes through the groups of what it shares: the code that opens
  // the loop over those that it has at once.
  struct Groups {
    std::string begin, end, open;
    int step = 0;  // points of all lanes at once
  };
  Groups GroupsOf(const StagePlan& stage,
                  std::span<const uint32_t> variables) const;
  // What the stage loads in groups that no array has yet, their arrays, named
  // prefix<k>, and what fills these at the current point.
  std::vector<uint32_t> LoadsOf(const StagePlan& stage) const;
  void DeclareGroups(const StagePlan& stage, std::span<const uint32_t> loads,
                     std::string_view prefix);
  void LoadGroups(const StagePlan& stage, std::span<const uint32_t> variables,
                  std::span<const uint32_t> loads, std::string_view prefix);
  // Loads the row of a point ahead, and takes it over while the next is loaded.
  const StagePlan* FirstInRow() const;
  void LoadAhead(std::string_view point);
  void EmitAhead();
  // OpenShared of a stage with groups, and what ends it.
  void OpenGroups(const StagePlan& stage, std::span<const uint32_t> variables,
                  std::string_view counter, const std::vector<bool>& needed);
  void CloseGroups(const StagePlan& stage);
  // The number of a lane's step i.
  std::string StepCode() const;
  // What lanes keep of the row: the loads that more than one stage makes, but
  // for those in groups, and what is costly.
  std::vector<uint32_t> KeptOfRow() const;
  void OpenSerial(uint32_t variable, const std::vector<bool>& needed);
  void CloseLoops();
  // Keeps component `c` of the result of `stage` at the current point.
  void Keep(uint32_t stage, int c, std::string_view value);
  void Barrier();
  bool HasLanes() const { return launch_.team != Team::kThread; }
  bool MayBeEmpty(std::span<const uint32_t> variables) const;

  const EmitContext& context_;
  const FlatRegion& flat_;
  const Region& region_;
  const LaunchPlan& launch_;
  std::string& out_;
  ExprEmitter exprs_;
  int open_ = 0;
  std::vector<uint32_t> loaded_;  // groups of the row, so far
};

}  // namespace encore::backends::cuda

#endif  // ENCORE_BACKENDS_CUDA_CODEGEN_LAUNCH_EMITTER_H_
