#include "encore/backends/lowering/explain_fusion.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "encore/backends/lowering/fusion_rules.h"
#include "encore/backends/lowering/joins.h"
#include "encore/backends/lowering/lowering_report.h"
#include "encore/ir/ops/op.h"
#include "encore/ir/support/strings.h"

namespace encore::backends {
namespace {

class FusionExplainer {
 public:
  FusionExplainer(std::span<const Group> groups, GroupGraph* kernels,
                  const FusionTextOptions& options)
      : groups_(groups),
        kernels_(*kernels),
        graph_(kernels->graph()),
        options_(options),
        readers_(groups.size()) {
    for (size_t g = 0; g < groups_.size(); ++g) {
      for (const ValueId output : groups_[g].outputs) maker_[output] = g;
    }
    for (size_t g = 0; g < groups_.size(); ++g) {
      reads_.push_back(ReadsOf(groups_[g].nodes));
      for (const auto& [value, views] : reads_[g]) {
        if (const auto maker = maker_.find(value); maker != maker_.end()) {
          readers_[maker->second].insert(g);
        }
      }
    }
  }

  std::string Run() {
    std::string text;
    for (size_t g = 0; g < groups_.size(); ++g) {
      StrAppend(&text, HeadOf(g), "\n");
      std::set<size_t> told;
      for (const auto& [value, views] : reads_[g]) {
        const auto maker = maker_.find(value);
        if (maker == maker_.end() || maker->second == g ||
            !told.insert(maker->second).second) {
          continue;
        }
        StrAppend(&text, "  with ", maker->second, ", which makes ",
                  NameOf(graph_.producer(value)), ": ",
                  AgainstMaker(g, maker->second, value, views), "\n");
      }
      for (size_t other = 0; other < g; ++other) {
        const std::optional<ValueId> shared = SharedBy(g, other);
        if (!shared || told.contains(other)) continue;
        StrAppend(&text, "  beside ", other, ", which reads ",
                  NameOf(graph_.producer(*shared)),
                  " too: ", AgainstSibling(g, other), "\n");
      }
    }
    return text;
  }

 private:
  using Reads = std::map<ValueId, NodeList>;

  // What the nodes read of others, with the views that lead there.
  Reads ReadsOf(const NodeList& nodes) const {
    Reads reads;
    for (const NodeId node : nodes) {
      for (const ValueId operand : graph_.operands(node)) {
        if (Contains(nodes, graph_.producer(operand))) continue;
        NodeList views;
        ValueId value = operand;
        while (!maker_.contains(value)) {
          const NodeId producer = graph_.producer(value);
          if (!IsView(graph_, producer) || !kernels_.HasKernel(producer)) break;
          views.push_back(producer);
          value = graph_.operand(producer, 0);
        }
        std::ranges::sort(views);
        reads.emplace(value, std::move(views));
      }
    }
    return reads;
  }

  std::string NameOf(NodeId node) const {
    const std::string name = options_.name(node);
    const std::string_view op = graph_.info(node).mnemonic;
    return name.empty() ? std::string(op) : StrCat(op, " ", name);
  }

  std::string HeadOf(size_t number) {
    const Group& group = groups_[number];
    const KernelSite& site = kernels_.site(group.nodes.back());
    std::string text = StrCat("kernel ", number);
    if (const std::string backend = options_.backend(site.backend);
        !backend.empty()) {
      StrAppend(&text, " on ", backend);
    }
    if (site.prepare) text += ", prepared";
    const std::optional<double> seconds = SecondsOf(group);
    StrAppend(&text, ", ", seconds ? Microseconds(*seconds) : "no estimate",
              ":");
    bool first = true;
    for (const NodeId node : group.nodes) {
      if (kernels_.IsRematerialized(node) && node != group.nodes.back()) {
        continue;
      }
      StrAppend(&text, first ? " " : ", ", NameOf(node));
      first = false;
    }
    return text;
  }

  std::optional<double> SecondsOf(const Group& group) {
    return kernels_.Seconds(group.nodes, group.outputs);
  }

  // A value of the run that both read.
  std::optional<ValueId> SharedBy(size_t one, size_t other) const {
    for (const auto& [value, views] : reads_[other]) {
      const Op op = graph_.op(graph_.producer(value));
      if (op != Op::kConstant && op != Op::kParameter &&
          reads_[one].contains(value)) {
        return value;
      }
    }
    return std::nullopt;
  }

  // --- What keeps two apart, whatever they cost; empty: nothing.

  std::string Apart(size_t one, size_t other) const {
    const KernelSite& site = kernels_.site(groups_[one].nodes.back());
    const KernelSite& its = kernels_.site(groups_[other].nodes.back());
    if (site.backend != its.backend) {
      return StrCat("runs on ", options_.backend(its.backend));
    }
    if (site.prepare != its.prepare) {
      return its.prepare ? "runs once, in the prepare plan"
                         : "runs each time, not in the prepare plan";
    }
    return "";
  }

