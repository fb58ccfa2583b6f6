#include "encore/ir/import/onnx/ml/read_trees.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "encore/ir/import/onnx/format/tensor_data.h"
#include "encore/ir/import/onnx/ml/node_ids.h"
#include "encore/ir/import/onnx/ml/scores.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::onnx {
namespace {

// As TreeEnsemble numbers them.
enum Mode { kLeq, kLt, kGte, kGt, kEq, kNeq, kMember, kLeaf };
constexpr std::string_view kModes[] = {
    "BRANCH_LEQ", "BRANCH_LT",  "BRANCH_GTE",    "BRANCH_GT",
    "BRANCH_EQ",  "BRANCH_NEQ", "BRANCH_MEMBER", "LEAF"};

// Whether the comparison holds for a feature below, equal to and above.
constexpr bool kHolds[][3] = {{true, true, false},  {true, false, false},
                              {false, true, true},  {false, false, true},
                              {false, true, false}, {true, false, true}};

// Where a comparison leads.
struct Branches {
  TreeRef yes = 0, no = 0;
  bool missing_is_yes = false;
};

TreeNode Compare(Mode mode, int64_t feature, double value, const Branches& to) {
  TreeNode node{feature, value};
  for (int i = 0; i < TreeNode::kNan; ++i) {
    node.next[i] = kHolds[mode][i] ? to.yes : to.no;
  }
  node.next[TreeNode::kNan] = to.missing_is_yes ? to.yes : to.no;
  return node;
}

// A search tree over `members`, ascending: its root goes to node `at`, others
// are appended.
void AddMembers(TreeEnsemble& trees, TreeRef at,
                std::span<const double> members, const Branches& to) {
  struct Part {
    TreeRef node;
    size_t begin, end;
  };
  const int64_t feature = trees.nodes[at].feature;
  const int64_t name = trees.names[at];
  const TreeRef missing = to.missing_is_yes ? to.yes : to.no;
  if (members.empty()) {
    trees.nodes[at].next = {to.no, to.no, to.no, missing};
    return;
  }
  std::vector<Part> work = {{at, 0, members.size()}};
  const auto part_of = [&](size_t begin, size_t end) -> TreeRef {
    if (begin == end) return to.no;
    trees.nodes.push_back({feature});
    trees.names.push_back(name);
    work.push_back({std::ssize(trees.nodes) - 1, begin, end});
    return work.back().node;
  };
  while (!work.empty()) {
    const Part part = work.back();
    work.pop_back();
    const size_t middle = part.begin + (part.end - part.begin) / 2;
    const TreeRef below = part_of(part.begin, middle);
    const TreeRef above = part_of(middle + 1, part.end);
    trees.nodes[part.node] = {
        feature, members[middle], {below, to.yes, above, missing}};
  }
}

// Sets of members, each ended by a NaN.
StatusOr<std::vector<std::vector<double>>> ReadSets(
    const std::vector<double>& values, int64_t nodes) {
  std::vector<std::vector<double>> sets(1);
  for (const double value : values) {
    if (std::isnan(value)) {
      sets.emplace_back();
    } else {
      sets.back().push_back(value);
    }
  }
  // The last one may do without.
  if (sets.back().empty()) sets.pop_back();
  for (auto& set : sets) {
    std::ranges::sort(set);
    set.erase(std::unique(set.begin(), set.end()), set.end());
  }
  if (std::ssize(sets) == nodes) return sets;
  return NodeContext::Error(StrCat("attribute membership_values has ",
                                   sets.size(),
                                   " sets, expected one for each of ", nodes,
                                   " nodes of mode BRANCH_MEMBER"));
}

// The attributes nodes_* that all operators have.
struct NodeLists {
  Ints features, yes, no, missing;
  std::vector<Mode> modes;
  std::vector<double> values;

