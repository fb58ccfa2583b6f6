#include "encore/opt/tensor/tensor_egraph.h"

#include <algorithm>
#include <iterator>
#include <memory>

#include "encore/ir/build/simplify.h"
#include "encore/ir/graph/graph.h"
#include "encore/ir/ops/infer.h"
#include "encore/ir/support/check.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/opt/egraph/core/analysis.h"
#include "encore/opt/egraph/core/language.h"

namespace encore::opt {
namespace {

namespace eg = ::encore::egraph;

// Constants of more elements are not looked at for a value that all have.
constexpr int64_t kMaxSplatElements = 1 << 16;
// A made node becomes a better one at most so often.
constexpr int kMaxSimplifications = 8;

bool HasFields(Op op) { return Info(op).attributes != AttrsIndex::kNone; }

}  // namespace

// Facts as the engine keeps them; all knowledge is the TensorEGraph's.
class TensorEGraph::Facts : public eg::FactAnalysis<TensorFact> {
 public:
  explicit Facts(TensorEGraph* owner) : owner_(owner) {}
  std::unique_ptr<eg::Analysis> Clone() const override {
    return std::make_unique<Facts>(*this);
  }

 protected:
  TensorFact Of(const eg::EGraph&, eg::NodeId node) override {
    return owner_->FactOf(node);
  }

  bool Join(eg::EGraph* graph, TensorFact* into,
            const TensorFact& from) override {
    const TensorFact before = *into;
    if (into->type != from.type && graph != nullptr) {
      graph->SetError(InternalError("a class of two types"));
    }
    into->weight_only |= from.weight_only;
    const bool differs = into->splat != from.splat &&
                         into->splat != TensorFact::kNone &&
                         from.splat != TensorFact::kNone;
    into->splat_differs |= from.splat_differs || differs;
    if (into->splat == TensorFact::kNone) into->splat = from.splat;
    if (into->splat_differs) into->splat = TensorFact::kNone;
    JoinRanges(into, from);
    return !(*into == before);
  }

 private:
  // Both hold, so what they have in common does.
  static void JoinRanges(TensorFact* into, const TensorFact& from) {
    into->range_differs |= from.range_differs;
    into->narrowings = std::max(into->narrowings, from.narrowings);
    std::optional<ValueRange> common = into->range ? into->range : from.range;
    if (into->range && from.range) {
      common = {{std::max(into->range->lower, from.range->lower),
                 std::min(into->range->upper, from.range->upper)}};
      into->range_differs |= common->lower > common->upper;
    }
    if (into->range_differs) {
      into->range.reset();
    } else if (common != into->range &&
               into->narrowings < TensorFact::kMaxNarrowings) {
      into->range = common;
      ++into->narrowings;
    }
  }

