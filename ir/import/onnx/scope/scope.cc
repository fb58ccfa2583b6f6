#include "encore/ir/import/onnx/scope/scope.h"

#include "encore/ir/support/check.h"
#include "encore/ir/support/strings.h"

namespace encore::onnx {
namespace {

Literal DimsLiteral(const KnownDims& known) {
  Literal literal(known.dtype,
                  known.scalar ? std::vector<int64_t>()
                               : std::vector<int64_t>{
                                     static_cast<int64_t>(known.dims.size())});
  for (size_t i = 0; i < known.dims.size(); ++i) {
    literal.SetInt(static_cast<int64_t>(i), known.dims[i].constant());
  }
  return literal;
}

bool AreConstant(const Dims& dims) {
  for (const Dim& dim : dims) {
    if (!dim.is_constant()) return false;
  }
  return true;
}

}  // namespace

bool IsWeight(const Literal& literal) {
  return literal.rank() > 0 &&
         (IsFloat(literal.dtype()) || BitWidth(literal.dtype()) <= 8 ||
          literal.element_count() > kMaxKnownDims) &&
         !IsString(literal.dtype());
}

Status Scope::Bind(std::string_view name, Bound bound) {
  if (bound.dims && AreConstant(bound.dims->dims)) {
    bound.constant = DimsLiteral(*bound.dims);
    bound.dims.reset();
  }
  if (bound.is_weight && read_weights_->contains(name)) bound.is_weight = false;
  if (!names_.try_emplace(name, std::move(bound)).second) {
    return InvalidArgumentError(
        StrCat("the name ", Quote(name), " is given to more than one value"));
  }
  return OkStatus();
}

const Bound* Scope::Find(std::string_view name) const {
  const auto found = names_.find(name);
  return found == names_.end() ? nullptr : &found->second;
}

Status Scope::CheckOutput(std::string_view name) {
  if (IsMixed(name)) {
    return Stop(Obstacle::kMixedRanks,
                UnimplementedError(StrCat("the branches of an If give output ",
                                          Quote(name),
                                          " in two ranks: it must have one")));
  }
  if (Find(name) != nullptr) return OkStatus();
  return InvalidArgumentError(
      StrCat("output ", Quote(name), " is not produced by any node"));
}

Value Scope::Tensor(std::string_view name) {
  const auto found = names_.find(name);
  ENCORE_CHECK(found != names_.end()) << name;
  Bound& bound = found->second;
  if (bound.value) return *bound.value;
  if (bound.constant && bound.is_weight && !is_body_) {
    bound.value = builder_->Parameter(std::string(name), bound.constant->type(),
                                      *bound.constant);
  } else if (bound.constant) {
    bound.value = builder_->Constant(*bound.constant);
  } else {
    Value value = builder_->DimValues(bound.dims->dims);
    if (bound.dims->scalar) value = builder_->Reshape(value, Shape{});
    if (bound.dims->dtype != DType::kI64) {
      value = builder_->Cast(value, bound.dims->dtype);
    }
    bound.value = value;
  }
  return *bound.value;
}

std::optional<Literal> Scope::Constant(std::string_view name) {
  const auto found = names_.find(name);
  if (found == names_.end() || !found->second.constant) return std::nullopt;
  Bound& bound = found->second;
  if (bound.is_weight) {
    read_weights_->emplace(name);
    needs_restart_ |= bound.value.has_value();
    bound.is_weight = false;
  }
  return bound.constant;
}

void Scope::ReadWeightsBehind(std::string_view name) {
  const Bound* bound = Find(name);
  if (bound == nullptr || !bound->value || !bound->value->valid()) return;
  const encore::Graph& graph = builder_->graph();
  std::set<ValueId> seen = {bound->value->id()};
  std::vector<ValueId> work(seen.begin(), seen.end());
  std::set<ValueId> weights;
  while (!work.empty()) {
    const ValueId value = work.back();
    work.pop_back();
    const NodeId node = graph.producer(value);
    if (graph.op(node) == Op::kInput) return;
    if (graph.op(node) == Op::kParameter) {
      const Dim count = graph.shape(value).ElementCount();
      if (!count.is_constant() || count.constant() > kMaxStructureElements) {
        return;
      }
      weights.insert(value);
    }
    for (const ValueId operand : graph.operands(node)) {
      if (seen.insert(operand).second) work.push_back(operand);
    }
    if (seen.size() > kMaxStructureNodes) return;
  }
  if (weights.empty()) return;
  for (const auto& argument : graph.arguments()) {
    if (!weights.contains(argument.value)) continue;
    read_weights_->insert(argument.name);
    needs_restart_ = true;
  }
}

std::optional<KnownDims> Scope::AsDims(std::string_view name) {
  const Bound* bound = Find(name);
  if (bound == nullptr) return std::nullopt;
  if (bound->dims) return bound->dims;
  if (!bound->constant) return std::nullopt;
  const Literal& literal = *bound->constant;
  if ((literal.dtype() != DType::kI64 && literal.dtype() != DType::kI32) ||
      literal.rank() > 1 || literal.element_count() > kMaxKnownDims) {
    return std::nullopt;
  }
  const Literal values = *Constant(name);
  KnownDims known{{}, values.rank() == 0, values.dtype()};
  for (int64_t i = 0; i < values.element_count(); ++i) {
    known.dims.emplace_back(values.AsInt(i));
  }
  return known;
}

}  // namespace encore::onnx
