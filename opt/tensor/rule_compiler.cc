#include "encore/opt/tensor/rule_compiler.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "encore/ir/ops/op.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/opt/egraph/core/egraph.h"
#include "encore/opt/egraph/core/language.h"
#include "encore/opt/tensor/composites/decomposition.h"
#include "encore/opt/tensor/functions/attribute_functions.h"
#include "encore/opt/tensor/reachable_ops.h"

namespace encore::opt {
namespace {

namespace eg = ::encore::egraph;

// Runs a function on values of the e-graph; nothing where it does not hold.
std::optional<std::vector<Attributes>> Call(const AttributeFunction& function,
                                            const TensorEGraph& tensors,
                                            std::span<const eg::Value> args) {
  std::vector<FunctionArgument> arguments(args.size());
  for (size_t i = 0; i < args.size(); ++i) {
    switch (function.parameters[i]) {
      case 't':
        arguments[i].type = tensors.type(eg::ClassId(args[i]));
        if (arguments[i].type == nullptr) return std::nullopt;
        arguments[i].splat = tensors.splat(eg::ClassId(args[i]));
        break;
      case 'a':
        arguments[i].attributes = &tensors.AttributesOf(args[i]);
        break;
      case 'n':
        arguments[i].number =
            tensors.graph().language().literals().AsF64(args[i]);
        break;
      default:
        arguments[i].integer =
            tensors.graph().language().literals().AsI64(args[i]);
    }
  }
  std::vector<Attributes> results(function.results);
  if (!function.run({arguments, tensors.symbols()}, results)) {
    return std::nullopt;
  }
  return results;
}

// The primitive that gives result `i` of a function; of a condition the one
// that holds or not.
eg::PrimitiveId AddFunction(const AttributeFunction& function, int i,
                            TensorEGraph* tensors) {
  eg::PrimitiveInfo info;
  info.name = StrCat(function.name, ".", i);
  for (const char parameter : function.parameters) {
    info.args.push_back(parameter == 't'   ? tensors->tensor_sort()
                        : parameter == 'a' ? tensors->attributes_sort()
                        : parameter == 'n' ? eg::kF64Sort
                                           : eg::kI64Sort);
  }
  info.result =
      function.results == 0 ? eg::kUnitSort : tensors->attributes_sort();
  info.function = [&function, i, tensors](const eg::EGraph&, eg::LiteralPool&,
                                          std::span<const eg::Value> args,
                                          eg::Value* result) {
    const auto results = Call(function, *tensors, args);
    if (!results) return false;
    if (!results->empty()) *result = tensors->InternAttributes((*results)[i]);
    return true;
  };
  return tensors->graph().language().AddPrimitive(std::move(info));
}

// The right sides of a rule: what an application makes.
struct Production {
  struct Node {
    std::optional<uint32_t> argument;  // a slot's value instead of a node
    Op op = Op::kInput;
    std::vector<uint32_t> operands;      // earlier nodes
    std::optional<uint32_t> attributes;  // a slot's value
    Attributes values;                   // where that is none
    bool decomposed = false;  // the composite's decomposition, not it
  };
  struct Goal {
    uint32_t node;
    uint32_t argument;  // whose class the node's is to be
  };
  std::string name;
  bool wide_only = false;  // see RoundedFloats
  std::vector<Node> nodes;
  std::vector<Goal> goals;
};

bool IsNarrowFloat(const TensorType* type) {
  return type != nullptr && IsFloat(type->dtype) && BitWidth(type->dtype) < 32;
}

// Sets the engine's error where the node or the union is wrong.
bool CheckGoal(const Production& production, TensorEGraph* tensors,
               eg::ClassId made, eg::ClassId wanted) {
  const TensorType* const is = tensors->type(made);
  const TensorType* const was = tensors->type(wanted);
  if (is != nullptr && was != nullptr && *is == *was) return true;
  const auto text = [&](const TensorType* type) {
    return type == nullptr ? "an ill-typed node"
                           : type->ToString(tensors->symbols());
  };
  tensors->SetFault(wanted,
                    InternalError(StrCat("the rule ", production.name, " made ",
                                         text(is), " of ", text(was))));
  return false;
}

// An application: a call for each goal, which gives what is to be united with
// the goal's class. The first makes all nodes.
class Application {
 public:
  Application(Production production, TensorEGraph* tensors, RuleCount* count)
      : production_(std::move(production)),
        tensors_(*tensors),
        count_(*count) {}

  // Nothing where the rule does not fire, or is wrong.
  std::optional<eg::Value> Give(size_t goal, eg::EGraph* graph,
                                std::span<const eg::Value> slots) {
    if (goal == 0 && !Make(graph, slots)) return std::nullopt;
    const auto [node, argument] = production_.goals[goal];
    const eg::ClassId wanted(slots[argument]), made = made_[node];
    if (!CheckGoal(production_, &tensors_, made, wanted)) return std::nullopt;
    count_.applications += !graph->Same(wanted, made);
    if (graph->proofs() != nullptr) {
      tensors_.SetPremises(wanted, made, equal_ids_);
    }
    return made.value();
  }

