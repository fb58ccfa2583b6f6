#include "encore/backends/lowering/choose_partition.h"

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <utility>

#include "encore/backends/lowering/fusion.h"
#include "encore/backends/lowering/group_graph.h"
#include "encore/backends/lowering/variants.h"
#include "encore/ir/support/check.h"
#include "encore/ir/support/status_macros.h"
#include "encore/opt/extract/extract.h"
#include "encore/opt/extract/problem.h"

namespace encore::backends {
namespace {

namespace ex = ::encore::opt::extract;

constexpr uint64_t kExtractionWork = 200'000;
constexpr uint32_t kNoVariant = UINT32_MAX;

class PartitionChooser {
 public:
  PartitionChooser(std::span<const Variant> variants, GroupGraph* kernels)
      : variants_(variants), kernels_(*kernels), graph_(kernels->graph()) {}

  // Of the variants the first `partition` are a partition.
  StatusOr<ex::Result> Choose(size_t partition) {
    for (uint32_t v = 0; v < variants_.size(); ++v) {
      for (const ValueId output : variants_[v].group.outputs) {
        writers_[output].push_back(v);
      }
    }
    ex::Problem problem;
    AddRoots(&problem);
    ex::Selection start;
    for (ex::ClassIndex c = 0; c < values_.size(); ++c) {
      start.push_back(AddClass(values_[c], partition, &problem));
      problem.FinishClass();
    }
    ex::Options options;
    options.work = kExtractionWork;
    options.start = start;
    return ex::Extract(problem, options);
  }

  // What a choice has in the place of some of the first `partition` variants,
  // as a share of their seconds.
  double ShareOf(const ex::Selection& choice, size_t partition) const {
    std::set<uint32_t> chosen;
    for (const ex::NodeIndex node : choice) {
      if (node != ex::kNoNode) chosen.insert(variant_of_[node]);
    }
    chosen.erase(kNoVariant);
    double before = 0, after = 0;
    for (uint32_t v = 0; v < partition; ++v) {
      if (!chosen.contains(v)) before += variants_[v].seconds;
    }
    for (const uint32_t v : chosen) {
      if (v >= partition) after += variants_[v].seconds;
    }
    return before > 0 ? after / before : 1;
  }

  // The groups of a choice, each with the outputs that it was chosen for;
  // nothing where a kernel cannot leave one of the others out.
  std::optional<std::vector<Group>> Groups(const ex::Selection& choice) {
    std::map<uint32_t, std::vector<ValueId>> outputs;
    for (ex::ClassIndex c = 0; c < values_.size(); ++c) {
      if (choice[c] == ex::kNoNode) continue;
      const uint32_t variant = variant_of_[choice[c]];
      if (variant != kNoVariant) outputs[variant].push_back(values_[c]);
    }
    std::vector<Group> groups;
    for (auto& [number, wanted] : outputs) {
      Group group = variants_[number].group;
      if (wanted.size() < group.outputs.size()) {
        std::erase_if(group.outputs, [&](ValueId output) {
          return std::ranges::find(wanted, output) == wanted.end();
        });
        if (!kernels_.Seconds(group.nodes, group.outputs)) return std::nullopt;
      }
      groups.push_back(std::move(group));
    }
    return kernels_.Ordered(std::move(groups));
  }

 private:
  ex::ClassIndex ClassOf(ValueId value) {
    const auto [at, fresh] =
        class_of_.emplace(value, static_cast<ex::ClassIndex>(values_.size()));
    if (fresh) values_.push_back(value);
    return at->second;
  }
  std::vector<ex::ClassIndex> ClassesOf(std::span<const ValueId> values) {
    std::vector<ex::ClassIndex> classes;
    for (const ValueId value : values) classes.push_back(ClassOf(value));
    return classes;
  }

  // What is read by others than kernels, or by nobody.
  void AddRoots(ex::Problem* problem) {
    std::set<ValueId> roots;
    for (const Graph::Output& output : graph_.outputs()) {
      roots.insert(output.value);
    }
    for (const NodeId node : Nodes(graph_)) {
      if (!kernels_.is_live(node) || IsView(graph_, node)) continue;
      if (!kernels_.HasKernel(node)) {
        for (const ValueId value : kernels_.Needed(node)) roots.insert(value);
      } else if (kernels_.users(graph_.result(node)).empty()) {
        roots.insert(graph_.result(node));
      }
    }
    for (const ValueId root : roots) problem->roots.push_back(ClassOf(root));
  }

  void AddNode(double seconds, std::span<const ValueId> reads, uint32_t group,
               uint32_t variant, ex::Problem* problem) {
    problem->group.push_back(group);
    problem->AddNode(seconds, ClassesOf(reads));
    variant_of_.push_back(variant);
  }

  // The nodes of a class; which of them the partition has.
  ex::NodeIndex AddClass(ValueId value, size_t partition,
                         ex::Problem* problem) {
    ex::NodeIndex first = ex::kNoNode;
    const auto writers = writers_.find(value);
    if (writers != writers_.end()) {
      for (const uint32_t v : writers->second) {
        const Variant& variant = variants_[v];
        if (v < partition) first = problem->num_nodes();
        AddNode(variant.seconds, variant.reads,
                variant.group.outputs.size() > 1 ? v : ex::kNoGroup, v,
                problem);
      }
    }
    const NodeId producer = graph_.producer(value);
    const bool view = IsView(graph_, producer);
    if (view || !kernels_.HasKernel(producer)) {
      if (first == ex::kNoNode) first = problem->num_nodes();
      AddNode(0, kernels_.Needed(producer), ex::kNoGroup, kNoVariant, problem);
    }
    return first;
  }

  const std::span<const Variant> variants_;
  GroupGraph& kernels_;
  const Graph& graph_;
  std::map<ValueId, std::vector<uint32_t>> writers_;
  std::map<ValueId, ex::ClassIndex> class_of_;
  std::vector<ValueId> values_;       // by class
  std::vector<uint32_t> variant_of_;  // by node of the problem
};

}  // namespace

StatusOr<std::vector<Group>> ChoosePartition(const Graph& graph,
                                             const FusionContext& context,
                                             const PartitionOptions& options,
                                             PartitionReport* report) {
  GroupGraph kernels(graph, context);
  std::vector<Group> greedy = GreedyPartition(&kernels);
  if (!context.fuse) return greedy;
  std::vector<Variant> variants = FindVariants(greedy, &kernels);
  for (Variant& variant : variants) {
    const bool prepare = kernels.site(variant.group.nodes.back()).prepare;
    if (!prepare) variant.seconds += options.launch_seconds;
  }
  double greedy_seconds = 0;
  size_t own = 0;
  while (own < greedy.size() && own < variants.size() &&
         variants[own].group.nodes == greedy[own].nodes) {
    greedy_seconds += variants[own++].seconds;
  }
  // A group whose estimate fails by itself is for the caller to report.
  if (own < greedy.size()) return greedy;
  PartitionChooser chooser(variants, &kernels);
  ENCORE_ASSIGN_OR_RETURN(const ex::Result result, chooser.Choose(own));
  if (report != nullptr) {
    *report = {.variants = variants.size(),
               .greedy = greedy_seconds,
               .chosen = greedy_seconds,
               .bound = result.lower_bound};
  }
  if (!result.feasible ||
      chooser.ShareOf(result.choice, own) >= 1 - options.least_gain) {
    return greedy;
  }
  std::optional<std::vector<Group>> chosen = chooser.Groups(result.choice);
  if (!chosen) return greedy;
  if (report != nullptr) report->chosen = result.cost;
  return *std::move(chosen);
}

}  // namespace encore::backends
