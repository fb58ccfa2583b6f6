#include "encore/opt/tensor/parts/divide.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

#include "encore/ir/ops/attributes.h"
#include "encore/ir/ops/op.h"
#include "encore/opt/tensor/costs.h"
#include "encore/opt/tensor/tensor_program.h"

namespace encore::opt {
namespace {

constexpr int kNowhere = -1;
// Constants of more elements are not put into every part that uses them.
constexpr int64_t kSmallConstant = 64;
// How many equal uses in how far a stretch make a value one that blocks share.
constexpr int kSharedUses = 3;
constexpr int kSharedStretch = 200;
// Nodes on either side of a place that say which place it is.
constexpr int kContext = 4;
// Nodes on either side of a cut that are looked at once more. Rules are not
// that deep.
constexpr int kAround = 16;
// A part of what blocks share may be so much larger than others.
constexpr int kMostShared = 4;

uint64_t Mix(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9E3779B97F4A7C15u;
  return hash ^ (hash >> 29);
}

// What a node computes, whatever its operands are called.
uint64_t LabelOf(const Graph& graph, NodeId node) {
  uint64_t label = Mix(static_cast<uint64_t>(graph.op(node)),
                       Fingerprint(graph.attributes(node)));
  const auto add_type = [&](ValueId value) {
    const TensorType& type = graph.type(value);
    label = Mix(label, static_cast<uint64_t>(type.dtype));
    for (const Dim& dim : type.shape.dims()) {
      label = Mix(label, dim.Fingerprint());
    }
  };
  for (const ValueId operand : graph.operands(node)) add_type(operand);
  for (int i = 0; i < graph.result_count(node); ++i) {
    add_type(graph.result(node, i));
  }
  return label;
}

class Divider {
 public:
  Divider(const Graph& graph, const DivideOptions& options = {})
      : graph_(graph),
        options_(options),
        live_(LiveNodes(graph)),
        weights_(WeightOnlyValues(graph)),
        users_(graph.value_count()),
        rows_(graph.node_count(), kNowhere),
        hoisted_(graph.node_count()),
        ends_(graph.node_count()),
        parts_of_(graph.node_count(), kNowhere) {
    division_.cut.resize(graph.value_count());
  }

  Division Divide() && {
    FindRow();
    TakeOutShared();
    LeaveOutShared();
    CountCrossing();
    ForEachStretch([&](int begin, int end) { CutStretch(begin, end); });
    FindCutValues();
    GroupShared();
    AssignWeights();
    Collect();
    return std::move(division_);
  }

  Division DivideAround(const std::vector<bool>& cut) && {
    FindRow();
    const std::vector<bool> seams = FindSeams(cut);
    ForEachStretch([&](int begin, int end) { TakeAround(begin, end, seams); });
    AssignWeights();
    Collect();
    return std::move(division_);
  }

 private:
  struct Place {
    uint32_t width;
    uint64_t context;
    auto operator<=>(const Place&) const = default;
  };

  bool IsSource(NodeId node) const {
    const Op op = graph_.op(node);
    return op == Op::kInput || op == Op::kParameter;
  }
  // What has no place in the row: it is computed before, or anywhere.
  bool IsFixed(ValueId value) const {
    return weights_[value.value()] ||
           graph_.op(graph_.producer(value)) == Op::kConstant;
  }
  bool IsPure(NodeId node) const {
    return IsPlain(graph_, node) &&
           !MayFail(graph_.op(node), graph_.attributes(node));
  }

  void FindRow() {
    for (const NodeId node : Nodes(graph_)) {
      if (!live_[node.value()]) continue;
      for (const ValueId operand : graph_.operands(node)) {
        std::vector<NodeId>& users = users_[operand.value()];
        if (users.empty() || users.back() != node) users.push_back(node);
      }
      if (IsSource(node) || graph_.op(node) == Op::kConstant ||
          (graph_.result_count(node) == 1 &&
           weights_[graph_.result(node).value()])) {
        continue;
      }
      rows_[node.value()] = static_cast<int>(row_.size());
      row_.push_back(node);
      labels_.push_back(LabelOf(graph_, node));
    }
  }

