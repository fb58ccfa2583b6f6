#include "encore/opt/extract/reduce.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "encore/opt/extract/closure.h"

namespace encore::opt::extract {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int kMaxRounds = 8;
// Dominance compares a node with at most that many others of its class.
constexpr size_t kMaxRivals = 256;

using Children = absl::InlinedVector<ClassIndex, 4>;

std::span<const ClassIndex> Span(const Children& children) {
  return {children.data(), children.size()};
}

// Reduces out_.problem in rounds: edits of children and deaths of nodes, then
// compaction.
class Reducer {
 public:
  // Takes over what the roots reach through kept nodes.
  Reducer(const Problem& problem, std::span<const uint8_t> keep) {
    constexpr ClassIndex kNew = std::numeric_limits<ClassIndex>::max();
    std::vector<ClassIndex> number(problem.num_classes(), kNew);
    const auto reach = [&](ClassIndex c) {
      if (number[c] == kNew) {
        number[c] = out_.class_of.size();
        out_.class_of.push_back(c);
      }
      return number[c];
    };
    for (const ClassIndex root : problem.roots) {
      out_.problem.roots.push_back(reach(root));
    }
    std::vector<ClassIndex> children;
    for (size_t i = 0; i < out_.class_of.size(); ++i) {
      const ClassIndex c = out_.class_of[i];
      for (NodeIndex n = problem.class_start[c]; n < problem.class_start[c + 1];
           ++n) {
        if (!keep.empty() && !keep[n]) continue;
        children.clear();
        for (const ClassIndex d : problem.children(n)) {
          children.push_back(reach(d));
        }
        out_.problem.AddNode(problem.cost[n], children);
        out_.node_of.push_back(n);
      }
      out_.problem.FinishClass();
    }
    out_.decided.assign(problem.num_classes(), kNoNode);
    Unpack();
  }

  Reduced Run(uint64_t max_words) {
    if (!Compact()) return std::move(out_);
    size_t before = std::numeric_limits<size_t>::max();
    for (int round = 0; round < kMaxRounds && Size() < before; ++round) {
      before = Size();
      MergeChains();
      PayRoots();
      Compact();
      if (max_words == 0) continue;
      if (!UseClosures(max_words)) {
        max_words = 0;
        KillDominatedByChildren();
      }
      PayRoots();
      Compact();
    }
    return std::move(out_);
  }

 private:
  const Problem& problem() const { return out_.problem; }
  size_t Size() const {
    return problem().cost.size() + problem().child.size() +
           problem().class_start.size();
  }

  // Fills the columns that are edited from the problem.
  void Unpack() {
    dead_.assign(problem().num_nodes(), false);
    children_.resize(problem().num_nodes());
    for (ClassIndex c = 0; c < problem().num_classes(); ++c) {
      ForEachNode(c, [&](NodeIndex n) {
        const auto from = problem().children(n);
        Children& to = children_[n];
        to.assign(from.begin(), from.end());
        std::sort(to.begin(), to.end());
        to.erase(std::unique(to.begin(), to.end()), to.end());
        dead_[n] = std::isinf(problem().cost[n]) ||
                   std::binary_search(to.begin(), to.end(), c);
      });
    }
  }

  // Which classes have a derivation, in an order in which each follows the
  // children of one of its nodes. Kills the nodes that have none.
  std::vector<ClassIndex> Derivable() {
    const uint32_t classes = problem().num_classes();
    std::vector<uint32_t> start(classes + 1, 0), open(children_.size());
    std::vector<ClassIndex> owner(children_.size());
    for (ClassIndex c = 0; c < classes; ++c) {
      for (NodeIndex n = problem().class_start[c];
           n < problem().class_start[c + 1]; ++n) {
        owner[n] = c;
      }
    }
    for (NodeIndex n = 0; n < children_.size(); ++n) {
      if (dead_[n]) continue;
      open[n] = children_[n].size();
      for (const ClassIndex d : children_[n]) ++start[d];
    }
    for (ClassIndex c = 0, sum = 0; c <= classes; ++c) {
      sum += std::exchange(start[c], sum);
    }
    std::vector<NodeIndex> users(start[classes]);
    std::vector<uint32_t> next(start);
    std::vector<ClassIndex> order;
    std::vector<uint8_t> found(classes, false);
    const auto derive = [&](NodeIndex n) {
      if (!std::exchange(found[owner[n]], true)) order.push_back(owner[n]);
    };
    for (NodeIndex n = 0; n < children_.size(); ++n) {
      if (dead_[n]) continue;
      for (const ClassIndex d : children_[n]) users[next[d]++] = n;
      if (open[n] == 0) derive(n);
    }
    for (size_t i = 0; i < order.size(); ++i) {
      const ClassIndex c = order[i];
      for (uint32_t u = start[c]; u < start[c + 1]; ++u) {
        if (--open[users[u]] == 0) derive(users[u]);
      }
    }
    for (NodeIndex n = 0; n < children_.size(); ++n) {
      if (open[n] > 0) dead_[n] = true;
    }
    return order;
  }

