#include "encore/opt/egraph/applier.h"

#include <algorithm>

#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::egraph {

Applier::Applier(const EGraph& graph, const Rule* rule, RuleId id)
    : rule_(rule),
      id_(id),
      with_nodes_(graph.proofs() != nullptr),
      registers_(rule->slots.size() + rule->atoms.size(), kNoValue),
      batchable_(!with_nodes_) {
  std::vector<bool> used(rule->slots.size(), with_nodes_);
  for (const Action& action : rule->actions) {
    for (const Slot s : action.args) used[s.value()] = true;
  }
  for (const Action& action : rule->actions) {
    if (action.out.valid()) used[action.out.value()] = false;
    batchable_ &= action.kind == Action::Kind::kInsert ||
                  action.kind == Action::Kind::kUnion;
    num_insertions_ += action.kind == Action::Kind::kInsert;
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
  if (!batchable_) return;
  for (const Slot s : wanted_) {
    wanted_class_.push_back(
        graph.language().is_class(rule->slots[s.value()].sort));
  }
  lanes_.resize(rule->slots.size() * kBatch);
  for (uint32_t s = 0; s < used.size(); ++s) {
    if (!rule->slots[s].constant.has_value()) continue;
    std::fill_n(Lane(s), kBatch, registers_[s]);
  }
}

// Each instruction runs for the whole batch in passes, so that what one pass
// asks memory for has come when the next one reads it.
uint32_t Applier::ApplyBatch(EGraph* graph, const Value* matches,
                             size_t count) {
  LoadBatch(*graph, matches, count);
  uint32_t unions = 0;
  for (const Instruction& instruction : code_) {
    if (instruction.kind == Action::Kind::kInsert) {
      InsertBatch(graph, instruction, count);
      continue;
    }
    const Value* const a = Lane(args_[instruction.first_arg]);
    const Value* const b = Lane(args_[instruction.first_arg + 1]);
    for (size_t i = 0; i < count; ++i) {
      unions += graph->Union(ClassId(a[i]), ClassId(b[i]));
    }
  }
  return unions;
}

void Applier::LoadBatch(const EGraph& graph, const Value* matches,
                        size_t count) {
  for (size_t i = 0; i < count; ++i) {
    for (size_t k = 0; k < wanted_.size(); ++k) {
      const Value value = *matches++;
      Lane(wanted_[k].value())[i] = value;
      if (wanted_class_[k]) graph.store().PrefetchRow(value);
    }
  }
}

void Applier::InsertBatch(EGraph* graph, const Instruction& instruction,
                          size_t count) {
  const NodeStore& store = graph->store();
  const size_t arity = instruction.num_args;
  const uint32_t* const args = args_.data() + instruction.first_arg;
  scratch_.resize(arity * kBatch);
  uint64_t hashes[kBatch];
  for (size_t i = 0; i < count; ++i) {
    Value* const columns = scratch_.data() + i * arity;
    for (size_t k = 0; k < arity; ++k) {
      const Value value = Lane(args[k])[i];
      columns[k] =
          store.is_class_column(instruction.op, k) ? store.Find(value) : value;
    }
    hashes[i] = store.Hash(instruction.op, columns);
    store.PrefetchSlot(hashes[i]);
  }
  for (size_t i = 0; i < count; ++i) store.PrefetchFound(hashes[i]);
  Value* const out = Lane(instruction.out);
  for (size_t i = 0; i < count; ++i) {
    out[i] = graph
                 ->AddHashed(OpId(instruction.op),
                             {scratch_.data() + i * arity, arity}, hashes[i])
                 .value();
  }
}

Applier::Outcome Applier::Apply(EGraph* graph, std::span<const Value> match) {
  Outcome outcome;
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
        registers_[instruction.out] = graph->Add(op, columns).value();
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