  // Marks equal uses of one value in places far apart, and what follows from
  // them alone.
  void TakeOutShared() {
    std::vector<bool> shared(graph_.value_count());
    for (uint32_t v = 0; v < users_.size(); ++v) {
      if (!IsFixed(ValueId(v))) shared[v] = TakeOutUsers(ValueId(v));
      if (shared[v]) ends_[graph_.producer(ValueId(v)).value()] = true;
    }
    for (const NodeId node : row_) {
      if (hoisted_[node.value()] || !IsPure(node)) continue;
      bool any = false, all = true;
      for (const ValueId operand : graph_.operands(node)) {
        if (IsFixed(operand)) continue;
        const bool before = hoisted_[graph_.producer(operand).value()];
        any |= before;
        all &= before || shared[operand.value()];
      }
      hoisted_[node.value()] = any && all;
    }
  }

  bool TakeOutUsers(ValueId value) {
    std::map<uint64_t, std::vector<NodeId>> groups;
    for (const NodeId user : users_[value.value()]) {
      if (rows_[user.value()] == kNowhere || !IsPure(user)) continue;
      const bool alone =
          std::ranges::all_of(graph_.operands(user), [&](ValueId operand) {
            return operand == value || IsFixed(operand);
          });
      if (alone) groups[labels_[rows_[user.value()]]].push_back(user);
    }
    bool found = false;
    for (const auto& [label, nodes] : groups) {
      const int stretch =
          rows_[nodes.back().value()] - rows_[nodes.front().value()];
      if (nodes.size() < kSharedUses || stretch < kSharedStretch) continue;
      for (const NodeId node : nodes) hoisted_[node.value()] = true;
      found = true;
    }
    return found;
  }

  // The row without what was taken out.
  void LeaveOutShared() {
    std::vector<NodeId> rest;
    std::vector<uint64_t> labels;
    for (const NodeId node : row_) {
      if (hoisted_[node.value()]) {
        rows_[node.value()] = kNowhere;
        continue;
      }
      labels.push_back(labels_[rows_[node.value()]]);
      rows_[node.value()] = static_cast<int>(rest.size());
      rest.push_back(node);
    }
    row_ = std::move(rest);
    labels_ = std::move(labels);
  }

  // How many of the values that `counts` says cross each place of the row;
  // place i is before node i.
  template <typename Counts>
  std::vector<uint32_t> Widths(const Counts& counts) const {
    std::vector<int64_t> changes(row_.size() + 2);
    ForEachSpan([&](ValueId value, int first, int last) {
      if (counts(value)) ++changes[first + 1], --changes[last + 1];
    });
    std::vector<uint32_t> widths;
    int64_t width = 0;
    for (size_t i = 0; i < row_.size(); ++i) {
      width += changes[i];
      widths.push_back(static_cast<uint32_t>(width));
    }
    return widths;
  }

  void CountCrossing() {
    const std::vector<uint32_t> widths = Widths([](ValueId) { return true; });
    for (size_t i = 0; i < row_.size(); ++i) {
      places_.push_back({widths[i], ContextOf(i)});
    }
  }

  // By place: whether only values cross it that are `cut`.
  std::vector<bool> FindSeams(const std::vector<bool>& cut) const {
    const std::vector<uint32_t> all = Widths([](ValueId) { return true; });
    const std::vector<uint32_t> rest =
        Widths([&](ValueId value) { return !cut[value.value()]; });
    std::vector<bool> seams;
    for (size_t i = 0; i < row_.size(); ++i) {
      seams.push_back(all[i] > 0 && rest[i] == 0);
    }
    return seams;
  }

  // Of values from one node of the row to another: the places of their producer
  // and of their last user.
  template <typename Function>
  void ForEachSpan(const Function& function) const {
    for (uint32_t v = 0; v < users_.size(); ++v) {
      const int first = rows_[graph_.producer(ValueId(v)).value()];
      if (first == kNowhere) continue;
      int last = first;
      for (const NodeId user : users_[v]) {
        last = std::max(last, rows_[user.value()]);
      }
      if (last > first) function(ValueId(v), first, last);
    }
  }

