// The state of random_graph.cc: a builder, random numbers, and the values that
// may be used.
#ifndef ENCORE_IR_TESTING_RANDOM_GENERATOR_H_
#define ENCORE_IR_TESTING_RANDOM_GENERATOR_H_

#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <vector>

#include "encore/ir/build/builder.h"
#include "encore/ir/ops/op.h"
#include "encore/ir/testing/random_graph.h"
#include "encore/ir/types/dtype.h"
#include "encore/ir/types/shape.h"

namespace encore::internal {

class RandomGenerator {
 public:
  using Values = std::vector<Value>;

  RandomGenerator(GraphBuilder& g, uint64_t seed,
                  const RandomGraphOptions& options, bool is_body)
      : g_(g), random_(seed), options_(options), is_body_(is_body) {}

  // Adds `op`; false where the dtype is not the row's.
  bool AddNode(Op op, DType dtype);
  // Adds `count` nodes of random ops and dtypes.
  void AddNodes(int count);
  void AddSymbols();
  void AddToPool(Value value);
  std::span<const Value> pool() const { return pool_; }
  // What no random node takes: host objects, and sizes known at run time only.
  std::span<const Value> others() const { return others_; }

  // A number in [0, limit).
  int64_t Below(int64_t limit) {
    return static_cast<int64_t>(random_() % static_cast<uint64_t>(limit));
  }
  bool Chance(int percent) { return Below(100) < percent; }

 private:
  // --- Operands.
  Dim RandomExtent(bool allow_zero);
  Shape RandomShape(int min_rank, int max_rank = 4, bool allow_zero = true);
  // An argument (in bodies, a constant) of this type.
  Value Fresh(DType dtype, const Shape& shape);
  Value Scalar(DType dtype) { return Fresh(dtype, Shape()); }
  // A value of the pool of this very type, or a fresh one.
  Value Like(DType dtype, const Shape& shape, bool exact = false);
  Value Any(DType dtype, bool exact, int min_rank = 0);
  // As Any, without extents of 0.
  Value NonEmpty(DType dtype, bool exact, int min_rank);
  // A value of the pool of the same type, `fallback` included.
  Value SameType(Value fallback);

  // --- Attributes.
  int64_t Axis(Value x) { return Below(x.rank()); }
  Ints Axes(int rank);
  Ints Permutation(int rank);
  Ints Each(int count, int64_t least, int64_t most);
  Combiner RandomCombiner(DType dtype);
  DType RandomDType(std::span<const DType> allowed);

  // --- Families; each adds one node.
  Values Source(Op op, DType dtype);
  Values Guarded(DType dtype);
  Values Elementwise(Op op, DType dtype);
  Values Movement(Op op, DType dtype);
  Values Indexing(Op op, DType dtype);
  // `starts` moved to where a window of `sizes` is within `shape` along each of
  // `axes`, whichever it is for.
  Value WithinAll(Value starts, const Shape& shape, const Dims& sizes,
                  const Ints& axes);
  Values Reduction(Op op, DType dtype);
  Values Contraction(Op op, DType dtype);
  Values Convolve(DType dtype);
  Values Activation(Op op, DType dtype);
  Values Normalization(Op op, DType dtype);
  Values Bodies(Op op, DType dtype);
  Values Attend(DType dtype);
  Values Pool(Op op, DType dtype);
  Values SliceOf(DType dtype);
  Values Dispatch(Op op, DType dtype);
  Values Sequences(Op op, DType dtype);
  Values Optionals(Op op, DType dtype, const Shape& shape);
  Values Strings(Op op, DType dtype);

  // A sequence of `count` tensors, of `shape` where there is one.
  Value SequenceOf(DType dtype, int64_t count,
                   const std::optional<Shape>& shape);
  // An index into `limit` places, from either end.
  Value IndexBelow(int64_t limit);
  // `shape`, or symbols in place of its dims that get their values at run time.
  Dims FoundOut(const Shape& shape);

  GraphBuilder::Body BodyOf(size_t first, std::span<const Value> like,
                            uint64_t seed);

  GraphBuilder& g_;
  std::mt19937_64 random_;
  const RandomGraphOptions& options_;
  const bool is_body_;
  Values pool_, others_;
  std::vector<Dim> symbols_;
  int next_input_ = 0;
};

}  // namespace encore::internal

#endif  // ENCORE_IR_TESTING_RANDOM_GENERATOR_H_