  TensorEGraph* owner_;
};

TensorEGraph::TensorEGraph(std::span<const Symbol> symbols, bool reasons)
    : symbols_(symbols), graph_(eg::Language(), {.explanations = reasons}) {
  for (const Symbol& symbol : symbols_) {
    ENCORE_CHECK(scratch_.AddSymbol(symbol).ok());
  }
  eg::Language& language = graph_.language();
  tensor_ = *language.AddClassSort("Tensor");
  tuple_ = *language.AddClassSort("Tuple");
  attributes_ = *language.AddLiteralSort("Attributes");
  argument_ = AddOperator("argument", {eg::kI64Sort}, tensor_,
                          {.kind = TensorOp::Kind::kArgument});
  part_ = AddOperator("part", {tuple_, eg::kI64Sort}, tensor_,
                      {.kind = TensorOp::Kind::kPart, .operands = 1});
  graph_.AddAnalysis(std::make_unique<Facts>(this));
}

eg::OpId TensorEGraph::AddOperator(const std::string& name,
                                   std::vector<eg::SortId> args,
                                   eg::SortId result, TensorOp op) {
  const eg::OpId id = *graph_.language().AddOp(
      {.name = name, .args = std::move(args), .result = result});
  if (ops_.size() <= id.value()) ops_.resize(id.value() + 1);
  ops_[id.value()] = op;
  return id;
}

eg::OpId TensorEGraph::OpOf(Op op, int operands) {
  const auto it = op_ids_.find({op, operands});
  if (it != op_ids_.end()) return it->second;
  std::vector<eg::SortId> args(operands, tensor_);
  const bool has_attributes = HasFields(op);
  if (has_attributes) args.push_back(attributes_);
  const eg::OpId id =
      AddOperator(StrCat(Mnemonic(op), ".", operands), std::move(args), tensor_,
                  {.kind = TensorOp::Kind::kOp,
                   .op = op,
                   .operands = operands,
                   .has_attributes = has_attributes});
  op_ids_.emplace(std::pair(op, operands), id);
  return id;
}

eg::Value TensorEGraph::InternAttributes(const Attributes& attributes) {
  return graph_.language().literals().Custom(
      attributes_, attribute_pool_.Number(attributes));
}

const Attributes& TensorEGraph::AttributesOf(eg::Value value) const {
  return attribute_pool_[static_cast<uint32_t>(
      graph_.language().literals().AsCustom(value))];
}

std::vector<eg::Value> TensorEGraph::ColumnsOf(
    Op op, std::span<const eg::ClassId> operands,
    const Attributes& attributes) {
  std::vector<eg::Value> columns;
  for (const eg::ClassId operand : operands) columns.push_back(operand.value());
  if (HasFields(op)) columns.push_back(InternAttributes(attributes));
  return columns;
}

eg::ClassId TensorEGraph::Add(Op op, std::span<const eg::ClassId> operands,
                              const Attributes& attributes) {
  return graph_.AddWritten(OpOf(op, static_cast<int>(operands.size())),
                           ColumnsOf(op, operands, attributes));
}

// Values are those of a graph with nothing but inputs of the operands' types:
// what is there then does not depend on what computes them.
ValueId TensorEGraph::ScratchInput(uint32_t type, size_t number) {
  if (scratch_inputs_.size() <= type) scratch_inputs_.resize(type + 1);
  std::vector<ValueId>& inputs = scratch_inputs_[type];
  while (inputs.size() <= number) {
    inputs.push_back(*scratch_.AddInput(StrCat(scratch_.arguments().size()),
                                        type_pool_[type]));
  }
  return inputs[number];
}

eg::ClassId TensorEGraph::AddSimplified(Op op,
                                        std::span<const eg::ClassId> operands,
                                        const Attributes& attributes) {
  const auto there = graph_.Lookup(OpOf(op, static_cast<int>(operands.size())),
                                   ColumnsOf(op, operands, attributes));
  if (there) {
    return graph_.proofs() == nullptr ? *there : Add(op, operands, attributes);
  }
  PendingNode pending{op, {}, attributes};
  struct Known {
    eg::ClassId c, operand;  // the first operand of the class, as it was given
    ValueId value;
  };
  std::vector<Known> values;
  EqualIds equal;
  for (const eg::ClassId operand : operands) {
    const eg::ClassId c = graph_.Find(operand);
    const uint32_t type = fact(c).type;
    if (type == TensorFact::kNone) return Add(op, operands, attributes);
    size_t others = 0;  // of the type
    auto known = values.begin();
    for (; known != values.end() && known->c != c; ++known) {
      others += fact(known->c).type == type;
    }
    if (known == values.end()) {
      values.push_back({c, operand, ScratchInput(type, others)});
      known = std::prev(values.end());
    }
    if (known->operand != operand) equal.emplace_back(known->operand, operand);
    pending.operands.push_back(known->value);
  }
  const auto operand_of = [&](ValueId value) {
    return std::ranges::find(values, value, &Known::value)->operand;
  };
  bool changed = false;
  for (int i = 0; i < kMaxSimplifications; ++i) {
    const auto types =
        scratch_.Infer(pending.op, pending.operands, pending.attributes);
    if (!types.ok() || types->size() != 1) break;
    Simplified better = SimplifyNode(scratch_, pending, types->front());
    if (const ValueId* value = std::get_if<ValueId>(&better)) {
      KeepEqualIds(equal);
      return operand_of(*value);
    }
    PendingNode* const node = std::get_if<PendingNode>(&better);
    if (node == nullptr) break;
    pending = std::move(*node);
    changed = true;
  }
  if (!changed) return Add(op, operands, attributes);
  KeepEqualIds(equal);
  std::vector<eg::ClassId> final_operands;
  for (const ValueId operand : pending.operands) {
    final_operands.push_back(operand_of(operand));
  }
  return Add(pending.op, final_operands, pending.attributes);
}

void TensorEGraph::KeepEqualIds(const EqualIds& equal) {
  if (graph_.proofs() == nullptr) return;
  equal_ids_.insert(equal_ids_.end(), equal.begin(), equal.end());
}

void TensorEGraph::SetPremises(eg::ClassId left, eg::ClassId right,
                               EqualIds equal) {
  if (!equal.empty()) premises_[{left, right}] = std::move(equal);
}

TensorEGraph::EqualIds TensorEGraph::PremisesOf(eg::ClassId left,
                                                eg::ClassId right) const {
  const auto it = premises_.find({left, right});
  return it == premises_.end() ? EqualIds() : it->second;
}

eg::ClassId TensorEGraph::AddArgument(uint32_t number, const TensorType& type,
                                      bool is_parameter) {
  arguments_[number] = {
      .type = type_pool_.Number(type),
      .range = RangeOf(type.dtype),
      .weight_only = is_parameter && type.shape.is_constant()};
  return graph_.Add(argument_, {graph_.language().literals().I64(number)});
}

eg::ClassId TensorEGraph::AddAnchor(uint32_t number,
                                    std::span<const eg::ClassId> operands) {
  const int count = static_cast<int>(operands.size());
  auto it = anchor_ids_.find(count);
  if (it == anchor_ids_.end()) {
    std::vector<eg::SortId> args(count, tensor_);
    args.push_back(eg::kI64Sort);
    it = anchor_ids_
             .emplace(count,
                      AddOperator(
                          StrCat("anchor.", count), std::move(args), tuple_,
                          {.kind = TensorOp::Kind::kAnchor, .operands = count}))
             .first;
  }
  std::vector<eg::Value> columns;
  for (const eg::ClassId operand : operands) columns.push_back(operand.value());
  columns.push_back(graph_.language().literals().I64(number));
  return graph_.Add(it->second, columns);
}

eg::ClassId TensorEGraph::AddPart(eg::ClassId anchor, const TensorType& type,
                                  uint32_t result) {
  results_[result] = {.type = type_pool_.Number(type),
                      .range = RangeOf(type.dtype)};
  return graph_.Add(part_,
                    {anchor.value(), graph_.language().literals().I64(result)});
}

const Attributes& TensorEGraph::attributes(eg::NodeId node) const {
  static const Attributes none;
  if (!op(node).has_attributes) return none;
  return AttributesOf(graph_.args(node)[op(node).operands]);
}

std::vector<eg::ClassId> TensorEGraph::operands(eg::NodeId node) const {
  std::vector<eg::ClassId> classes;
  for (int i = 0; i < op(node).operands; ++i) {
    classes.push_back(graph_.Find(eg::ClassId(graph_.args(node)[i])));
  }
  return classes;
}

std::vector<eg::ClassId> TensorEGraph::WrittenOperands(eg::NodeId node) const {
  if (graph_.proofs() == nullptr) return operands(node);
  std::vector<eg::ClassId> classes;
  for (int i = 0; i < op(node).operands; ++i) {
    classes.emplace_back(graph_.proofs()->term(node.value()).args[i]);
  }
  return classes;
}

uint32_t TensorEGraph::number(eg::NodeId node) const {
  return static_cast<uint32_t>(
      graph_.language().literals().AsI64(graph_.args(node)[op(node).operands]));
}

const TensorFact& TensorEGraph::fact(eg::ClassId c) const {
  return graph_.analysis<Facts>(0).fact(graph_.Find(c));
}

const TensorType* TensorEGraph::type(eg::ClassId c) const {
  const uint32_t number = fact(c).type;
  return number == TensorFact::kNone ? nullptr : &type_pool_[number];
}

const Literal* TensorEGraph::splat(eg::ClassId c) const {
  const uint32_t number = fact(c).splat;
  if (number == TensorFact::kNone) return nullptr;
  return &attribute_pool_[number].Get<ConstantAttrs>().value;
}

StatusOr<std::vector<TensorType>> TensorEGraph::Infer(
    eg::NodeId node, std::vector<Dim>* open) const {
  std::vector<TensorType> types;
  for (const eg::ClassId operand : operands(node)) {
    const TensorType* const operand_type = type(operand);
    if (operand_type == nullptr) {
      return InvalidArgumentError("an operand is ill-typed");
    }
    types.push_back(*operand_type);
  }
  return InferTypes({.op = op(node).op,
                     .attributes = attributes(node),
                     .operands = types,
                     .bodies = {},
                     .symbols = symbols_,
                     .open = open});
}

Status TensorEGraph::CheckTypes(eg::NodeId node, std::vector<Dim>* open) const {
  if (op(node).kind != TensorOp::Kind::kOp) return OkStatus();
  return Infer(node, open).status();
}

TensorFact TensorEGraph::FactOf(eg::NodeId node) {
  const TensorOp& kind = op(node);
  switch (kind.kind) {
    case TensorOp::Kind::kArgument:
      return arguments_[number(node)];
    case TensorOp::Kind::kPart:
      return results_[number(node)];
    case TensorOp::Kind::kAnchor:
      return {};
    case TensorOp::Kind::kOp:
      break;
  }
  TensorFact fact;
  const auto types = Infer(node, nullptr);
  if (!types.ok() || types->size() != 1) return fact;
  fact.type = type_pool_.Number(types->front());
  fact.weight_only = types->front().shape.is_constant();
  for (const eg::ClassId operand : operands(node)) {
    fact.weight_only &= this->fact(operand).weight_only;
  }
  fact.splat = SplatOf(kind, node);
  fact.range = RangeOfNode(node, types->front());
  if (fact.splat == TensorFact::kNone && fact.range &&
      fact.range->lower == fact.range->upper) {
    Literal number(types->front().dtype, {});
    number.SetInt(0, fact.range->lower);
    fact.splat = attribute_pool_.Number(ConstantAttrs{.value = number});
  }
  return fact;
}

std::optional<ValueRange> TensorEGraph::RangeOfNode(
    eg::NodeId node, const TensorType& result) const {
  std::vector<std::optional<ValueRange>> ranges;
  std::vector<const TensorType*> types;
  for (const eg::ClassId operand : operands(node)) {
    ranges.push_back(fact(operand).range);
    types.push_back(type(operand));
  }
  return RangeOf(op(node).op, attributes(node), ranges, types, result,
                 symbols_);
}

// A movement of one operand gives elements of that operand only.
uint32_t TensorEGraph::SplatOf(const TensorOp& kind, eg::NodeId node) {
  if (kind.op == Op::kConstant) {
    const Literal& literal = attributes(node).Get<ConstantAttrs>().value;
    const int64_t count = literal.element_count();
    if (count < 1 || count > kMaxSplatElements ||
        BitWidth(literal.dtype()) == 0) {
      return TensorFact::kNone;
    }
    Literal first(literal.dtype(), {});
    if (IsFloat(literal.dtype())) {
      first.SetDouble(0, literal.AsDouble(0));
    } else {
      first.SetInt(0, literal.AsInt(0));
    }
    for (int64_t i = 0; i < count; ++i) {
      if (!SameBits(literal.AsDouble(i), first.AsDouble(0)) ||
          literal.AsInt(i) != first.AsInt(0)) {
        return TensorFact::kNone;
      }
    }
    return attribute_pool_.Number(ConstantAttrs{.value = first});
  }
  if (kind.operands != 1 || !Info(kind.op).has(kMovement)) {
    return TensorFact::kNone;
  }
  return fact(operands(node)[0]).splat;
}

}  // namespace encore::opt
