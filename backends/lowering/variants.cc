#include "encore/backends/lowering/variants.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "encore/backends/backend.h"
#include "encore/backends/lowering/fusion_rules.h"
#include "encore/ir/ops/op.h"

namespace encore::backends {
namespace {

constexpr size_t kMostNodes = 64;
// Groups are joined so many times, as long as there are fewer variants than
// this for each node.
constexpr int kRounds = 3;
constexpr size_t kMostVariantsPerNode = 12;
constexpr size_t kMostCuts = 12;      // of a group
constexpr size_t kMostNeighbors = 8;  // of a value
constexpr size_t kMostVariants = 24;  // that write a value
constexpr int kMostBetween = 4;       // groups between contractions

NodeList Union(const NodeList& a, const NodeList& b) {
  NodeList nodes;
  std::ranges::set_union(a, b, std::back_inserter(nodes));
  return nodes;
}

NodeList Sorted(NodeList nodes) {
  std::ranges::sort(nodes);
  return nodes;
}

class VariantFinder {
 public:
  VariantFinder(std::span<const Group> partition, GroupGraph* kernels)
      : partition_(partition), kernels_(*kernels), graph_(kernels->graph()) {}

  std::vector<Variant> Find() {
    for (const Group& group : partition_) Add(group.nodes, group.outputs);
    bases_.assign(partition_.begin(), partition_.end());
    for (const NodeId node : Nodes(graph_)) {
      if (!kernels_.is_live(node) || !kernels_.HasKernel(node) ||
          IsView(graph_, node)) {
        continue;
      }
      Add({node}, {graph_.result(node)});
      if (!kernels_.IsCheap(node)) {
        bases_.push_back({{node}, {graph_.result(node)}});
      }
    }
    for (size_t g = 0; g < bases_.size(); ++g) {
      for (const ValueId output : bases_[g].outputs) {
        makers_[output].push_back(g);
      }
    }
    for (const Group& group : partition_) AddCuts(group);
    for (size_t g = 0; g < bases_.size(); ++g) {
      for (const ValueId read : ReadsOf(bases_[g].nodes)) {
        readers_[read].push_back(g);
      }
    }
    for (const Group& group : bases_) {
      AddJoins(group);
      AddSiblings(group);
    }
    for (const Group& group : partition_) AddChains(group);
    // Those that were joined, again.
    size_t next = 0;
    for (int round = 1; round < kRounds; ++round) {
      const size_t end = variants_.size();
      for (; next < end; ++next) {
        if (variants_.size() > kMostVariantsPerNode * graph_.node_count()) {
          return std::move(variants_);
        }
        const Group group = variants_[next].group;
        if (group.nodes.size() == 1) continue;
        AddJoins(group);
        AddReaders(group);
        AddSiblings(group);
      }
    }
    return std::move(variants_);
  }

 private:
  // Of `nodes` what `outputs` need, unless they are not one kernel.
  void Add(const NodeList& nodes, std::vector<ValueId> outputs) {
    if (outputs.empty()) return;
    Group group{Needed(nodes, outputs), std::move(outputs)};
    if (group.nodes.size() > kMostNodes || !IsAtOnePlace(group.nodes)) return;
    if (!known_.emplace(group.nodes, group.outputs).second) return;
    for (const ValueId output : group.outputs) {
      if (count_[output] >= kMostVariants) return;
    }
    const std::optional<double> seconds =
        kernels_.Seconds(group.nodes, group.outputs);
    if (!seconds) return;
    for (const ValueId output : group.outputs) ++count_[output];
    Variant variant{
        .group = std::move(group), .seconds = *seconds, .reads = {}};
    if (kernels_.site(variant.group.nodes.back()).prepare) {
      variant.seconds /= kernels_.calls();
    }
    variant.reads = ReadsOf(variant.group.nodes);
    variants_.push_back(std::move(variant));
  }

  // The nodes among `nodes` that lead to `values`, through none of `given`.
  NodeList Needed(const NodeList& nodes, const std::vector<ValueId>& values,
                  ValueId given = {}) const {
    std::set<NodeId> needed;
    std::vector<ValueId> work = values;
    while (!work.empty()) {
      const ValueId value = work.back();
      work.pop_back();
      const NodeId node = graph_.producer(value);
      if (value == given || !Contains(nodes, node) ||
          !needed.insert(node).second) {
        continue;
      }
      const auto operands = graph_.operands(node);
      work.insert(work.end(), operands.begin(), operands.end());
    }
    return {needed.begin(), needed.end()};
  }