  // Rebuilds the problem from what is alive, derivable and reachable, classes
  // renumbered in the order of Derivable(). False where a root is infeasible.
  bool Compact() {
    const std::vector<ClassIndex> order = Derivable();
    std::vector<uint8_t> mark(problem().num_classes(), 0);
    for (const ClassIndex c : order) mark[c] = 1;
    std::vector<ClassIndex> stack;
    for (const ClassIndex root : problem().roots) {
      if (mark[root] == 0) return out_.feasible = false;
      if (std::exchange(mark[root], 2) == 1) stack.push_back(root);
    }
    while (!stack.empty()) {
      const ClassIndex c = stack.back();
      stack.pop_back();
      ForEachNode(c, [&](NodeIndex n) {
        for (const ClassIndex d : children_[n]) {
          if (std::exchange(mark[d], 2) == 1) stack.push_back(d);
        }
      });
    }
    Rebuild(order, mark);
    return true;
  }

  void Rebuild(const std::vector<ClassIndex>& order,
               const std::vector<uint8_t>& mark) {
    constexpr ClassIndex kGone = std::numeric_limits<ClassIndex>::max();
    std::vector<ClassIndex> number(problem().num_classes(), kGone);
    std::vector<ClassIndex> class_of;
    for (const ClassIndex c : order) {
      if (mark[c] != 2) continue;
      number[c] = class_of.size();
      class_of.push_back(out_.class_of[c]);
    }
    Problem next;
    std::vector<NodeIndex> node_of;
    std::vector<Children> next_children;
    for (const ClassIndex c : order) {
      if (mark[c] != 2) continue;
      ForEachNode(c, [&](NodeIndex n) {
        Children& list = children_[n];
        for (ClassIndex& d : list) d = number[d];
        std::sort(list.begin(), list.end());
        next.AddNode(problem().cost[n], Span(list));
        node_of.push_back(out_.node_of[n]);
        next_children.push_back(std::move(list));
      });
      next.FinishClass();
    }
    for (const ClassIndex root : problem().roots) {
      next.roots.push_back(number[root]);
    }
    std::sort(next.roots.begin(), next.roots.end());
    next.roots.erase(std::unique(next.roots.begin(), next.roots.end()),
                     next.roots.end());
    out_.problem = std::move(next);
    out_.node_of = std::move(node_of);
    out_.class_of = std::move(class_of);
    children_ = std::move(next_children);
    dead_.assign(children_.size(), false);
  }

  template <typename Visit>
  void ForEachNode(ClassIndex c, Visit visit) {
    for (NodeIndex n = problem().class_start[c];
         n < problem().class_start[c + 1]; ++n) {
      if (!dead_[n]) visit(n);
    }
  }

  // The only node of a class that is alive, or kNoNode.
  NodeIndex OnlyNode(ClassIndex c) {
    NodeIndex only = kNoNode;
    int count = 0;
    ForEachNode(c, [&](NodeIndex n) {
      only = n;
      ++count;
    });
    return count == 1 ? only : kNoNode;
  }

  // Number of users of each class, and the exclusive or of their numbers: with
  // one user it is that user.
  struct Uses {
    uint32_t count = 0;
    NodeIndex mix = 0;
    void Flip(NodeIndex n, int change) {
      count += change;
      mix ^= n;
    }
  };

  std::vector<Uses> CountUses() {
    std::vector<Uses> uses(problem().num_classes());
    for (NodeIndex n = 0; n < children_.size(); ++n) {
      if (dead_[n]) continue;
      for (const ClassIndex d : children_[n]) uses[d].Flip(n, 1);
    }
    return uses;
  }

