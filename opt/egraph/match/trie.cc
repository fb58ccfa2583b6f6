#include "encore/opt/egraph/match/trie.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "encore/ir/support/check.h"

namespace encore::egraph {
namespace {

constexpr uint32_t kUnbound = 0xFFFFFFFFu;
constexpr uint32_t kAllStamps = 0xFFFFFFFFu;

using Kind = TrieStep::Kind;

struct Age {
  uint32_t from = 0;
  uint32_t to = kAllStamps;
};

}  // namespace

// Plans the steps of rules' queries, one after the other: a member is only good
// for the rule in hand.
class QueryPlanner {
 public:
  void Plan(const EGraph& graph, const Rule& rule, uint32_t since,
            uint32_t query, std::span<const Slot> wanted, bool with_nodes,
            Trie* trie) {
    graph_ = &graph;
    rule_ = &rule;
    trie_ = trie;
    constant_.assign(rule.slots.size(), std::nullopt);
    ground_.assign(rule.atoms.size(), std::nullopt);
    if (!ResolveGround()) return;
    const uint32_t from = store().RowStamp(since);
    ages_.assign(rule.atoms.size(), Age{});
    if (from == 0 || rule.atoms.empty()) {
      // A query without atoms holds or does not, whatever is new.
      if (from != 0 && rule.atoms.empty()) return;
      PlanOne(rule.atoms.size(), query, wanted, with_nodes);
      return;
    }
    for (size_t i = 0; i < rule.atoms.size(); ++i) {
      ages_[i] = {from, kAllStamps};
      PlanOne(i, query, wanted, with_nodes);
      ages_[i] = {0, from};
    }
  }

 private:
  const NodeStore& store() const { return graph_->store(); }

  // Finds the nodes of atoms whose columns are all constant; false if there is
  // one that does not exist, so that nothing can match.
  bool ResolveGround() {
    for (size_t s = 0; s < rule_->slots.size(); ++s) {
      const SlotInfo& slot = rule_->slots[s];
      if (!slot.constant.has_value()) continue;
      const bool is_class = graph_->language().is_class(slot.sort);
      constant_[s] = is_class ? graph_->Find(ClassId(*slot.constant)).value()
                              : *slot.constant;
    }
    for (bool progress = true; progress;) {
      progress = false;
      for (size_t i = 0; i < rule_->atoms.size(); ++i) {
        if (ground_[i].has_value()) continue;
        const Atom& atom = rule_->atoms[i];
        args_.clear();
        for (const Slot s : atom.args) {
          if (!constant_[s.value()]) break;
          args_.push_back(*constant_[s.value()]);
        }
        if (args_.size() < atom.args.size()) continue;
        const std::optional<NodeId> node = graph_->LookupNode(atom.op, args_);
        if (!node.has_value() || !graph_->live(*node)) return false;
        const Value cls = graph_->class_of(*node).value();
        std::optional<Value>& out = constant_[atom.out.value()];
        if (out.has_value() && *out != cls) return false;
        out = cls;
        ground_[i] = node->value();
        progress = true;
      }
    }
    return true;
  }

  size_t Count(size_t atom, const Age& age) const {
    return store().CountStamped(rule_->atoms[atom].op.value(), age.from,
                                age.to);
  }

  // The atom to start from, or nothing if the query cannot match. `fresh` is
  // the one that must be new.
  std::optional<size_t> ChooseDriver(size_t fresh) const {
    size_t best = ages_.size();
    size_t best_cost = std::numeric_limits<size_t>::max();
    for (size_t i = 0; i < ages_.size(); ++i) {
      if (ground_[i].has_value()) {
        const uint32_t stamp = store().row(*ground_[i]).stamp;
        if (stamp < ages_[i].from || stamp >= ages_[i].to) return std::nullopt;
        continue;
      }
      if (rule_->atoms[i].op.value() >= store().num_ops()) return std::nullopt;
      const size_t count = Count(i, ages_[i]);
      if (count == 0) return std::nullopt;
      // Starting elsewhere than at what is new pays only for many fewer.
      const size_t cost = i == fresh ? count : count * kDetour;
      if (cost < best_cost) {
        best = i;
        best_cost = cost;
      }
    }
    return best;
  }

