#include "encore/ir/import/onnx/ml/tree_ensemble.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <span>
#include <utility>

#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/types/literal.h"

namespace encore::onnx {
namespace {

// Positions are i32, and so are those in tables of four entries a node.
constexpr int64_t kMaxNodes = int64_t{1} << 28;
// Entries of a table of votes.
constexpr int64_t kMaxVotes = int64_t{1} << 28;
// A table of votes with a column for every target is preferred up to this size.
constexpr int64_t kSmallTable = int64_t{1} << 16;
// Deeper trees are walked by a loop.
constexpr int64_t kUnrolledLevels = 16;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// A comparison and the outcomes for which it holds.
struct Test {
  Comparison comparison;
  std::array<bool, TreeNode::kOutcomes> holds;
};
constexpr Test kTests[] = {
    {Comparison::kLe, {true, true, false, false}},
    {Comparison::kLt, {true, false, false, false}},
    {Comparison::kGe, {false, true, true, false}},
    {Comparison::kGt, {false, false, true, false}},
    {Comparison::kEq, {false, true, false, false}},
    {Comparison::kNe, {true, false, true, true}},
};

// Whether the test alone says where the node goes.
bool Decides(const Test& test, const TreeNode& node) {
  std::array<std::optional<TreeRef>, 2> next;
  for (int i = 0; i < TreeNode::kOutcomes; ++i) {
    std::optional<TreeRef>& there = next[test.holds[i]];
    if (there && *there != node.next[i]) return false;
    there = node.next[i];
  }
  return true;
}

// A test that decides every node; null where there is none.
const Test* CommonTest(const TreeEnsemble& trees) {
  for (const Test& test : kTests) {
    if (std::ranges::all_of(trees.nodes, [&](const TreeNode& node) {
          return Decides(test, node);
        })) {
      return &test;
    }
  }
  return nullptr;
}

// Nodes, then leaves, which lead to themselves, as columns of a table.
class NodeTable {
 public:
  explicit NodeTable(const TreeEnsemble& trees)
      : test_(CommonTest(trees)), nodes_(std::ssize(trees.nodes)) {
    const int64_t ways = test_ != nullptr ? 2 : TreeNode::kOutcomes;
    const int64_t count = nodes_ + std::ssize(trees.leaves);
    Literal features(DType::kI32, {count}), values(trees.dtype, {count});
    Literal next(DType::kI32, {count * ways});
    for (int64_t i = 0; i < count; ++i) {
      const bool is_leaf = i >= nodes_;
      if (!is_leaf) {
        features.SetInt(i, trees.nodes[i].feature);
        values.SetDouble(i, trees.nodes[i].value);
      }
      for (int64_t way = 0; way < ways; ++way) {
        next.SetInt(i * ways + way,
                    is_leaf ? i : Position(NextOf(trees.nodes[i], way)));
      }
    }
    features_ = std::move(features);
    values_ = std::move(values);
    next_ = std::move(next);
  }

  int64_t Position(TreeRef ref) const {
    return ref >= 0 ? ref : nodes_ - 1 - ref;
  }

  // The columns in a graph.
  struct Columns {
    Value features, values, next;
  };
  Columns In(GraphBuilder& g) const {
    return {g.Constant(features_), g.Constant(values_), g.Constant(next_)};
  }

  // One level down from the positions `at`, [N, trees].
  Value Step(GraphBuilder& g, const Columns& columns, Value x, Value at,
             OutOfRange rule) const {
    const Value feature = g.Take(columns.features, at, 0);
    GatherAttrs along;
    along.out_of_range = rule;
    along.operand_batching_dims = {0};
    along.start_indices_batching_dims = {0};
    along.collapsed_slice_dims = {1};
    along.start_index_map = {1};
    along.index_vector_dim = 2;
    along.slice_sizes = {1, 1};
    const Value seen = g.Gather(x, feature, std::move(along));
    const Value value = g.Take(columns.values, at, 0);
    return g.Take(columns.next, Way(g, seen, value, at), 0);
  }

 private:
  TreeRef NextOf(const TreeNode& node, int64_t way) const {
    if (test_ == nullptr) return node.next[way];
    for (int i = 0; i < TreeNode::kOutcomes; ++i) {
      if (test_->holds[i] == (way == 1)) return node.next[i];
    }
    return 0;
  }