  size_t size() const { return features.size(); }
  Branches To(size_t i, TreeRef yes_ref, TreeRef no_ref) const {
    return {yes_ref, no_ref, !missing.empty() && missing[i] != 0};
  }
};

Status CheckLists(const NodeLists& lists, size_t hit_rates) {
  const auto check = [&](std::string_view name, size_t length) {
    return CheckLength(name, length, lists.size(), "nodes_featureids");
  };
  ENCORE_RETURN_IF_ERROR(check("nodes_truenodeids", lists.yes.size()));
  ENCORE_RETURN_IF_ERROR(check("nodes_falsenodeids", lists.no.size()));
  ENCORE_RETURN_IF_ERROR(check("nodes_modes", lists.modes.size()));
  if (!lists.missing.empty()) {
    ENCORE_RETURN_IF_ERROR(
        check("nodes_missing_value_tracks_true", lists.missing.size()));
  }
  if (hit_rates > 0) {
    ENCORE_RETURN_IF_ERROR(check("nodes_hitrates", hit_rates));
  }
  if (lists.size() == 0) {
    return NodeContext::Error("attribute nodes_featureids is empty");
  }
  return OkStatus();
}

Status ReadLists(NodeContext& context, NodeLists* lists) {
  AttributeReader& attributes = context.attributes();
  ENCORE_ASSIGN_OR_RETURN(lists->features,
                          attributes.Ints("nodes_featureids", {}));
  ENCORE_ASSIGN_OR_RETURN(lists->yes, attributes.Ints("nodes_truenodeids", {}));
  ENCORE_ASSIGN_OR_RETURN(lists->no, attributes.Ints("nodes_falsenodeids", {}));
  ENCORE_ASSIGN_OR_RETURN(
      lists->missing, attributes.Ints("nodes_missing_value_tracks_true", {}));
  return OkStatus();
}

StatusOr<std::vector<Mode>> ReadModes(NodeContext& context) {
  ENCORE_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                          context.attributes().Strings("nodes_modes"));
  std::vector<Mode> modes;
  for (const std::string& name : names) {
    const auto mode = std::ranges::find(kModes, name);
    const bool known = mode != std::end(kModes);
    if (!known || mode - kModes == kMember) {
      return NodeContext::Error(
          StrCat("attribute nodes_modes has the entry ", Quote(name),
                 ", expected BRANCH_LEQ, BRANCH_LT, BRANCH_GTE, BRANCH_GT, "
                 "BRANCH_EQ, BRANCH_NEQ or LEAF"));
    }
    modes.push_back(static_cast<Mode>(mode - kModes));
  }
  return modes;
}

// Gives nodes and leaves their numbers; the first node of a tree is its root.
StatusOr<NodeIds> Number(const NodeLists& lists, const Ints& tree_ids,
                         const Ints& node_ids, TreeEnsemble* trees) {
  NodeIds ids;
  ids.Reserve(lists.size());
  std::set<int64_t> known;
  for (size_t i = 0; i < lists.size(); ++i) {
    TreeRef ref;
    if (lists.modes[i] == kLeaf) {
      ref = LeafRef(std::ssize(trees->leaves));
      trees->leaves.emplace_back();
    } else {
      ref = std::ssize(trees->nodes);
      trees->nodes.push_back({lists.features[i], lists.values[i]});
      trees->names.push_back(node_ids[i]);
    }
    ids.Add(tree_ids[i], node_ids[i], ref);
    if (i > 0 && tree_ids[i] == tree_ids[i - 1]) continue;
    if (known.insert(tree_ids[i]).second) trees->roots.push_back(ref);
  }
  ENCORE_RETURN_IF_ERROR(ids.Build());
  return ids;
}