  void PlanOne(size_t fresh, uint32_t query, std::span<const Slot> wanted,
               bool with_nodes) {
    const std::optional<size_t> driver = ChooseDriver(fresh);
    if (!driver.has_value()) return;
    steps_.clear();
    registers_.assign(rule_->slots.size(), kUnbound);
    node_registers_.assign(rule_->atoms.size(), kUnbound);
    planned_.assign(rule_->atoms.size(), false);
    guarded_.assign(rule_->guards.size(), false);
    results_.assign(rule_->slots.size(), false);
    next_register_ = 0;
    size_t left = rule_->atoms.size();
    for (size_t i = 0; i < rule_->atoms.size(); ++i) {
      if (!ground_[i].has_value()) continue;
      planned_[i] = true;
      --left;
    }
    AddGuards();
    if (left > 0) AddAtom(*driver, ages_[*driver], true);
    for (size_t k = 1; k < left; ++k) {
      const size_t next = ChooseNext();
      AddAtom(next, ages_[next], false);
    }
    AddYield(query, wanted, with_nodes);
    trie_->num_registers_ = std::max(trie_->num_registers_, next_register_ + 1);
    trie_->Insert(&steps_);
  }

  bool Known(Slot s) const {
    return registers_[s.value()] != kUnbound ||
           constant_[s.value()].has_value();
  }

  // Lookups first, then members of known classes, then users of classes that
  // are results of planned atoms, users of other variables' classes (which may
  // be all of the graph), nodes with a known literal, and scans.
  size_t ChooseNext() const {
    size_t best = 0;
    std::pair<int, size_t> best_cost = {9, 0};
    for (size_t i = 0; i < rule_->atoms.size(); ++i) {
      if (planned_[i]) continue;
      const Atom& atom = rule_->atoms[i];
      size_t known = 0;
      int column = 5;
      for (size_t k = 0; k < atom.args.size(); ++k) {
        if (!Known(atom.args[k])) continue;
        ++known;
        const bool is_class = store().is_class_column(atom.op.value(), k);
        const bool result = results_[atom.args[k].value()];
        column = std::min(column, !is_class ? 4 : result ? 2 : 3);
      }
      const bool relation = graph_->language().is_relation(atom.op);
      std::pair<int, size_t> cost = {column, i};
      if (known == atom.args.size()) {
        cost = {0, 0};
      } else if (Known(atom.out) && !relation) {
        cost = {1, i};
      } else if (column == 5) {
        cost.second = Count(i, ages_[i]);
      }
      if (cost < best_cost) {
        best = i;
        best_cost = cost;
      }
    }
    return best;
  }

  // The register that holds the slot; a constant is put into one.
  uint32_t Register(Slot s) {
    uint32_t& reg = registers_[s.value()];
    if (reg != kUnbound) return reg;
    reg = next_register_++;
    TrieStep set{Kind::kSet};
    set.a = reg;
    set.b = *constant_[s.value()];
    steps_.push_back(std::move(set));
    return reg;
  }

  // Whether a constant class has fewer users than there are nodes to scan.
  bool UsersAreFew(Slot s, size_t count) const {
    const std::optional<Value> cls = constant_[s.value()];
    if (!cls.has_value()) return true;
    size_t users = 0;
    for (uint32_t ref = store().first_user(*cls); ref != NodeStore::kNone;
         ref = store().next_user(ref)) {
      if (++users > count / 8) return false;
    }
    return true;
  }

