// Loops of a stage and its reduction as code.
#ifndef ENCORE_BACKENDS_CPU_CODEGEN_REDUCTION_H_
#define ENCORE_BACKENDS_CPU_CODEGEN_REDUCTION_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "encore/backends/cpu/codegen/builder/ir_builder.h"
#include "encore/backends/cpu/codegen/region_emitter.h"
#include "encore/backends/region/flat/flat_region.h"

namespace encore::backends::cpu {

// `body` for every point of `variables`, the last innermost. Where
// `vector_variable` is the last one it runs along `lanes` lanes, what is left
// over with some of them inactive.
void Loops(RegionEmitter& e, const FlatRegion& flat,
           const std::vector<uint32_t>& variables, int vector_variable,
           int lanes, const std::function<void()>& body);

// Computes and keeps (RegionEmitter::Keep) what stays the same in the loops of
// the stage; returns what that is.
std::vector<ExprId> KeepFixed(RegionEmitter& e, const FlatRegion& flat,
                              size_t stage);

// The largest multiple of `step` that is not above `extent`, an i64.
Value WholeSteps(RegionEmitter& e, const Size& extent, int64_t step);

// `body` for what a whole number of vectors leaves of `extent`, if anything,
// with the lanes that exist.
void WithTail(RegionEmitter& e, const Size& extent, int lanes,
              const std::function<void(const Value& active)>& body);

// A value in the compute form of `from` as one of `to`, both of one kind.
Value ConvertDType(IrBuilder& b, DType from, DType to, const Value& value,
                   bool saturate = false);

// What `stage`, a reduction or scan with one component, accumulated as what it
// gives: of nothing, the least or largest element of dtypes without infinities.
Value FromAccumulated(IrBuilder& b, const Stage& stage, const Value& value);

// All lanes of `vector`, in the compute form of `dtype`, in one: halving, a
// fixed tree.
Value Fold(IrBuilder& b, RegionCombiner combiner, DType dtype, Value vector);

// Whether map stage `stage` keeps for each point what the next one, a
// reduction over these points, combines.
bool ComputesAlong(const FlatRegion& flat, size_t stage);

// One reduction stage at one point of its loops.
class Reduction {
 public:
  // `vector_variable`: the last reduced variable, where that runs along `lanes`
  // lanes; else kNoVariable, and all lanes of the current mode reduce on their
  // own. `along`: a map stage (ComputesAlong) whose values are computed and
  // kept in the same loop.
  Reduction(RegionEmitter& e, const FlatRegion& flat, size_t stage,
            int vector_variable, int lanes, std::optional<size_t> along = {});

  // The components of the result, in the stage's dtype.
  std::vector<Value> Emit();

  // The same of so many points at once, or vectors of them, inside of the loops
  // over all reduced variables but one that runs along lanes: what lies side by
  // side for the points is read so. `each` makes the loop over them, of a body
  // that it gives the point's number; `done` gets the result at each. REQUIRES
  // nothing along, and a combiner with one component that is no index.
  using AtPoint = std::function<void(const Value& number)>;
  void EmitTogether(int64_t points,
                    const std::function<void(const AtPoint&)>& each,
                    const std::function<void(const Value&)>& done);

 private:
  using Element = std::function<Value()>;

  // Combines `element` (in dtype accumulate) over the reduced points.
  Value Simple(RegionCombiner combiner, const Element& element);
  // The first of the reduced variables that are unrolled: those of a small
  // window.
  size_t FirstUnrolled() const;
  // The type of a sum, and how many there are, since an addition waits for the
  // one before.
  IrType SumType() const;
  int SumCount() const;
  // Combines `element` over the last reduced variable, or, without one along
  // the lanes, at the current point, with `sums`.
  void Add(RegionCombiner combiner, const Element& element,
           const std::vector<Value>& sums);
  // Whether that takes longer than all else in the loop over the last variable,
  // where none runs along the lanes; and that loop with several sums in turns.
  bool WaitsForItself() const;
  void AddInTurns(RegionCombiner combiner, const Element& element,
                  const std::vector<Value>& sums);
  Value Total(RegionCombiner combiner, const std::vector<Value>& sums);
  std::vector<Value> Arg();
  std::vector<Value> Welford();
  std::vector<Value> OnlineSoftmax();
  Value Accumulated();  // the stage's value in dtype accumulate
  void ArgUpdate(const Value& best, const Value& index, const Value& value,
                 const Value& candidate, const Value& active);

  RegionEmitter& e_;
  IrBuilder& b_;
  const FlatRegion& flat_;
  const Stage& stage_;
  const std::vector<uint32_t>& reduced_;
  DType value_dtype_;
  int variable_;
  int lanes_;
  std::optional<size_t> along_;
};

}  // namespace encore::backends::cpu

#endif  // ENCORE_BACKENDS_CPU_CODEGEN_REDUCTION_H_
