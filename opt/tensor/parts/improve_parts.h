// ImproveParts: a large graph improved part by part, equal parts once.
#ifndef ENCORE_OPT_TENSOR_PARTS_IMPROVE_PARTS_H_
#define ENCORE_OPT_TENSOR_PARTS_IMPROVE_PARTS_H_

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "encore/ir/graph/graph.h"
#include "encore/ir/support/status.h"
#include "encore/opt/tensor/costs.h"
#include "encore/opt/tensor/deadline.h"
#include "encore/opt/tensor/parts/assemble.h"
#include "encore/opt/tensor/parts/divide.h"
#include "encore/opt/tensor/parts/part_graph.h"
#include "encore/opt/tensor/tensor_program.h"

namespace encore::opt {

// What became of a graph: nothing where it stays; by extraction's additive
// costs, its own choice, the best that was found, and what none is below.
struct Improved {
  std::optional<Graph> graph;
  double own_choice = 0, best_choice = 0;
  std::optional<double> bound;
};

// `shared`: parameters, by number, that others use as well.
using ImprovePart = std::function<StatusOr<Improved>(
    const Graph& part, const std::vector<bool>& shared)>;

// Whether a large graph may take the place of another. `among_others`: parts
// that changed stand among nodes of others, so that what they give may live
// through these; otherwise all that a part gives lives at its end, as it did.
using GraphFits = std::function<bool(const Graph& before, const Graph& after,
                                     bool among_others)>;

struct PartsLimits {
  // A graph of up to so many nodes is improved as a whole.
  int whole_nodes = 300;
  // As is one of up to so many, unless its parts repeat so much that they are
  // at most half the work.
  int most_whole_nodes = 2000;
  DivideOptions divide;
};

class PartsImprover {
 public:
  // `costs`, `improve`, `fits` and `deadline`, which may be null, outlive this.
  PartsImprover(const Costs& costs, const PartsLimits& limits,
                const ImprovePart& improve, const GraphFits& fits,
                Deadline* deadline = nullptr)
      : costs_(costs),
        limits_(limits),
        improve_(improve),
        fits_(fits),
        deadline_(deadline) {}

  // Nothing where the graph is better improved as a whole. Otherwise the parts
  // are improved, each kind once, and put together; then once more, cut at
  // other places, for what the first cuts were between. Where the whole does
  // not fit, though each part does, kinds of parts that break the limit are
  // left as they were, found by halving: of the first kinds that fit no more
  // together, the last. Where there are many of these, or no time is left, more
  // are: some first kinds stay, or none. `improved_bodies`: `bodies` are not
  // the graph's own. `to`: the symbols and nothing else.
  StatusOr<std::optional<Improved>> Improve(const Graph& graph,
                                            const BodiesOf& bodies,
                                            bool improved_bodies,
                                            const Graph& to);

  // How many parts there were in all graphs, and how many were unlike any
  // before.
  int parts() const { return parts_; }
  int kinds() const { return static_cast<int>(kinds_.size()); }

 private:
  struct Kind {
    Improved improved;
    std::map<std::string, size_t, std::less<>> origins;  // their numbers
  };
  // Keys and origins of the parts; graphs of the first of each new kind.
  struct Plan {
    Division division;
    std::vector<PartGraph> parts;
    int nodes = 0, new_nodes = 0;
  };
  // What is to be put together, and how it is judged.
  struct Round {
    const Graph& graph;
    const BodiesOf& bodies;
    bool improved_bodies;
    const Graph& to;
    // What the graph that comes out may take the place of; null: anything.
    const Graph* whole;
  };
  struct Outcome {
    std::optional<Assembled> assembled;  // nothing: all stays
    bool among_others = false;           // as GraphFits has it
    Improved figures;
  };

  StatusOr<Plan> MakePlan(const Graph& graph, Division division) const;
  StatusOr<Outcome> Run(const Round& round, Plan plan);
  StatusOr<std::optional<Assembled>> PutTogether(
      const Round& round, const std::vector<Part>& parts,
      std::vector<Replacement> replacements);
  // Whether there is work and time left to ask `fits_`.
  bool MayJudge();
  struct Rounds {
    Improved result;
    bool among_others = false;
  };
  StatusOr<Rounds> InTwoRounds(const Graph& graph, Plan plan,
                               const BodiesOf& bodies, bool improved_bodies,
                               const Graph& to, bool judged);
  StatusOr<const Kind*> KindOf(const Part& part, PartGraph made);

  const Costs& costs_;
  const PartsLimits limits_;
  const ImprovePart& improve_;
  const GraphFits& fits_;
  Deadline* const deadline_;
  int judged_ = 0;                     // graphs, of this one
  std::map<std::string, Kind> kinds_;  // by key
  int parts_ = 0;
};

}  // namespace encore::opt

#endif  // ENCORE_OPT_TENSOR_PARTS_IMPROVE_PARTS_H_