  void AddAtom(size_t index, const Age& age, bool first) {
    const Atom& atom = rule_->atoms[index];
    const size_t arity = atom.args.size();
    TrieStep step = Access(index, age, first);
    step.base = next_register_;
    next_register_ += arity + 2;
    const uint32_t base = step.base;
    const Kind kind = step.kind;
    const bool by_column = kind == Kind::kUsers || kind == Kind::kLiteral;
    const size_t column = by_column ? step.column : arity;
    steps_.push_back(std::move(step));
    if (kind != Kind::kLookup) {
      for (size_t k = 0; k < arity; ++k) {
        if (k != column) BindOrCheck(atom.args[k], base + k);
      }
    }
    if (kind != Kind::kMembers) BindOrCheck(atom.out, base + arity);
    node_registers_[index] = base + arity + 1;
    planned_[index] = true;
    results_[atom.out.value()] = true;
    AddGuards();
  }

  // The step that finds an atom's nodes by what is known of it: the narrowest
  // there is.
  TrieStep Access(size_t index, const Age& age, bool first) {
    const Atom& atom = rule_->atoms[index];
    TrieStep step{Kind::kScan};
    step.op = atom.op.value();
    step.from = age.from;
    step.to = age.to;
    const KnownArguments known = KnownArgumentsOf(atom);
    if (known.count == atom.args.size() && known.count > 0) {
      step.kind = Kind::kLookup;
      for (const Slot s : atom.args) step.operands.push_back(Register(s));
    } else if (Known(atom.out) && !graph_->language().is_relation(atom.op)) {
      step.kind = Kind::kMembers;
      step.a = Register(atom.out);
    } else if (known.cls.has_value() &&
               (!first ||
                UsersAreFew(atom.args[*known.cls], Count(index, age)))) {
      step.kind = Kind::kUsers;
      step.column = *known.cls;
      step.a = Register(atom.args[*known.cls]);
    } else if (known.literal.has_value() && !first) {
      step.kind = Kind::kLiteral;
      step.column = *known.literal;
      step.a = Register(atom.args[*known.literal]);
    }
    return step;
  }

  // Arguments of an atom that are known, and the columns of those that nodes
  // are found by: a class, of a matched atom's result where there is one, and a
  // literal.
  struct KnownArguments {
    size_t count = 0;
    std::optional<size_t> cls;
    std::optional<size_t> literal;
  };

  KnownArguments KnownArgumentsOf(const Atom& atom) const {
    KnownArguments known;
    for (size_t k = 0; k < atom.args.size(); ++k) {
      if (!Known(atom.args[k])) continue;
      ++known.count;
      if (!store().is_class_column(atom.op.value(), k)) {
        known.literal = k;
        continue;
      }
      const bool better = known.cls.has_value() &&
                          results_[atom.args[k].value()] &&
                          !results_[atom.args[*known.cls].value()];
      if (better || !known.cls.has_value()) known.cls = k;
    }
    return known;
  }

  void BindOrCheck(Slot s, uint32_t reg) {
    TrieStep check{Kind::kEqual};
    check.a = reg;
    if (registers_[s.value()] != kUnbound) {
      check.b = registers_[s.value()];
    } else if (constant_[s.value()].has_value()) {
      check.kind = Kind::kIsConstant;
      check.b = *constant_[s.value()];
    } else {
      registers_[s.value()] = reg;
      return;
    }
    steps_.push_back(std::move(check));
  }

  // Guards whose slots are known by now.
  void AddGuards() {
    for (bool progress = true; progress;) {
      progress = false;
      for (size_t i = 0; i < rule_->guards.size(); ++i) {
        const Guard& guard = rule_->guards[i];
        const bool ready =
            !guarded_[i] && std::all_of(guard.args.begin(), guard.args.end(),
                                        [&](Slot s) { return Known(s); });
        if (!ready) continue;
        AddGuard(guard);
        guarded_[i] = progress = true;
      }
    }
  }

