// The emitter's part for indices that may not be out of range.
#include <cstddef>

#include "encore/backends/cpu/codegen/region_emitter.h"
#include "encore/backends/cpu/helpers.h"

namespace encore::backends::cpu {
namespace {

constexpr int64_t kFaultOffset = offsetof(HelperTable, fault);

}  // namespace

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
