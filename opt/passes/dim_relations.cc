#include "encore/opt/passes/dim_relations.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <span>
#include <utility>

#include "encore/ir/ops/attributes.h"

namespace encore::opt {
namespace {

// Longer vectors are data.
constexpr int64_t kMostElements = 16;

// Of one condition; what more it says is not used.
constexpr size_t kMostRelations = 256;

bool IsVectorOfSizes(const TensorType& type) {
  if (type.dtype != DType::kI64 || type.kind != ValueKind::kTensor ||
      type.shape.rank() > 1 || !type.shape.is_constant()) {
    return false;
  }
  return type.shape.ElementCount().constant() <= kMostElements;
}

// Whether i64 arithmetic on it is exact, so that the dim is what is computed.
bool IsExact(const Dim& dim, std::span<const Symbol> symbols) {
  return dim.valid() && dim.LowerBound(symbols) != INT64_MIN &&
         dim.UpperBound(symbols) != INT64_MAX;
}

// Division of i64 truncates; of what is not negative it is floor_div.
Dim Divided(Op op, const Dim& a, const Dim& b,
            std::span<const Symbol> symbols) {
  if (a.LowerBound(symbols) < 0 || b.LowerBound(symbols) < 1) {
    return Dim::Invalid();
  }
  return op == Op::kDiv ? FloorDiv(a, b) : Mod(a, b);
}

Dim Applied(Op op, const Dim& a, const Dim& b,
            std::span<const Symbol> symbols) {
  switch (op) {
    case Op::kAdd:
      return a + b;
    case Op::kSub:
      return a - b;
    case Op::kMul:
      return a * b;
    case Op::kMax:
      return Max(a, b);
    case Op::kMin:
      return Min(a, b);
    case Op::kDiv:
    case Op::kRem:
      return Divided(op, a, b, symbols);
    default:
      return Dim::Invalid();
  }
}

// The relation that `difference`, a - b, has to 0.
DimRelation Relation(Comparison direction, const Dim& difference) {
  using Kind = DimRelation::Kind;
  switch (direction) {
    case Comparison::kGe:
      return {Kind::kNotNegative, difference};
    case Comparison::kGt:
      return {Kind::kNotNegative, difference - 1};
    case Comparison::kLe:
      return {Kind::kNotNegative, Dim(0) - difference};
    case Comparison::kLt:
      return {Kind::kNotNegative, Dim(0) - difference - 1};
    default:
      return {Kind::kZero, difference};
  }
}

// x where `zero`, which is 0, is mod(x, n) or x - n * floor_div(x, n).
std::optional<DimRelation> AsMultiple(const Dim& zero) {
  std::optional<DimRelation> found;
  for (const Dim::Term& term : zero.terms()) {
    if (term.factors.size() != 1) continue;
    const Dim::Factor& factor = term.factors[0];
    const bool divides =
        factor.op == Dim::Op::kFloorDiv || factor.op == Dim::Op::kMod;
    if (!divides || !factor.b->is_constant() || factor.b->constant() < 2) {
      continue;
    }
    const int64_t divisor = factor.b->constant();
    const Dim rest = factor.op == Dim::Op::kMod
                         ? Mod(*factor.a, divisor)
                         : *factor.a - FloorDiv(*factor.a, divisor) * divisor;
    if (zero == rest || zero == Dim(0) - rest) {
      found = {DimRelation::Kind::kMultiple, *factor.a, divisor};
    }
  }
  return found;
}

// Of e >= 0 and -e >= 0, e == 0.
void JoinBounds(std::vector<DimRelation>* relations) {
  using Kind = DimRelation::Kind;
  for (size_t i = 0; i < relations->size(); ++i) {
    DimRelation& first = (*relations)[i];
    if (first.kind != Kind::kNotNegative) continue;
    const auto opposite =
        std::find_if(relations->begin() + static_cast<std::ptrdiff_t>(i) + 1,
                     relations->end(), [&](const DimRelation& other) {
                       return other.kind == Kind::kNotNegative &&
                              other.expr == Dim(0) - first.expr;
                     });
    if (opposite == relations->end()) continue;
    first.kind = Kind::kZero;
    relations->erase(opposite);
  }
}

bool Holds(const DimRelation& relation, std::span<const Symbol> symbols) {
  switch (relation.kind) {
    case DimRelation::Kind::kZero:
      return relation.expr == Dim(0);
    case DimRelation::Kind::kNotNegative:
      return relation.expr.LowerBound(symbols) >= 0;
    case DimRelation::Kind::kMultiple:
      return Mod(relation.expr, relation.divisor) == Dim(0);
  }
  return false;
}

}  // namespace

DimIntegers::DimIntegers(const Graph& graph) : graph_(graph) {
  SeedDefinitions();
  for (const NodeId node : Nodes(graph)) {
    if (graph.result_count(node) != 1 ||
        !IsVectorOfSizes(graph.type(graph.result(node)))) {
      continue;
    }
    if (auto elements = Compute(node)) {
      known_.insert_or_assign(graph.result(node), *std::move(elements));
    }
  }
}

// What a definition reads is what its symbols are. Behind an assertion it is
// what the condition lets through.
void DimIntegers::SeedDefinitions() {
  const std::vector<bool> live = LiveNodes(graph_);
  for (const NodeId node : Nodes(graph_)) {
    if (graph_.op(node) != Op::kDefineSymbols || !live[node.value()]) continue;
    const Dims& dims = graph_.attrs<DefineSymbolsAttrs>(node).dims;
    std::set<ValueId> asserted;
    ValueId value = graph_.operand(node, 0);
    while (true) {
      known_.emplace(value, Elements{dims, /*computed=*/false});
      const NodeId producer = graph_.producer(value);
      const Op op = graph_.op(producer);
      if (op == Op::kAssertion) {
        ValueId condition = graph_.operand(producer, 1);
        asserted.insert(condition);
        if (graph_.op(graph_.producer(condition)) == Op::kCast) {
          asserted.insert(graph_.operand(graph_.producer(condition), 0));
        }
        value = graph_.operand(producer, 0);
      } else if (op == Op::kReshape || op == Op::kDefineSymbols) {
        value = graph_.operand(producer, 0);
      } else if (op == Op::kSelect &&
                 asserted.contains(graph_.operand(producer, 0))) {
        value = graph_.operand(producer, 1);
      } else {
        break;
      }
      if (!IsVectorOfSizes(graph_.type(value)) ||
          graph_.shape(value).ElementCount() !=
              Dim(static_cast<int64_t>(dims.size()))) {
        break;
      }
    }
  }
}

std::optional<DimIntegers::Elements> DimIntegers::Combine(NodeId node) const {
  const std::span<const Symbol> symbols = graph_.symbols();
  const Elements* a = Of(graph_.operand(node, 0));
  const Elements* b = Of(graph_.operand(node, 1));
  if (a == nullptr || b == nullptr || a->dims.size() != b->dims.size()) {
    return std::nullopt;
  }
  Elements elements = {{}, a->computed && b->computed};
  for (size_t i = 0; i < a->dims.size(); ++i) {
    elements.dims.push_back(
        Applied(graph_.op(node), a->dims[i], b->dims[i], symbols));
    if (!IsExact(elements.dims[i], symbols)) return std::nullopt;
  }
  return elements;
}

std::optional<DimIntegers::Elements> DimIntegers::Compute(NodeId node) const {
  const auto operands = graph_.operands(node);
  const Op op = graph_.op(node);
  const Shape& shape = graph_.shape(graph_.result(node));
  if (op == Op::kConstant) {
    const Literal& literal = *graph_.constant(graph_.result(node));
    Elements elements;
    for (int64_t i = 0; i < literal.element_count(); ++i) {
      elements.dims.emplace_back(literal.AsInt(i));
    }
    return elements;
  }
  if (op == Op::kDimValues) {
    return Elements{graph_.attrs<DimValuesAttrs>(node).dims};
  }
  if (op == Op::kDefineSymbols) {
    return Elements{graph_.attrs<DefineSymbolsAttrs>(node).dims};
  }
  if (op == Op::kConcat) {
    Elements joined;
    for (const ValueId operand : operands) {
      const Elements* part = Of(operand);
      if (part == nullptr) return std::nullopt;
      joined.dims.insert(joined.dims.end(), part->dims.begin(),
                         part->dims.end());
      joined.computed &= part->computed;
    }
    return joined;
  }
  const Elements* first = operands.empty() ? nullptr : Of(operands[0]);
  if (first == nullptr) return std::nullopt;
  if (op == Op::kAssertion || op == Op::kReshape) return *first;
  if (op == Op::kBroadcast && first->dims.size() == 1) {
    const int64_t count = shape.ElementCount().constant();
    return Elements{std::vector<Dim>(count, first->dims[0]), first->computed};
  }
  if (op == Op::kSlice) {
    const SliceAttrs& slice = graph_.attrs<SliceAttrs>(node);
    if (!slice.starts[0].is_constant()) return std::nullopt;
    Elements part = {{}, first->computed};
    for (int64_t i = 0; i < shape.ElementCount().constant(); ++i) {
      part.dims.push_back(
          first->dims[slice.starts[0].constant() + i * slice.strides[0]]);
    }
    return part;
  }
  return operands.size() == 2 ? Combine(node) : std::nullopt;
}

const DimIntegers::Elements* DimIntegers::Of(ValueId value) const {
  const auto found = known_.find(value);
  return found == known_.end() ? nullptr : &found->second;
}

std::optional<DimRelation> DimIntegers::Compared(NodeId node) const {
  const Comparison direction = graph_.attrs<CompareAttrs>(node).direction;
  const Elements* a = Of(graph_.operand(node, 0));
  const Elements* b = Of(graph_.operand(node, 1));
  if (direction == Comparison::kNe || a == nullptr || b == nullptr ||
      a->dims.size() != 1 || b->dims.size() != 1) {
    return std::nullopt;
  }
  const Dim difference = a->dims[0] - b->dims[0];
  if (!difference.valid()) return std::nullopt;
  return Relation(direction, difference);
}

bool DimIntegers::Collect(ValueId condition,
                          std::vector<DimRelation>* relations) const {
  bool whole = true;
  std::set<ValueId> seen;
  std::vector<ValueId> work = {condition};
  while (!work.empty()) {
    const ValueId value = work.back();
    work.pop_back();
    if (!seen.insert(value).second) continue;
    const NodeId node = graph_.producer(value);
    const Op op = graph_.op(node);
    const auto operands = graph_.operands(node);
    const bool is_bool = graph_.dtype(value) == DType::kBool;
    const bool least =
        op == Op::kReduce &&
        graph_.attrs<ReduceAttrs>(node).combiner == Combiner::kMin;
    if (const Elements* positive = Of(least ? operands[0] : value)) {
      for (const Dim& dim : positive->dims) {
        relations->push_back({DimRelation::Kind::kNotNegative, dim - 1});
      }
      whole &= positive->computed;
    } else if (op == Op::kReshape || (op == Op::kAnd && is_bool) ||
               (op == Op::kCast && graph_.dtype(operands[0]) == DType::kBool)) {
      work.insert(work.end(), operands.begin(), operands.end());
    } else if (const auto compared =
                   op == Op::kCompare ? Compared(node) : std::nullopt) {
      relations->push_back(*compared);
      whole &= Of(operands[0])->computed && Of(operands[1])->computed;
    } else {
      const Literal* literal = graph_.constant(value);
      whole &= literal != nullptr && is_bool && literal->element_count() == 1 &&
               literal->AsInt(0) != 0;
    }
  }
  return whole;
}

std::vector<DimRelation> DimIntegers::Implied(ValueId condition) const {
  std::vector<DimRelation> relations;
  Collect(condition, &relations);
  if (relations.size() > kMostRelations) relations.resize(kMostRelations);
  JoinBounds(&relations);
  for (DimRelation& relation : relations) {
    if (relation.kind != DimRelation::Kind::kZero) continue;
    if (const auto multiple = AsMultiple(relation.expr)) relation = *multiple;
  }
  return relations;
}

bool DimIntegers::IsCertain(ValueId condition) const {
  std::vector<DimRelation> relations;
  return Collect(condition, &relations) &&
         std::ranges::all_of(relations, [&](const DimRelation& relation) {
           return Holds(relation, graph_.symbols());
         });
}

}  // namespace encore::opt