  void AddGuard(const Guard& guard) {
    TrieStep step{Kind::kPrimitive};
    if (guard.kind != Guard::Kind::kPrimitive) {
      step.kind =
          guard.kind == Guard::Kind::kEqual ? Kind::kEqual : Kind::kNotEqual;
      step.a = Register(guard.args[0]);
      step.b = Register(guard.args[1]);
      steps_.push_back(std::move(step));
      return;
    }
    step.op = guard.primitive.value();
    for (const Slot s : guard.args) step.operands.push_back(Register(s));
    const bool condition =
        graph_->language().primitive(guard.primitive).result == kUnitSort;
    step.condition = condition;
    if (!condition) {
      step.binds = !Known(guard.out);
      if (step.binds) registers_[guard.out.value()] = next_register_++;
      step.a = Register(guard.out);
    } else if (!Known(guard.out)) {
      constant_[guard.out.value()] = graph_->unit().value();
    }
    steps_.push_back(std::move(step));
  }

  void AddYield(uint32_t query, std::span<const Slot> wanted, bool with_nodes) {
    std::vector<uint32_t>& registers = trie_->yield_registers_;
    const uint32_t begin = registers.size();
    for (const Slot s : wanted) registers.push_back(Register(s));
    if (with_nodes) {
      for (size_t i = 0; i < rule_->atoms.size(); ++i) {
        if (ground_[i].has_value()) {
          TrieStep set{Kind::kSet};
          set.a = node_registers_[i] = next_register_++;
          set.b = *ground_[i];
          steps_.push_back(std::move(set));
        }
        registers.push_back(node_registers_[i]);
      }
    }
    TrieStep step{Kind::kYield};
    step.op = trie_->yields_.size();
    steps_.push_back(std::move(step));
    trie_->yields_.push_back(
        {query, begin, static_cast<uint32_t>(registers.size())});
  }

  static constexpr size_t kDetour = 4;

  const EGraph* graph_ = nullptr;
  const Rule* rule_ = nullptr;
  Trie* trie_ = nullptr;
  std::vector<Age> ages_;                        // by atom
  std::vector<std::optional<Value>> constant_;   // by slot
  std::vector<std::optional<uint32_t>> ground_;  // by atom: its node
  std::vector<TrieStep> steps_;
  std::vector<Value> args_;
  std::vector<uint32_t> registers_;       // by slot
  std::vector<uint32_t> node_registers_;  // by atom
  std::vector<bool> planned_;             // by atom
  std::vector<bool> guarded_;             // by guard
  std::vector<bool> results_;             // by slot: of a planned atom
  uint32_t next_register_ = 0;
};

Trie::Trie() : planner_(std::make_unique<QueryPlanner>()) {}

Trie::~Trie() = default;

void Trie::Clear() {
  nodes_.clear();
  yields_.clear();
  yield_registers_.clear();
  root_ = TrieNode::kNoTrieNode;
  num_registers_ = 1;
}

void Trie::Add(const EGraph& graph, const Rule& rule, uint32_t since,
               uint32_t query, std::span<const Slot> wanted, bool with_nodes) {
  ENCORE_DCHECK(graph.rebuilt());
  planner_->Plan(graph, rule, since, query, wanted, with_nodes, this);
}

void Trie::Insert(std::vector<TrieStep>* steps) {
  uint32_t parent = TrieNode::kNoTrieNode;
  for (TrieStep& step : *steps) {
    uint32_t last = TrieNode::kNoTrieNode;
    uint32_t i = parent == TrieNode::kNoTrieNode ? root_ : nodes_[parent].child;
    while (i != TrieNode::kNoTrieNode && !(nodes_[i].step == step)) {
      last = i;
      i = nodes_[i].sibling;
    }
    if (i == TrieNode::kNoTrieNode) {
      i = nodes_.size();
      nodes_.push_back({.step = std::move(step)});
      if (last != TrieNode::kNoTrieNode) {
        nodes_[last].sibling = i;
      } else if (parent != TrieNode::kNoTrieNode) {
        nodes_[parent].child = i;
      } else {
        root_ = i;
      }
    }
    parent = i;
  }
}

}  // namespace encore::egraph
