// Fusion variants: sets of nodes that might become one kernel, near those that
// the greedy partition chose.
#ifndef ENCORE_BACKENDS_LOWERING_VARIANTS_H_
#define ENCORE_BACKENDS_LOWERING_VARIANTS_H_

#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "encore/backends/lowering/group.h"
#include "encore/backends/lowering/group_graph.h"
#include "encore/ir/graph/graph.h"

namespace encore::backends {

struct Variant {
  Group group;
  // Of a run: what the prepare plan computes is spread over
  // FusionContext::calls.
  double seconds = 0;
  // What its nodes read that is not theirs, and what they need to be there.
  std::vector<ValueId> reads;
};

// What variants there are beside each node by itself and the groups of a
// partition: near these
enum VariantFamily : unsigned {
  kCut = 1 << 0,        // both sides of a cut through a group
  kRecompute = 1 << 1,  // a group that computes again what it reads
  kJoin = 1 << 2,       // with what makes an input of it, for others as well
  // Groups that read the same value and write equal shapes,
  kBeside = 1 << 3,
  kBesideContraction = 1 << 4,  // of which one is a contraction's,
  kApart = 1 << 5,  // and small ones that write equal shapes and share nothing
  // A contraction with what it reads back to another one, where rows are
  // combined in between.
  kChain = 1 << 6,
  kNear = 1 << 7,  // all of these, near what was chosen among them
};
inline constexpr unsigned kAllVariantFamilies = (kNear << 1) - 1;

// "cut", "recompute", "join", "beside", "beside_contraction", "apart", "chain",
// "near".
std::optional<VariantFamily> ParseVariantFamily(std::string_view name);

// Finds a bounded number of variants for each value; all have kernels. What may
// fail is computed once only. Deterministic.
class VariantFinder {
 public:
  // `graph` outlives this. The first variants are the groups of `partition`, as
  // far as they have kernels. `families`: those that are looked for.
  VariantFinder(std::span<const Group> partition, unsigned families,
                GroupGraph* graph);
  ~VariantFinder();

  // More of them, near the groups of another partition.
  void AddNear(std::span<const Group> partition);

  // Valid until more are added.
  std::span<const Variant> variants() const;

 private:
  class Finder;
  const std::unique_ptr<Finder> finder_;
};

}  // namespace encore::backends

#endif  // ENCORE_BACKENDS_LOWERING_VARIANTS_H_
