#include "encore/opt/tensor/explain/step_sides.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "encore/ir/build/builder.h"
#include "encore/ir/support/check.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/opt/egraph/core/egraph.h"
#include "encore/opt/egraph/core/proof_log.h"
#include "encore/opt/egraph/explain/proof_reader.h"

namespace encore::opt {
namespace {

namespace eg = ::encore::egraph;
using TermId = eg::TermStore::Id;

// A node of a side, or an argument, with operands before what uses them.
struct Item {
  std::optional<uint32_t> argument{};  // the node of the proof log behind it
  Op op = Op::kInput;
  Attributes attributes{};
  std::vector<uint32_t> operands{};
};

// The items of one side. Nodes of the proof log stand for the terms that they
// were created as; equal terms are one item.
struct Side {
  std::vector<Item> items;
  std::map<TermId, uint32_t> by_term;
  uint32_t root = 0;
};

class SidesMaker {
 public:
  SidesMaker(const Extraction& extraction, const eg::Lemma& lemma,
             eg::TermStore* terms, const StepSidesOptions& options)
      : from_(extraction),
        tensors_(extraction.tensors),
        proofs_(*extraction.tensors.graph().proofs()),
        rule_(extraction.rules.rule(lemma.step.rule)),
        lemma_(lemma),
        options_(options),
        reader_(extraction.tensors.graph(), extraction.rules, terms) {}

  StatusOr<StepSides> Run() {
    const uint32_t made = Match(lemma_.right);
    FindVariables();
    for (const auto& [x, y] : Premises()) {
      Join(x.value(), y.value());
    }
    Expand();
    left_.root = rule_.atoms.empty() ? Node(&left_, Match(lemma_.left))
                                     : Pattern(lemma_.left);
    right_.root = Node(&right_, made);
    ENCORE_ASSIGN_OR_RETURN(Graph left, Emit(left_));
    ENCORE_ASSIGN_OR_RETURN(Graph right, Emit(right_));
    return StepSides{std::move(left), std::move(right)};
  }

 private:
  uint32_t Match(eg::Slot slot) const { return lemma_.match[slot.value()]; }
  TensorEGraph::EqualIds Premises() const {
    return tensors_.PremisesOf(eg::ClassId(Match(lemma_.left)),
                               eg::ClassId(Match(lemma_.right)));
  }
  bool IsTensor(eg::Slot slot) const {
    return rule_.slots[slot.value()].sort == tensors_.tensor_sort();
  }
  const TensorOp& OpOf(uint32_t n) const {
    return tensors_.op(eg::OpId(proofs_.term(n).op));
  }
  std::span<const eg::Value> OperandsOf(uint32_t n) const {
    return proofs_.term(n).args.first(OpOf(n).operands);
  }
  // An argument of the graph, or what an anchor gives.
  bool IsSource(uint32_t n) const {
    return OpOf(n).kind != TensorOp::Kind::kOp;
  }
  TermId Term(uint32_t n) { return reader_.NodeTerm(n); }

  const eg::Atom* AtomOf(eg::Slot slot) const {
    const auto it = std::ranges::find(rule_.atoms, slot, &eg::Atom::out);
    return it == rule_.atoms.end() ? nullptr : &*it;
  }

  void AddVariable(uint32_t n) {
    if (levels_.emplace(Term(n), 0).second) frontier_.push_back(n);
  }

  // What the pattern does not say anything of. A rule of code has no pattern:
  // there it is what nodes of the graph are made of that are one level below
  // its left side, and what the right side has of the graph.
  void FindVariables() {
    for (const eg::Atom& atom : rule_.atoms) {
      for (const eg::Slot slot : atom.args) {
        if (IsTensor(slot) && AtomOf(slot) == nullptr) AddVariable(Match(slot));
      }
    }
    if (!rule_.atoms.empty()) return;
    for (const uint32_t n : OperandsOf(Match(lemma_.left))) AddVariable(n);
    for (const auto& [x, y] : Premises()) {
      for (const eg::ClassId id : {x, y}) {
        if (IsSource(id.value())) continue;
        for (const uint32_t n : OperandsOf(id.value())) AddVariable(n);
      }
    }
    std::vector<uint32_t> open = {Match(lemma_.right)};
    std::set<uint32_t> seen;
    while (!open.empty()) {
      const uint32_t n = open.back();
      open.pop_back();
      if (!seen.insert(n).second || levels_.contains(Term(n))) continue;
      if (n < from_.program.node_limit()) {
        AddVariable(n);
        continue;
      }
      for (const uint32_t operand : OperandsOf(n)) open.push_back(operand);
    }
  }

  // y stands for x from here on, or the other way, as one is a variable.
  void Join(uint32_t x, uint32_t y) {
    if (!levels_.contains(Term(y))) std::swap(x, y);
    if (levels_.contains(Term(y)) && Term(x) != Term(y)) joined_[Term(y)] = x;
  }

  // Levels below variables: the distance from the nearest.
  void Expand() {
    for (int level = 1; level <= options_.depth; ++level) {
      std::vector<uint32_t> next;
      for (const uint32_t n : frontier_) {
        if (IsSource(n)) continue;
        for (const uint32_t operand : OperandsOf(n)) {
          if (levels_.emplace(Term(operand), level).second) {
            next.push_back(operand);
          }
        }
      }
      frontier_ = std::move(next);
    }
  }

  uint32_t Add(Side* side, Item item) {
    side->items.push_back(std::move(item));
    return static_cast<uint32_t>(side->items.size() - 1);
  }

