#include "encore/opt/egraph/match/rule.h"

#include <utility>

#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::egraph {

RuleBuilder::RuleBuilder(std::string_view name) { rule_.name = name; }

Slot RuleBuilder::NewSlot(SortId sort, std::string_view name,
                          std::optional<Value> constant) {
  rule_.slots.push_back({sort, constant, std::string(name)});
  return Slot(rule_.slots.size() - 1);
}

Slot RuleBuilder::Variable(SortId sort, std::string_view name) {
  return NewSlot(sort, name);
}

Slot RuleBuilder::Constant(SortId sort, Value value) {
  return NewSlot(sort, "", value);
}

Slot RuleBuilder::Match(OpId op, std::vector<Slot> args) {
  const Slot out = NewSlot(SortId(), "");
  MatchAs(op, std::move(args), out);
  return out;
}

void RuleBuilder::MatchAs(OpId op, std::vector<Slot> args, Slot out) {
  rule_.atoms.push_back({op, std::move(args), out});
}

void RuleBuilder::Equal(Slot a, Slot b) {
  rule_.guards.push_back({Guard::Kind::kEqual, PrimitiveId(), {a, b}, Slot()});
}

void RuleBuilder::NotEqual(Slot a, Slot b) {
  rule_.guards.push_back(
      {Guard::Kind::kNotEqual, PrimitiveId(), {a, b}, Slot()});
}

Slot RuleBuilder::Require(PrimitiveId primitive, std::vector<Slot> args) {
  const Slot out = NewSlot(SortId(), "");
  rule_.guards.push_back(
      {Guard::Kind::kPrimitive, primitive, std::move(args), out});
  return out;
}

Slot RuleBuilder::Insert(OpId op, std::vector<Slot> args) {
  const Slot out = NewSlot(SortId(), "");
  rule_.actions.push_back({.kind = Action::Kind::kInsert,
                           .op = op,
                           .args = std::move(args),
                           .out = out});
  return out;
}

Slot RuleBuilder::Compute(PrimitiveId primitive, std::vector<Slot> args) {
  const Slot out = NewSlot(SortId(), "");
  rule_.actions.push_back({.kind = Action::Kind::kPrimitive,
                           .primitive = primitive,
                           .args = std::move(args),
                           .out = out});
  return out;
}

void RuleBuilder::Union(Slot a, Slot b) {
  rule_.actions.push_back({.kind = Action::Kind::kUnion, .args = {a, b}});
}

Slot RuleBuilder::Call(SortId result, ApplyFn call, std::vector<Slot> args) {
  const Slot out = NewSlot(result, "");
  rule_.actions.push_back({.kind = Action::Kind::kCall,
                           .args = std::move(args),
                           .out = out,
                           .call = std::move(call)});
  return out;
}

void RuleBuilder::Panic(std::string_view message) {
  rule_.actions.push_back(
      {.kind = Action::Kind::kPanic, .message = std::string(message)});
}

namespace {

class Checker {
 public:
  Checker(const Language& language, Rule* rule)
      : language_(language), rule_(*rule), bound_(rule->slots.size(), false) {}

  Status Run() {
    ENCORE_RETURN_IF_ERROR(CheckSlots());
    InferResultSorts();
    for (const Atom& atom : rule_.atoms) {
      ENCORE_RETURN_IF_ERROR(
          CheckCall(language_.op(atom.op).args, language_.op(atom.op).result,
                    language_.op(atom.op).name, atom.args, atom.out));
    }
    for (const Guard& guard : rule_.guards) {
      if (guard.kind == Guard::Kind::kPrimitive) {
        const PrimitiveInfo& info = language_.primitive(guard.primitive);
        ENCORE_RETURN_IF_ERROR(CheckCall(info.args, info.result, info.name,
                                         guard.args, guard.out));
      } else {
        ENCORE_RETURN_IF_ERROR(CheckPair(guard.args));
      }
    }
    UnifyEqualSlots();
    ENCORE_RETURN_IF_ERROR(CheckQueryBinds());
    return CheckActions();
  }

 private:
  Status Error(std::string_view message) const {
    return InvalidArgumentError(StrCat("rule ", rule_.name, ": ", message));
  }
  std::string SlotText(Slot slot) const {
    const std::string& name = rule_.slots[slot.value()].name;
    return name.empty() ? StrCat("slot ", slot.value()) : name;
  }
  SortId SortOf(Slot slot) const { return rule_.slots[slot.value()].sort; }

  Status CheckSlots() const {
    if (rule_.slots.size() > RuleBuilder::kMaxSlots) {
      return Error(
          StrCat("needs more than ", RuleBuilder::kMaxSlots, " slots"));
    }
    if (rule_.atoms.size() + rule_.guards.size() >
        RuleBuilder::kMaxConditions) {
      return Error(StrCat("has more than ", RuleBuilder::kMaxConditions,
                          " atoms and guards"));
    }
    return OkStatus();
  }

  void InferResultSorts() {
    const auto infer = [&](Slot out, SortId sort) {
      if (!out.valid() || SortOf(out).valid()) return;
      rule_.slots[out.value()].sort = sort;
    };
    for (const Atom& atom : rule_.atoms) {
      infer(atom.out, language_.op(atom.op).result);
    }
    for (const Guard& guard : rule_.guards) {
      if (guard.kind != Guard::Kind::kPrimitive) continue;
      infer(guard.out, language_.primitive(guard.primitive).result);
    }
    for (const Action& action : rule_.actions) {
      if (action.kind == Action::Kind::kInsert) {
        infer(action.out, language_.op(action.op).result);
      } else if (action.kind == Action::Kind::kPrimitive) {
        infer(action.out, language_.primitive(action.primitive).result);
      }
    }
  }