  // The entry of `next` that says where to go.
  Value Way(GraphBuilder& g, Value seen, Value value, Value at) const {
    if (test_ != nullptr) {
      return g.Add(
          g.Mul(at, 2),
          g.Cast(g.Compare(seen, value, test_->comparison), DType::kI32));
    }
    const auto number = [&](int64_t n) { return g.Scalar(DType::kI32, n); };
    const Value above =
        g.Select(g.Compare(seen, value, Comparison::kGt),
                 number(TreeNode::kAbove), number(TreeNode::kNan));
    const Value not_below = g.Select(g.Compare(seen, value, Comparison::kEq),
                                     number(TreeNode::kEqual), above);
    const Value outcome = g.Select(g.Compare(seen, value, Comparison::kLt),
                                   number(TreeNode::kBelow), not_below);
    return g.Add(g.Mul(at, int64_t{TreeNode::kOutcomes}), outcome);
  }

  const Test* test_;
  int64_t nodes_;
  Literal features_, values_, next_;
};

// The leaf that each row reaches in each tree, as i32 [N, trees].
Value Walk(GraphBuilder& g, const TreeEnsemble& trees, Value x, int64_t depth,
           OutOfRange rule) {
  const NodeTable table(trees);
  std::vector<int32_t> roots;
  for (const TreeRef root : trees.roots) {
    roots.push_back(static_cast<int32_t>(table.Position(root)));
  }
  const Value start = g.Constant(Literal::Vector<int32_t>(roots));
  Value at = g.Broadcast(start, Shape({x.shape()[0], std::ssize(roots)}), {1});
  if (depth <= kUnrolledLevels) {
    const NodeTable::Columns columns = table.In(g);
    for (int64_t i = 0; i < depth; ++i) {
      at = table.Step(g, columns, x, at, rule);
    }
  } else {
    LoopAttrs loop;
    loop.carried = 1;
    loop.max_trips = depth;
    const std::vector<Value> operands = {at, x};
    const auto results = g.Loop(
        g.Scalar(DType::kI64, depth), g.Constant(Literal::Scalar(true)),
        operands,
        [&](GraphBuilder& body, std::span<const Value> inputs) {
          return std::vector<Value>{
              inputs[1],
              table.Step(body, table.In(body), inputs[3], inputs[2], rule)};
        },
        loop);
    at = results.empty() ? Value() : results[0];
  }
  return g.Sub(at, std::ssize(trees.nodes));
}

// What a score is that nobody votes for, so that votes count as they are.
double Neutral(TreeAggregate aggregate) {
  switch (aggregate) {
    case TreeAggregate::kMin:
      return kInfinity;
    case TreeAggregate::kMax:
      return -kInfinity;
    default:
      return 0;
  }
}

// Adds a vote to a score as `trees` combine them.
double Combined(TreeAggregate aggregate, double score, double vote) {
  switch (aggregate) {
    case TreeAggregate::kMin:
      return std::min(score, vote);
    case TreeAggregate::kMax:
      return std::max(score, vote);
    default:
      return score + vote;
  }
}

template <typename Kind>
Kind KindOf(TreeAggregate aggregate, Kind sum, Kind least, Kind most) {
  switch (aggregate) {
    case TreeAggregate::kMin:
      return least;
    case TreeAggregate::kMax:
      return most;
    default:
      return sum;
  }
}

// A column of weights for every target, combined over the trees.
Value DenseScores(GraphBuilder& g, const TreeEnsemble& trees, Value leaf) {
  const int64_t leaves = std::ssize(trees.leaves);
  Literal weights(trees.dtype, {leaves, trees.targets});
  for (int64_t i = 0; i < leaves; ++i) {
    const int64_t row = i * trees.targets;
    for (int64_t k = 0; k < trees.targets; ++k) {
      weights.SetDouble(row + k, Neutral(trees.aggregate));
    }
    for (const TreeVote& vote : trees.leaves[i]) {
      const int64_t at = row + vote.target;
      weights.SetDouble(
          at, Combined(trees.aggregate, weights.AsDouble(at), vote.weight));
    }
  }
  const Value votes = g.Take(g.Constant(std::move(weights)), leaf, 0);
  return g.Reduce(
      votes,
      KindOf(trees.aggregate, Combiner::kSum, Combiner::kMin, Combiner::kMax),
      {1});
}

// The targets that a leaf votes for beside the weights, scattered.
Value SparseScores(GraphBuilder& g, const TreeEnsemble& trees, Value leaf,
                   int64_t most) {
  const int64_t leaves = std::ssize(trees.leaves);
  Literal weights(trees.dtype, {leaves, most});
  Literal targets(DType::kI32, {leaves, most});
  for (int64_t i = 0; i < leaves; ++i) {
    for (int64_t k = 0; k < most; ++k) {
      const bool voted = k < std::ssize(trees.leaves[i]);
      // Past the scores, where the scatter drops it.
      targets.SetInt(i * most + k,
                     voted ? trees.leaves[i][k].target : trees.targets);
      if (voted) weights.SetDouble(i * most + k, trees.leaves[i][k].weight);
    }
  }
  const Value start = g.Full(Shape({leaf.shape()[0], trees.targets}),
                             g.Scalar(trees.dtype, Neutral(trees.aggregate)));
  ScatterAttrs scatter;
  scatter.update =
      KindOf(trees.aggregate, Update::kAdd, Update::kMin, Update::kMax);
  scatter.inserted_window_dims = {1};
  scatter.operand_batching_dims = {0};
  scatter.scatter_indices_batching_dims = {0};
  scatter.scatter_dims_to_operand_dims = {1};
  scatter.index_vector_dim = 3;
  return g.Scatter(start, g.Take(g.Constant(std::move(targets)), leaf, 0),
                   g.Take(g.Constant(std::move(weights)), leaf, 0),
                   std::move(scatter));
}

StatusOr<Value> Votes(GraphBuilder& g, const TreeEnsemble& trees, Value leaf) {
  const int64_t leaves = std::ssize(trees.leaves);
  int64_t most = 1;
  for (const auto& votes : trees.leaves) {
    most = std::max<int64_t>(most, std::ssize(votes));
  }
  const bool dense =
      trees.targets <= 2 * most || trees.targets <= kSmallTable / leaves;
  const int64_t width = dense ? trees.targets : most;
  if (width > kMaxVotes / leaves) {
    return ResourceExhaustedError(StrCat(leaves, " leaves with up to ", width,
                                         " votes are more than ", kMaxVotes,
                                         " table entries"));
  }
  const Value scores =
      dense ? DenseScores(g, trees, leaf) : SparseScores(g, trees, leaf, most);
  const double neutral = Neutral(trees.aggregate);
  if (neutral == 0) return scores;
  return g.Select(g.Compare(scores, neutral, Comparison::kEq), 0.0, scores);
}

}  // namespace

StatusOr<int64_t> DepthOf(const TreeEnsemble& trees) {
  // Of each node: not seen, on the way to where we are, or its depth.
  constexpr int64_t kNew = -1, kOpen = -2;
  std::vector<int64_t> depths(trees.nodes.size(), kNew);
  const auto depth_of = [&](TreeRef ref) { return ref < 0 ? 0 : depths[ref]; };
  int64_t most = 0;
  std::vector<TreeRef> work;
  for (const TreeRef root : trees.roots) {
    if (root >= 0) work.push_back(root);
    while (!work.empty()) {
      const TreeRef at = work.back();
      if (depths[at] >= 0) {  // by another way
        work.pop_back();
        continue;
      }
      const bool first = depths[at] == kNew;
      depths[at] = kOpen;
      int64_t below = 0;
      for (const TreeRef next : trees.nodes[at].next) {
        if (first && depth_of(next) == kNew) work.push_back(next);
        if (depth_of(next) == kOpen) {
          return NodeContext::Error(
              StrCat("node ", trees.names[next], " is below itself"));
        }
        below = std::max(below, depth_of(next));
      }
      if (work.back() != at) continue;
      work.pop_back();
      depths[at] = below + 1;
    }
    most = std::max(most, depth_of(root));
  }
  return most;
}

StatusOr<Value> TreeScores(NodeContext& context, const TreeEnsemble& trees,
                           Value x) {
  ENCORE_ASSIGN_OR_RETURN(const int64_t depth, DepthOf(trees));
  if (std::ssize(trees.nodes) + std::ssize(trees.leaves) > kMaxNodes) {
    return ResourceExhaustedError(
        StrCat("the trees have more than ", kMaxNodes, " nodes"));
  }
  OutOfRange rule = OutOfRange::kClamp;
  const Dim width = x.shape()[1];
  for (const TreeNode& node : trees.nodes) {
    if (node.feature >= 0 && node.feature <= INT32_MAX &&
        (!width.is_constant() || node.feature < width.constant())) {
      continue;
    }
    return NodeContext::Error(
        StrCat("attribute nodes_featureids has the entry ", node.feature,
               ", but input X is ", x.type()));
  }
  if (!width.is_constant()) rule = OutOfRange::kError;
  GraphBuilder& g = context.builder();
  if (trees.leaves.empty()) {
    return NodeContext::Error("the attributes describe no tree");
  }
  const Value leaf = Walk(g, trees, x, depth, rule);
  ENCORE_RETURN_IF_ERROR(g.status());
  ENCORE_ASSIGN_OR_RETURN(const Value scores, Votes(g, trees, leaf));
  if (trees.aggregate != TreeAggregate::kAverage) return scores;
  return g.Div(scores, static_cast<double>(trees.roots.size()));
}

}  // namespace encore::onnx
