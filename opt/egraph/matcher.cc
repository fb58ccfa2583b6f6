#include "encore/opt/egraph/matcher.h"

#include <algorithm>
#include <utility>

namespace encore::egraph {

using Kind = TrieStep::Kind;

Matcher::Matcher(EGraph* graph, const Trie* trie,
                 std::vector<MatchBuffer>* buffers, std::function<bool()> stop)
    : graph_(graph),
      store_(graph->store()),
      trie_(trie),
      buffers_(buffers),
      stop_(std::move(stop)),
      registers_(trie->num_registers()) {}

Matcher::Matcher(EGraph* graph, const Trie* trie,
                 std::function<bool(std::span<const Value>)> each)
    : graph_(graph),
      store_(graph->store()),
      trie_(trie),
      each_(std::move(each)),
      registers_(trie->num_registers()) {}

bool Matcher::Run() { return Execute(trie_->root()); }

// Recursion is as deep as a query has steps.
bool Matcher::Execute(uint32_t trie_node) {
  for (uint32_t i = trie_node; i != TrieNode::kNoTrieNode;) {
    const TrieNode& node = trie_->node(i);
    if (!Step(node)) return false;
    i = node.sibling;
  }
  return true;
}

bool Matcher::Step(const TrieNode& node) {
  const TrieStep& step = node.step;
  switch (step.kind) {
    case Kind::kScan:
      return store_.ForEachStamped(
          step.op, step.from, step.to,
          [&](uint32_t n) { return !Stopped() && Bind(node, n); });
    case Kind::kMembers:
      return Members(node);
    case Kind::kUsers:
      return Users(node);
    case Kind::kLiteral:
      return Literal(node);
    case Kind::kLookup:
      return Lookup(node);
    case Kind::kEqual:
      return registers_[step.a] != registers_[step.b] || Execute(node.child);
    case Kind::kNotEqual:
      return registers_[step.a] == registers_[step.b] || Execute(node.child);
    case Kind::kIsConstant:
      return registers_[step.a] != step.b || Execute(node.child);
    case Kind::kSet:
      registers_[step.a] = step.b;
      return Execute(node.child);
    case Kind::kPrimitive:
      return !Primitive(step) || Execute(node.child);
    case Kind::kYield:
      return Yield(step);
  }
  return true;
}

bool Matcher::Bind(const TrieNode& node, uint32_t n) {
  const NodeRow& row = store_.row(n);
  const std::span<const Value> args = store_.args(n);
  Value* out = registers_.data() + node.step.base;
  for (const Value value : args) *out++ = value;
  *out++ = row.cls;
  *out = n;
  return Execute(node.child);
}

bool Matcher::Members(const TrieNode& node) {
  const TrieStep& step = node.step;
  const uint32_t cls = registers_[step.a];
  if ((store_.info(cls).ops & NodeStore::OpBit(step.op)) == 0) return true;
  for (uint32_t n = cls; n != NodeStore::kNone; n = store_.row(n).next) {
    const NodeRow& row = store_.row(n);
    if (row.op != step.op || row.stamp < step.from || row.stamp >= step.to) {
      continue;
    }
    if (Stopped() || !Bind(node, n)) return false;
  }
  return true;
}

bool Matcher::Users(const TrieNode& node) {
  const TrieStep& step = node.step;
  for (uint32_t ref = store_.first_user(registers_[step.a]);
       ref != NodeStore::kNone; ref = store_.next_user(ref)) {
    const uint32_t n = store_.user_node(ref);
    const NodeRow& row = store_.row(n);
    if (row.op != step.op || row.stamp < step.from || row.stamp >= step.to ||
        store_.user_column(ref) != step.column) {
      continue;
    }
    if (Stopped() || !Bind(node, n)) return false;
  }
  return true;
}

const Matcher::ColumnIndex& Matcher::IndexFor(const TrieStep& step) {
  for (const ColumnIndex& index : indexes_) {
    if (index.op == step.op && index.from == step.from && index.to == step.to &&
        index.column == step.column) {
      return index;
    }
  }
  using Entry = ColumnIndex::Entry;
  indexes_.push_back({step.op, step.from, step.to, step.column,
                      FlatArray<Entry>(graph_->meter())});
  FlatArray<Entry>& entries = indexes_.back().entries;
  store_.ForEachStamped(step.op, step.from, step.to, [&](uint32_t n) {
    entries.push_back({store_.args(n)[step.column], n});
    return true;
  });
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return a.value != b.value ? a.value < b.value : a.node < b.node;
  });
  return indexes_.back();
}

bool Matcher::Literal(const TrieNode& node) {
  const size_t i = &node - &trie_->node(0);
  if (index_of_step_.size() <= i) index_of_step_.resize(i + 1, nullptr);
  if (index_of_step_[i] == nullptr) index_of_step_[i] = &IndexFor(node.step);
  const auto& entries = index_of_step_[i]->entries;
  const Value value = registers_[node.step.a];
  const auto* entry = std::lower_bound(
      entries.begin(), entries.end(), value,
      [](const ColumnIndex::Entry& e, Value v) { return e.value < v; });
  for (; entry != entries.end() && entry->value == value; ++entry) {
    if (Stopped() || !Bind(node, entry->node)) return false;
  }
  return true;
}

bool Matcher::Lookup(const TrieNode& node) {
  const TrieStep& step = node.step;
  scratch_.clear();
  for (const uint32_t r : step.operands) scratch_.push_back(registers_[r]);
  const uint32_t n = store_.Lookup(step.op, scratch_.data(),
                                   store_.Hash(step.op, scratch_.data()));
  if (n == NodeStore::kNone) return true;
  const NodeRow& row = store_.row(n);
  if (row.op != step.op || row.stamp < step.from || row.stamp >= step.to) {
    return true;
  }
  return Bind(node, n);
}

bool Matcher::Primitive(const TrieStep& step) {
  scratch_.clear();
  for (const uint32_t r : step.operands) scratch_.push_back(registers_[r]);
  Value result = kNoValue;
  const PrimitiveInfo& info =
      graph_->language().primitive(PrimitiveId(step.op));
  if (!info.function(*graph_, graph_->language().literals(), scratch_,
                     &result)) {
    return false;
  }
  if (step.condition) return true;
  if (!step.binds) return registers_[step.a] == result;
  registers_[step.a] = result;
  return true;
}

bool Matcher::Yield(const TrieStep& step) {
  const TrieYield& yield = trie_->yield(step.op);
  if (each_) {
    scratch_.clear();
    for (const uint32_t r : yield.registers) scratch_.push_back(registers_[r]);
    return each_(scratch_);
  }
  MatchBuffer& buffer = (*buffers_)[yield.query];
  if (buffer.count == buffer.limit) {
    buffer.overflow = true;
    return !Stopped();
  }
  ++buffer.count;
  Value* out = buffer.values.Extend(yield.registers.size());
  for (const uint32_t r : yield.registers) *out++ = registers_[r];
  return true;
}

}  // namespace encore::egraph
