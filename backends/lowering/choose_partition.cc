#include "encore/backends/lowering/choose_partition.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <utility>

#include "encore/backends/backend.h"
#include "encore/backends/lowering/fusion.h"
#include "encore/backends/lowering/group_graph.h"
#include "encore/backends/lowering/joins.h"
#include "encore/ir/support/check.h"
#include "encore/ir/support/status_macros.h"
#include "encore/opt/extract/extract.h"
#include "encore/opt/extract/problem.h"

namespace encore::backends {
namespace {

namespace ex = ::encore::opt::extract;

constexpr uint64_t kExtractionWork = 200'000;
constexpr uint32_t kNoVariant = UINT32_MAX;
// Times that variants are looked for near what was chosen.
constexpr int kMostRounds = 4;

class PartitionChooser {
 public:
  PartitionChooser(std::span<const Group> partition,
                   const PartitionOptions& options, GroupGraph* kernels)
      : own_(partition.size()),
        options_(options),
        kernels_(*kernels),
        graph_(kernels->graph()),
        finder_(partition, options.families, kernels) {
    for (uint32_t v = 0; v < own_; ++v) chosen_.insert(v);
  }

  // Whether all of the partition are variants; otherwise an estimate fails, and
  // there is nothing to choose from.
  bool CanChoose(std::span<const Group> partition) const {
    const std::span<const Variant> variants = finder_.variants();
    return variants.size() >= own_ &&
           std::equal(partition.begin(), partition.end(), variants.begin(),
                      [](const Group& group, const Variant& variant) {
                        return group.nodes == variant.group.nodes;
                      });
  }

  // Chooses from what is near the partition, then from what is near that, and
  // so on while that changes anything. Nothing where there is no choice.
  StatusOr<std::optional<std::vector<Group>>> Run() {
    std::optional<std::vector<Group>> best;
    for (int round = 1;; ++round) {
      ENCORE_ASSIGN_OR_RETURN(const ex::Result result,
                              Choose(1 / (1 - options_.least_gain)));
      if (!result.feasible) return best;
      std::optional<std::vector<Group>> groups = Groups(result.choice);
      if (!groups) return best;
      best = std::move(groups);
      std::set<uint32_t> chosen = VariantsOf(result.choice);
      if (chosen == chosen_ || round == kMostRounds) {
        chosen_ = std::move(chosen);
        return best;
      }
      chosen_ = std::move(chosen);
      finder_.AddNear(*best);
    }
  }

  // REQUIRES Run.
  StatusOr<PartitionReport> Report() {
    PartitionReport report;
    report.variants = finder_.variants().size();
    for (uint32_t v = 0; v < own_; ++v) report.greedy += SecondsOf(v);
    for (const uint32_t v : chosen_) report.chosen += SecondsOf(v);
    ENCORE_ASSIGN_OR_RETURN(const ex::Result result, Choose(1));
    report.cheapest = result.feasible ? result.cost : report.chosen;
    report.bound = result.lower_bound;
    report.classes = writers_.size();
    for (const auto& [value, writers] : writers_) {
      report.most_of_a_class = std::max(report.most_of_a_class, writers.size());
    }
    return report;
  }

 private:
  double SecondsOf(uint32_t variant) const {
    return finder_.variants()[variant].seconds;
  }

  // From the variants that there are, those that are not of the partition by
  // `handicap` dearer. Starts from what is chosen.
  StatusOr<ex::Result> Choose(double handicap) {
    const std::span<const Variant> variants = finder_.variants();
    writers_.clear();
    class_of_.clear();
    values_.clear();
    variant_of_.clear();
    for (uint32_t v = 0; v < variants.size(); ++v) {
      for (const ValueId output : variants[v].group.outputs) {
        writers_[output].push_back(v);
      }
    }
    ex::Problem problem;
    AddRoots(&problem);
    ex::Selection start;
    for (ex::ClassIndex c = 0; c < values_.size(); ++c) {
      start.push_back(AddClass(values_[c], handicap, &problem));
      problem.FinishClass();
    }
    ex::Options options;
    options.work = kExtractionWork;
    options.start = start;
    return ex::Extract(problem, options);
  }

  std::set<uint32_t> VariantsOf(const ex::Selection& choice) const {
    std::set<uint32_t> chosen;
    for (const ex::NodeIndex node : choice) {
      if (node != ex::kNoNode) chosen.insert(variant_of_[node]);
    }
    chosen.erase(kNoVariant);
    return chosen;
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
      Group group = finder_.variants()[number].group;
      if (wanted.size() < group.outputs.size()) {
        std::erase_if(group.outputs, [&](ValueId output) {
          return std::ranges::find(wanted, output) == wanted.end();
        });
        group.nodes = NodesFor(graph_, group.nodes, group.outputs);
        if (!kernels_.Seconds(group.nodes, group.outputs)) return std::nullopt;
      }
      groups.push_back(std::move(group));
    }
    return kernels_.Ordered(std::move(groups));
  }

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

  // The nodes of a class; which of them is chosen.
  ex::NodeIndex AddClass(ValueId value, double handicap, ex::Problem* problem) {
    ex::NodeIndex first = ex::kNoNode;
    const auto writers = writers_.find(value);
    if (writers != writers_.end()) {
      for (const uint32_t v : writers->second) {
        const Variant& variant = finder_.variants()[v];
        if (chosen_.contains(v)) first = problem->num_nodes();
        AddNode(variant.seconds * (v < own_ ? 1 : handicap), variant.reads,
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

  const size_t own_;  // variants that are the partition, the first ones
  const PartitionOptions& options_;
  GroupGraph& kernels_;
  const Graph& graph_;
  VariantFinder finder_;
  std::set<uint32_t> chosen_;  // variants
  // Of the last problem.
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
  if (!context.fuse || greedy.empty()) return greedy;
  PartitionChooser chooser(greedy, options, &kernels);
  // A group whose estimate fails by itself is for the caller to report.
  if (!chooser.CanChoose(greedy)) return greedy;
  ENCORE_ASSIGN_OR_RETURN(std::optional<std::vector<Group>> chosen,
                          chooser.Run());
  if (report != nullptr) {
    ENCORE_ASSIGN_OR_RETURN(*report, chooser.Report());
  }
  return chosen ? *std::move(chosen) : greedy;
}

PartitionReport ReportOf(std::span<const Group> partition,
                         const PartitionOptions& options, GroupGraph* graph) {
  PartitionReport report;
  for (const Group& group : partition) {
    const double seconds =
        graph->Seconds(group.nodes, group.outputs).value_or(0);
    report.greedy += graph->site(group.nodes.back()).prepare
                         ? seconds / graph->calls()
                         : seconds;
  }
  report.chosen = report.cheapest = report.greedy;
  return report;
}

}  // namespace encore::backends
