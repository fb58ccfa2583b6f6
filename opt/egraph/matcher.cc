#include "encore/opt/egraph/matcher.h"

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
      stop_(std::move(stop)) {}

Matcher::Matcher(EGraph* graph, const Trie* trie,
                 std::function<bool(std::span<const Value>)> each,
                 std::function<bool()> stop)
    : graph_(graph),
      store_(graph->store()),
      trie_(trie),
      stop_(std::move(stop)),
      each_(std::move(each)) {}

// Groups siblings, and finds how many registers each frame holds. Children come
// after their parents in the trie.
void Matcher::Compile() {
  const uint32_t num_nodes = trie_->num_nodes();
  branches_.resize(num_nodes + 1);
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
}

void Matcher::AddGroups(uint32_t parent, uint32_t frame, uint32_t first_child,
                        std::vector<uint32_t>* frame_of) {
  std::vector<uint32_t>& groups = branches_[parent].groups;
  for (uint32_t i = first_child; i != TrieNode::kNoTrieNode;
       i = trie_->node(i).sibling) {
    const TrieStep& step = trie_->node(i).step;
    const Wanted wanted = {&branches_[i + 1], step.op, step.from,
                           step.to - step.from, step.column};
    branches_[i + 1].step = &step;
    (*frame_of)[i + 1] = frame;
    const bool walks = step.kind == Kind::kMembers || step.kind == Kind::kUsers;
    const auto same = std::find_if(groups.begin(), groups.end(), [&](auto g) {
      const TrieStep& other = *groups_[g].branches.front().branch->step;
      return walks && other.kind == step.kind && other.a == step.a;
    });
    if (same == groups.end()) {
      groups.push_back(groups_.size());
      groups_.push_back({step.kind, NodeStore::OpBit(step.op), {wanted}});
    } else {
      groups_[*same].op_bits |= NodeStore::OpBit(step.op);
      groups_[*same].branches.push_back(wanted);
    }
  }
}

bool Matcher::Run() {
  Compile();
  Branch& root = branches_.front();
  root.frame.count = 1;
  root.frame.values.resize(root.width * kLanes);
  for (const uint32_t group : root.groups) {
    Enter(groups_[group], {&root.frame, kIdentity.data(), 1});
    while (depth_ > 0) {
      Level& level = *levels_[depth_ - 1];
      Block input;
      if (const Group* const next = NextChild(&level, &input)) {
        Enter(*next, input);
      } else if (level.done) {
        --depth_;
      } else if (!Produce(&level)) {
        return false;
      }
    }
  }
  return true;
}

void Matcher::Enter(const Group& group, Block input) {
  if (depth_ == levels_.size()) levels_.push_back(std::make_unique<Level>());
  Level& level = *levels_[depth_++];
  level.group = &group;
  level.input = input;
  level.started = level.done = false;
  level.branch = group.branches.size();
  level.child = level.count = level.at = 0;
  level.log = {};
  if (!BindsNodes(group.kind)) return;
  for (const Wanted& wanted : group.branches) {
    Branch& branch = *wanted.branch;
    branch.frame.parent = input.frame;
    branch.frame.count = 0;
    branch.frame.values.resize(size_t{branch.width} * kLanes);
  }
}

const Matcher::Group* Matcher::NextChild(Level* level, Block* input) {
  const Group& group = *level->group;
  for (; level->branch < group.branches.size(); ++level->branch) {
    Branch& branch = *group.branches[level->branch].branch;
    if (BindsNodes(group.kind)) {
      *input = {&branch.frame, kIdentity.data(), branch.frame.count};
      if (!level->done && input->count < kLanes) continue;
    } else {
      *input = {level->input.frame, level->lanes, level->count};
    }
    if (input->count > 0 && level->child < branch.groups.size()) {
      return &groups_[branch.groups[level->child++]];
    }
    branch.frame.count = 0;
    level->child = 0;
  }
  return nullptr;
}