  // A kernel between the two, behind one and before the other.
  std::optional<size_t> Between(size_t one, size_t other) const {
    std::set<size_t> behind;
    std::vector<size_t> work = {one};
    while (!work.empty()) {
      const size_t at = work.back();
      work.pop_back();
      for (const size_t reader : readers_[at]) {
        if (at == one && reader == other) continue;
        if (reader == other) return at;
        if (behind.insert(reader).second) work.push_back(reader);
      }
    }
    return std::nullopt;
  }

  // Seconds of a kernel in the place of others; why it has none goes to `why`.
  std::optional<double> Price(const Group& group, std::string* why) {
    if (!why->empty()) return std::nullopt;
    if (group.nodes.size() > kMostGroupNodes) {
      *why = StrCat("more than ", kMostGroupNodes, " nodes");
    } else if (!AreAtOnePlace(kernels_, group.nodes)) {
      *why = "some of its nodes run elsewhere";
    } else if (const auto seconds = SecondsOf(group)) {
      return seconds;
    } else {
      *why = kernels_.WhyNoKernel(group.nodes, group.outputs);
    }
    return std::nullopt;
  }

  std::string AgainstMaker(size_t reader, size_t maker, ValueId value,
                           const NodeList& views) {
    if (const std::string apart = Apart(reader, maker); !apart.empty()) {
      return StrCat("it ", apart);
    }
    const Join join =
        JoinGroups(kernels_, groups_[reader], views, groups_[maker], value);
    if (join.obstacle) {
      return StrCat("not one kernel, as ", ToText(graph_, *join.obstacle));
    }
    std::string why;
    std::optional<double> whole, again;
    if (const auto between = Between(maker, reader)) {
      why = StrCat("kernel ", *between, " stands between them");
    }
    if (!join.whole) {
      why = "a contraction would store what is moved before it";
    } else {
      whole = Price(*join.whole, &why);
    }
    // The maker stays for the others.
    std::string unused;
    if (join.again) again = Price(*join.again, &unused);
    const bool stays = readers_[maker].size() > 1 ||
                       groups_[maker].outputs.size() > 1 ||
                       kernels_.is_output(value);
    if (again && stays) *again += SecondsOf(groups_[maker]).value_or(0);
    std::string text = Verdict(whole, why, reader, maker);
    if (again && stays) {
      StrAppend(&text, "; computed again for it ", Microseconds(*again));
    }
    return text;
  }

  std::string AgainstSibling(size_t one, size_t other) {
    if (const std::string apart = Apart(one, other); !apart.empty()) {
      return StrCat("it ", apart);
    }
    std::string why;
    if (auto between = Between(other, one)) {
      why = StrCat("kernel ", *between, " stands between them");
    } else if (graph_.shape(groups_[one].outputs.back()) !=
               graph_.shape(groups_[other].outputs.back())) {
      why = "their results have other shapes";
    } else if (Has(graph_, groups_[one].nodes, kContraction) &&
               Has(graph_, groups_[other].nodes, kContraction)) {
      why = "two contractions (kContraction)";
    }
    const NodeList both = Union(groups_[one].nodes, groups_[other].nodes);
    const std::optional<double> seconds =
        Price({both, kernels_.OutputsOf(both)}, &why);
    return Verdict(seconds, why, one, other);
  }

  std::string Verdict(std::optional<double> together, const std::string& why,
                      size_t one, size_t other) {
    if (!together) return StrCat("not one kernel, as ", why);
    const double apart = SecondsOf(groups_[one]).value_or(0) +
                         SecondsOf(groups_[other]).value_or(0);
    std::string text = StrCat("together ", Microseconds(*together), ", apart ",
                              Microseconds(apart));
    const double least = options_.partition.least_gain;
    if (*together < apart && *together >= apart * (1 - least)) {
      char share[16];
      std::snprintf(share, sizeof(share), "%.0f %%", least * 100);
      StrAppend(&text, ", which is not trusted to gain: under ", share);
    }
    return text;
  }

  const std::span<const Group> groups_;
  GroupGraph& kernels_;
  const Graph& graph_;
  const FusionTextOptions& options_;
  std::map<ValueId, size_t> maker_;
  std::vector<Reads> reads_;               // by group
  std::vector<std::set<size_t>> readers_;  // by group
};

}  // namespace

std::string ExplainFusion(std::span<const Group> groups, GroupGraph* graph,
                          const FusionTextOptions& options) {
  return FusionExplainer(groups, graph, options).Run();
}

}  // namespace encore::backends