  // As deep as the rule.
  uint32_t Pattern(eg::Slot slot) {
    const eg::Atom* const atom = AtomOf(slot);
    if (atom == nullptr) return Node(&left_, Match(slot));
    const TensorOp& op = tensors_.op(atom->op);
    Item item{.op = op.op};
    for (int i = 0; i < op.operands; ++i) {
      item.operands.push_back(Pattern(atom->args[i]));
    }
    if (op.has_attributes) {
      item.attributes = AttributesOf(Match(atom->args[op.operands]));
    }
    return Add(&left_, std::move(item));
  }

  Attributes AttributesOf(eg::Value value) const {
    return tensors_.AttributesOf(value);
  }

  uint32_t Resolve(uint32_t n) {
    for (size_t i = 0; i <= joined_.size(); ++i) {
      const auto it = joined_.find(Term(n));
      if (it == joined_.end()) break;
      n = it->second;
    }
    return n;
  }

  bool IsArgument(uint32_t n) {
    if (IsSource(n)) return true;
    const auto level = levels_.find(Term(n));
    return level != levels_.end() && level->second == options_.depth &&
           !(rule_.atoms.empty() && n == Match(lemma_.left));
  }

  // The item of a node of the proof log.
  uint32_t Node(Side* side, uint32_t root) {
    std::vector<uint32_t> open = {root};
    while (!open.empty()) {
      const uint32_t n = Resolve(open.back());
      if (side->by_term.contains(Term(n))) {
        open.pop_back();
        continue;
      }
      if (IsArgument(n)) {
        side->by_term[Term(n)] = Add(side, {.argument = n, .op = Op::kInput});
        NumberArgument(n);
        continue;
      }
      Item item{.op = OpOf(n).op};
      const size_t depth = open.size();
      for (const uint32_t operand : OperandsOf(n)) {
        const auto there = side->by_term.find(Term(Resolve(operand)));
        if (there == side->by_term.end()) {
          open.push_back(operand);
        } else {
          item.operands.push_back(there->second);
        }
      }
      if (open.size() > depth) continue;
      if (OpOf(n).has_attributes) {
        item.attributes = AttributesOf(proofs_.term(n).args[OpOf(n).operands]);
      }
      side->by_term[Term(n)] = Add(side, std::move(item));
    }
    return side->by_term.at(Term(Resolve(root)));
  }

  void NumberArgument(uint32_t n) {
    if (!argument_numbers_.emplace(Term(n), arguments_.size()).second) return;
    std::string name = StrCat("v", arguments_.size());
    if (OpOf(n).kind == TensorOp::Kind::kArgument) {
      const int64_t number =
          tensors_.graph().language().literals().AsI64(proofs_.term(n).args[0]);
      name = from_.graph.arguments()[number].name;
    }
    while (!names_.insert(name).second) name += "_";
    arguments_.push_back({n, name});
  }

  StatusOr<Graph> Emit(const Side& side) {
    Graph empty("step");
    for (const Symbol& symbol : tensors_.symbols()) {
      ENCORE_RETURN_IF_ERROR(empty.AddSymbol(symbol).status());
    }
    GraphBuilder builder(std::move(empty), {.simplify = false});
    std::vector<Value> arguments;
    for (const Argument& argument : arguments_) {
      arguments.push_back(EmitArgument(&builder, argument));
    }
    for (uint32_t i = 0; options_.extents && i < tensors_.symbols().size();
         ++i) {
      std::string name = StrCat("extent_", tensors_.symbols()[i].name);
      while (names_.contains(name)) name += "_";
      builder.Input(name, {DType::kBool, {Dim::OfSymbol(i)}});
    }
    std::vector<Value> values;
    for (const Item& item : side.items) {
      if (item.argument) {
        values.push_back(arguments[argument_numbers_.at(Term(*item.argument))]);
        continue;
      }
      std::vector<Value> operands;
      for (const uint32_t operand : item.operands) {
        operands.push_back(values[operand]);
      }
      const auto results = builder.Node(item.op, operands, item.attributes);
      ENCORE_RETURN_IF_ERROR(builder.status());
      values.push_back(results[0]);
    }
    return builder.Build({{"result", values[side.root]}});
  }

  struct Argument {
    uint32_t node;
    std::string name;
  };
  Value EmitArgument(GraphBuilder* builder, const Argument& argument) const {
    const eg::ClassId c(argument.node);
    const TensorType& type = *tensors_.type(c);
    if (const Literal* splat = tensors_.splat(c)) {
      return builder->Full(type.shape, builder->Constant(*splat));
    }
    return tensors_.fact(c).weight_only
               ? builder->Parameter(argument.name, type)
               : builder->Input(argument.name, type);
  }

  const Extraction& from_;
  const TensorEGraph& tensors_;
  const eg::ProofLog& proofs_;
  const eg::Rule& rule_;
  const eg::Lemma& lemma_;
  const StepSidesOptions& options_;
  eg::ProofReader reader_;
  std::map<TermId, int> levels_;
  std::vector<uint32_t> frontier_;  // of the last level
  std::map<TermId, uint32_t> joined_;
  Side left_, right_;
  std::vector<Argument> arguments_;
  std::map<TermId, size_t> argument_numbers_;
  std::set<std::string> names_;
};

}  // namespace

StatusOr<StepSides> SidesOf(const Extraction& extraction,
                            const eg::Lemma& lemma, eg::Lemmas* lemmas,
                            const StepSidesOptions& options) {
  ENCORE_CHECK(lemma.kind == eg::Lemma::Kind::kStep &&
               lemma.step.kind == eg::ProofStep::Kind::kRule);
  return SidesMaker(extraction, lemma, &lemmas->terms, options).Run();
}

}  // namespace encore::opt
