#include "encore/backends/region/interpreter.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "encore/backends/region/first_fault.h"
#include "encore/backends/region/place.h"
#include "encore/backends/region/scalar.h"
#include "encore/ir/support/check.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/types/float_formats.h"
#include "encore/ir/types/shape.h"

namespace encore::backends {
namespace {

// Largest row buffer, in elements.
constexpr int64_t kMaxBuffer = int64_t{1} << 28;

// Tuple of a stage: what has been combined so far.
struct Accumulator {
  Scalar a, b;
  double count = 0;
  bool any = false;
  int64_t at = 0;  // of the arg-reductions
};

bool IsArg(RegionCombiner combiner) {
  return combiner >= RegionCombiner::kArgMax &&
         combiner <= RegionCombiner::kArgMinLast;
}

Op OpOf(RegionCombiner combiner) {
  switch (combiner) {
    case RegionCombiner::kSum:
      return Op::kAdd;
    case RegionCombiner::kProduct:
      return Op::kMul;
    case RegionCombiner::kMax:
      return Op::kMax;
    case RegionCombiner::kMin:
      return Op::kMin;
    case RegionCombiner::kAnd:
      return Op::kAnd;
    default:
      return Op::kOr;
  }
}

Scalar Lowest(DType dtype) {
  if (IsFloat(dtype)) {
    return OfDouble(dtype, -UpperLimit(dtype));
  }
  if (!IsSigned(dtype)) return {};
  return {.i = static_cast<int64_t>(-(uint64_t{1} << (BitWidth(dtype) - 1)))};
}

Scalar Highest(DType dtype) {
  if (IsFloat(dtype)) return {.f = -Lowest(dtype).f};
  return ApplyOp(Op::kNot, dtype, std::vector<Scalar>{Lowest(dtype)});
}

// The dtype that the interpreter accumulates `dtype` in.
DType Wide(DType dtype) { return IsFloat(dtype) ? DType::kF64 : dtype; }

Scalar Identity(RegionCombiner combiner, DType dtype) {
  const DType wide = Wide(dtype);
  switch (combiner) {
    case RegionCombiner::kProduct:
      return OfInt(wide, 1);
    case RegionCombiner::kAnd:
      return OfInt(wide, -1);
    case RegionCombiner::kMax:
    case RegionCombiner::kOnlineSoftmax:
      return Lowest(dtype);
    case RegionCombiner::kMin:
      return Highest(dtype);
    default:
      return OfInt(wide, 0);
  }
}

// Whether `x` replaces `best` in an arg-reduction.
bool Replaces(RegionCombiner combiner, DType dtype, Scalar x, Scalar best) {
  const bool last = combiner == RegionCombiner::kArgMaxLast ||
                    combiner == RegionCombiner::kArgMinLast;
  const bool max = combiner == RegionCombiner::kArgMax ||
                   combiner == RegionCombiner::kArgMaxLast;
  if (IsFloat(dtype) && (std::isnan(x.f) || std::isnan(best.f))) {
    return std::isnan(x.f) && (last || !std::isnan(best.f));
  }
  const Comparison relation = max    ? last ? Comparison::kGe : Comparison::kGt
                              : last ? Comparison::kLe
                                     : Comparison::kLt;
  return ApplyOp(Op::kCompare, dtype, std::vector<Scalar>{x, best}, relation)
             .i != 0;
}

void Combine(RegionCombiner combiner, DType dtype, Scalar x, int64_t at,
             Accumulator* into) {
  if (IsArg(combiner)) {
    if (!into->any || Replaces(combiner, dtype, x, into->a)) {
      into->a = x;
      into->at = at;
    }
    into->any = true;
  } else if (combiner == RegionCombiner::kWelford) {
    into->count += 1;
    const double delta = x.f - into->a.f;
    into->a.f += delta / into->count;
    into->b.f += delta * (x.f - into->a.f);
  } else if (combiner == RegionCombiner::kOnlineSoftmax) {
    const double largest = into->any ? std::fmax(into->a.f, x.f) : x.f;
    into->b.f = (into->any ? into->b.f * std::exp(into->a.f - largest) : 0) +
                std::exp(x.f - largest);
    into->a.f = largest;
    into->any = true;
  } else {
    const Scalar both[] = {into->a, x};
    into->a = ApplyOp(OpOf(combiner), Wide(dtype), both);
  }
}

class Interpreter {
 public:
  Interpreter(const Region& region, std::span<const int64_t> symbols,
              FirstFault* faults)
      : region_(region), symbols_(symbols), faults_(faults) {}

