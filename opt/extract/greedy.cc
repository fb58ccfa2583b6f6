#include "encore/opt/extract/greedy.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <queue>
#include <utility>

namespace encore::opt::extract {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// A class and the cost of its node, as the set that holds it saw it.
struct Element {
  ClassIndex c;
  double cost;
};

// What a class needs, by class; `total` is the sum of the costs.
struct CostSet {
  std::vector<Element> elements;
  double total = kInfinity;
};

class GreedyDagRun {
 public:
  GreedyDagRun(const Problem& problem, const ProblemIndex& index)
      : problem_(problem),
        index_(index),
        sets_(problem.num_classes()),
        choice_(problem.num_classes(), kNoNode),
        queued_(problem.num_nodes(), false) {}

  Selection Run(uint64_t max_work, uint64_t* work) {
    for (NodeIndex n = 0; n < problem_.num_nodes(); ++n) {
      if (problem_.children(n).empty()) Push(n);
    }
    while (!queue_.empty() && work_ < max_work) {
      const NodeIndex n = queue_.front();
      queue_.pop();
      queued_[n] = false;
      ++work_;
      if (!Improves(n)) continue;
      const ClassIndex c = index_.class_of(n);
      std::swap(sets_[c], candidate_);
      choice_[c] = n;
      for (const NodeIndex user : index_.users(c)) Push(user);
    }
    *work += work_;
    return std::move(choice_);
  }

 private:
  void Push(NodeIndex n) {
    if (queued_[n] || std::isinf(problem_.cost[n])) return;
    queued_[n] = true;
    queue_.push(n);
  }

  // Whether the set of node n, left in candidate_, beats that of its class.
  bool Improves(NodeIndex n) {
    const ClassIndex c = index_.class_of(n);
    const auto children = problem_.children(n);
    for (const ClassIndex to : children) {
      if (choice_[to] == kNoNode || to == c) return false;
    }
    if (children.size() == 1 &&
        problem_.cost[n] + sets_[children[0]].total > sets_[c].total) {
      return false;
    }
    candidate_.elements.clear();
    for (const ClassIndex to : children) {
      if (!Unite(sets_[to].elements, c)) return false;
    }
    const Element own = {c, problem_.cost[n]};
    const auto place = std::upper_bound(
        candidate_.elements.begin(), candidate_.elements.end(), own,
        [](const Element& a, const Element& b) { return a.c < b.c; });
    candidate_.elements.insert(place, own);
    candidate_.total = 0;
    for (const Element& e : candidate_.elements) candidate_.total += e.cost;
    return candidate_.total < sets_[c].total;
  }

  // Adds `set` to the candidate; false where it contains class c.
  bool Unite(const std::vector<Element>& set, ClassIndex c) {
    work_ += set.size() + candidate_.elements.size();
    merged_.clear();
    auto mine = candidate_.elements.begin();
    const auto end = candidate_.elements.end();
    for (const Element& e : set) {
      if (e.c == c) return false;
      while (mine != end && mine->c < e.c) merged_.push_back(*mine++);
      if (mine != end && mine->c == e.c) {
        merged_.push_back(*mine++);
      } else {
        merged_.push_back(e);
      }
    }
    merged_.insert(merged_.end(), mine, end);
    std::swap(merged_, candidate_.elements);
    return true;
  }

  const Problem& problem_;
  const ProblemIndex& index_;
  std::vector<CostSet> sets_;
  Selection choice_;
  std::vector<bool> queued_;
  std::queue<NodeIndex> queue_;
  CostSet candidate_;
  std::vector<Element> merged_;
  uint64_t work_ = 0;
};

}  // namespace

TreeCosts BottomUpTree(const Problem& problem, const ProblemIndex& index) {
  TreeCosts out{std::vector<double>(problem.num_classes(), kInfinity),
                Selection(problem.num_classes(), kNoNode)};
  // Open children and cost so far of each node.
  std::vector<uint32_t> open(problem.num_nodes(), 0);
  std::vector<double> sum(problem.num_nodes());
  using Entry = std::pair<double, NodeIndex>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  for (ClassIndex c = 0; c < problem.num_classes(); ++c) {
    for (const NodeIndex n : index.users(c)) ++open[n];
  }
  for (NodeIndex n = 0; n < problem.num_nodes(); ++n) {
    sum[n] = std::max(0.0, problem.cost[n]);
    if (open[n] == 0 && sum[n] < kInfinity) queue.emplace(sum[n], n);
  }
  while (!queue.empty()) {
    const auto [cost, n] = queue.top();
    queue.pop();
    const ClassIndex c = index.class_of(n);
    if (out.choice[c] != kNoNode) continue;
    out.choice[c] = n;
    out.cost[c] = cost;
    for (const NodeIndex user : index.users(c)) {
      sum[user] += cost;
      if (--open[user] == 0 && !std::isinf(problem.cost[user])) {
        queue.emplace(sum[user], user);
      }
    }
  }
  return out;
}

Selection GreedyDag(const Problem& problem, const ProblemIndex& index,
                    uint64_t max_work, uint64_t* work) {
  return GreedyDagRun(problem, index).Run(max_work, work);
}

}  // namespace encore::opt::extract
