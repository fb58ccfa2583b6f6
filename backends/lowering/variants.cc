#include "encore/backends/lowering/variants.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "encore/backends/backend.h"
#include "encore/backends/lowering/fusion_rules.h"
#include "encore/backends/lowering/joins.h"
#include "encore/ir/ops/op.h"

namespace encore::backends {
namespace {

// Groups are joined so many times, as long as there are fewer variants than
// this for each node.
constexpr int kRounds = 3;
constexpr size_t kMostVariantsPerNode = 12;
constexpr size_t kMostCuts = 12;          // of a group
constexpr size_t kMostNeighbors = 8;      // of a value
constexpr size_t kMostVariants = 24;      // that write a value
constexpr size_t kMostVariantsNear = 12;  // and with each further partition
// Of groups that share nothing: what is worth a launch, and of how many before
// it with the same shape each may be beside.
constexpr double kSmallSeconds = 5e-6;
constexpr size_t kMostApart = 4;
constexpr int kMostBetween = 4;  // groups between contractions

}  // namespace

std::optional<VariantFamily> ParseVariantFamily(std::string_view name) {
  constexpr std::string_view kNames[] = {
      "cut",   "recompute", "join", "beside", "beside_contraction",
      "apart", "chain",     "near"};
  const auto it = std::ranges::find(kNames, name);
  if (it == std::end(kNames)) return std::nullopt;
  return static_cast<VariantFamily>(1u << (it - std::begin(kNames)));
}

class VariantFinder::Finder {
 public:
  Finder(unsigned families, GroupGraph* kernels)
      : families_(families), kernels_(*kernels), graph_(kernels->graph()) {}

  void Start(std::span<const Group> partition) {
    for (const Group& group : partition) Add(group.nodes, group.outputs);
    std::vector<Group> bases(partition.begin(), partition.end());
    for (const NodeId node : Nodes(graph_)) {
      if (!kernels_.is_live(node) || !kernels_.HasKernel(node) ||
          IsView(graph_, node)) {
        continue;
      }
      Add({node}, {graph_.result(node)});
      if (kernels_.IsCheap(node)) continue;
      bases.push_back({WithCheap(node), {graph_.result(node)}});
      Add(bases.back().nodes, bases.back().outputs);
    }
    AddBases(bases);
    groups_ = partition.size();
    nodes_end_ = bases_.size();
    for (const Group& group : partition) AddCuts(group);
    if (Wants(kApart)) AddApart(partition);
    most_variants_ = kMostVariantsPerNode * graph_.node_count();
    Grow(0);
  }

  void AddNear(std::span<const Group> partition) {
    if (!Wants(kNear)) return;
    std::vector<Group> bases;
    for (const Group& group : partition) {
      if (known_bases_.contains({group.nodes, group.outputs})) continue;
      bases.push_back(group);
    }
    const size_t first = bases_.size();
    most_of_value_ += kMostVariantsNear;
    most_variants_ = variants_.size() + kMostVariantsPerNode * bases.size();
    for (const Group& group : bases) Add(group.nodes, group.outputs);
    AddBases(bases);
    for (const Group& group : bases) AddCuts(group);
    Grow(first);
  }

  std::span<const Variant> variants() const { return variants_; }

 private:
  bool Wants(VariantFamily family) const { return (families_ & family) != 0; }

  // Whether a base is of a partition, not one node of it.
  bool IsGroup(size_t base) const {
    return base < groups_ || base >= nodes_end_;
  }

  void AddBases(std::span<const Group> groups) {
    for (const Group& group : groups) {
      known_bases_.emplace(group.nodes, group.outputs);
      const size_t number = bases_.size();
      bases_.push_back(group);
      for (const ValueId output : group.outputs) {
        makers_[output].push_back(number);
      }
      for (const ValueId read : ReadsOf(group.nodes)) {
        readers_[read].push_back(number);
      }
    }
  }

