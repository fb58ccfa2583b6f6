#include "encore/backends/cpu/codegen/size_emitter.h"

namespace encore::backends::cpu {

void SizeEmitter::LoadSymbols(uint32_t count) {
  const Value args = IrBuilder::Parameter("args", Elem::kPtr);
  for (uint32_t i = 0; i < count; ++i) {
    symbols_.push_back(b_.Load({Elem::kI64, 1},
                               b_.Gep(args, Elem::kI64, IrBuilder::I64(i)), 8));
  }
}

// Nesting is at most kMaxDimDepth.
Value SizeEmitter::DimValue(const Dim& dim) {
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

Value SizeEmitter::SizeValue(const Size& size) {
  return size.is_constant() ? IrBuilder::I64(size) : DimValue(size.dim());
}

Value SizeEmitter::Steps(const Size& step, int lanes) {
  const IrType type{Elem::kI64, lanes};
  if (step.is_constant()) return IrBuilder::Steps(type, step);
  return b_.Binary("mul", IrBuilder::Steps(type, 1),
                   b_.Splat(SizeValue(step), lanes));
}

}  // namespace encore::backends::cpu
