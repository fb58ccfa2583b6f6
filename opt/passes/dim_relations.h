// What the assertions of a graph say of its dims.
//
// Integers that a graph computes from extents (dim_values and arithmetic) are
// dims again; a comparison of two of them that an assertion requires is a
// relation between dims, which holds in every run that ends well.
#ifndef ENCORE_OPT_PASSES_DIM_RELATIONS_H_
#define ENCORE_OPT_PASSES_DIM_RELATIONS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "encore/ir/graph/graph.h"
#include "encore/ir/types/dim.h"

namespace encore::opt {

struct DimRelation {
  enum class Kind : uint8_t { kZero, kNotNegative, kMultiple };
  Kind kind = Kind::kZero;
  // kZero: expr == 0; kNotNegative: expr >= 0; kMultiple: expr is a multiple of
  // `divisor`, which is at least 2.
  Dim expr;
  int64_t divisor = 1;
};

// Integers of one graph that are dims: scalars and short vectors of i64. The
// graph outlives this. Linear in the graph.
class DimIntegers {
 public:
  explicit DimIntegers(const Graph& graph);

  struct Elements {
    std::vector<Dim> dims;
    // Whether it is computed from extents. Otherwise it follows from what a
    // definition reads: that is what its symbol is in every run that ends well,
    // as long as the definition is there.
    bool computed = true;
  };

  // The elements of the value; null where they are not known as dims.
  const Elements* Of(ValueId value) const;

  // What holds where `condition`, a bool or i64 scalar, is positive; nothing
  // where it says nothing of dims. What is said twice, as e >= 0 and -e >= 0,
  // is said once, as e == 0.
  std::vector<DimRelation> Implied(ValueId condition) const;

  // Whether `condition` is sure to be positive: it compares what is computed
  // from extents, and the bounds of their symbols decide.
  bool IsCertain(ValueId condition) const;

 private:
  void SeedDefinitions();
  std::optional<Elements> Compute(NodeId node) const;
  std::optional<Elements> Combine(NodeId node) const;
  std::optional<DimRelation> Compared(NodeId node) const;
  // The relations that make up a condition; whether they are all of it, and
  // between what is computed from extents.
  bool Collect(ValueId condition, std::vector<DimRelation>* relations) const;

  const Graph& graph_;
  std::map<ValueId, Elements> known_;
};

}  // namespace encore::opt

#endif  // ENCORE_OPT_PASSES_DIM_RELATIONS_H_