  uint64_t ContextOf(size_t place) const {
    const size_t begin = place < kContext ? 0 : place - kContext;
    const size_t end = std::min(place + kContext, row_.size());
    uint64_t hash = 0;
    for (size_t i = begin; i < end; ++i) hash = Mix(hash, labels_[i]);
    return hash;
  }

  // Stretches of the row between nodes that are in no part, and up to those
  // whose results blocks share.
  template <typename Function>
  void ForEachStretch(const Function& function) {
    int begin = 0;
    const int end = static_cast<int>(row_.size());
    for (int i = 0; i < end; ++i) {
      const bool plain = IsPlain(graph_, row_[i]);
      if (plain && !ends_[row_[i].value()]) continue;
      const int stop = plain ? i + 1 : i;
      if (stop > begin) function(begin, stop);
      begin = i + 1;
    }
    if (end > begin) function(begin, end);
  }

  void FindCutValues() {
    ForEachSpan([&](ValueId value, int first, int last) {
      const int part = parts_of_[row_[first].value()];
      division_.cut[value.value()] =
          part != kNowhere && part != parts_of_[row_[last].value()];
    });
  }

  void TakeAround(int begin, int end, const std::vector<bool>& seams) {
    int taken = begin;  // all before it is
    for (int i = begin; i < end; ++i) {
      if (!seams[i]) continue;
      const int from = std::max(taken, i - kAround);
      taken = std::min(end, i + kAround);
      if (taken > from) AddPart({row_.begin() + from, row_.begin() + taken});
    }
  }

  void CutStretch(int begin, int end) {
    const int first_place = begin + options_.least;
    const int last_place = end - options_.least;
    int last = begin;
    for (int i = first_place; i <= last_place; ++i) {
      if (i - last < options_.least ||
          !IsBestNear(i, first_place, last_place)) {
        continue;
      }
      AddParts(last, i);
      last = i;
    }
    AddParts(last, end);
  }

  // Of the places from `begin` to `end`, both included.
  bool IsBestNear(int place, int begin, int end) const {
    const int from = std::max(begin, place - options_.radius);
    const int to = std::min(end, place + options_.radius) + 1;
    return std::none_of(
        places_.begin() + from, places_.begin() + to,
        [&](const Place& other) { return other < places_[place]; });
  }

  // What is too long is cut where that is best in the second half of what is
  // allowed.
  void AddParts(int begin, int end) {
    while (end - begin > options_.most) {
      const auto half = places_.begin() + begin + options_.most / 2;
      const auto best =
          std::min_element(half + 1, half + 1 + options_.most / 2);
      const auto place = static_cast<int>(best - places_.begin());
      AddPart({row_.begin() + begin, row_.begin() + place});
      begin = place;
    }
    AddPart({row_.begin() + begin, row_.begin() + end});
  }

  void AddPart(std::span<const NodeId> nodes) {
    for (const NodeId node : nodes) parts_of_[node.value()] = part_count_;
    ++part_count_;
  }

  // What was taken out, by the last node of the row that it needs: the row is
  // cut behind that, so that nothing before it needs the group.
  void GroupShared() {
    std::vector<int> after(graph_.node_count(), kNowhere);
    std::map<int, std::vector<NodeId>> groups;
    for (const NodeId node : Nodes(graph_)) {
      if (!hoisted_[node.value()]) continue;
      int& last = after[node.value()];
      for (const ValueId operand : graph_.operands(node)) {
        if (IsFixed(operand)) continue;
        const NodeId producer = graph_.producer(operand);
        last =
            std::max({last, after[producer.value()], rows_[producer.value()]});
      }
      groups[last].push_back(node);
    }
    for (const auto& [last, nodes] : groups) {
      if (static_cast<int>(nodes.size()) <= kMostShared * options_.most) {
        AddPart(nodes);
      }
    }
  }