  Status Run(std::span<const Buffer> inputs, std::span<const Buffer> outputs) {
    ENCORE_RETURN_IF_ERROR(Bind(region_.inputs, inputs, &inputs_));
    ENCORE_RETURN_IF_ERROR(Bind(region_.outputs, outputs, &outputs_));
    for (const Place& output : outputs_) output.ClearPadding();
    for (const Dim& extent : region_.extents) {
      ENCORE_ASSIGN_OR_RETURN(const int64_t value, Evaluate(extent));
      if (value < 0) return OutOfRangeError("region: negative extent");
      extents_.push_back(value);
    }
    at_.resize(extents_.size());
    values_.resize(region_.exprs.size());
    for (const Stage& stage : region_.stages) {
      ENCORE_RETURN_IF_ERROR(Prepare(stage));
    }
    std::vector<uint32_t> outer;
    for (uint32_t v = 0; v < region_.outer; ++v) outer.push_back(v);
    return ForEachPoint(outer, [&] {
      for (uint32_t s = 0; s < region_.stages.size(); ++s) {
        ENCORE_RETURN_IF_ERROR(RunStage(s));
      }
      return OkStatus();
    });
  }

 private:
  StatusOr<int64_t> Evaluate(const Dim& dim) const {
    const std::optional<int64_t> value = dim.Evaluate(symbols_);
    if (!value.has_value())
      return OutOfRangeError("region: a dim has no value");
    return *value;
  }

  Status Bind(const std::vector<Operand>& operands,
              std::span<const Buffer> buffers, std::vector<Place>* places) {
    ENCORE_CHECK_EQ(operands.size(), buffers.size());
    for (size_t i = 0; i < operands.size(); ++i) {
      std::vector<int64_t> dims;
      for (const Dim& dim : operands[i].dims) {
        ENCORE_ASSIGN_OR_RETURN(dims.emplace_back(), Evaluate(dim));
      }
      const Place place(operands[i].dtype, std::move(dims), operands[i].layout,
                        buffers[i].data);
      const std::optional<int64_t> bytes = place.MemoryBytes();
      if (!bytes.has_value() || *bytes > buffers[i].bytes) {
        return OutOfRangeError(StrCat("region: operand ", i, " is too small"));
      }
      places->push_back(place);
    }
    return OkStatus();
  }

  // What a stage evaluates, in order, and the memory of its result.
  Status Prepare(const Stage& stage) {
    std::vector<ExprId> roots = {stage.value};
    for (const Store& store : stage.stores) {
      roots.push_back(store.value);
      for (const Index& index : store.indices) roots.push_back(index.indirect);
    }
    const std::vector<bool> needed = Reachable(region_, roots);
    std::vector<uint32_t> order;
    for (uint32_t i = 0; i < needed.size(); ++i) {
      if (needed[i]) order.push_back(i);
    }
    orders_.push_back(std::move(order));
    std::vector<int64_t> dims;
    for (const uint32_t v : stage.loops) dims.push_back(extents_[v]);
    const int64_t count = ElementCount(dims).value_or(kMaxBuffer + 1);
    if (stage.value.valid() && count > kMaxBuffer) {
      return OutOfRangeError("region: a row buffer is too large");
    }
    const int components = ComponentCount(stage.combiner);
    results_.emplace_back(stage.value.valid() ? count * components : 0);
    return OkStatus();
  }

  template <typename Body>
  Status ForEachPoint(const std::vector<uint32_t>& variables, Body body) {
    for (const uint32_t v : variables) {
      if (extents_[v] == 0) return OkStatus();
    }
    for (const uint32_t v : variables) at_[v] = 0;
    while (true) {
      ENCORE_RETURN_IF_ERROR(body());
      size_t d = variables.size();
      for (; d > 0; --d) {
        if (++at_[variables[d - 1]] < extents_[variables[d - 1]]) break;
        at_[variables[d - 1]] = 0;
      }
      if (d == 0) return OkStatus();
    }
  }