  void MergeChains() {
    const ProblemIndex index(problem());
    std::vector<Uses> uses = CountUses();
    std::vector<uint8_t> is_root(problem().num_classes(), false);
    for (const ClassIndex root : problem().roots) is_root[root] = true;
    for (ClassIndex c = 0; c < problem().num_classes(); ++c) {
      if (is_root[c] || uses[c].count != 1) continue;
      const NodeIndex node = OnlyNode(c), user = uses[c].mix;
      if (node == kNoNode || dead_[user]) continue;
      const ClassIndex parent = index.class_of(user);
      Children& mine = children_[node];
      if (parent == c || std::binary_search(mine.begin(), mine.end(), parent)) {
        continue;
      }
      Children& theirs = children_[user];
      theirs.erase(std::lower_bound(theirs.begin(), theirs.end(), c));
      Children merged;
      std::set_union(mine.begin(), mine.end(), theirs.begin(), theirs.end(),
                     std::back_inserter(merged));
      for (const ClassIndex d : mine) {
        uses[d].Flip(node, -1);
        if (!std::binary_search(theirs.begin(), theirs.end(), d)) {
          uses[d].Flip(user, 1);
        }
      }
      theirs = std::move(merged);
      out_.problem.cost[user] += problem().cost[node];
      Decide(c, node);
      dead_[node] = true;
    }
  }

  void Decide(ClassIndex c, NodeIndex n) {
    out_.decided[out_.class_of[c]] = out_.node_of[n];
  }

  void PayRoots() {
    std::vector<Uses> uses = CountUses();
    std::vector<ClassIndex> stack(problem().roots), left;
    std::vector<uint8_t> seen(problem().num_classes(), false);
    for (const ClassIndex root : stack) seen[root] = true;
    while (!stack.empty()) {
      const ClassIndex c = stack.back();
      stack.pop_back();
      const NodeIndex node = OnlyNode(c);
      if (node == kNoNode || uses[c].count > 0) {
        left.push_back(c);
        continue;
      }
      out_.base += problem().cost[node];
      Decide(c, node);
      dead_[node] = true;
      for (const ClassIndex d : children_[node]) {
        uses[d].Flip(node, -1);
        if (!std::exchange(seen[d], true)) stack.push_back(d);
      }
    }
    out_.problem.roots = std::move(left);
  }

  // False where closures are out of reach.
  bool UseClosures(uint64_t max_words) {
    const ProblemIndex index(problem());
    const auto closures = Closures::Compute(problem(), index, max_words);
    if (!closures) return false;
    const std::vector<uint32_t> component = StrongComponents(problem());
    ComputeUpperCosts();
    for (ClassIndex c = 0; c < problem().num_classes(); ++c) {
      KillCyclicAndDominated(c, *closures, component);
    }
    DropNeededChildren(*closures, component);
    return true;
  }

  // Where closures are out of reach: a node goes for one of its class that is
  // not dearer and has no other children.
  void KillDominatedByChildren() {
    ComputeUpperCosts();
    std::vector<NodeIndex> kept;
    for (ClassIndex c = 0; c < problem().num_classes(); ++c) {
      kept.clear();
      ForEachNode(c, [&](NodeIndex n) { kept.push_back(n); });
      const size_t rivals = std::min(kMaxRivals, kept.size());
      for (const NodeIndex b : kept) {
        const Children& have = children_[b];
        const bool clean = std::all_of(have.begin(), have.end(),
                                       [&](ClassIndex d) { return clean_[d]; });
        if (!clean) continue;
        dead_[b] =
            std::any_of(kept.begin(), kept.begin() + rivals, [&](NodeIndex a) {
              const Children& want = children_[a];
              return a != b && !dead_[a] &&
                     problem().cost[a] <= problem().cost[b] &&
                     std::includes(have.begin(), have.end(), want.begin(),
                                   want.end());
            });
      }
    }
  }