Status AddVotes(NodeContext& context, const std::string& prefix,
                const NodeIds& ids, int64_t targets, TreeEnsemble* trees) {
  AttributeReader& attributes = context.attributes();
  ENCORE_ASSIGN_OR_RETURN(const Ints tree_ids,
                          attributes.Ints(prefix + "_treeids", {}));
  ENCORE_ASSIGN_OR_RETURN(const Ints node_ids,
                          attributes.Ints(prefix + "_nodeids", {}));
  ENCORE_ASSIGN_OR_RETURN(const Ints target_ids,
                          attributes.Ints(prefix + "_ids", {}));
  ENCORE_ASSIGN_OR_RETURN(const TreeNumbers weights,
                          ReadTreeNumbers(context, prefix + "_weights"));
  const std::string as = prefix + "_ids", nodes = prefix + "_nodeids";
  ENCORE_RETURN_IF_ERROR(
      CheckLength(prefix + "_treeids", tree_ids.size(), target_ids.size(), as));
  ENCORE_RETURN_IF_ERROR(
      CheckLength(prefix + "_nodeids", node_ids.size(), target_ids.size(), as));
  ENCORE_RETURN_IF_ERROR(CheckLength(prefix + "_weights", weights.values.size(),
                                     target_ids.size(), as));
  if (weights.wide) trees->dtype = DType::kF64;
  trees->targets = targets < 0 ? 0 : targets;
  for (size_t i = 0; i < target_ids.size(); ++i) {
    ENCORE_ASSIGN_OR_RETURN(const TreeRef ref,
                            ids.Find(nodes, tree_ids[i], node_ids[i]));
    if (target_ids[i] < 0 || (targets >= 0 && target_ids[i] >= targets) ||
        target_ids[i] >= INT32_MAX) {
      return NodeContext::Error(
          StrCat("attribute ", as, " has the entry ", target_ids[i],
                 ", outside of ", std::max<int64_t>(targets, 0), " scores"));
    }
    if (targets < 0) {
      trees->targets = std::max(trees->targets, target_ids[i] + 1);
    }
    // Nobody reads a vote of a node that is no leaf.
    if (ref >= 0) continue;
    trees->leaves[-1 - ref].push_back({target_ids[i], weights.values[i]});
  }
  if (trees->targets > 0) return OkStatus();
  return NodeContext::Error(StrCat("attribute ", as, " is empty"));
}

// The numbers of a tensor attribute of TreeEnsemble, a vector of `dtype`.
StatusOr<std::vector<double>> ReadVector(NodeContext& context,
                                         std::string_view name, DType dtype) {
  ENCORE_ASSIGN_OR_RETURN(const Tensor* tensor,
                          context.attributes().TensorValue(name));
  std::vector<double> values;
  if (tensor == nullptr) return values;
  ENCORE_ASSIGN_OR_RETURN(const Literal literal,
                          ToLiteral(*tensor, context.source()));
  if (literal.rank() != 1 || literal.dtype() != dtype) {
    return NodeContext::Error(StrCat("attribute ", name, " is ", literal.type(),
                                     ", expected a vector of ", dtype));
  }
  for (int64_t i = 0; i < literal.element_count(); ++i) {
    values.push_back(literal.AsDouble(i));
  }
  return values;
}

Status AddLeaves(NodeContext& context, DType dtype, TreeEnsemble* trees) {
  AttributeReader& attributes = context.attributes();
  ENCORE_ASSIGN_OR_RETURN(const Ints targets,
                          attributes.Ints("leaf_targetids", {}));
  ENCORE_ASSIGN_OR_RETURN(const std::vector<double> weights,
                          ReadVector(context, "leaf_weights", dtype));
  ENCORE_RETURN_IF_ERROR(CheckLength("leaf_targetids", targets.size(),
                                     weights.size(), "leaf_weights"));
  ENCORE_ASSIGN_OR_RETURN(const int64_t count, attributes.Int("n_targets", -1));
  trees->targets = count;
  if (!attributes.Has("n_targets")) {
    for (const int64_t target : targets) {
      trees->targets = std::max(trees->targets, target + 1);
    }
  }
  if (trees->targets < 1 || trees->targets > INT32_MAX) {
    return NodeContext::Error(StrCat("attribute n_targets is ", trees->targets,
                                     ", expected at least 1"));
  }
  for (size_t i = 0; i < targets.size(); ++i) {
    if (targets[i] < 0 || targets[i] >= trees->targets) {
      return NodeContext::Error(
          StrCat("attribute leaf_targetids has the entry ", targets[i],
                 ", outside of ", trees->targets, " targets"));
    }
    trees->leaves.push_back({{targets[i], weights[i]}});
  }
  return OkStatus();
}

// The attribute tree_roots.
Status ReadRoots(NodeContext& context, TreeEnsemble* trees) {
  ENCORE_ASSIGN_OR_RETURN(const Ints roots,
                          context.attributes().Ints("tree_roots", {}));
  if (roots.empty()) return NodeContext::Error("attribute tree_roots is empty");
  for (const int64_t root : roots) {
    if (root < 0 || root >= std::ssize(trees->nodes)) {
      return NodeContext::Error(StrCat("attribute tree_roots has the entry ",
                                       root, ", outside of ",
                                       trees->nodes.size(), " nodes"));
    }
    trees->roots.push_back(root);
  }
  return OkStatus();
}