  // The index under the variables' values, before the division.
  StatusOr<int64_t> Numerator(const Index& index) const {
    ENCORE_ASSIGN_OR_RETURN(int64_t sum, Evaluate(index.offset));
    bool overflow = false;
    for (const Index::Term& term : index.terms) {
      ENCORE_ASSIGN_OR_RETURN(const int64_t stride, Evaluate(term.stride));
      int64_t product;
      overflow |= __builtin_mul_overflow(stride, at_[term.variable], &product);
      overflow |= __builtin_add_overflow(sum, product, &sum);
    }
    if (index.indirect.valid()) {
      overflow |=
          __builtin_add_overflow(sum, values_[index.indirect.value()].i, &sum);
    }
    if (overflow) return OutOfRangeError("region: an index leaves int64");
    return sum;
  }

  // Whether the element exists; its coordinates are then in `element_`.
  StatusOr<bool> Locate(const std::vector<Index>& indices,
                        std::span<const int64_t> dims) {
    element_.resize(indices.size());
    for (size_t d = 0; d < indices.size(); ++d) {
      ENCORE_ASSIGN_OR_RETURN(const int64_t sum, Numerator(indices[d]));
      if (sum % indices[d].divisor != 0) return false;
      element_[d] = sum / indices[d].divisor;
      if (element_[d] < 0 || element_[d] >= dims[d]) return false;
    }
    return true;
  }

  StatusOr<Scalar> Load(const Access& access) {
    const bool input = access.source == Access::Source::kInput;
    std::vector<int64_t> rows;
    if (!input) {
      for (const uint32_t v : region_.stages[access.number].loops) {
        rows.push_back(extents_[v]);
      }
    }
    ENCORE_ASSIGN_OR_RETURN(
        const bool there,
        Locate(access.indices, input ? inputs_[access.number].dims() : rows));
    if (!there) {
      if (!access.checked) return OutOfRangeError("region: a load is outside");
      return access.fill.valid() ? values_[access.fill.value()] : Scalar{};
    }
    if (input) {
      const Place& place = inputs_[access.number];
      return place.Load(element_);
    }
    const Stage& stage = region_.stages[access.number];
    int64_t row = 0;
    for (size_t d = 0; d < rows.size(); ++d) row = row * rows[d] + element_[d];
    return results_[access.number]
                   [row * ComponentCount(stage.combiner) + access.component];
  }

  Scalar Apply(const Expr& expr) const {
    Scalar operands[3];
    int count = 0;
    for (const ExprId operand : expr.operands) {
      if (operand.valid()) operands[count++] = values_[operand.value()];
    }
    const DType dtype = region_.expr(expr.operands[0]).dtype;
    if (expr.op == Op::kCast) {
      return CastScalar(dtype, expr.dtype, operands[0], expr.saturate);
    }
    return ApplyOp(expr.op, dtype, std::span(operands, count), expr.comparison);
  }

  StatusOr<int64_t> Checked(const Expr& expr) {
    const IndexCheck& check = region_.checks[expr.number];
    const int64_t index = values_[expr.operands[0].value()].i;
    ENCORE_ASSIGN_OR_RETURN(const int64_t count, Evaluate(check.count));
    if (index >= 0 && index < count) return index;
    ENCORE_ASSIGN_OR_RETURN(const int64_t extent, Evaluate(check.extent));
    ENCORE_ASSIGN_OR_RETURN(const int64_t position, Numerator(check.position));
    faults_->Add({{check.axis, index, position, count, extent},
                  check.node,
                  check.component,
                  check.op});
    return 0;
  }

  // Evaluates what stage `s` needs at the current point.
  Status EvaluateAt(uint32_t s) {
    for (const uint32_t i : orders_[s]) {
      const Expr& expr = region_.exprs[i];
      switch (expr.kind) {
        case Expr::Kind::kConstant:
          values_[i] = FromBits(expr.dtype, expr.bits);
          break;
        case Expr::Kind::kVariable:
          values_[i].i = at_[expr.number];
          break;
        case Expr::Kind::kDim: {
          ENCORE_ASSIGN_OR_RETURN(values_[i].i, Evaluate(expr.dim));
          break;
        }
        case Expr::Kind::kLoad: {
          ENCORE_ASSIGN_OR_RETURN(values_[i],
                                  Load(region_.accesses[expr.number]));
          break;
        }
        case Expr::Kind::kOp:
          values_[i] = Apply(expr);
          break;
        case Expr::Kind::kChecked: {
          ENCORE_ASSIGN_OR_RETURN(values_[i].i, Checked(expr));
          break;
        }
      }
    }
    return OkStatus();
  }

