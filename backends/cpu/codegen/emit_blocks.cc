// Addresses in operands with blocks.
#include <algorithm>
#include <cstdint>

#include "encore/backends/cpu/codegen/region_emitter.h"

namespace encore::backends::cpu {

void RegionEmitter::AddStep(const Value& step, Address* address) {
  const int lanes = std::max(address->element.lanes(), step.lanes());
  if (lanes > 1 && address->lane_stride != 0) {
    address->element = b_.Splat(address->element, lanes);
    address->element = b_.Binary("add", address->element, LaneSteps(*address));
    address->lane_stride = 0;
    address->repeat = 1;
  }
  address->element = b_.Binary("add", b_.Splat(address->element, lanes),
                               b_.Splat(step, lanes));
}

void RegionEmitter::AddBlocked(const FlatAccess& access,
                               const DynamicIndex& dynamic, const Value& index,
                               Address* address) {
  const auto step = [&](const Value& at) {
    const auto all = [&](const Size& size) {
      return b_.Splat(SizeValue(size), at.lanes());
    };
    const Value block = IrBuilder::Int(at.type, dynamic.block);
    const Value outer = b_.Binary("mul", b_.Binary("udiv", at, block),
                                  all(dynamic.block_stride));
    const Value inner =
        b_.Binary("mul", b_.Binary("urem", at, block), all(dynamic.stride));
    return b_.Binary("add", outer, inner);
  };
  const auto variable = static_cast<uint32_t>(variable_);
  if (index.lanes() == 1 || address->element.lanes() > 1 ||
      !dynamic.InOneBlock(variable, lanes_)) {
    AddStep(step(index), address);
    return;
  }
  AddStep(step(AffineValue(dynamic.index)), address);
  address->lane_stride += int64_t{dynamic.stride};
  // The block is there in full, where nothing else moves along the lanes.
  int moving = access.address.Coefficient(variable) == 0 ? 0 : 1;
  for (const DynamicIndex& other : access.dynamic) {
    const bool moves = !(other.index.Coefficient(variable) == 0);
    if (moves || other.indirect.valid()) ++moving;
  }
  address->whole = moving == 1;
}

}  // namespace encore::backends::cpu