// What node or leaf an entry of nodes_truenodeids or nodes_falsenodeids is.
StatusOr<TreeRef> RefOf(std::string_view way, int64_t id, int64_t is_leaf,
                        size_t nodes, size_t leaves) {
  const auto count = static_cast<int64_t>(is_leaf != 0 ? leaves : nodes);
  if (id >= 0 && id < count) return is_leaf != 0 ? LeafRef(id) : id;
  return NodeContext::Error(
      StrCat("attribute nodes_", way, "nodeids has the entry ", id,
             ", outside of ", count, is_leaf != 0 ? " leaves" : " nodes"));
}

// Where the nodes of TreeEnsemble lead, and what they compare with.
Status ReadBranches(NodeContext& context, const NodeLists& lists,
                    const std::vector<double>& members, TreeEnsemble* trees) {
  AttributeReader& attributes = context.attributes();
  ENCORE_ASSIGN_OR_RETURN(const Ints yes_leafs,
                          attributes.Ints("nodes_trueleafs", {}));
  ENCORE_ASSIGN_OR_RETURN(const Ints no_leafs,
                          attributes.Ints("nodes_falseleafs", {}));
  ENCORE_RETURN_IF_ERROR(CheckLength("nodes_trueleafs", yes_leafs.size(),
                                     lists.size(), "nodes_featureids"));
  ENCORE_RETURN_IF_ERROR(CheckLength("nodes_falseleafs", no_leafs.size(),
                                     lists.size(), "nodes_featureids"));
  ENCORE_ASSIGN_OR_RETURN(
      const auto sets,
      ReadSets(members, std::ranges::count(lists.modes, kMember)));
  size_t set = 0;
  for (size_t i = 0; i < lists.size(); ++i) {
    ENCORE_ASSIGN_OR_RETURN(const TreeRef yes,
                            RefOf("true", lists.yes[i], yes_leafs[i],
                                  lists.size(), trees->leaves.size()));
    ENCORE_ASSIGN_OR_RETURN(
        const TreeRef no, RefOf("false", lists.no[i], no_leafs[i], lists.size(),
                                trees->leaves.size()));
    const Branches to = lists.To(i, yes, no);
    if (lists.modes[i] == kMember) {
      AddMembers(*trees, static_cast<TreeRef>(i), sets[set++], to);
    } else {
      trees->nodes[i] =
          Compare(lists.modes[i], lists.features[i], lists.values[i], to);
    }
  }
  return OkStatus();
}

// The attribute nodes_modes of TreeEnsemble, numbers as u8.
Status ReadModeNumbers(NodeContext& context, NodeLists* lists) {
  ENCORE_ASSIGN_OR_RETURN(const std::vector<double> modes,
                          ReadVector(context, "nodes_modes", DType::kU8));
  for (const double mode : modes) {
    if (mode > int{kMember}) {
      return NodeContext::Error(StrCat("attribute nodes_modes has the entry ",
                                       mode, ", expected 0 to ", int{kMember}));
    }
    lists->modes.push_back(static_cast<Mode>(mode));
  }
  return OkStatus();
}

}  // namespace

StatusOr<TreeNumbers> ReadTreeNumbers(NodeContext& context,
                                      const std::string& name) {
  AttributeReader& attributes = context.attributes();
  ENCORE_ASSIGN_OR_RETURN(const std::vector<float> floats,
                          attributes.Floats(name));
  TreeNumbers numbers{{floats.begin(), floats.end()}};
  ENCORE_ASSIGN_OR_RETURN(const Tensor* tensor,
                          attributes.TensorValue(name + "_as_tensor"));
  if (tensor == nullptr) return numbers;
  if (!floats.empty()) {
    return NodeContext::Error(StrCat("attributes ", name, " and ", name,
                                     "_as_tensor are both given, expected one "
                                     "of them"));
  }
  ENCORE_ASSIGN_OR_RETURN(const Literal literal,
                          ToLiteral(*tensor, context.source()));
  numbers.wide = literal.dtype() == DType::kF64;
  if (literal.rank() != 1 ||
      (!numbers.wide && literal.dtype() != DType::kF32)) {
    return NodeContext::Error(StrCat("attribute ", name, "_as_tensor is ",
                                     literal.type(),
                                     ", expected a vector of f32 or f64"));
  }
  for (int64_t i = 0; i < literal.element_count(); ++i) {
    numbers.values.push_back(literal.AsDouble(i));
  }
  return numbers;
}

