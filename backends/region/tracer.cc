#include "encore/backends/region/tracer.h"

#include <algorithm>
#include <utility>

#include "encore/backends/region/scalar.h"
#include "encore/ir/support/check.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/types/literal.h"

namespace encore::backends {
namespace {

void AppendKey(std::string* key, const Dim& dim) { StrAppend(key, dim, " "); }

void AppendKey(std::string* key, const Indices& indices) {
  for (const Index& index : indices) {
    AppendKey(key, index.offset);
    for (const Index::Term& term : index.terms) {
      StrAppend(key, "v", term.variable, "*");
      AppendKey(key, term.stride);
    }
    StrAppend(key, "/", index.divisor, "@",
              index.indirect.valid() ? StrCat(index.indirect.value()) : "",
              ";");
  }
}

std::string KeyOf(const Expr& expr) {
  std::string key = StrCat(static_cast<int>(expr.kind), " ", expr.dtype, " ",
                           expr.bits, " ", expr.number, " ", expr.op, " ",
                           EnumText(expr.comparison), " ", expr.saturate, " ");
  AppendKey(&key, expr.dim);
  for (const ExprId operand : expr.operands) {
    StrAppend(&key, operand.valid() ? StrCat(operand.value()) : "-", " ");
  }
  return key;
}

}  // namespace

Tracer::Tracer(const Graph& graph, std::span<const NodeId> nodes, Splits splits)
    : graph_(graph),
      splits_(std::move(splits)),
      nodes_(nodes.begin(), nodes.end()) {
  std::sort(nodes_.begin(), nodes_.end());
}

bool Tracer::IsInlined(ValueId value) const {
  const Literal* literal = graph_.constant(value);
  return literal != nullptr && literal->element_count() == 1 &&
         !IsString(literal->dtype());
}

bool Tracer::InGroup(NodeId node) const {
  return std::binary_search(nodes_.begin(), nodes_.end(), node);
}

std::vector<Dim> Tracer::PartsOf(DimKey key, const Dim& extent) const {
  if (extent == Dim(1)) return {};
  const auto it = splits_.find(key);
  if (it == splits_.end()) return {extent};
  return {it->second.begin(), it->second.end()};
}

uint32_t Tracer::NewVariable(const Dim& extent, DimKey key, int part) {
  region_.extents.push_back(extent);
  variable_keys_.push_back({key, part});
  return static_cast<uint32_t>(region_.extents.size() - 1);
}

Indices Tracer::RootIndices(ValueId value) {
  Indices indices;
  const Shape& shape = graph_.shape(value);
  for (int d = 0; d < shape.rank(); ++d) {
    const DimKey key = {2 * graph_.producer(value).value(), d};
    Index index;
    int part = 0;
    for (const Dim& extent : PartsOf(key, shape[d])) {
      index = Sum(Multiple(index, extent),
                  VariableIndex(NewVariable(extent, key, part++)));
    }
    indices.push_back(std::move(index));
  }
  return indices;
}

uint32_t Tracer::InputOf(ValueId value) {
  const auto [it, added] =
      input_numbers_.try_emplace(value, static_cast<uint32_t>(inputs_.size()));
  if (added) {
    inputs_.push_back(value);
    region_.inputs.push_back(
        {graph_.dtype(value), graph_.shape(value).dims(), {}});
  }
  return it->second;
}

Tracer::Result Tracer::ValueAt(ValueId value, const Indices& indices) {
  if (region_.exprs.size() > kMaxRegionExprs) return std::nullopt;
  std::string key = StrCat(value.value(), guarded_ > 0 ? "g " : " ");
  AppendKey(&key, indices);
  if (const auto it = memo_.find(key); it != memo_.end()) return it->second;
  const Result result = Trace(value, indices);
  if (result.has_value()) {
    memo_.emplace(std::move(key), *result);
    if (guarded_ == 0) traced_.try_emplace(value, indices);
  }
  return result;
}

Tracer::Result Tracer::ValueAtOr(ValueId value, const Indices& indices,
                                 ExprId fill) {
  const NodeId producer = graph_.producer(value);
  const std::vector<Dim>& dims = graph_.shape(value).dims();
  if (StaysWithin(indices, dims, region_.extents)) {
    return ValueAt(value, indices);
  }
  if (!InGroup(producer) && !IsInlined(value)) {
    return Load(value, indices, true, fill);
  }
  // Computed: whether the element is there, and a value that is not used where
  // it is not.
  Indices positions = indices;
  ExprId there = Within(indices, dims);
  for (Index& position : positions) {
    if (position.divisor == 1) continue;
    const ExprId divisor = Int(position.divisor);
    position.divisor = 1;
    const ExprId numerator = OfIndex(position);
    position = Index{};
    position.indirect = OfOp(Op::kDiv, DType::kI64, {numerator, divisor});
  }
  ++guarded_;
  const Result inside = ValueAt(value, positions);
  --guarded_;
  if (!inside.has_value()) return std::nullopt;
  return OfOp(Op::kSelect, graph_.dtype(value), {there, *inside, fill});
}

Tracer::Result Tracer::Load(ValueId value, const Indices& indices, bool checked,
                            ExprId fill) {
  const std::vector<Dim>& dims = graph_.shape(value).dims();
  checked =
      (checked || guarded_ > 0) && !StaysWithin(indices, dims, region_.extents);
  Access access{.source = Access::Source::kInput,
                .number = InputOf(value),
                .component = 0,
                .indices = indices,
                .checked = checked,
                .fill = checked ? fill : ExprId()};
  std::string key =
      StrCat("load ", access.number, checked ? "c" : "u",
             access.fill.valid() ? StrCat(fill.value()) : "", " ");
  AppendKey(&key, indices);
  const auto it = memo_.find(key);
  if (it != memo_.end()) return it->second;
  Expr expr{.kind = Expr::Kind::kLoad, .dtype = graph_.dtype(value)};
  expr.number = AddAccess(&region_, std::move(access));
  const ExprId id = AddExpr(&region_, std::move(expr));
  memo_.emplace(std::move(key), id);
  return id;
}

Tracer::Result Tracer::LoadStage(uint32_t stage, Indices indices) {
  Expr expr{.kind = Expr::Kind::kLoad, .dtype = region_.stages[stage].dtype};
  expr.number = AddAccess(&region_, {.source = Access::Source::kStage,
                                     .number = stage,
                                     .component = 0,
                                     .indices = std::move(indices),
                                     .checked = guarded_ > 0,
                                     .fill = {}});
  return AddExpr(&region_, std::move(expr));
}

Tracer::Result Tracer::Trace(ValueId value, const Indices& indices) {
  const NodeId node = graph_.producer(value);
  if (IsInlined(value)) {
    const Literal* literal = graph_.constant(value);
    return Constant(
        literal->dtype(),
        ToBits(literal->dtype(),
               LoadElement(literal->dtype(), literal->bytes().data(), 0)));
  }
  if (!InGroup(node)) return Load(value, indices, false, {});
  const OpInfo& info = graph_.info(node);
  if (info.level != OpLevel::kPrimitive) return std::nullopt;
  if (info.has(kElementwise)) return Elementwise(node, indices);
  if (info.has(kMovement)) return Movement(node, indices);
  if (info.has(kReduction) || info.has(kContraction) ||
      graph_.op(node) == Op::kCumulative) {
    return Reduction(node, indices);
  }
  return Source(node, indices);
}

Tracer::Result Tracer::Elementwise(NodeId node, const Indices& indices) {
  Expr expr{.kind = Expr::Kind::kOp,
            .dtype = graph_.dtype(graph_.result(node))};
  expr.op = graph_.op(node);
  int count = 0;
  for (const ValueId operand : graph_.operands(node)) {
    const bool scalar = graph_.shape(operand).rank() == 0;
    const Result result = ValueAt(operand, scalar ? Indices{} : indices);
    if (!result.has_value()) return std::nullopt;
    expr.operands[count++] = *result;
  }
  if (expr.op == Op::kCompare) {
    expr.comparison = graph_.attrs<CompareAttrs>(node).direction;
  } else if (expr.op == Op::kCast) {
    expr.saturate = graph_.attrs<CastAttrs>(node).saturate;
  }
  if (expr.op == Op::kPow) {
    if (const Result product = SmallPower(expr)) return product;
  }
  return Intern(std::move(expr));
}

// A square is rounded once, as the power is. A cube is rounded twice, which is
// within what is promised of pow only where the dtype has bits to spare.
Tracer::Result Tracer::SmallPower(const Expr& power) {
  const Expr exponent = region_.expr(power.operands[1]);  // outlives additions
  if (exponent.kind != Expr::Kind::kConstant) return std::nullopt;
  const Scalar value = FromBits(exponent.dtype, exponent.bits);
  const auto is = [&](int64_t n) {
    return IsFloat(exponent.dtype) ? value.f == static_cast<double>(n)
                                   : value.i == n;
  };
  const bool may_cube = !IsFloat(power.dtype) || BitWidth(power.dtype) >= 32;
  if (!is(2) && !(is(3) && may_cube)) return std::nullopt;
  const ExprId base = power.operands[0];
  const ExprId square = OfOp(Op::kMul, power.dtype, {base, base});
  return is(2) ? square : OfOp(Op::kMul, power.dtype, {square, base});
}

Tracer::Result Tracer::Source(NodeId node, const Indices& indices) {
  if (graph_.op(node) == Op::kIota) {
    const IotaAttrs& attrs = graph_.attrs<IotaAttrs>(node);
    return Cast(attrs.dtype, OfIndex(indices[attrs.axis]));
  }
  if (graph_.op(node) != Op::kDimValues) return std::nullopt;
  const DimValuesAttrs& attrs = graph_.attrs<DimValuesAttrs>(node);
  if (attrs.dims.empty()) return Int(0);
  const ExprId at = OfIndex(indices[0]);
  ExprId value = OfDim(attrs.dims.back());
  for (size_t i = attrs.dims.size() - 1; i-- > 0;) {
    const ExprId here =
        OfOp(Op::kCompare, DType::kBool, {at, Int(static_cast<int64_t>(i))});
    value = OfOp(Op::kSelect, DType::kI64, {here, OfDim(attrs.dims[i]), value});
  }
  return value;
}

ExprId Tracer::Intern(Expr expr) {
  std::string key = KeyOf(expr);
  if (const auto it = exprs_.find(key); it != exprs_.end()) return it->second;
  const ExprId id = AddExpr(&region_, std::move(expr));
  exprs_.emplace(std::move(key), id);
  return id;
}

ExprId Tracer::Constant(DType dtype, uint64_t bits) {
  Expr expr{.kind = Expr::Kind::kConstant, .dtype = dtype, .bits = bits};
  return Intern(std::move(expr));
}

ExprId Tracer::Int(int64_t value) {
  return Constant(DType::kI64, static_cast<uint64_t>(value));
}

ExprId Tracer::OfDim(const Dim& dim) {
  if (dim.is_constant()) return Int(dim.constant());
  Expr expr{.kind = Expr::Kind::kDim, .dtype = DType::kI64};
  expr.dim = dim;
  return Intern(std::move(expr));
}

ExprId Tracer::OfOp(Op op, DType dtype, std::initializer_list<ExprId> operands,
                    Comparison comparison) {
  Expr expr{.kind = Expr::Kind::kOp, .dtype = dtype};
  expr.op = op;
  expr.comparison = comparison;
  std::copy(operands.begin(), operands.end(), expr.operands.begin());
  return Intern(std::move(expr));
}

ExprId Tracer::Cast(DType dtype, ExprId value, bool saturate) {
  if (region_.expr(value).dtype == dtype) return value;
  Expr expr{.kind = Expr::Kind::kOp, .dtype = dtype};
  expr.op = Op::kCast;
  expr.saturate = saturate;
  expr.operands[0] = value;
  return Intern(std::move(expr));
}

ExprId Tracer::OfIndex(const Index& index) {
  ENCORE_CHECK_EQ(index.divisor, 1);
  ExprId sum = index.indirect;
  const auto add = [&](ExprId term) {
    sum = sum.valid() ? OfOp(Op::kAdd, DType::kI64, {sum, term}) : term;
  };
  for (const Index::Term& term : index.terms) {
    Expr variable{.kind = Expr::Kind::kVariable, .dtype = DType::kI64};
    variable.number = term.variable;
    const ExprId id = Intern(std::move(variable));
    add(term.stride == Dim(1)
            ? id
            : OfOp(Op::kMul, DType::kI64, {id, OfDim(term.stride)}));
  }
  if (!sum.valid() || !(index.offset == Dim(0))) add(OfDim(index.offset));
  return sum;
}

ExprId Tracer::Within(const Indices& indices, std::span<const Dim> dims) {
  ExprId all;
  const auto require = [&](ExprId condition) {
    all = all.valid() ? OfOp(Op::kAnd, DType::kBool, {all, condition})
                      : condition;
  };
  for (size_t d = 0; d < indices.size(); ++d) {
    if (StaysWithin({&indices[d], 1}, {&dims[d], 1}, region_.extents)) continue;
    Index numerator = indices[d];
    numerator.divisor = 1;
    const ExprId at = OfIndex(numerator);
    const auto compare = [&](Comparison comparison, ExprId a, ExprId b) {
      require(OfOp(Op::kCompare, DType::kBool, {a, b}, comparison));
    };
    const ExprId divisor = Int(indices[d].divisor);
    compare(Comparison::kGe, at, Int(0));
    compare(Comparison::kLt, at, OfDim(dims[d] * indices[d].divisor));
    if (indices[d].divisor > 1) {
      compare(Comparison::kEq, OfOp(Op::kRem, DType::kI64, {at, divisor}),
              Int(0));
    }
  }
  return all;
}

}  // namespace encore::backends