 private:
  bool Make(eg::EGraph* graph, std::span<const eg::Value> slots) {
    for (const Production::Goal& goal : production_.goals) {
      const TensorType* const type =
          tensors_.type(eg::ClassId(slots[goal.argument]));
      if (production_.wide_only && IsNarrowFloat(type)) return false;
    }
    made_.clear();
    for (const Production::Node& node : production_.nodes) {
      if (node.argument) {
        made_.push_back(eg::ClassId(slots[*node.argument]));
        continue;
      }
      std::vector<eg::ClassId> operands;
      for (const uint32_t operand : node.operands) {
        operands.push_back(made_[operand]);
      }
      const size_t enodes = graph->num_enodes();
      const Attributes attributes =
          node.attributes ? tensors_.AttributesOf(slots[*node.attributes])
                          : node.values;
      made_.push_back(
          node.decomposed
              ? AddDecomposition(&tensors_, node.op, operands, attributes)
              : tensors_.AddSimplified(node.op, operands, attributes));
      count_.nodes += graph->num_enodes() - enodes;
      const eg::ClassId c = made_.back();
      if (tensors_.type(c) == nullptr) {
        const eg::ClassId wanted(slots[production_.goals[0].argument]);
        return CheckGoal(production_, &tensors_, c, wanted);
      }
    }
    equal_ids_ = tensors_.TakeEqualIds();
    return true;
  }

  const Production production_;
  TensorEGraph& tensors_;
  RuleCount& count_;
  std::vector<eg::ClassId> made_;  // by node of the production
  TensorEGraph::EqualIds equal_ids_;
};

// One text rule with one operator in place of the one it ranges over.
class RuleCompiler {
 public:
  RuleCompiler(const TextRule& rule, Op ranged, RoundedFloats floats,
               TensorEGraph* tensors, RuleCount* count)
      : rule_(rule),
        ranged_(ranged),
        floats_(floats),
        tensors_(tensors),
        count_(count),
        builder_(NameOf(rule, ranged)) {}

  StatusOr<eg::Rule> Compile() && {
    slots_of_terms_.resize(rule_.terms.size());
    for (const RuleSide& side : rule_.left) {
      ENCORE_RETURN_IF_ERROR(MatchSide(side));
    }
    for (const RuleClause& clause : rule_.clauses) {
      ENCORE_RETURN_IF_ERROR(AddClause(clause));
    }
    Production production;
    production.name = NameOf(rule_, ranged_);
    // Decompositions compute with wider floats what is narrow.
    production.wide_only =
        rule_.tag == RuleTag::kDefinition ||
        (floats_ == RoundedFloats::kWide && rule_.tag != RuleTag::kExact);
    nodes_of_terms_.resize(rule_.terms.size());
    for (const RuleSide& side : rule_.right) {
      ENCORE_RETURN_IF_ERROR(Produce(side, &production));
    }
    const std::vector<Production::Goal> goals = production.goals;
    const auto application =
        std::make_shared<Application>(std::move(production), tensors_, count_);
    for (size_t i = 0; i < goals.size(); ++i) {
      const eg::Slot made = builder_.Call(
          tensors_->tensor_sort(),
          [application, i](eg::EGraph* graph,
                           std::span<const eg::Value> slots) {
            return application->Give(i, graph, slots);
          },
          arguments_);
      builder_.Union(arguments_[goals[i].argument], made);
    }
    return std::move(builder_).Build(tensors_->graph().language());
  }

 private:
  static std::string NameOf(const TextRule& rule, Op ranged) {
    return rule.range.empty() ? rule.name
                              : StrCat(rule.name, "/", Mnemonic(ranged));
  }
  Status Error(std::string_view message) const {
    return InvalidArgumentError(StrCat("rule ", rule_.name, ": ", message));
  }
  Op OpOf(const RuleTerm& term) const {
    return term.ranged ? ranged_ : term.op;
  }
  bool HasFields(Op op) const {
    return Info(op).attributes != AttrsIndex::kNone;
  }

  // --- Variables. Tensors and attributes have names of their own.

  eg::Slot Tensor(const std::string& name) {
    const auto [it, fresh] = tensors_by_name_.try_emplace(name);
    if (fresh) it->second = builder_.Variable(tensors_->tensor_sort(), name);
    return it->second;
  }
  eg::Slot AttributesVariable(const std::string& name) {
    const auto [it, fresh] = attributes_by_name_.try_emplace(name);
    if (fresh) {
      it->second = builder_.Variable(tensors_->attributes_sort(), name);
    }
    return it->second;
  }

