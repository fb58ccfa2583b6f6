#include "encore/backends/cpu/codegen/units.h"

#include <cstddef>

namespace encore::backends::cpu {

std::pair<Value, Value> UnitsOf(IrBuilder& b, const Value& units,
                                const Value& partition,
                                const Value& partitions) {
  const auto bound = [&](const Value& number) {
    return b.Binary("udiv", b.Mul(number, units), partitions);
  };
  return {bound(partition), bound(b.Add(partition, 1))};
}

void ForEachUnit(IrBuilder& b, const Value& begin, const Value& end,
                 const std::vector<Value>& extents,
                 const std::function<void(const std::vector<Value>&)>& body) {
  std::vector<Value> digits(extents.size(), IrBuilder::I64(0));
  if (extents.size() < 2) {
    return b.Loop(begin, end, 1, [&](const Value& unit) {
      if (!digits.empty()) digits[0] = unit;
      body(digits);
    });
  }
  const IrType type{Elem::kI64, 1};
  const Value next = b.NewVariable(type);
  b.Set(next, begin);
  const auto run = [&] {
    const Value unit = b.Get(next, type);
    Value rest = unit;
    for (size_t i = extents.size(); i-- > 0;) {
      digits[i] = i > 0 ? b.Binary("urem", rest, extents[i]) : rest;
      if (i > 0) rest = b.Binary("udiv", rest, extents[i]);
    }
    const Value first = digits.back();
    const Value count =
        b.Intrinsic("smin", {b.Sub(extents.back(), first), b.Sub(end, unit)});
    b.Loop(first, b.Add(first, count), 1, [&](const Value& last) {
      digits.back() = last;
      body(digits);
    });
    b.Set(next, b.Add(unit, count));
  };
  b.While([&] { return b.Compare("slt", b.Get(next, type), end); }, run);
}

}  // namespace encore::backends::cpu