  // With the cheap nodes that lead to it.
  NodeList WithCheap(NodeId node) const {
    std::set<NodeId> whole = {node};
    NodeList work = {node};
    while (!work.empty()) {
      const NodeId next = work.back();
      work.pop_back();
      for (const ValueId operand : graph_.operands(next)) {
        const NodeId producer = graph_.producer(operand);
        if (kernels_.HasKernel(producer) && kernels_.IsCheap(producer) &&
            whole.insert(producer).second) {
          work.push_back(producer);
        }
      }
    }
    return {whole.begin(), whole.end()};
  }

  // Joins the bases from number `first` on with others, and what comes of it
  // again.
  void Grow(size_t first) {
    size_t next = variants_.size();
    for (size_t g = first; g < bases_.size(); ++g) {
      const Group group = bases_[g];
      AddJoins(group);
      if (first > 0) AddReaders(group);
      AddSiblings(group);
    }
    for (size_t g = first; g < bases_.size(); ++g) {
      if (Wants(kChain) && IsGroup(g)) AddChains(bases_[g]);
    }
    if (first == 0) next = 0;
    for (int round = 1; round < kRounds; ++round) {
      const size_t end = variants_.size();
      for (; next < end; ++next) {
        if (variants_.size() > most_variants_) return;
        const Group group = variants_[next].group;
        if (group.nodes.size() == 1) continue;
        AddJoins(group);
        AddReaders(group);
        AddSiblings(group);
      }
    }
  }