  bool IsAtOnePlace(const NodeList& nodes) const {
    return std::ranges::all_of(nodes, [&](NodeId node) {
      return kernels_.HasKernel(node) &&
             (kernels_.IsCheap(node) || IsView(graph_, node) ||
              kernels_.IsAt(node, nodes.back()));
    });
  }

  std::vector<ValueId> ReadsOf(const NodeList& nodes) const {
    std::set<ValueId> reads;
    for (const NodeId node : nodes) {
      for (const ValueId value : kernels_.Needed(node)) {
        if (!Contains(nodes, graph_.producer(value))) reads.insert(value);
      }
    }
    return {reads.begin(), reads.end()};
  }

  bool MayFailAt(const NodeList& nodes) const {
    return std::ranges::any_of(nodes, [&](NodeId node) {
      return MayFail(graph_.op(node), graph_.attributes(node));
    });
  }

  // --- Cuts.

  void AddCuts(const Group& group) {
    if (MayFailAt(group.nodes)) return;
    size_t cuts = 0;
    for (auto it = group.nodes.rbegin(); it != group.nodes.rend(); ++it) {
      if (cuts == kMostCuts) return;
      if (!IsWorthACut(group, *it)) continue;
      ++cuts;
      const ValueId value = graph_.result(*it);
      Add(group.nodes, {value});
      std::vector<ValueId> outputs = group.outputs;
      std::erase(outputs, value);
      Add(Needed(group.nodes, outputs, value), outputs);
    }
  }

  // Where a kernel may as well end: at what combines elements, or is read
  // several times or by what combines, or grows behind it.
  bool IsWorthACut(const Group& group, NodeId node) const {
    if (node == group.nodes.back() || kernels_.IsRematerialized(node)) {
      return false;
    }
    const auto combines = [&](NodeId n) {
      return graph_.info(n).has(kReduction) ||
             graph_.info(n).has(kContraction) || graph_.info(n).has(kRereads);
    };
    if (combines(node)) return true;
    const ValueId value = graph_.result(node);
    size_t readers = 0;
    for (const NodeId user : kernels_.users(value)) {
      if (!Contains(group.nodes, user)) continue;
      ++readers;
      if (combines(user) || kernels_.IsCheap(user)) return true;
    }
    return readers > 1;
  }

  // --- Groups and what makes their inputs.

  // The bases that make the value, or what it is a view of.
  std::span<const size_t> MakersOf(ValueId value, NodeList* views) const {
    for (;;) {
      const auto makers = makers_.find(value);
      if (makers != makers_.end()) return makers->second;
      const NodeId node = graph_.producer(value);
      if (!IsView(graph_, node) || !kernels_.HasKernel(node)) return {};
      views->push_back(node);
      value = graph_.operand(node, 0);
    }
  }

  void AddJoins(const Group& group) {
    for (const ValueId read : ReadsOf(group.nodes)) {
      NodeList views;
      const std::span<const size_t> makers = MakersOf(read, &views);
      std::ranges::sort(views);
      const ValueId made =
          views.empty() ? read : graph_.operand(views.front(), 0);
      const NodeList joined = Union(group.nodes, views);
      for (const size_t maker : makers) {
        AddJoin(group, joined, bases_[maker], made);
      }
    }
  }
  // `joined`: the group with the views through which it reads `made`.
  void AddJoin(const Group& group, const NodeList& joined, const Group& other,
               ValueId made) {
    const NodeList again = Needed(other.nodes, {made});
    if (!MayFuse(kernels_, again, group.nodes, source_)) return;
    if (!MayFailAt(again)) Add(Union(joined, again), group.outputs);
    const NodeList all = Union(joined, other.nodes);
    if (all.size() > kMostNodes) return;
    const std::vector<ValueId> outputs = kernels_.OutputsOf(all);
    // What is moved before a contraction is not stored by it.
    const auto moved = [&](ValueId output) {
      return Contains(again, graph_.producer(output));
    };
    if (IsMoveBeforeContraction(kernels_, again, group.nodes, source_) &&
        std::ranges::any_of(outputs, moved)) {
      return;
    }
    Add(all, outputs);
  }

