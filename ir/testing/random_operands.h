// RandomOperands: random operands and attributes for the nodes of a graph.
#ifndef ENCORE_IR_TESTING_RANDOM_OPERANDS_H_
#define ENCORE_IR_TESTING_RANDOM_OPERANDS_H_

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

// A builder, random numbers, and the values that may be used. The same seed and
// calls give the same graph.
class RandomOperands {
 public:
  // `g` and `options` are used as long as this is. `is_body`: `g` is that of a
  // body, which gets no arguments beyond its own.
  RandomOperands(GraphBuilder& g, uint64_t seed,
                 const RandomGraphOptions& options, bool is_body)
      : g_(g), random_(seed), options_(options), is_body_(is_body) {}

  GraphBuilder& builder() { return g_; }
  const RandomGraphOptions& options() const { return options_; }
  bool is_body() const { return is_body_; }

  // Symbols that shapes have from here on.
  void AddSymbols();
  void AddToPool(Value value);
  std::span<const Value> pool() const { return pool_; }
  // What no random node takes: host objects, and sizes known at run time only.
  std::span<const Value> others() const { return others_; }

  // --- Numbers.
  uint64_t Bits() { return random_(); }
  // In [0, limit).
  int64_t Below(int64_t limit) {
    return static_cast<int64_t>(random_() % static_cast<uint64_t>(limit));
  }
  bool Chance(int percent) { return Below(100) < percent; }

  // --- Operands.
  Dim RandomExtent(bool allow_zero);
  Shape RandomShape(int min_rank, int max_rank = 4, bool allow_zero = true);
  // An argument (in bodies, a constant) of this type.
  Value Fresh(DType dtype, const Shape& shape);
  // A value of the pool of this very type, or a fresh one. `exact`: none that
  // was computed, if it is a float.
  Value Like(DType dtype, const Shape& shape, bool exact = false);
  Value Any(DType dtype, bool exact, int min_rank = 0);
  // As Any, without extents of 0.
  Value NonEmpty(DType dtype, bool exact, int min_rank);
  // A value of the pool of the same type, `fallback` included.
  Value SameType(Value fallback);
  // A sequence of `count` tensors, of `shape` where there is one.
  Value SequenceOf(DType dtype, int64_t count,
                   const std::optional<Shape>& shape);

  // --- Attributes.
  int64_t Axis(Value x) { return Below(x.rank()); }
  Ints Axes(int rank);
  Ints Permutation(int rank);
  Ints Each(int count, int64_t least, int64_t most);
  Combiner RandomCombiner(DType dtype);
  DType RandomDType(std::span<const DType> allowed);
  // `shape`, or symbols in place of its dims that get their values at run time.
  Dims FoundOut(const Shape& shape);

 private:
  GraphBuilder& g_;
  std::mt19937_64 random_;
  const RandomGraphOptions& options_;
  const bool is_body_;
  std::vector<Value> pool_, others_;
  std::vector<Dim> symbols_;
  int next_input_ = 0;
};

}  // namespace encore::internal

#endif  // ENCORE_IR_TESTING_RANDOM_OPERANDS_H_