bool Matcher::Produce(Level* level) {
  level->branch = level->child = 0;
  if (!level->started) Start(level);
  level->started = true;
  switch (level->group->kind) {
    case Kind::kScan:
      Scan(level);
      break;
    case Kind::kMembers:
      Walk<MemberList>(level);
      break;
    case Kind::kUsers:
      Walk<UserList>(level);
      break;
    case Kind::kLiteral:
      Literal(level);
      break;
    case Kind::kLookup:
      Lookup(level);
      break;
    case Kind::kYield:
      level->done = true;
      if (!Yield(*level)) return false;
      break;
    default:
      Filter(level);
  }
  work_ += kLanes;
  if (work_ < next_check_) return true;
  next_check_ = work_ + kWorkPerCheck;
  return !stop_ || !stop_();
}

void Matcher::Block::Gather(uint32_t reg, Value* out) const {
  if (reg >= frame->first) {
    const Value* const column = frame->column(reg);
    for (uint32_t i = 0; i < count; ++i) out[i] = column[lanes[i]];
  } else if (reg >= frame->parent->first) {
    const Value* const column = frame->parent->column(reg);
    for (uint32_t i = 0; i < count; ++i) {
      out[i] = column[frame->from[lanes[i]]];
    }
  } else {
    for (uint32_t i = 0; i < count; ++i) out[i] = Get(reg, i);
  }
}

bool Matcher::Bind(Branch* branch, const Block& input, uint32_t position,
                   uint32_t n) {
  Frame& frame = branch->frame;
  const uint32_t lane = frame.count++;
  frame.from[lane] = input.lanes[position];
  Value* out = frame.values.data() + lane;
  const NodeRow& row = store_.row(n);
  const uint32_t arity = branch->arity;
  if (arity <= 2) {
    for (uint32_t k = 0; k < arity; ++k, out += kLanes) *out = row.arg[k];
  } else {
    for (const Value value : store_.args(n)) {
      *out = value;
      out += kLanes;
    }
  }
  *out = store_.class_of(n);
  out[kLanes] = n;
  return frame.count == kLanes;
}

struct Matcher::MemberList {
  static constexpr bool kHasColumns = false;
  static uint32_t First(const NodeStore&, uint32_t cls) { return cls; }
  static uint32_t Node(const NodeStore&, uint32_t n) { return n; }
  static uint32_t Next(const NodeStore& store, uint32_t n) {
    return store.row(n).next;
  }
};

struct Matcher::UserList {
  static constexpr bool kHasColumns = true;
  static uint32_t First(const NodeStore& store, uint32_t cls) {
    return store.first_user(cls);
  }
  static uint32_t Node(const NodeStore& store, uint32_t ref) {
    return store.user_node(ref);
  }
  static uint32_t Next(const NodeStore& store, uint32_t ref) {
    return store.next_user(ref);
  }
};

// Sets the cursors of what follows lists.
void Matcher::Start(Level* level) {
  const Kind kind = level->group->kind;
  const Block& input = level->input;
  if (kind == Kind::kLiteral) {
    level->index = IndexFor(*only_branch(*level).step);
  } else if (kind != Kind::kMembers && kind != Kind::kUsers) {
    return;
  }
  input.Gather(only_branch(*level).step->a, level->cursor);
  for (uint32_t i = 0; i < input.count; ++i) {
    const Value value = level->cursor[i];
    if (kind == Kind::kMembers) {
      store_.PrefetchClassOps(value);
    } else if (kind == Kind::kUsers) {
      store_.PrefetchClass(value);
    } else {
      level->cursor[i] = level->index->Find(value);
    }
  }
  if (kind == Kind::kMembers) {
    // Classes without a node of these operators are left out.
    for (uint32_t i = 0; i < input.count; ++i) {
      const uint32_t cls = level->cursor[i];
      if ((store_.class_ops(cls) & level->group->op_bits) == 0) continue;
      store_.PrefetchRow(cls);
      level->lanes[level->count++] = i;
    }
  } else if (kind == Kind::kUsers) {
    for (uint32_t i = 0; i < input.count; ++i) {
      const uint32_t ref = store_.first_user(level->cursor[i]);
      if (ref == NodeStore::kNone) continue;
      store_.PrefetchRow(store_.user_node(ref));
      level->cursor[i] = ref;
      level->lanes[level->count++] = i;
    }
  }
}