  Status CheckCall(const std::vector<SortId>& sorts, SortId result,
                   std::string_view name, const std::vector<Slot>& args,
                   Slot out) {
    if (sorts.size() != args.size()) {
      return Error(StrCat(name, " takes ", sorts.size(), " arguments, not ",
                          args.size()));
    }
    for (size_t i = 0; i < args.size(); ++i) {
      if (SortOf(args[i]) != sorts[i]) return SortError(args[i], sorts[i]);
    }
    return SortOf(out) == result ? OkStatus() : SortError(out, result);
  }
  Status SortError(Slot slot, SortId wanted) const {
    const SortId sort = SortOf(slot);
    return Error(StrCat(SlotText(slot), " has sort ",
                        sort.valid() ? language_.sort_name(sort) : "unknown",
                        " where ", language_.sort_name(wanted), " is wanted"));
  }
  Status CheckPair(const std::vector<Slot>& pair) const {
    if (SortOf(pair[0]) == SortOf(pair[1]) && SortOf(pair[0]).valid()) {
      return OkStatus();
    }
    return Error(StrCat(SlotText(pair[0]), " and ", SlotText(pair[1]),
                        " are of different sorts"));
  }

  // Replaces each set of slots made equal by one of them, a constant where
  // there is one. Two constants stay a guard: classes may become equal later.
  void UnifyEqualSlots() {
    std::vector<Slot> to(rule_.slots.size());
    for (size_t i = 0; i < to.size(); ++i) to[i] = Slot(i);
    const auto find = [&](Slot s) {
      while (to[s.value()] != s) s = to[s.value()];
      return s;
    };
    const auto is_constant = [&](Slot s) {
      return rule_.slots[s.value()].constant.has_value();
    };
    std::vector<Guard> kept;
    for (Guard& guard : rule_.guards) {
      if (guard.kind == Guard::Kind::kEqual) {
        Slot a = find(guard.args[0]);
        Slot b = find(guard.args[1]);
        if (a == b) continue;
        if (!is_constant(a) || !is_constant(b)) {
          if (is_constant(b) || (!is_constant(a) && b < a)) std::swap(a, b);
          to[b.value()] = a;
          continue;
        }
      }
      kept.push_back(std::move(guard));
    }
    rule_.guards = std::move(kept);
    const auto rename = [&](std::vector<Slot>* slots) {
      for (Slot& s : *slots) s = find(s);
    };
    for (Atom& atom : rule_.atoms) {
      rename(&atom.args);
      atom.out = find(atom.out);
    }
    for (Guard& guard : rule_.guards) {
      rename(&guard.args);
      if (guard.out.valid()) guard.out = find(guard.out);
    }
    for (Action& action : rule_.actions) {
      rename(&action.args);
      if (action.out.valid()) action.out = find(action.out);
    }
  }

  Status CheckQueryBinds() {
    for (size_t i = 0; i < bound_.size(); ++i) {
      bound_[i] = rule_.slots[i].constant.has_value();
    }
    for (const Atom& atom : rule_.atoms) {
      for (const Slot s : atom.args) bound_[s.value()] = true;
      bound_[atom.out.value()] = true;
    }
    std::vector<bool> done(rule_.guards.size(), false);
    for (bool progress = true; progress;) {
      progress = false;
      for (size_t i = 0; i < rule_.guards.size(); ++i) {
        const Guard& guard = rule_.guards[i];
        if (done[i] || !AllBound(guard.args)) continue;
        if (guard.out.valid()) bound_[guard.out.value()] = true;
        done[i] = progress = true;
      }
    }
    for (size_t i = 0; i < rule_.guards.size(); ++i) {
      if (!done[i]) return Unbound(rule_.guards[i].args);
    }
    return OkStatus();
  }
  bool AllBound(const std::vector<Slot>& slots) const {
    for (const Slot s : slots) {
      if (!bound_[s.value()]) return false;
    }
    return true;
  }
  Status Unbound(const std::vector<Slot>& slots) const {
    for (const Slot s : slots) {
      if (!bound_[s.value()]) {
        return Error(StrCat(SlotText(s), " is bound by no pattern"));
      }
    }
    return OkStatus();
  }

  Status CheckActions() {
    for (const Action& action : rule_.actions) {
      ENCORE_RETURN_IF_ERROR(Unbound(action.args));
      if (action.kind == Action::Kind::kInsert) {
        const OpInfo& info = language_.op(action.op);
        ENCORE_RETURN_IF_ERROR(CheckCall(info.args, info.result, info.name,
                                         action.args, action.out));
      } else if (action.kind == Action::Kind::kPrimitive) {
        const PrimitiveInfo& info = language_.primitive(action.primitive);
        ENCORE_RETURN_IF_ERROR(CheckCall(info.args, info.result, info.name,
                                         action.args, action.out));
      } else if (action.kind == Action::Kind::kUnion) {
        ENCORE_RETURN_IF_ERROR(CheckPair(action.args));
        if (!language_.is_class(SortOf(action.args[0]))) {
          return Error("a union of literals");
        }
      }
      if (action.out.valid()) bound_[action.out.value()] = true;
    }
    return OkStatus();
  }

  const Language& language_;
  Rule& rule_;
  std::vector<bool> bound_;
};

}  // namespace

StatusOr<Rule> RuleBuilder::Build(const Language& language) && {
  ENCORE_RETURN_IF_ERROR(Checker(language, &rule_).Run());
  return std::move(rule_);
}

RuleId RuleBook::Add(Rule rule) {
  rules_.push_back(std::make_shared<const Rule>(std::move(rule)));
  since_.push_back(0);
  return RuleId(rules_.size() - 1);
}

}  // namespace encore::egraph