  // Of `nodes` what `outputs` need, unless they are not one kernel.
  void Add(const NodeList& nodes, std::vector<ValueId> outputs) {
    if (outputs.empty()) return;
    Group group{NodesFor(graph_, nodes, outputs), std::move(outputs)};
    if (group.nodes.size() > kMostGroupNodes ||
        !AreAtOnePlace(kernels_, group.nodes)) {
      return;
    }
    for (const ValueId output : group.outputs) {
      if (count_[output] >= most_of_value_) return;
    }
    if (!known_.emplace(group.nodes, group.outputs).second) return;
    if (RepeatsContraction(kernels_, group.nodes) ||
        StoresBeforeContraction(kernels_, group.nodes, group.outputs)) {
      return;
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

  std::vector<ValueId> ReadsOf(const NodeList& nodes) const {
    std::set<ValueId> reads;
    for (const NodeId node : nodes) {
      for (const ValueId value : kernels_.Needed(node)) {
        if (!Contains(nodes, graph_.producer(value))) reads.insert(value);
      }
    }
    return {reads.begin(), reads.end()};
  }

  // --- Cuts.

  void AddCuts(const Group& group) {
    if (!Wants(kCut) || MayFail(graph_, group.nodes)) return;
    size_t cuts = 0;
    for (auto it = group.nodes.rbegin(); it != group.nodes.rend(); ++it) {
      if (cuts == kMostCuts) return;
      if (!IsWorthACut(group, *it)) continue;
      ++cuts;
      const ValueId value = graph_.result(*it);
      Add(group.nodes, {value});
      std::vector<ValueId> outputs = group.outputs;
      std::erase(outputs, value);
      Add(NodesFor(graph_, group.nodes, outputs, value), outputs);
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
      for (const size_t maker : makers) {
        AddJoin(group, views, bases_[maker], made);
      }
    }
  }
  void AddJoin(const Group& reader, const NodeList& views, const Group& maker,
               ValueId made) {
    Join join = JoinGroups(kernels_, reader, views, maker, made);
    if (join.again && Wants(kRecompute))
      Add(join.again->nodes, std::move(join.again->outputs));
    if (join.whole && Wants(kJoin))
      Add(join.whole->nodes, std::move(join.whole->outputs));
  }

  // The same seen from the group that is read.
  void AddReaders(const Group& group) {
    for (const ValueId output : group.outputs) {
      size_t count = 0;
      for (const size_t reader : readers_[output]) {
        if (++count > kMostNeighbors) break;
        AddJoin(bases_[reader], {}, group, output);
      }
    }
  }

  // --- Contractions that read one another, with what is in between.

  // What makes the value among the groups of partitions, none where it is
  // argument or output of control flow; the views between are added to `nodes`.
  const Group* MakerOf(ValueId value, NodeList* nodes) const {
    NodeList views;
    for (const size_t maker : MakersOf(value, &views)) {
      if (!IsGroup(maker)) continue;
      std::ranges::sort(views);
      *nodes = Union(*nodes, views);
      return &bases_[maker];
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
      if (maker == nullptr || !OnlyMoves(graph_, maker->nodes)) continue;
      NodeList more = Union(Union(all, views), maker->nodes);
      // What is stored all the same may be moved in place.
      if (!StoresBeforeContraction(kernels_, more, kernels_.OutputsOf(more))) {
        all = std::move(more);
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
          if (nodes.size() <= kMostGroupNodes) {
            Add(nodes, kernels_.OutputsOf(nodes));
          }
        }
      }
    }
  }
  bool MayStandBeside(const Group& one, const Group& other) const {
    if (graph_.shape(one.outputs.back()) != graph_.shape(other.outputs.back()))
      return false;
    const int contractions = Has(graph_, one.nodes, kContraction) +
                             Has(graph_, other.nodes, kContraction);
    return contractions == 0   ? Wants(kBeside)
           : contractions == 1 ? Wants(kBesideContraction)
                               : false;
  }

  // --- Small groups that share nothing: one launch for two of them.

  void AddApart(std::span<const Group> partition) {
    std::map<std::string, std::vector<const Group*>> by_shape;
    for (const Group& group : partition) {
      if (!IsSmall(group)) continue;
      std::vector<const Group*>& others =
          by_shape[graph_.shape(group.outputs.back()).ToString()];
      size_t count = 0;
      for (auto it = others.rbegin(); it != others.rend(); ++it) {
        if (++count > kMostApart) break;
        if (DependsOn(group, **it)) continue;
        const NodeList nodes = Union(group.nodes, (*it)->nodes);
        Add(nodes, kernels_.OutputsOf(nodes));
      }
      others.push_back(&group);
    }
  }
  bool IsSmall(const Group& group) const {
    if (Has(graph_, group.nodes, kContraction)) return false;
    const auto seconds = kernels_.Seconds(group.nodes, group.outputs);
    return seconds && *seconds < kSmallSeconds;
  }
  // Whether the group needs, through others too, what `other` makes.
  bool DependsOn(const Group& group, const Group& other) const {
    const NodeId first = other.nodes.front();
    std::set<NodeId> seen;
    NodeList work = group.nodes;
    while (!work.empty()) {
      const NodeId node = work.back();
      work.pop_back();
      for (const ValueId value : kernels_.Needed(node)) {
        const NodeId producer = graph_.producer(value);
        if (producer < first || !seen.insert(producer).second) continue;
        if (Contains(other.nodes, producer) && !kernels_.IsCheap(producer)) {
          return true;
        }
        work.push_back(producer);
      }
    }
    return false;
  }

  const unsigned families_;
  GroupGraph& kernels_;
  const Graph& graph_;
  std::vector<Group> bases_;           // partitions, and nodes by themselves:
  size_t groups_ = 0, nodes_end_ = 0;  // from here to there
  std::map<ValueId, std::vector<size_t>> makers_, readers_;  // bases
  std::set<std::pair<NodeList, std::vector<ValueId>>> known_, known_bases_;
  std::map<ValueId, size_t> count_;  // of variants that write it
  size_t most_of_value_ = kMostVariants;
  size_t most_variants_ = 0;
  std::vector<Variant> variants_;
};

VariantFinder::VariantFinder(std::span<const Group> partition,
                             unsigned families, GroupGraph* graph)
    : finder_(std::make_unique<Finder>(families, graph)) {
  finder_->Start(partition);
}

VariantFinder::~VariantFinder() = default;

void VariantFinder::AddNear(std::span<const Group> partition) {
  finder_->AddNear(partition);
}

std::span<const Variant> VariantFinder::variants() const {
  return finder_->variants();
}

}  // namespace encore::backends