// Looks at one node of each lane's list in turn. Lanes whose lists go on are
// moved together.
template <typename List>
void Matcher::Walk(Level* level) {
  const Wanted* const begin = level->group->branches.data();
  const Wanted* const end = begin + level->group->branches.size();
  uint8_t* const lanes = level->lanes;
  uint32_t* const cursors = level->cursor;
  bool full = false;
  while (level->count > 0 && !full) {
    const uint32_t count = level->count;
    uint32_t kept = 0;
    uint32_t at = 0;
    for (; at < count && !full; ++at) {
      const uint32_t i = lanes[at];
      const uint32_t cursor = cursors[i];
      const uint32_t n = List::Node(store_, cursor);
      const NodeRow& row = store_.row(n);
      const uint32_t next = List::Next(store_, cursor);
      if (next != NodeStore::kNone) {
        store_.PrefetchRow(List::Node(store_, next));
        cursors[i] = next;
        lanes[kept++] = i;
      }
      for (const Wanted* wanted = begin; wanted != end; ++wanted) {
        if (row.op != wanted->op || row.stamp - wanted->from >= wanted->ages ||
            (List::kHasColumns &&
             store_.user_column(cursor) != wanted->column)) {
          continue;
        }
        full |= Bind(wanted->branch, level->input, i, n);
      }
    }
    work_ += at;
    while (at < count) lanes[kept++] = lanes[at++];
    level->count = kept;
  }
  level->done = level->count == 0;
}

void Matcher::Scan(Level* level) {
  Branch& branch = only_branch(*level);
  const TrieStep& step = *branch.step;
  uint32_t nodes[kLanes];
  for (; level->at < level->input.count; ++level->at, level->log = {}) {
    const uint32_t count =
        store_.NextStamped(step.op, step.from, step.to, &level->log,
                           {nodes, kLanes - branch.frame.count});
    for (uint32_t i = 0; i < count; ++i) {
      Bind(&branch, level->input, level->at, nodes[i]);
    }
    if (branch.frame.count == kLanes) return;
  }
  level->done = true;
}

const Matcher::ColumnIndex* Matcher::IndexFor(const TrieStep& step) {
  for (const ColumnIndex& index : indexes_) {
    if (index.op == step.op && index.from == step.from && index.to == step.to &&
        index.column == step.column) {
      return &index;
    }
  }
  using Entry = ColumnIndex::Entry;
  indexes_.push_back({step.op, step.from, step.to, step.column,
                      FlatArray<Entry>(graph_->meter())});
  FlatArray<Entry>& entries = indexes_.back().entries;
  store_.ForEachStamped(step.op, step.from, step.to, [&](uint32_t n) {
    entries.push_back({store_.args(n)[step.column], n});
  });
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return a.value != b.value ? a.value < b.value : a.node < b.node;
  });
  return &indexes_.back();
}

uint32_t Matcher::ColumnIndex::Find(Value value) const {
  const auto less = [](const Entry& e, Value v) { return e.value < v; };
  return std::lower_bound(entries.begin(), entries.end(), value, less) -
         entries.begin();
}

void Matcher::Literal(Level* level) {
  Branch& branch = only_branch(*level);
  const auto& entries = level->index->entries;
  for (; level->at < level->input.count; ++level->at) {
    const Value value = level->input.Get(branch.step->a, level->at);
    for (uint32_t& entry = level->cursor[level->at];
         entry < entries.size() && entries[entry].value == value;) {
      const uint32_t n = entries[entry++].node;
      if (Bind(&branch, level->input, level->at, n)) return;
    }
  }
  level->done = true;
}