  // --- The left sides.

  Status MatchSide(const RuleSide& side) {
    // Operands come before what uses them, so all terms of the side lie
    // between its first and its root.
    ENCORE_RETURN_IF_ERROR(MatchTerms(side.term));
    const eg::Slot root = slots_of_terms_[side.term];
    const std::string name = side.name.empty() ? kLone : side.name;
    if (tensors_by_name_.contains(name)) {
      builder_.Equal(tensors_by_name_.at(name), root);
    } else {
      tensors_by_name_.emplace(name, root);
    }
    return OkStatus();
  }

  std::vector<uint32_t> TermsBelow(uint32_t root) const {
    std::vector<uint32_t> order = {root};
    for (size_t i = 0; i < order.size(); ++i) {
      const auto& operands = rule_.terms[order[i]].operands;
      order.insert(order.end(), operands.begin(), operands.end());
    }
    return {order.rbegin(), order.rend()};
  }

  Status MatchTerms(uint32_t root) {
    for (const uint32_t number : TermsBelow(root)) {
      const RuleTerm& term = rule_.terms[number];
      if (!term.variable.empty()) {
        slots_of_terms_[number] = Tensor(term.variable);
        continue;
      }
      std::vector<eg::Slot> columns;
      for (const uint32_t operand : term.operands) {
        columns.push_back(slots_of_terms_[operand]);
      }
      const Op op = OpOf(term);
      if (HasFields(op)) {
        ENCORE_ASSIGN_OR_RETURN(const eg::Slot slot, MatchedAttributes(term));
        columns.push_back(slot);
      }
      slots_of_terms_[number] = builder_.Match(
          tensors_->OpOf(op, static_cast<int>(term.operands.size())),
          std::move(columns));
    }
    return OkStatus();
  }

  StatusOr<eg::Slot> MatchedAttributes(const RuleTerm& term) {
    if (const auto* name = std::get_if<std::string>(&term.attributes)) {
      return AttributesVariable(*name);
    }
    if (const auto* values = std::get_if<Attributes>(&term.attributes)) {
      return builder_.Constant(tensors_->attributes_sort(),
                               tensors_->InternAttributes(*values));
    }
    if (std::holds_alternative<RuleCall>(term.attributes)) {
      return Error("a function on the left; put it in a where clause");
    }
    return Error(StrCat(Mnemonic(OpOf(term)), " needs its attributes"));
  }

  // --- Clauses.

  // The slots of a function's results.
  StatusOr<std::vector<eg::Slot>> Require(const RuleCall& call) {
    const AttributeFunction* const function =
        FindAttributeFunction(call.function);
    if (function == nullptr) {
      return Error(StrCat("no function is called ", Quote(call.function)));
    }
    ENCORE_ASSIGN_OR_RETURN(const std::vector<eg::Slot> arguments,
                            Arguments(*function, call));
    std::vector<eg::Slot> results;
    for (int i = 0; i < std::max(function->results, 1); ++i) {
      results.push_back(
          builder_.Require(AddFunction(*function, i, tensors_), arguments));
    }
    if (function->results == 0) results.clear();
    return results;
  }

  StatusOr<std::vector<eg::Slot>> Arguments(const AttributeFunction& function,
                                            const RuleCall& call) {
    std::string kinds;
    std::vector<eg::Slot> slots;
    eg::LiteralPool& literals = tensors_->graph().language().literals();
    for (const RuleArgument& argument : call.arguments) {
      const bool number = slots.size() < function.parameters.size() &&
                          function.parameters[slots.size()] == 'n';
      switch (argument.kind) {
        case RuleArgument::Kind::kTensor:
          kinds += 't';
          if (!tensors_by_name_.contains(argument.name)) {
            return Error(StrCat("%", argument.name, " is bound by no pattern"));
          }
          slots.push_back(Tensor(argument.name));
          break;
        case RuleArgument::Kind::kAttributes:
          kinds += 'a';
          slots.push_back(AttributesVariable(argument.name));
          break;
        case RuleArgument::Kind::kInteger:
          kinds += number ? 'n' : 'i';
          slots.push_back(
              number ? builder_.Constant(eg::kF64Sort,
                                         literals.F64(argument.value()))
                     : builder_.Constant(eg::kI64Sort,
                                         literals.I64(argument.integer)));
          break;
        case RuleArgument::Kind::kNumber:
          kinds += 'n';
          slots.push_back(
              builder_.Constant(eg::kF64Sort, literals.F64(argument.number)));
      }
    }
    if (kinds == function.parameters) return slots;
    return Error(StrCat(
        function.name, " takes ", Quote(function.parameters), ", not ",
        Quote(kinds), " (t a tensor, a attributes, i an integer, n a number)"));
  }