  Status RunStore(const Store& store) {
    const Place& place = outputs_[store.output];
    ENCORE_ASSIGN_OR_RETURN(const bool there,
                            Locate(store.indices, place.dims()));
    if (!there) {
      return store.checked ? OkStatus()
                           : OutOfRangeError("region: a store is outside");
    }
    constexpr Op kOps[] = {Op::kSelect, Op::kAdd, Op::kMul, Op::kMax, Op::kMin};
    Scalar value = values_[store.value.value()];
    if (store.update != Update::kSet) {
      const Scalar both[] = {place.Load(element_), value};
      value =
          ApplyOp(kOps[static_cast<int>(store.update)], place.dtype(), both);
    }
    place.Store(element_, value);
    return OkStatus();
  }

  void Finish(const Stage& stage, DType dtype, const Accumulator& sum,
              Scalar* result) const {
    if (IsArg(stage.combiner)) {
      result[0] = OfInt(stage.dtype, sum.at);
      return;
    }
    // Accumulated as f64 where it is a float.
    result[0] = IsFloat(dtype)
                    ? CastScalar(DType::kF64, stage.dtype, sum.a, false)
                    : CastScalar(dtype, stage.dtype, sum.a, false);
    if (ComponentCount(stage.combiner) == 2) {
      result[1] = CastScalar(DType::kF64, stage.dtype, sum.b, false);
    }
  }

  Accumulator Empty(const Stage& stage, DType dtype) const {
    Accumulator sum;
    sum.a = Identity(stage.combiner, dtype);
    return sum;
  }

  Status RunStage(uint32_t s) {
    const Stage& stage = region_.stages[s];
    const int components = ComponentCount(stage.combiner);
    const DType dtype =
        stage.value.valid() ? region_.expr(stage.value).dtype : stage.dtype;
    Scalar* result = results_[s].data();
    Accumulator running = Empty(stage, dtype);
    return ForEachPoint(stage.loops, [&]() -> Status {
      if (stage.kind == Stage::Kind::kReduce) {
        Accumulator sum = Empty(stage, dtype);
        ENCORE_RETURN_IF_ERROR(ForEachPoint(stage.reduced, [&]() -> Status {
          ENCORE_RETURN_IF_ERROR(EvaluateAt(s));
          Combine(stage.combiner, dtype, values_[stage.value.value()],
                  stage.reduced.empty() ? 0 : at_[stage.reduced.back()], &sum);
          return OkStatus();
        }));
        Finish(stage, dtype, sum, result);
        result += components;
        return OkStatus();
      }
      ENCORE_RETURN_IF_ERROR(EvaluateAt(s));
      if (stage.kind == Stage::Kind::kScan) {
        if (stage.exclusive) Finish(stage, dtype, running, result);
        Combine(stage.combiner, dtype, values_[stage.value.value()], 0,
                &running);
        if (!stage.exclusive) Finish(stage, dtype, running, result);
        ++result;
        return OkStatus();
      }
      if (stage.value.valid()) *result++ = values_[stage.value.value()];
      for (const Store& store : stage.stores) {
        ENCORE_RETURN_IF_ERROR(RunStore(store));
      }
      return OkStatus();
    });
  }

  const Region& region_;
  std::span<const int64_t> symbols_;
  FirstFault* faults_;
  std::vector<Place> inputs_, outputs_;
  std::vector<int64_t> extents_, at_, element_;
  std::vector<Scalar> values_;                 // by expression
  std::vector<std::vector<uint32_t>> orders_;  // by stage: what it evaluates
  std::vector<std::vector<Scalar>> results_;   // by stage
};

}  // namespace

Status Interpret(const Region& region, std::span<const int64_t> symbols,
                 std::span<const Buffer> inputs,
                 std::span<const Buffer> outputs, uint32_t* failed_node) {
  FirstFault faults;
  ENCORE_RETURN_IF_ERROR(
      Interpreter(region, symbols, &faults).Run(inputs, outputs));
  return faults.Report(failed_node);
}

}  // namespace encore::backends