void Matcher::Lookup(Level* level) {
  Branch& branch = only_branch(*level);
  const TrieStep& step = *branch.step;
  const Block& input = level->input;
  const size_t arity = step.operands.size();
  scratch_.resize(arity * input.count);
  uint64_t hashes[kLanes];
  size_t places[kLanes];
  for (uint32_t i = 0; i < input.count; ++i) {
    Value* const columns = scratch_.data() + i * arity;
    for (size_t k = 0; k < arity; ++k) {
      columns[k] = input.Get(step.operands[k], i);
    }
    hashes[i] = store_.Hash(step.op, columns);
    store_.PrefetchSlot(hashes[i]);
  }
  for (uint32_t i = 0; i < input.count; ++i) {
    places[i] = store_.StartLookup(hashes[i]);
  }
  for (uint32_t i = 0; i < input.count; ++i) {
    const uint32_t n = store_.Lookup(step.op, scratch_.data() + i * arity,
                                     hashes[i], &places[i]);
    if (n == NodeStore::kNone) continue;
    const NodeRow& row = store_.row(n);
    if (row.op != step.op || row.stamp < step.from || row.stamp >= step.to) {
      continue;
    }
    Bind(&branch, input, i, n);
  }
  level->done = true;
}

void Matcher::Filter(Level* level) {
  const TrieStep& step = *only_branch(*level).step;
  const Block& input = level->input;
  Value a[kLanes];
  Value b[kLanes];
  if (step.kind != Kind::kSet && step.kind != Kind::kPrimitive) {
    input.Gather(step.a, a);
    if (step.kind == Kind::kIsConstant) {
      std::fill_n(b, input.count, step.b);
    } else {
      input.Gather(step.b, b);
    }
  }
  const bool equal = step.kind != Kind::kNotEqual;
  for (uint32_t i = 0; i < input.count; ++i) {
    const uint32_t lane = input.lanes[i];
    bool passes = true;
    if (step.kind == Kind::kSet) {
      input.frame->column(step.a)[lane] = step.b;
    } else if (step.kind == Kind::kPrimitive) {
      passes = Primitive(step, input.frame, lane);
    } else {
      passes = (a[i] == b[i]) == equal;
    }
    level->lanes[level->count] = lane;
    level->count += passes;
  }
  level->done = true;
}

bool Matcher::Primitive(const TrieStep& step, Frame* frame, uint32_t lane) {
  scratch_.clear();
  for (const uint32_t r : step.operands)
    scratch_.push_back(frame->Get(r, lane));
  Value result = kNoValue;
  const PrimitiveInfo& info =
      graph_->language().primitive(PrimitiveId(step.op));
  if (!info.function(*graph_, graph_->language().literals(), scratch_,
                     &result)) {
    return false;
  }
  if (step.condition) return true;
  if (!step.binds) return frame->Get(step.a, lane) == result;
  frame->column(step.a)[lane] = result;
  return true;
}

bool Matcher::Yield(const Level& level) {
  const TrieYield& yield = trie_->yield(only_branch(level).step->op);
  const size_t stride = yield.registers.size();
  if (each_) {
    scratch_.resize(stride);
    for (uint32_t i = 0; i < level.input.count; ++i) {
      for (size_t k = 0; k < stride; ++k) {
        scratch_[k] = level.input.Get(yield.registers[k], i);
      }
      if (!each_(scratch_)) return false;
    }
    return true;
  }
  MatchBuffer& buffer = (*buffers_)[yield.query];
  const uint32_t count =
      std::min<size_t>(level.input.count, buffer.limit - buffer.count);
  buffer.overflow |= count < level.input.count;
  buffer.count += count;
  const Block input = {level.input.frame, level.input.lanes, count};
  for (size_t k = 0; k < stride; ++k) {
    input.Gather(yield.registers[k], buffer.columns[k].Extend(count));
  }
  return true;
}

}  // namespace encore::egraph