StatusOr<TreeEnsemble> ReadTrees(NodeContext& context,
                                 const std::string& prefix, int64_t targets) {
  AttributeReader& attributes = context.attributes();
  NodeLists lists;
  ENCORE_RETURN_IF_ERROR(ReadLists(context, &lists));
  ENCORE_ASSIGN_OR_RETURN(lists.modes, ReadModes(context));
  ENCORE_ASSIGN_OR_RETURN(TreeNumbers values,
                          ReadTreeNumbers(context, "nodes_values"));
  ENCORE_ASSIGN_OR_RETURN(const TreeNumbers hit_rates,
                          ReadTreeNumbers(context, "nodes_hitrates"));
  ENCORE_ASSIGN_OR_RETURN(const Ints tree_ids,
                          attributes.Ints("nodes_treeids", {}));
  ENCORE_ASSIGN_OR_RETURN(const Ints node_ids,
                          attributes.Ints("nodes_nodeids", {}));
  ENCORE_RETURN_IF_ERROR(CheckLists(lists, hit_rates.values.size()));
  const std::string_view as = "nodes_featureids";
  ENCORE_RETURN_IF_ERROR(
      CheckLength("nodes_values", values.values.size(), lists.size(), as));
  ENCORE_RETURN_IF_ERROR(
      CheckLength("nodes_treeids", tree_ids.size(), lists.size(), as));
  ENCORE_RETURN_IF_ERROR(
      CheckLength("nodes_nodeids", node_ids.size(), lists.size(), as));
  lists.values = std::move(values.values);
  TreeEnsemble trees;
  if (values.wide) trees.dtype = DType::kF64;
  ENCORE_ASSIGN_OR_RETURN(const NodeIds ids,
                          Number(lists, tree_ids, node_ids, &trees));
  size_t at = 0;
  for (size_t i = 0; i < lists.size(); ++i) {
    if (lists.modes[i] == kLeaf) continue;
    ENCORE_ASSIGN_OR_RETURN(
        const TreeRef yes,
        ids.Find("nodes_truenodeids", tree_ids[i], lists.yes[i]));
    ENCORE_ASSIGN_OR_RETURN(
        const TreeRef no,
        ids.Find("nodes_falsenodeids", tree_ids[i], lists.no[i]));
    trees.nodes[at++] = Compare(lists.modes[i], lists.features[i],
                                lists.values[i], lists.To(i, yes, no));
  }
  ENCORE_RETURN_IF_ERROR(AddVotes(context, prefix, ids, targets, &trees));
  return trees;
}

StatusOr<TreeEnsemble> ReadTreeEnsemble(NodeContext& context, DType dtype) {
  NodeLists lists;
  ENCORE_RETURN_IF_ERROR(ReadLists(context, &lists));
  ENCORE_RETURN_IF_ERROR(ReadModeNumbers(context, &lists));
  ENCORE_ASSIGN_OR_RETURN(lists.values,
                          ReadVector(context, "nodes_splits", dtype));
  ENCORE_ASSIGN_OR_RETURN(const std::vector<double> hit_rates,
                          ReadVector(context, "nodes_hitrates", dtype));
  ENCORE_ASSIGN_OR_RETURN(const std::vector<double> members,
                          ReadVector(context, "membership_values", dtype));
  ENCORE_RETURN_IF_ERROR(CheckLists(lists, hit_rates.size()));
  ENCORE_RETURN_IF_ERROR(CheckLength("nodes_splits", lists.values.size(),
                                     lists.size(), "nodes_featureids"));
  TreeEnsemble trees;
  trees.dtype = dtype == DType::kF64 ? DType::kF64 : DType::kF32;
  for (size_t i = 0; i < lists.size(); ++i) {
    trees.nodes.push_back({lists.features[i]});
    trees.names.push_back(static_cast<int64_t>(i));
  }
  ENCORE_RETURN_IF_ERROR(AddLeaves(context, dtype, &trees));
  ENCORE_RETURN_IF_ERROR(ReadRoots(context, &trees));
  ENCORE_RETURN_IF_ERROR(ReadBranches(context, lists, members, &trees));
  return trees;
}

}  // namespace encore::onnx
