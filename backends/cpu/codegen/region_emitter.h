// Values, loads and stores of a region as code: what region_codegen.cc builds
// its loops from.
#ifndef ENCORE_BACKENDS_CPU_CODEGEN_REGION_EMITTER_H_
#define ENCORE_BACKENDS_CPU_CODEGEN_REGION_EMITTER_H_

#include <cstdint>
#include <vector>

#include "encore/backends/cpu/codegen/builder/ir_builder.h"
#include "encore/backends/cpu/codegen/lane_memory.h"
#include "encore/backends/cpu/codegen/schedule.h"
#include "encore/backends/cpu/codegen/size_emitter.h"
#include "encore/backends/region/flat/flat_region.h"
#include "encore/backends/region/flat/size.h"

namespace encore::backends::cpu {

// The state at a point of the generated code: which variables have which
// values, which one runs along lanes, and what has been computed.
class RegionEmitter {
 public:
  // `b` gets the code. The last `staged` inputs are none of the launch's:
  // SetInput says where they are.
  RegionEmitter(const FlatRegion& flat, int lanes, IrBuilder& b,
                size_t staged = 0);

  IrBuilder& builder() { return b_; }
  void SetInput(size_t input, const Value& pointer) {
    inputs_[input] = pointer;
  }
  // Where an access to an input goes instead.
  void SetBase(size_t access, const Value& pointer) {
    bases_[access] = pointer;
  }
  const Value& helpers() const { return helpers_; }
  const Value& output(size_t number) const { return outputs_[number]; }

  // The value of `variable` (of its first lane) from here on: value + offset.
  // Constant offsets become displacements of addresses.
  void SetVariable(uint32_t variable, const Value& value, int64_t offset = 0);
  // `variable` runs along lanes from here on; kNoVariable: scalar code.
  // `active`: which lanes exist, invalid for all.
  void SetLanes(int variable, const Value& active);
  int lanes() const { return variable_ == kNoVariable ? 1 : lanes_; }
  const Value& active() const { return active_; }

  // The value of an expression here: one lane where it is the same in all.
  Value Eval(ExprId id);
  // The same in all lanes of the current mode.
  Value EvalLanes(ExprId id) { return b_.Splat(Eval(id), lanes()); }
  // Evaluates here, for the code up to the next call, the checked indices that
  // are the same at all points of it: those that none of `moving` changes.
  // REQUIRES scalar code, and that each of these points is there.
  void KeepChecked(const std::vector<uint32_t>& moving);
  // The expression has that value from here on; an invalid one: what it has at
  // the current point.
  void Keep(ExprId id, const Value& value) { kept_[id.value()] = value; }
  // Where an access to an input reads its first lane's element. REQUIRES that
  // its address has one.
  Value FirstElement(uint32_t access);
  // Executes store `number` of stage `stage`.
  void EmitStore(size_t stage, size_t number);

  // Results of stages. A scalar's value stays valid in the code it dominates.
  void SetResult(size_t stage, int component, const Value& value) {
    results_[stage][component].value = value;
  }
  // The stage's buffer; `shared_lanes`: how many lanes each point holds.
  void SetResultBuffer(size_t stage, int component, const Value& pointer,
                       int shared_lanes);
  // Writes the buffer at the current point of the stage's loops.
  void StoreResult(size_t stage, int component, const Value& value);

  // What was computed inside a loop body must be forgotten behind it.
  std::vector<Value> SaveMemo() const { return memo_; }
  void RestoreMemo(std::vector<Value> memo) { memo_ = std::move(memo); }

  // i64 of the affine form in the first lane.
  Value AffineValue(const Affine& affine);
  // i64 of a size.
  Value SizeValue(const Size& size) { return sizes_.SizeValue(size); }

 private:
  LaneAddress MakeAddress(const FlatAccess& access);
  void AddAffine(const FlatAccess& access, LaneAddress* address);
  void AddRepeats(const FlatAccess& access, LaneAddress* address);
  void AddPhase(const FlatAccess& access, LaneAddress* address);
  // Of a dim with blocks, whose quotient is `index`.
  void AddBlocked(const FlatAccess& access, const DynamicIndex& dynamic,
                  const Value& index, LaneAddress* address);
  // Adds `step`, which may differ from lane to lane, to the element.
  void AddStep(const Value& step, LaneAddress* address);
  // Adds an index's indirect part to `value`; its lane step to `lane_stride`.
  Value IndexVector(const DynamicIndex& dynamic);
  Value EmitExpr(const Expr& expr);
  Value EmitLoad(uint32_t number, DType dtype);
  // Whether the expression depends on a result of a stage.
  bool ReadsStages(ExprId id) const;
  // The index that a check is of, 0 where it does not hold; reports that.
  Value EmitChecked(const Expr& expr);
  Value LoadStage(const Access& access, const FlatAccess& flat, DType dtype);
  Value LaneMask(const Value& valid);

  struct Result {
    Value value;   // of a scalar
    Value buffer;  // of a stage with loops
    int shared_lanes = 1;
  };

  const FlatRegion& flat_;
  const Region& region_;
  int lanes_;
  IrBuilder& b_;
  SizeEmitter sizes_;
  LaneMemory memory_;
  Value helpers_;
  std::vector<Value> inputs_, outputs_;
  std::vector<Value> bases_;  // by access; invalid: the input
  std::vector<Value> variables_;
  std::vector<int64_t> offsets_;  // by variable
  int variable_ = kNoVariable;
  Value active_;
  std::vector<Value> memo_;
  std::vector<Value> kept_;  // by expression: what KeepChecked evaluated
  std::vector<std::vector<Result>> results_;
};

}  // namespace encore::backends::cpu

#endif  // ENCORE_BACKENDS_CPU_CODEGEN_REGION_EMITTER_H_
