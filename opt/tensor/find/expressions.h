// Expressions: all expressions of a few operators, one for each value.
//
// Level by level: expressions of n operators have operands that are
// representatives of fewer. Values are computed in exact arithmetic: integers
// modulo 2^64, a ring, with opaque functions as random polynomials, on some
// sets of random inputs; two expressions of equal values, as far as
// fingerprints tell, are equal in algebra but for accidents, and a pair. The
// first of a value represents it; only representatives are built upon, so that
// a pair says more than its parts do (TASO, Jia et al., SOSP 2019). Nothing is
// built upon what is 0 everywhere: x - x + y = y says no more than x - x = 0.
#ifndef ENCORE_OPT_TENSOR_FIND_EXPRESSIONS_H_
#define ENCORE_OPT_TENSOR_FIND_EXPRESSIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "encore/ir/build/builder.h"
#include "encore/ir/graph/graph.h"
#include "encore/ir/support/status.h"
#include "encore/ir/types/dtype.h"
#include "encore/opt/tensor/find/find_operators.h"

namespace encore::opt {

struct FindOptions {
  int operators = 3;  // of a program, at most
  int results = 1;    // of a program: 1 or 2
  int kinds = 20;     // of FindOperators(), the first ones
  int inputs = 4;     // of FindInputs(), the first ones
  uint64_t seed = 1;  // of inputs and polynomials
  int one_of = 1;     // of so many pairs, by seed
  int64_t most_expressions = 4'000'000;
};

class Expressions {
 public:
  struct Expression {
    int16_t op = -1;  // among FindOperators(); -1: an input
    int16_t operators = 0;
    bool zero = false;          // everywhere; said of representatives
    uint32_t operands[2] = {};  // of an input: its number
  };
  // Of equal values: one that is no representative, and the one that is.
  struct Pair {
    uint32_t made = 0, representative = 0;
  };

  // ResourceExhausted beyond options.most_expressions. Takes some microseconds
  // an expression; about 100,000 have three operators of 20 kinds.
  static StatusOr<Expressions> Enumerate(const FindOptions& options);

  const Expression& operator[](uint32_t i) const { return all_[i]; }
  size_t size() const { return all_.size(); }
  // Of programs of one result, each pair once, whatever its inputs are called;
  // of two results, all.
  const std::vector<Pair>& pairs() const { return pairs_; }

  // "add[x, transpose[w]]"; of two results "results[…, …]".
  std::string Text(const std::vector<uint32_t>& program) const;
  // "add[0:…, transpose[1:…]] = …", inputs numbered as they come: what programs
  // that differ in the names of inputs have in common.
  std::string Form(const std::vector<uint32_t>& program) const;

  // A graph of these expressions' values, in order, at these extents; nothing
  // where one has no meaning there.
  std::optional<Graph> GraphOf(const std::vector<uint32_t>& expressions,
                               const Extents& extents, DType dtype,
                               bool simplify) const;

 private:
  class Enumerator;

  std::vector<Expression> all_;
  std::vector<Pair> pairs_;
};

// The extents at which expressions are enumerated, and others.
inline constexpr Extents kFindExtents = {3, 5};
inline constexpr Extents kOtherExtents = {4, 7};

}  // namespace encore::opt

#endif  // ENCORE_OPT_TENSOR_FIND_EXPRESSIONS_H_