  // upper_[c]: the cost of some derivation of c; clean_[c]: no node below c has
  // a negative cost.
  void ComputeUpperCosts() {
    const uint32_t classes = problem().num_classes();
    upper_.assign(classes, kInfinity);
    clean_.assign(classes, true);
    bool negative = false;
    for (int pass = 0; pass < 2; ++pass) {
      for (ClassIndex c = 0; c < classes; ++c) {
        ForEachNode(c, [&](NodeIndex n) {
          double sum = problem().cost[n];
          if (sum < 0) negative = true, clean_[c] = false;
          for (const ClassIndex d : children_[n]) sum += upper_[d];
          upper_[c] = std::min(upper_[c], sum);
        });
      }
    }
    if (!negative) return;
    std::fill(upper_.begin(), upper_.end(), kInfinity);
    const ProblemIndex index(problem());
    std::vector<ClassIndex> stack;
    for (ClassIndex c = 0; c < classes; ++c) {
      if (!clean_[c]) stack.push_back(c);
    }
    while (!stack.empty()) {
      const ClassIndex c = stack.back();
      stack.pop_back();
      for (const NodeIndex n : index.users(c)) {
        const ClassIndex parent = index.class_of(n);
        if (!dead_[n] && std::exchange(clean_[parent], false)) {
          stack.push_back(parent);
        }
      }
    }
  }

  void KillCyclicAndDominated(ClassIndex c, const Closures& closures,
                              const std::vector<uint32_t>& component) {
    std::vector<NodeIndex> alive, kept;
    std::vector<uint64_t> needs;
    ForEachNode(c, [&](NodeIndex n) { alive.push_back(n); });
    std::sort(alive.begin(), alive.end(), [&](NodeIndex a, NodeIndex b) {
      const auto key = [&](NodeIndex n) {
        return std::tuple(problem().cost[n], children_[n].size(), n);
      };
      return key(a) < key(b);
    });
    for (const NodeIndex n : alive) {
      closures.Unite(Span(children_[n]), &needs);
      if (HasBit(needs, c)) {
        dead_[n] = true;
        continue;
      }
      const bool clean = std::all_of(children_[n].begin(), children_[n].end(),
                                     [&](ClassIndex d) { return clean_[d]; });
      if (clean) {
        for (size_t i = 0; i < std::min(kMaxRivals, kept.size()); ++i) {
          if (!Dominates(kept[i], n, c, needs, component)) continue;
          dead_[n] = true;
          break;
        }
      }
      if (!dead_[n]) kept.push_back(n);
    }
  }

  // Whether node a can replace b, both of class c, where b's children need
  // `needs`: what a needs beyond must cost no more than a saves, and must not
  // be able to need c.
  bool Dominates(NodeIndex a, NodeIndex b, ClassIndex c,
                 std::span<const uint64_t> needs,
                 const std::vector<uint32_t>& component) {
    double spare = problem().cost[b] - problem().cost[a];
    for (const ClassIndex d : children_[a]) {
      if (HasBit(needs, d)) continue;
      if (component[d] == component[c]) return false;
      spare -= upper_[d];
      if (!(spare >= 0)) return false;
    }
    return spare >= 0;
  }

  void DropNeededChildren(const Closures& closures,
                          const std::vector<uint32_t>& component) {
    std::vector<uint64_t> forced;
    closures.Unite(problem().roots, &forced);
    for (ClassIndex c = 0; c < problem().num_classes(); ++c) {
      ForEachNode(c, [&](NodeIndex n) {
        Children& list = children_[n];
        list.erase(std::remove_if(list.begin(), list.end(),
                                  [&](ClassIndex d) {
                                    return HasBit(forced, d) &&
                                           component[d] != component[c];
                                  }),
                   list.end());
        DropImplied(closures, &list);
      });
    }
    out_.problem.roots.clear();
    for (ClassIndex c = 0; c < problem().num_classes(); ++c) {
      if (HasBit(forced, c)) out_.problem.roots.push_back(c);
    }
  }

  // Drops children that another child needs.
  static void DropImplied(const Closures& closures, Children* list) {
    for (size_t i = 0; i < list->size();) {
      const ClassIndex d = (*list)[i];
      const bool implied =
          std::any_of(list->begin(), list->end(), [&](ClassIndex other) {
            return other != d && closures.Needs(other, d);
          });
      if (implied) {
        list->erase(list->begin() + i);
      } else {
        ++i;
      }
    }
  }

  Reduced out_;
  std::vector<Children> children_;  // per node, sorted and unique
  std::vector<uint8_t> dead_;       // per node
  std::vector<double> upper_;
  std::vector<uint8_t> clean_;
};

}  // namespace

Reduced Reduce(const Problem& problem, std::span<const uint8_t> keep,
               uint64_t max_words) {
  return Reducer(problem, keep).Run(max_words);
}

}  // namespace encore::opt::extract