  Status AddClause(const RuleClause& clause) {
    ENCORE_ASSIGN_OR_RETURN(const std::vector<eg::Slot> results,
                            Require(clause.call));
    if (results.size() != clause.results.size()) {
      return Error(StrCat(clause.call.function, " gives ", results.size(),
                          " results, not ", clause.results.size()));
    }
    for (size_t i = 0; i < results.size(); ++i) {
      const auto [it, fresh] =
          attributes_by_name_.try_emplace(clause.results[i], results[i]);
      if (!fresh) builder_.Equal(it->second, results[i]);
    }
    return OkStatus();
  }

  // --- The right sides.

  // The position of a slot among the action's arguments.
  uint32_t ArgumentOf(eg::Slot slot) {
    for (size_t i = 0; i < arguments_.size(); ++i) {
      if (arguments_[i] == slot) return static_cast<uint32_t>(i);
    }
    arguments_.push_back(slot);
    return static_cast<uint32_t>(arguments_.size() - 1);
  }

  Status Produce(const RuleSide& side, Production* production) {
    const bool decomposed = rule_.terms[side.term].decomposition;
    const uint32_t root = decomposed ? rule_.left[0].term : side.term;
    for (const uint32_t number : TermsBelow(root)) {
      const RuleTerm& term = rule_.terms[number];
      Production::Node node;
      node.decomposed = decomposed && number == root;
      if (!term.variable.empty()) {
        if (!tensors_by_name_.contains(term.variable)) {
          return Error(StrCat("%", term.variable, " is bound by no pattern"));
        }
        node.argument = ArgumentOf(Tensor(term.variable));
      } else {
        node.op = OpOf(term);
        for (const uint32_t operand : term.operands) {
          node.operands.push_back(nodes_of_terms_[operand]);
        }
        ENCORE_RETURN_IF_ERROR(ProduceAttributes(term, &node));
      }
      nodes_of_terms_[number] = static_cast<uint32_t>(production->nodes.size());
      production->nodes.push_back(std::move(node));
    }
    const std::string name = side.name.empty() ? kLone : side.name;
    if (!tensors_by_name_.contains(name)) {
      return Error(StrCat("%", name, " is bound by no pattern"));
    }
    production->goals.push_back(
        {.node = nodes_of_terms_[root], .argument = ArgumentOf(Tensor(name))});
    return OkStatus();
  }

  Status ProduceAttributes(const RuleTerm& term, Production::Node* node) {
    const Op op = node->op;
    if (!HasFields(op)) return OkStatus();
    if (const auto* name = std::get_if<std::string>(&term.attributes)) {
      if (!attributes_by_name_.contains(*name)) {
        return Error(StrCat("the attributes ", *name, " are bound by nothing"));
      }
      node->attributes = ArgumentOf(AttributesVariable(*name));
    } else if (const auto* values = std::get_if<Attributes>(&term.attributes)) {
      node->values = *values;
    } else if (const auto* call = std::get_if<RuleCall>(&term.attributes)) {
      ENCORE_ASSIGN_OR_RETURN(const std::vector<eg::Slot> results,
                              Require(*call));
      if (results.size() != 1) {
        return Error(StrCat(call->function, " gives ", results.size(),
                            " results, not 1"));
      }
      node->attributes = ArgumentOf(results[0]);
    } else {
      return Error(StrCat(Mnemonic(op), " needs its attributes"));
    }
    return OkStatus();
  }

  static constexpr const char* kLone = "";

  const TextRule& rule_;
  const Op ranged_;
  const RoundedFloats floats_;
  TensorEGraph* const tensors_;
  RuleCount* const count_;
  eg::RuleBuilder builder_;
  std::map<std::string, eg::Slot> tensors_by_name_, attributes_by_name_;
  std::vector<eg::Slot> slots_of_terms_, arguments_;
  std::vector<uint32_t> nodes_of_terms_;
};

}  // namespace

StatusOr<CompiledRules> CompileRules(std::span<const TextRule> rules,
                                     TensorEGraph* tensors,
                                     std::span<RuleCount> counts,
                                     RoundedFloats floats) {
  CompiledRules compiled;
  const ReachableOps reachable(rules, *tensors);
  for (size_t i = 0; i < rules.size(); ++i) {
    std::vector<Op> range = rules[i].range;
    if (range.empty()) range.push_back(Op::kInput);
    for (const Op op : range) {
      if (!reachable.CanMatch(rules[i], op)) continue;
      RuleCompiler compiler(rules[i], op, floats, tensors, &counts[i]);
      ENCORE_ASSIGN_OR_RETURN(eg::Rule rule, std::move(compiler).Compile());
      compiled.rules.push_back(std::move(rule));
      compiled.text.push_back(static_cast<uint32_t>(i));
    }
  }
  return compiled;
}

}  // namespace encore::opt
