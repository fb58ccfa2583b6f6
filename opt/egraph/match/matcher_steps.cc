// What the steps of a trie do with a block of partial matches.
#include <algorithm>

#include "encore/opt/egraph/match/matcher.h"

namespace encore::egraph {

using Kind = TrieStep::Kind;

bool Matcher::Produce(Level* level) {
  level->branch = level->child = 0;
  if (!level->started) Start(level);
  level->started = true;
  switch (level->group->kind) {
    case Kind::kScan:
      Scan(level);
      break;
    case Kind::kMembers:
    case Kind::kUsers:
    case Kind::kLiteral:
      if (level->group->indexed) {
        Join(level);
      } else if (level->group->kind == Kind::kMembers) {
        Walk<MemberList>(level);
      } else {
        Walk<UserList>(level);
      }
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
  // Lanes ascend.
  const bool adjacent = lanes[count - 1] - lanes[0] == count - 1;
  if (reg >= frame->first) {
    const Value* const column = frame->column(reg);
    if (adjacent) {
      std::copy_n(column + lanes[0], count, out);
      return;
    }
    for (uint32_t i = 0; i < count; ++i) out[i] = column[lanes[i]];
  } else if (reg >= frame->parent->first) {
    const Value* const column = frame->parent->column(reg);
    if (adjacent) {
      const uint8_t* const from = frame->from + lanes[0];
      for (uint32_t i = 0; i < count; ++i) out[i] = column[from[i]];
      return;
    }
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
  Value* out = frame.values + lane;
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

// Sets the cursors of what follows lists, or takes the keys of joins.
void Matcher::Start(Level* level) {
  Group* const group = level->group;
  const Block& input = level->input;
  if (group->kind != Kind::kMembers && group->kind != Kind::kUsers &&
      group->kind != Kind::kLiteral) {
    return;
  }
  if (!group->indexed) {
    group->indexed = input.count >= group->patience;
    group->patience -= std::min<uint64_t>(input.count, group->patience);
    if (group->indexed) MakeIndexes(group);
  }
  input.Gather(only_branch(*level).step->a, level->keys);
  if (group->indexed) {
    level->joining = 0;
    level->joined = false;
    return;
  }
  const bool members = group->kind == Kind::kMembers;
  for (uint32_t i = 0; i < input.count; ++i) {
    if (members) {
      store_.PrefetchClassOps(level->keys[i]);
    } else {
      store_.PrefetchClass(level->keys[i]);
    }
  }
  for (uint32_t i = 0; i < input.count; ++i) {
    const uint32_t cls = level->keys[i];
    uint32_t cursor = cls;
    if (members) {
      // Classes without a node of these operators are left out.
      if ((store_.class_ops(cls) & group->op_bits) == 0) continue;
      store_.PrefetchRow(cls);
    } else {
      cursor = store_.first_user(cls);
      if (cursor == NodeStore::kNone) continue;
      store_.PrefetchRow(store_.user_node(cursor));
    }
    level->cursor[i] = cursor;
    level->lanes[level->count++] = i;
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

const JoinIndex* Matcher::IndexFor(const JoinIndex::Key& key) {
  const auto same = [&](const JoinIndex& index) { return index.key() == key; };
  const auto found = std::find_if(indexes_.begin(), indexes_.end(), same);
  if (found != indexes_.end()) return &*found;
  return &indexes_.emplace_back(store_, key, graph_->pool(), &index_scratch_);
}

// Lists have all ages, and branches share their indexes; what a literal is
// joined with is new or old.
void Matcher::MakeIndexes(Group* group) {
  for (Wanted& wanted : group->branches) {
    const TrieStep& step = *wanted.branch->step;
    const bool members = group->kind == Kind::kMembers;
    const bool literal = group->kind == Kind::kLiteral;
    wanted.index = IndexFor(
        {step.op, members ? JoinIndex::Key::kClass : step.column,
         literal ? step.from : 0, literal ? step.to : NodeStore::kNone});
  }
}

// Reads the index of one branch after the other.
void Matcher::Join(Level* level) {
  const Group& group = *level->group;
  for (; level->joining < group.branches.size(); ++level->joining) {
    const Wanted& wanted = group.branches[level->joining];
    if (!level->joined) StartJoin(*wanted.index, level);
    if (wanted.branch->arity > 2 ? BindWideEntries(wanted, level)
                                 : BindEntries(wanted, level)) {
      return;
    }
    level->joined = false;
  }
  level->done = true;
}

// Finds the entries of all lanes.
void Matcher::StartJoin(const JoinIndex& index, Level* level) {
  const uint32_t count = level->input.count;
  for (uint32_t i = 0; i < count; ++i) index.PrefetchStart(level->keys[i]);
  for (uint32_t i = 0; i < count; ++i) {
    level->cursor[i] = index.begin(level->keys[i]);
    level->end[i] = index.end(level->keys[i]);
    index.PrefetchEntry(level->cursor[i]);
  }
  level->at = 0;
  level->joined = true;
}

// Those of the lanes from `level->at` on, each from its cursor on; whether the
// branch's block is full.
bool Matcher::BindEntries(const Wanted& wanted, Level* level) {
  const JoinIndex::Entry* const entries = wanted.index->entries();
  const uint32_t from = wanted.from;
  const uint32_t ages = wanted.ages;
  const uint8_t* const input_lanes = level->input.lanes;
  Frame& frame = wanted.branch->frame;
  Value* const values = frame.values;
  const uint32_t arity = wanted.branch->arity;
  Value* const cls = values + arity * kLanes;
  // Columns that it does not have are overwritten by class and node.
  Value* const second = arity == 2 ? values + kLanes : cls;
  const uint32_t count = level->input.count;
  uint32_t lane = frame.count;
  uint32_t at = level->at;
  for (; at < count; ++at) {
    uint32_t cursor = level->cursor[at];
    const uint32_t end = level->end[at];
    for (; cursor < end && lane < kLanes; ++cursor) {
      const JoinIndex::Entry& entry = entries[cursor];
      // Written over by the next one where its age is not wanted: that is hard
      // to foretell.
      frame.from[lane] = input_lanes[at];
      values[lane] = entry.args[0];
      second[lane] = entry.args[1];
      cls[lane] = entry.cls;
      cls[kLanes + lane] = entry.node;
      lane += entry.stamp - from < ages;
    }
    if (lane == kLanes) {
      level->cursor[at] = cursor;
      break;
    }
  }
  level->at = at;
  frame.count = lane;
  return lane == kLanes;
}

// Likewise, for nodes that do not lie in their entries.
bool Matcher::BindWideEntries(const Wanted& wanted, Level* level) {
  for (; level->at < level->input.count; ++level->at) {
    uint32_t& cursor = level->cursor[level->at];
    while (cursor < level->end[level->at]) {
      const JoinIndex::Entry& entry = wanted.index->entries()[cursor++];
      if (entry.stamp - wanted.from < wanted.ages &&
          Bind(wanted.branch, level->input, level->at, entry.node)) {
        return true;
      }
    }
  }
  return false;
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
  const auto [query, registers] = trie_->yield(only_branch(level).step->op);
  const size_t stride = registers.size();
  if (each_) {
    scratch_.resize(stride);
    for (uint32_t i = 0; i < level.input.count; ++i) {
      for (size_t k = 0; k < stride; ++k) {
        scratch_[k] = level.input.Get(registers[k], i);
      }
      if (!each_(scratch_)) return false;
    }
    return true;
  }
  MatchBuffer& buffer = (*buffers_)[query];
  const uint32_t count = std::min<size_t>(level.input.count, buffer.room());
  if (count < level.input.count) buffer.set_overflow();
  uint32_t part;
  for (uint32_t i = 0; i < count; i += part) {
    part =
        std::min<uint32_t>(count - i, MatchBuffer::RoomInBlock(buffer.count()));
    const Block input = {level.input.frame, level.input.lanes + i, part};
    Value* column = buffer.Append(part);
    for (const uint32_t reg : registers) {
      input.Gather(reg, column);
      column += MatchBuffer::kBlock;
    }
  }
  return true;
}

}  // namespace encore::egraph
