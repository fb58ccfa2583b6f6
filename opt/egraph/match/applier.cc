#include "encore/opt/egraph/match/applier.h"

#include <algorithm>
#include <utility>

#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/opt/egraph/match/bound_slots.h"

namespace encore::egraph {

Applier::Applier(const EGraph& graph, std::shared_ptr<const Rule> shared_rule,
                 RuleId id)
    : rule_(std::move(shared_rule)),
      id_(id),
      with_nodes_(graph.proofs() != nullptr),
      registers_(rule_->slots.size() + rule_->atoms.size(), kNoValue) {
  const Rule& rule = *rule_;
  std::vector<bool> used(rule.slots.size(), with_nodes_);
  for (const Action& action : rule.actions) {
    for (const Slot s : action.args) used[s.value()] = true;
  }
  for (const Action& action : rule.actions) {
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
  std::vector<bool> bound = BoundSlots(rule);
  for (uint32_t s = 0; s < used.size(); ++s) {
    if (!rule.slots[s].constant.has_value() && used[s] && bound[s]) {
      wanted_.push_back(Slot(s));
    }
  }
  if (batchable_) {
    FindHomes(std::move(bound));
    for (const Slot s : wanted_) {
      wanted_class_.push_back(
          graph.language().is_class(rule.slots[s.value()].sort));
    }
    PlaceLanes();
  }
  ReadConstants(graph);
}

void Applier::ReadConstants(const EGraph& graph) {
  size_t lane = 0;  // in own_lanes_, which only batches have
  for (uint32_t s = 0; s < rule_->slots.size(); ++s) {
    const SlotInfo& slot = rule_->slots[s];
    if (!slot.constant.has_value()) continue;
    // As what matches give: canonical at the last Rebuild. A proof wants the
    // class as the rule names it.
    const Value value = !with_nodes_ && graph.language().is_class(slot.sort)
                            ? graph.Find(ClassId(*slot.constant)).value()
                            : *slot.constant;
    if (batchable_ && registers_[s] != value) {
      std::fill_n(own_lanes_.data() + lane, kBatch, value);
    }
    registers_[s] = value;
    lane += kBatch;
  }
}

// What matches do not give lies in lanes of the applier's own: constants and
// what is inserted.
void Applier::PlaceLanes() {
  lanes_.resize(registers_.size());
  size_t size = 0;
  for (const SlotInfo& slot : rule_->slots) {
    if (slot.constant.has_value()) size += kBatch;
  }
  own_lanes_.resize(size + num_insertions_ * kBatch);
  Value* next = own_lanes_.data();
  for (uint32_t s = 0; s < rule_->slots.size(); ++s) {
    if (!rule_->slots[s].constant.has_value()) continue;
    lanes_[s] = next;
    next += kBatch;
  }
  for (Instruction& instruction : code_) {
    if (instruction.kind != Action::Kind::kInsert) continue;
    instruction.own_lane = next - own_lanes_.data();
    lanes_[instruction.out] = next;
    next += kBatch;
  }
}

// What an instruction inserts only to unite it with a class that is known by
// then is created there.
void Applier::FindHomes(std::vector<bool> bound) {
  for (uint32_t s = 0; s < bound.size(); ++s) {
    if (rule_->slots[s].constant.has_value()) bound[s] = true;
  }
  for (size_t i = 0; i < code_.size(); ++i) {
    Instruction& insert = code_[i];
    if (insert.kind != Action::Kind::kInsert) continue;
    for (size_t j = i + 1; j < code_.size(); ++j) {
      if (code_[j].kind != Action::Kind::kUnion) continue;
      const uint32_t* const sides = args_.data() + code_[j].first_arg;
      for (const size_t side : {0, 1}) {
        if (sides[side] == insert.out && bound[sides[1 - side]]) {
          insert.home = sides[1 - side];
        }
      }
    }
    bound[insert.out] = true;
  }
  for (Instruction& unite : code_) {
    if (unite.kind != Action::Kind::kUnion) continue;
    const uint32_t* const sides = args_.data() + unite.first_arg;
    for (uint32_t i = 0; i < code_.size(); ++i) {
      const Instruction& insert = code_[i];
      if (insert.kind != Action::Kind::kInsert || insert.home == kNoSlot) {
        continue;
      }
      if ((sides[0] == insert.out && sides[1] == insert.home) ||
          (sides[1] == insert.out && sides[0] == insert.home)) {
        unite.homing = i;
      }
    }
  }
}

uint32_t Applier::ApplyBatch(EGraph* graph, const MatchBuffer& matches,
                             size_t first, size_t count) {
  for (size_t k = 0; k < wanted_.size(); ++k) {
    const Value* const values = matches.column(k, first);
    lanes_[wanted_[k].value()] = values;
    if (!wanted_class_[k]) continue;
    for (size_t i = 0; i < count; ++i) graph->store().PrefetchClass(values[i]);
  }
  for (size_t a = 0; with_nodes_ && a < rule_->atoms.size(); ++a) {
    lanes_[rule_->slots.size() + a] = matches.column(wanted_.size() + a, first);
  }
  uint32_t unions = 0;
  for (Instruction& instruction : code_) {
    unions += instruction.kind == Action::Kind::kInsert
                  ? InsertBatch(graph, count, &instruction)
              : with_nodes_ ? UniteWithProofs(graph, count, instruction)
                            : UniteBatch(graph, count, instruction);
  }
  return unions;
}

// The unions that are made by creating nodes in their homes.
size_t Applier::InsertBatch(EGraph* graph, size_t count, Instruction* insert) {
  columns_.clear();
  for (uint32_t k = 0; k < insert->num_args; ++k) {
    columns_.push_back(lanes_[args_[insert->first_arg + k]]);
  }
  const Value* const homes =
      insert->home == kNoSlot ? nullptr : lanes_[insert->home];
  Value* const out = own_lanes_.data() + insert->own_lane;
  Value created = graph->node_limit();
  const size_t unions =
      graph->AddBatch(OpId(insert->op), columns_, homes, count, out);
  if (!with_nodes_ || homes == nullptr) return unions;
  insert->created = 0;
  for (size_t i = 0; i < count; ++i) {
    if (out[i] != created) continue;
    insert->created |= uint64_t{1} << i;
    ++created;
  }
  return unions;
}

uint32_t Applier::UniteBatch(EGraph* graph, size_t count,
                             const Instruction& unite) {
  const Value* const a = lanes_[args_[unite.first_arg]];
  const Value* const b = lanes_[args_[unite.first_arg + 1]];
  uint8_t differ[kBatch];
  size_t num_differ = 0;
  for (size_t i = 0; i < count; ++i) {
    if (a[i] == b[i]) continue;
    graph->store().PrefetchClass(a[i]);
    graph->store().PrefetchClass(b[i]);
    differ[num_differ++] = i;
  }
  uint32_t unions = 0;
  for (size_t i = 0; i < num_differ; ++i) {
    const size_t lane = differ[i];
    unions += graph->Union(ClassId(a[lane]), ClassId(b[lane]));
  }
  return unions;
}

uint32_t Applier::UniteWithProofs(EGraph* graph, size_t count,
                                  const Instruction& unite) {
  const Value* const a = lanes_[args_[unite.first_arg]];
  const Value* const b = lanes_[args_[unite.first_arg + 1]];
  const uint64_t created =
      unite.homing == kNoSlot
          ? 0
          : std::exchange(code_[unite.homing].created, uint64_t{0});
  uint32_t unions = 0;
  for (size_t i = 0; i < count; ++i) {
    if (created >> i & 1) {
      graph->proofs()->AddUnion(a[i], b[i], StepOf(i));
    } else if (!graph->Same(ClassId(a[i]), ClassId(b[i]))) {
      unions += graph->Union(ClassId(a[i]), ClassId(b[i]), StepOf(i));
    }
  }
  return unions;
}

// Good until the next call.
ProofStep Applier::StepOf(size_t lane) {
  for (size_t r = 0; r < registers_.size(); ++r) {
    if (lanes_[r] != nullptr) registers_[r] = lanes_[r][lane];
  }
  return {ProofStep::Kind::kRule, id_, registers_};
}

Applier::Outcome Applier::Apply(EGraph* graph, const MatchBuffer& matches,
                                size_t match) {
  Outcome outcome;
  size_t i = 0;
  for (const Slot s : wanted_) {
    registers_[s.value()] = *matches.column(i++, match);
  }
  for (size_t a = 0; with_nodes_ && a < rule_->atoms.size(); ++a) {
    registers_[rule_->slots.size() + a] = *matches.column(i++, match);
  }
  for (size_t pc = 0; pc < code_.size(); ++pc) {
    const Instruction& instruction = code_[pc];
    const uint32_t* const args = args_.data() + instruction.first_arg;
    switch (instruction.kind) {
      case Action::Kind::kInsert: {
        scratch_.clear();
        for (uint32_t k = 0; k < instruction.num_args; ++k) {
          scratch_.push_back(registers_[args[k]]);
        }
        const OpId op(instruction.op);
        registers_[instruction.out] = graph->Add(op, scratch_).value();
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
