#include "encore/opt/egraph/applier.h"

#include <algorithm>

#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::egraph {

Applier::Applier(const EGraph& graph, const Rule* rule, RuleId id)
    : rule_(rule),
      id_(id),
      with_nodes_(graph.proofs() != nullptr),
      registers_(rule->slots.size() + rule->atoms.size(), kNoValue) {
  std::vector<bool> used(rule->slots.size(), with_nodes_);
  for (const Action& action : rule->actions) {
    for (const Slot s : action.args) used[s.value()] = true;
  }
  for (const Action& action : rule->actions) {
    if (action.out.valid()) used[action.out.value()] = false;
    code_.push_back({action.kind,
                     action.kind == Action::Kind::kPrimitive
                         ? action.primitive.value()
                         : action.op.value(),
                     action.out.value(), static_cast<uint32_t>(args_.size()),
                     static_cast<uint32_t>(action.args.size())});
    for (const Slot s : action.args) args_.push_back(s.value());
  }
  std::vector<bool> bound(rule->slots.size(), false);
  for (const Atom& atom : rule->atoms) {
    for (const Slot s : atom.args) bound[s.value()] = true;
    bound[atom.out.value()] = true;
  }
  for (const Guard& guard : rule->guards) {
    if (guard.out.valid()) bound[guard.out.value()] = true;
  }
  for (uint32_t s = 0; s < used.size(); ++s) {
    if (rule->slots[s].constant.has_value()) {
      const SlotInfo& slot = rule->slots[s];
      // As what matches give: canonical at the last Rebuild.
      registers_[s] = graph.language().is_class(slot.sort)
                          ? graph.Find(ClassId(*slot.constant)).value()
                          : *slot.constant;
    } else if (used[s] && bound[s]) {
      wanted_.push_back(Slot(s));
    }
  }
  PlanPrefetches();
}

void Applier::PlanPrefetches() {
  std::vector<uint32_t> position(rule_->slots.size(), kNoValue);
  for (uint32_t i = 0; i < wanted_.size(); ++i) {
    position[wanted_[i].value()] = i;
  }
  for (const Action& action : rule_->actions) {
    const bool direct =
        std::all_of(action.args.begin(), action.args.end(),
                    [&](Slot s) { return position[s.value()] != kNoValue; });
    if (action.kind == Action::Kind::kInsert && direct) {
      direct_.push_back(
          {action.op.value(), static_cast<uint32_t>(direct_args_.size())});
      for (const Slot s : action.args) {
        direct_args_.push_back(position[s.value()]);
      }
    } else if (action.kind == Action::Kind::kUnion) {
      for (const Slot s : action.args) {
        if (position[s.value()] == kNoValue) continue;
        unioned_.push_back(position[s.value()]);
      }
    }
  }
}

uint64_t Applier::DirectHash(const EGraph& graph, const Direct& direct,
                             const Value* match) const {
  Value values[Language::kMaxArity];
  const size_t arity = graph.store().arity(direct.op);
  for (size_t k = 0; k < arity; ++k) {
    values[k] = match[direct_args_[direct.first + k]];
  }
  return graph.store().Hash(direct.op, values);
}

void Applier::PrefetchSlots(const EGraph& graph, const Value* match) const {
  const NodeStore& store = graph.store();
  for (const Direct& direct : direct_) {
    if (direct.op >= store.num_ops()) continue;  // it has no node yet
    store.PrefetchSlot(DirectHash(graph, direct, match));
  }
  for (const uint32_t i : unioned_) store.PrefetchRow(match[i]);
}

void Applier::PrefetchRows(const EGraph& graph, const Value* match) const {
  const NodeStore& store = graph.store();
  for (const Direct& direct : direct_) {
    if (direct.op >= store.num_ops()) continue;
    store.PrefetchFound(DirectHash(graph, direct, match));
  }
  for (const uint32_t i : unioned_) store.PrefetchInfo(match[i]);
}

Applier::Outcome Applier::Apply(EGraph* graph, std::span<const Value> match,
                                bool current) {
  Outcome outcome;
  current = false;
  size_t i = 0;
  for (const Slot s : wanted_) registers_[s.value()] = match[i++];
  for (size_t a = 0; with_nodes_ && a < rule_->atoms.size(); ++a) {
    registers_[rule_->slots.size() + a] = match[i++];
  }
  for (size_t pc = 0; pc < code_.size(); ++pc) {
    const Instruction& instruction = code_[pc];
    const uint32_t* const args = args_.data() + instruction.first_arg;
    switch (instruction.kind) {
      case Action::Kind::kInsert: {
        Value values[Language::kMaxArity];
        for (uint32_t k = 0; k < instruction.num_args; ++k) {
          values[k] = registers_[args[k]];
        }
        const std::span<const Value> columns(values, instruction.num_args);
        const OpId op(instruction.op);
        registers_[instruction.out] =
            (current ? graph->AddMatched(op, columns) : graph->Add(op, columns))
                .value();
        break;
      }
      case Action::Kind::kUnion:
        outcome.unions +=
            Union(graph, registers_[args[0]], registers_[args[1]]);
        break;
      case Action::Kind::kPrimitive:
        outcome.status = RunPrimitive(graph, instruction);
        if (!outcome.status.ok()) return outcome;
        break;
      case Action::Kind::kCall: {
        scratch_.clear();
        for (uint32_t k = 0; k < instruction.num_args; ++k) {
          scratch_.push_back(registers_[args[k]]);
        }
        const std::optional<Value> result =
            rule_->actions[pc].call(graph, scratch_);
        if (!result.has_value()) return outcome;
        registers_[instruction.out] = *result;
        break;
      }
      case Action::Kind::kPanic:
        outcome.status = MakeStatus(StatusCode::kAborted,
                                    StrCat("panic in rule ", rule_->name, ": ",
                                           rule_->actions[pc].message));
        return outcome;
    }
  }
  return outcome;
}

Status Applier::RunPrimitive(EGraph* graph, const Instruction& instruction) {
  scratch_.clear();
  for (uint32_t k = 0; k < instruction.num_args; ++k) {
    scratch_.push_back(registers_[args_[instruction.first_arg + k]]);
  }
  const PrimitiveInfo& info =
      graph->language().primitive(PrimitiveId(instruction.op));
  Value result = graph->unit().value();
  if (!info.function(*graph, graph->language().literals(), scratch_, &result)) {
    return MakeStatus(StatusCode::kAborted, StrCat("rule ", rule_->name, ": ",
                                                   info.name, " is undefined"));
  }
  registers_[instruction.out] = result;
  return OkStatus();
}

bool Applier::Union(EGraph* graph, Value a, Value b) {
  if (!with_nodes_) return graph->Union(ClassId(a), ClassId(b));
  return graph->Union(ClassId(a), ClassId(b),
                      {ProofStep::Kind::kRule, id_, registers_});
}

}  // namespace encore::egraph