  // The same seen from the group that is read.
  void AddReaders(const Group& group) {
    for (const ValueId output : group.outputs) {
      size_t count = 0;
      for (const size_t reader : readers_[output]) {
        if (++count > kMostNeighbors) break;
        const NodeList& nodes = bases_[reader].nodes;
        AddJoin(bases_[reader], nodes, group, output);
      }
    }
  }

  // --- Contractions that read one another, with what is in between.

  // What makes the value among the groups of the partition, none where it is
  // argument or output of control flow; the views between are added to `nodes`.
  const Group* MakerOf(ValueId value, NodeList* nodes) const {
    NodeList views;
    for (const size_t maker : MakersOf(value, &views)) {
      if (maker >= partition_.size()) continue;
      *nodes = Union(*nodes, Sorted(std::move(views)));
      return &partition_[maker];
    }
    return nullptr;
  }

  // Back from `last` through a few groups to another contraction.
  void AddChains(const Group& last) {
    if (!Has(graph_, last.nodes, kContraction)) return;
    struct Path {
      const Group* group;
      NodeList middle, views;
    };
    std::vector<Path> paths = {{&last, {}, {}}};
    for (int length = 0; length < kMostBetween; ++length) {
      std::vector<Path> longer;
      for (const Path& path : paths) {
        for (const ValueId read : ReadsOf(path.group->nodes)) {
          NodeList views = path.views;
          const Group* const maker = MakerOf(read, &views);
          if (maker == nullptr || maker == path.group) continue;
          if (Has(graph_, maker->nodes, kContraction)) {
            AddChain(maker->nodes, Union(path.middle, views), last);
          } else if (longer.size() < kMostNeighbors) {
            longer.push_back({maker, Union(path.middle, maker->nodes), views});
          }
        }
      }
      paths = std::move(longer);
    }
  }

  // As it is, and with what only moves the elements that it reads.
  void AddChain(const NodeList& first, const NodeList& middle,
                const Group& last) {
    if (!MayChain(kernels_, first, middle, last.nodes)) return;
    NodeList all = Union(Union(first, middle), last.nodes);
    Add(all, kernels_.OutputsOf(all));
    for (const ValueId read : ReadsOf(all)) {
      NodeList views;
      const Group* const maker = MakerOf(read, &views);
      if (maker != nullptr && OnlyMoves(graph_, maker->nodes)) {
        all = Union(Union(all, views), maker->nodes);
      }
    }
    Add(all, kernels_.OutputsOf(all));
  }

  // --- Groups beside one another.

  // Of the bases that read what the group reads, one after the other.
  void AddSiblings(const Group& group) {
    for (const ValueId read : ReadsOf(group.nodes)) {
      NodeList all = group.nodes;
      size_t count = 0;
      for (const size_t reader : readers_[read]) {
        const Group& other = bases_[reader];
        if (!MayStandBeside(group, other)) continue;
        if (++count > kMostNeighbors) break;
        const NodeList both = Union(group.nodes, other.nodes);
        all = Union(all, other.nodes);
        for (const NodeList& nodes : {both, all}) {
          if (nodes.size() <= kMostNodes) {
            Add(nodes, kernels_.OutputsOf(nodes));
          }
        }
      }
    }
  }
  bool MayStandBeside(const Group& one, const Group& other) const {
    const auto shape = [&](const Group& group) {
      return graph_.shape(group.outputs.back());
    };
    return !Has(graph_, one.nodes, kContraction) &&
           !Has(graph_, other.nodes, kContraction) &&
           shape(one) == shape(other);
  }

  const std::span<const Group> partition_;
  GroupGraph& kernels_;
  const Graph& graph_;
  std::vector<Group> bases_;  // the partition, and nodes by themselves
  std::map<ValueId, std::vector<size_t>> makers_, readers_;  // bases
  std::set<std::pair<NodeList, std::vector<ValueId>>> known_;
  std::map<ValueId, size_t> count_;  // of variants that write it
  std::vector<Variant> variants_;
  const SourceOfValue source_ = [this](ValueId value) {
    NodeId node = graph_.producer(value);
    while (IsView(graph_, node) && kernels_.HasKernel(node)) {
      node = graph_.producer(graph_.operand(node, 0));
    }
    return node;
  };
};

}  // namespace

std::vector<Variant> FindVariants(std::span<const Group> partition,
                                  GroupGraph* graph) {
  return VariantFinder(partition, graph).Find();
}

}  // namespace encore::backends