  // A weight is computed in the part that alone uses it.
  void AssignWeights() {
    std::vector<bool> given(graph_.value_count());
    for (const Graph::Output& output : graph_.outputs()) {
      given[output.value.value()] = true;
    }
    for (auto n = static_cast<uint32_t>(graph_.node_count()); n-- > 0;) {
      const NodeId node(n);
      if (!live_[n] || IsSource(node) || graph_.result_count(node) != 1) {
        continue;
      }
      const ValueId value = graph_.result(node);
      if (!weights_[value.value()] || given[value.value()] ||
          users_[value.value()].empty()) {
        continue;
      }
      int part = parts_of_[users_[value.value()].front().value()];
      for (const NodeId user : users_[value.value()]) {
        if (parts_of_[user.value()] != part) part = kNowhere;
      }
      parts_of_[n] = part;
    }
  }

  void Collect() {
    division_.parts.resize(part_count_);
    for (const NodeId node : Nodes(graph_)) {
      const int part = parts_of_[node.value()];
      if (part != kNowhere) division_.parts[part].nodes.push_back(node);
    }
    std::vector<bool> given(graph_.value_count());
    for (const Graph::Output& output : graph_.outputs()) {
      given[output.value.value()] = true;
    }
    // By value: the last part that was seen to use it.
    std::vector<int> seen(graph_.value_count(), kNowhere);
    for (int part = 0; part < part_count_; ++part) {
      CollectInputs(part, given, &seen);
      CollectOutputs(part, given);
    }
  }

  void CollectInputs(int number, const std::vector<bool>& given,
                     std::vector<int>* seen) {
    Part& part = division_.parts[number];
    std::vector<NodeId> constants;
    for (const NodeId node : part.nodes) {
      for (const ValueId operand : graph_.operands(node)) {
        const NodeId producer = graph_.producer(operand);
        if (parts_of_[producer.value()] == number ||
            std::exchange((*seen)[operand.value()], number) == number) {
          continue;
        }
        const Literal* const constant = graph_.constant(operand);
        if (constant != nullptr &&
            constant->element_count() <= kSmallConstant) {
          constants.push_back(producer);
          continue;
        }
        const bool weight = weights_[operand.value()];
        part.inputs.push_back(
            {.value = operand,
             .weight_only = weight,
             .shared = weight && (given[operand.value()] ||
                                  IsUsedElsewhere(operand, number))});
      }
    }
    part.nodes.insert(part.nodes.end(), constants.begin(), constants.end());
    std::ranges::sort(part.nodes);
  }

  void CollectOutputs(int number, const std::vector<bool>& given) {
    Part& part = division_.parts[number];
    for (const NodeId node : part.nodes) {
      if (parts_of_[node.value()] != number) continue;  // a constant
      const ValueId value = graph_.result(node);
      if (given[value.value()] || IsUsedElsewhere(value, number)) {
        part.outputs.push_back(value);
      }
    }
  }

  bool IsUsedElsewhere(ValueId value, int part) const {
    return std::ranges::any_of(users_[value.value()], [&](NodeId user) {
      return parts_of_[user.value()] != part;
    });
  }

  const Graph& graph_;
  const DivideOptions options_;
  const std::vector<bool> live_;
  const std::vector<bool> weights_;         // by value
  std::vector<std::vector<NodeId>> users_;  // by value; live ones, ascending
  std::vector<NodeId> row_;
  std::vector<uint64_t> labels_;  // by place in the row
  std::vector<int> rows_;         // by node: its place in the row
  std::vector<bool> hoisted_;     // by node
  std::vector<bool> ends_;        // by node: its result is shared
  std::vector<Place> places_;     // by place
  std::vector<int> parts_of_;     // by node
  int part_count_ = 0;
  Division division_;
};

}  // namespace

Division Divide(const Graph& graph, const DivideOptions& options) {
  return Divider(graph, options).Divide();
}

Division DivideAroundCuts(const Graph& graph, const std::vector<bool>& cut) {
  return Divider(graph).DivideAround(cut);
}

}  // namespace encore::opt
