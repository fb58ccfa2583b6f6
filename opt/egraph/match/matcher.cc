#include "encore/opt/egraph/match/matcher.h"

#include <algorithm>
#include <array>
#include <utility>

namespace encore::egraph {
namespace {

using Kind = TrieStep::Kind;

bool BindsNodes(Kind kind) {
  return kind == Kind::kScan || kind == Kind::kMembers ||
         kind == Kind::kUsers || kind == Kind::kLiteral ||
         kind == Kind::kLookup;
}

constexpr uint32_t kAllStamps = 0xFFFFFFFFu;

// What an index takes time for, per lane that it spares a walk.
#ifdef ENCORE_RARE_PATHS
constexpr uint64_t kRowsPerLane = 2;
constexpr uint64_t kNodesPerLane = 2;
#else
constexpr uint64_t kRowsPerLane = 512;
constexpr uint64_t kNodesPerLane = 32;
#endif

// So many expected lanes stand for one that comes: others are filtered.
constexpr uint64_t kFilteredLanes = 4;

// Values for the columns of frames, taken at a time.
constexpr size_t kColumnsAtOnce = size_t{8} << 10;

constexpr auto kIdentity = [] {
  std::array<uint8_t, 64> lanes{};
  for (size_t i = 0; i < lanes.size(); ++i) lanes[i] = i;
  return lanes;
}();

}  // namespace

Matcher::Matcher(EGraph* graph, const Trie* trie,
                 std::vector<MatchBuffer>* buffers, std::function<bool()> stop)
    : graph_(graph),
      store_(graph->store()),
      trie_(trie),
      buffers_(buffers),
      stop_(std::move(stop)),
      index_scratch_(graph->pool(), Lifetime::kIteration) {}

Matcher::Matcher(EGraph* graph, const Trie* trie,
                 std::function<bool(std::span<const Value>)> each,
                 std::function<bool()> stop)
    : graph_(graph),
      store_(graph->store()),
      trie_(trie),
      stop_(std::move(stop)),
      each_(std::move(each)),
      index_scratch_(graph->pool(), Lifetime::kIteration) {}

// Groups siblings, and finds how many registers each frame holds. Children come
// after their parents in the trie.
void Matcher::Compile() {
  const uint32_t num_nodes = trie_->num_nodes();
  branches_.resize(num_nodes + 1);
  groups_.reserve(num_nodes);
  std::vector<uint32_t> frame_of(num_nodes + 1, 0);  // branch, by branch
  branches_[0].width = 1;
  AddGroups(0, 0, trie_->root(), &frame_of);
  for (uint32_t i = 0; i < num_nodes; ++i) {
    const TrieNode& node = trie_->node(i);
    Branch& branch = branches_[i + 1];
    uint32_t frame = frame_of[i + 1];
    if (BindsNodes(node.step.kind)) {
      frame = i + 1;
      branch.frame.first = node.step.base;
      branch.arity = store_.arity(node.step.op);
      branch.width = branch.arity + 2;
    } else if (node.step.kind == Kind::kSet ||
               (node.step.kind == Kind::kPrimitive && node.step.binds)) {
      Branch& holder = branches_[frame];
      holder.width =
          std::max(holder.width, node.step.a + 1 - holder.frame.first);
    }
    AddGroups(i + 1, frame, node.child, &frame_of);
  }
  for (const Branch& branch : branches_) {
    columns_left_ += size_t{branch.width} * kLanes;
  }
}

// Most frames of a large trie are never entered.
void Matcher::GiveColumns(Branch* branch) {
  const size_t size = size_t{branch->width} * kLanes;
  if (columns_.empty() ||
      columns_.back().capacity() - columns_.back().size() < size) {
    columns_.emplace_back(graph_->pool(), Lifetime::kIteration)
        .reserve(std::max(size, std::min(columns_left_, kColumnsAtOnce)));
  }
  branch->frame.values = columns_.back().Extend(size);
  columns_left_ -= size;
}

void Matcher::AddGroups(uint32_t parent, uint32_t frame, uint32_t first_child,
                        std::vector<uint32_t>* frame_of) {
  const uint32_t first_group = groups_.size();
  const uint64_t expected = branches_[parent].expected;
  for (uint32_t i = first_child; i != TrieNode::kNoTrieNode;
       i = trie_->node(i).sibling) {
    const TrieStep& step = trie_->node(i).step;
    Branch& branch = branches_[i + 1];
    const Wanted wanted = {&branch,     step.op, step.from, step.to - step.from,
                           step.column, nullptr};
    branch.step = &step;
    branch.expected = step.kind == Kind::kScan
                          ? store_.CountStamped(step.op, step.from, step.to)
                          : expected;
    (*frame_of)[i + 1] = frame;
    const bool walks = step.kind == Kind::kMembers || step.kind == Kind::kUsers;
    const auto same = std::find_if(
        groups_.begin() + first_group, groups_.end(), [&](const Group& group) {
          return walks && group.kind == step.kind &&
                 group.branches.front().branch->step->a == step.a;
        });
    if (same == groups_.end()) {
      groups_.push_back({.kind = step.kind,
                         .op_bits = NodeStore::OpBit(step.op),
                         .branches = {wanted},
                         .patience = walks || step.kind == Kind::kLiteral
                                         ? Patience(step)
                                         : 0});
    } else {
      same->op_bits |= NodeStore::OpBit(step.op);
      same->patience += Patience(step);
      same->branches.push_back(wanted);
    }
  }
  for (size_t g = first_group; g < groups_.size(); ++g) {
    uint64_t& patience = groups_[g].patience;
    if (expected >= kFilteredLanes * patience) patience = 0;
  }
  branches_[parent].first_group = first_group;
  branches_[parent].num_groups = groups_.size() - first_group;
}

// Lanes whose lists cost more than an index does.
uint64_t Matcher::Patience(const TrieStep& step) const {
  if (step.kind == Kind::kLiteral) return 0;  // there is no list
  return store_.num_rows() / kRowsPerLane +
         store_.CountStamped(step.op, 0, kAllStamps) / kNodesPerLane;
}

bool Matcher::Run() {
  Compile();
  Branch& root = branches_.front();
  root.frame.count = 1;
  GiveColumns(&root);
  for (uint32_t group = 0; group < root.num_groups; ++group) {
    Enter(&groups_[root.first_group + group],
          {&root.frame, kIdentity.data(), 1});
    while (depth_ > 0) {
      Level& level = *levels_[depth_ - 1];
      Block input;
      if (Group* const next = NextChild(&level, &input)) {
        Enter(next, input);
      } else if (level.done) {
        --depth_;
      } else if (!Produce(&level)) {
        return false;
      }
    }
  }
  return true;
}

void Matcher::Enter(Group* group, Block input) {
  if (depth_ == levels_.size()) levels_.push_back(std::make_unique<Level>());
  Level& level = *levels_[depth_++];
  level.group = group;
  level.input = input;
  level.started = level.done = false;
  level.branch = group->branches.size();
  level.child = level.count = level.at = 0;
  level.log = {};
  if (!BindsNodes(group->kind)) return;
  for (const Wanted& wanted : group->branches) {
    Branch& branch = *wanted.branch;
    branch.frame.parent = input.frame;
    branch.frame.count = 0;
    if (branch.frame.values == nullptr) GiveColumns(&branch);
  }
}

Matcher::Group* Matcher::NextChild(Level* level, Block* input) {
  const Group& group = *level->group;
  for (; level->branch < group.branches.size(); ++level->branch) {
    Branch& branch = *group.branches[level->branch].branch;
    if (BindsNodes(group.kind)) {
      *input = {&branch.frame, kIdentity.data(), branch.frame.count};
      if (!level->done && input->count < kLanes) continue;
    } else {
      *input = {level->input.frame, level->lanes, level->count};
    }
    if (input->count > 0 && level->child < branch.num_groups) {
      return &groups_[branch.first_group + level->child++];
    }
    branch.frame.count = 0;
    level->child = 0;
  }
  return nullptr;
}

}  // namespace encore::egraph
