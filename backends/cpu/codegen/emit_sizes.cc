// The emitter's part for sizes, which are constants or expressions over the
// kernel's arguments, and for what must be below one: indices.
#include <algorithm>
#include <cstddef>

#include "encore/backends/cpu/codegen/region_emitter.h"
#include "encore/backends/cpu/codegen/staging.h"
#include "encore/backends/cpu/helpers.h"

namespace encore::backends::cpu {
namespace {

constexpr int64_t kFaultOffset = offsetof(HelperTable, fault);

}  // namespace

// Nesting is at most kMaxDimDepth.
Value RegionEmitter::DimValue(const Dim& dim) {
  Value sum = IrBuilder::I64(dim.constant_term());
  for (const Dim::Term& term : dim.terms()) {
    Value product = IrBuilder::I64(term.coefficient);
    for (const Dim::Factor& factor : term.factors) {
      if (factor.op == Dim::Op::kSymbol) {
        product = b_.Mul(product, symbols_[factor.symbol]);
        continue;
      }
      const Value a = DimValue(*factor.a), c = DimValue(*factor.b);
      if (factor.op == Dim::Op::kMax || factor.op == Dim::Op::kMin) {
        product = b_.Mul(
            product,
            b_.Intrinsic(factor.op == Dim::Op::kMax ? "smax" : "smin", {a, c}));
        continue;
      }
      // Toward minus infinity, by a divisor that is positive.
      const Value divisor = b_.Intrinsic("smax", {c, IrBuilder::I64(1)});
      const Value rest = b_.Binary("srem", a, divisor);
      const Value below = b_.Compare("slt", rest, IrBuilder::I64(0));
      const Value value =
          factor.op == Dim::Op::kMod
              ? b_.Add(rest, b_.Select(below, divisor, IrBuilder::I64(0)))
              : b_.Add(b_.Binary("sdiv", a, divisor),
                       b_.Select(below, IrBuilder::I64(-1), IrBuilder::I64(0)));
      product = b_.Mul(product, value);
    }
    sum = b_.Add(sum, product);
  }
  return sum;
}

Value RegionEmitter::SizeValue(const Size& size) {
  return size.is_constant() ? IrBuilder::I64(size) : DimValue(size.dim());
}

Value RegionEmitter::AffineValue(const Affine& affine) {
  Value sum = IrBuilder::I64(0);
  Size offset = affine.offset;
  for (const auto& [variable, coefficient] : affine.terms) {
    sum = b_.Add(sum, b_.Mul(variables_[variable], SizeValue(coefficient)));
    offset += coefficient * offsets_[variable];
  }
  return b_.Add(sum, SizeValue(offset));
}

Value RegionEmitter::SizeSteps(const Size& step) {
  const IrType type{Elem::kI64, lanes_};
  if (step.is_constant()) return IrBuilder::Steps(type, step);
  return b_.Binary("mul", IrBuilder::Steps(type, 1),
                   b_.Splat(SizeValue(step), lanes_));
}

void RegionEmitter::KeepChecked(const std::vector<uint32_t>& moving) {
  kept_.assign(kept_.size(), Value());
  for (uint32_t e = 0; e < region_.exprs.size(); ++e) {
    const Expr& expr = region_.exprs[e];
    if (expr.kind != Expr::Kind::kChecked) continue;
    const Affine& position = flat_.positions[expr.number];
    const bool moves = std::ranges::any_of(moving, [&](uint32_t variable) {
      return !(position.Coefficient(variable) == 0) ||
             DependsOn(flat_, ExprId(e), variable);
    });
    if (!moves && !ReadsStages(ExprId(e))) kept_[e] = Eval(ExprId(e));
  }
}

bool RegionEmitter::ReadsStages(ExprId id) const {
  const std::vector<bool> needed = Reachable(region_, {id});
  for (uint32_t e = 0; e < needed.size(); ++e) {
    if (needed[e] && region_.exprs[e].kind == Expr::Kind::kLoad &&
        region_.access(ExprId(e)).source == Access::Source::kStage) {
      return true;
    }
  }
  return false;
}

Value RegionEmitter::EmitChecked(const Expr& expr) {
  const Check& check = region_.checks[expr.number];
  const Value index = memo_[expr.operands[0].value()];
  const int lanes = index.lanes();
  const Value count = DimValue(check.count);
  // Unsigned, so that negative ones are out of range too.
  Value bad = b_.Compare("uge", index, b_.Splat(count, lanes));
  if (lanes > 1 && active_.valid()) bad = b_.Binary("and", bad, active_);
  Value any = bad;
  if (lanes > 1) {
    const Value wide = b_.Convert("sext", bad, Elem::kI64);
    any = b_.Compare("ne", b_.ReduceOr(wide), IrBuilder::I64(0));
  }
  b_.If(any, [&] {
    const IrType type{Elem::kI64, lanes};
    const auto spill = [&](const Value& value) {
      const Value slot = b_.NewVariable(type);
      b_.Set(slot, b_.Splat(value, lanes));
      return slot;
    };
    Value position = IndexVector({.index = flat_.positions[expr.number],
                                  .indirect = check.position.indirect});
    // One index for several positions: the first.
    if (position.lanes() > lanes) position = b_.Extract(position, 0);
    const Value reported = spill(b_.Convert("zext", bad, Elem::kI64));
    const Value indices = spill(index), positions = spill(position);
    const Value slot =
        b_.Gep(helpers_, Elem::kI8, IrBuilder::I64(kFaultOffset));
    const int64_t site = Encode(CheckSite{
        check.node, check.component, check.axis, check.op == Op::kScatter});
    b_.Call(b_.Load({Elem::kPtr, 1}, slot, 8),
            {helpers_, IrBuilder::I64(site), IrBuilder::I64(lanes), reported,
             indices, positions, count, DimValue(check.extent)},
            // What it keeps is no memory that kernels know.
            "cold memory(argmem: read, inaccessiblemem: readwrite)");
  });
  return b_.Select(bad, IrBuilder::Zero(index.type), index);
}

}  // namespace encore::backends::cpu
