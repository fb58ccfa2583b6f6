#include "encore/backends/cpu/attention/softmax.h"

#include <cmath>

#include "encore/backends/cpu/codegen/math/math.h"
#include "encore/backends/cpu/codegen/reduction.h"
#include "encore/backends/region/region.h"
#include "encore/ir/types/dtype.h"

namespace encore::backends::cpu {
namespace {

// A row of the tile, and of those whose state is kept.
class SoftmaxRow {
 public:
  SoftmaxRow(const AttentionCode& code, const Value& of_tile,
             const Value& place)
      : c_(code), b_(code.b), math_{code.b, code.e.helpers()} {
    line_ = b_.Mul(of_tile, c_.s.padded_keys());
    scale_ = c_.Scratch(c_.layout.scales, of_tile);
    maximum_ = c_.Scratch(c_.layout.maxima, place);
    sum_ = c_.Scratch(c_.layout.sums, b_.Mul(place, c_.s.lanes));
  }

  // Scores in the place of products, and the largest so far.
  void EmitScores(const Value& first, int64_t keys) {
    const IrType type = c_.vector();
    const Value least = IrBuilder::Float(type, -INFINITY);
    const Value largest = b_.NewVariable(type);
    b_.Set(largest, least);
    ForVectors(c_, static_cast<int>(c_.attention.key_variable()), first, keys,
               [&](const Value& element, const Value& active) {
                 const Value at = Place(element);
                 c_.e.SetResult(c_.attention.products(), 0,
                                b_.Load(type, at, 4));
                 Value score = c_.e.EvalLanes(c_.attention.score());
                 if (active.valid()) score = b_.Select(active, score, least);
                 b_.Store(score, at, 4);
                 b_.Set(largest, Larger(b_.Get(largest, type), score));
               });
    Value maximum =
        Fold(b_, RegionCombiner::kMax, DType::kF32, b_.Get(largest, type));
    if (c_.s.is_online()) {
      const Value last = b_.Load({Elem::kF32, 1}, maximum_, 4);
      maximum = Larger(last, maximum);
      b_.Store(math_.ExpOfNegative(b_.Binary("fsub", last, Finite(maximum))),
               scale_, 4);
    }
    b_.Store(maximum, maximum_, 4);
  }

  // e^(score - maximum) in the place of scores, added to the row's sum.
  void EmitPowers(int64_t keys) {
    const IrType type = c_.vector();
    const auto load = [&](const Value& from) {
      return b_.Load({Elem::kF32, 1}, from, 4);
    };
    Value maximum = load(maximum_), before = IrBuilder::Zero(type);
    if (c_.s.is_online()) {
      maximum = Finite(maximum);
      before = b_.Binary("fmul", b_.Load(type, sum_, 4),
                         b_.Splat(load(scale_), c_.s.lanes));
    }
    maximum = b_.Splat(maximum, c_.s.lanes);
    const Value sum = b_.NewVariable(type);
    b_.Set(sum, before);
    ForVectors(c_, kNoVariable, IrBuilder::I64(0), keys,
               [&](const Value& element, const Value&) {
                 const Value at = Place(element);
                 const Value power = math_.ExpOfNegative(
                     b_.Binary("fsub", b_.Load(type, at, 4), maximum));
                 b_.Store(power, at, 4);
                 b_.Set(sum, b_.Binary("fadd", b_.Get(sum, type), power));
               });
    b_.Store(b_.Get(sum, type), sum_, 4);
  }

 private:
  // The larger one, `x` where that cannot be told: a NaN is seen by its power.
  Value Larger(const Value& x, const Value& y) {
    return b_.Select(b_.Compare("ogt", y, x), y, x);
  }
  // 0 in the place of -infinity, from which nothing can be subtracted.
  Value Finite(const Value& x) {
    const Value least = IrBuilder::Float(x.type, -INFINITY);
    return b_.Select(b_.Compare("oeq", x, least), IrBuilder::Zero(x.type), x);
  }
  Value Place(const Value& element) {
    return c_.Scratch(c_.layout.scores, b_.Add(line_, element));
  }

  const AttentionCode& c_;
  IrBuilder& b_;
  MathEmitter math_;
  Value line_, scale_, maximum_, sum_;
};

}  // namespace

void EmitSoftmax(const AttentionCode& code, const Value& row,
                 const Value& place, int rows, const Value& first,
                 int64_t keys) {
  const auto each = [&](const auto& body) {
    code.b.Loop(IrBuilder::I64(0), IrBuilder::I64(rows), 1,
                [&](const Value& r) {
                  SoftmaxRow line(code, r, code.b.Add(place, r));
                  body(line, r);
                });
  };
  // All scores first: what folds the largest of a row does not wait for it.
  each([&](SoftmaxRow& line, const Value& r) {
    code.SetRow(code.b.Add(row, r));
    line.EmitScores(first, keys);
  });
  each([&](SoftmaxRow& line, const Value&) { line.EmitPowers(keys); });
}

}  // namespace encore::backends::cpu
