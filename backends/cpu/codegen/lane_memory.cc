#include "encore/backends/cpu/codegen/lane_memory.h"

#include <vector>

namespace encore::backends::cpu {

Value LaneMemory::LaneSteps(const LaneAddress& address) {
  const IrType type{Elem::kI64, lanes_};
  if (address.repeat == 1) return IrBuilder::Steps(type, address.lane_stride);
  return IrBuilder::Steps(type, address.lane_stride, address.repeat);
}

Value LaneMemory::Pointer(const Value& base, Elem elem,
                          const LaneAddress& address) {
  return b_.Gep(b_.Gep(base, elem, address.element), elem,
                IrBuilder::I64(address.offset));
}

Value LaneMemory::Pointers(const Value& base, Elem elem,
                           const LaneAddress& address) {
  Value index = b_.Add(b_.Splat(address.element, lanes_), address.offset);
  if (address.lane_stride != 0) {
    index = b_.Binary("add", index, LaneSteps(address));
  }
  return b_.Gep(base, elem, index);
}

Value LaneMemory::LoadVector(Elem elem, const Value& base,
                             const LaneAddress& address, const Value& fill,
                             const Value& mask) {
  const IrType type{elem, lanes_};
  const int align = ElemBytes(elem);
  const Value otherwise =
      fill.valid() ? b_.Splat(fill, lanes_) : IrBuilder::Zero(type);
  if (address.repeat > 1 && address.element.lanes() == 1 &&
      address.lane_stride == 1 && !address.valid.valid()) {
    return LoadRepeated(type, Pointer(base, elem, address),
                        static_cast<int>(address.repeat), mask);
  }
  const bool even = address.repeat == 1 && address.element.lanes() == 1;
  if (even && address.lane_stride == 1) {
    const Value pointer = Pointer(base, elem, address);
    if (!mask.valid()) return b_.Load(type, pointer, align);
    return b_.MaskedLoad(type, pointer, mask, otherwise, align);
  }
  if (even && address.lane_stride == 2) {
    return LoadEven(type, Pointer(base, elem, address), mask, otherwise);
  }
  return b_.Gather(type, Pointers(base, elem, address),
                   mask.valid() ? mask : IrBuilder::True(lanes_), otherwise,
                   align);
}

// Elements 0, 2, 4, … behind `pointer`: the low half of the lanes from a vector
// that starts there, the high half from one that ends at the last element.
Value LaneMemory::LoadEven(IrType type, const Value& pointer, const Value& mask,
                           const Value& otherwise) {
  const int align = ElemBytes(type.elem);
  const Value second = b_.Gep(pointer, type.elem, IrBuilder::I64(lanes_ - 1));
  std::vector<int> pick, low, high;
  for (int i = 0; i < lanes_; ++i) {
    pick.push_back(2 * i < lanes_ ? 2 * i : 2 * i + 1);
    // Lane of the result that element i of each vector is; `lanes_`: none.
    low.push_back(i % 2 == 0 ? i / 2 : lanes_);
    high.push_back(i % 2 == 1 ? (lanes_ - 1 + i) / 2 : lanes_);
  }
  if (!mask.valid()) {
    return b_.Shuffle(b_.Load(type, pointer, align),
                      b_.Load(type, second, align), pick);
  }
  const Value none = IrBuilder::Zero(mask.type), zero = IrBuilder::Zero(type);
  const Value a =
      b_.MaskedLoad(type, pointer, b_.Shuffle(mask, none, low), zero, align);
  const Value c =
      b_.MaskedLoad(type, second, b_.Shuffle(mask, none, high), zero, align);
  return b_.Select(mask, b_.Shuffle(a, c, pick), otherwise);
}

Value LaneMemory::LoadRepeated(IrType type, const Value& pointer, int repeat,
                               const Value& mask) {
  const int count = lanes_ / repeat;
  std::vector<int> spread, first;
  for (int i = 0; i < lanes_; ++i) spread.push_back(i / repeat);
  for (int i = 0; i < count; ++i) first.push_back(i * repeat);
  const int align = ElemBytes(type.elem);
  const IrType part = type.Lanes(count);
  const Value loaded =
      mask.valid() ? b_.MaskedLoad(part, pointer, b_.Shuffle(mask, mask, first),
                                   IrBuilder::Zero(part), align)
                   : b_.Load(part, pointer, align);
  return b_.Shuffle(loaded, loaded, spread);
}

Value LaneMemory::LoadScalar(Elem elem, const Value& base,
                             const LaneAddress& address, const Value& fill) {
  const IrType type{elem, 1};
  Value pointer = Pointer(base, elem, address);
  if (!address.valid.valid()) return b_.Load(type, pointer, ElemBytes(elem));
  const Value otherwise = b_.NewVariable(type);
  b_.Set(otherwise, fill.valid() ? fill : IrBuilder::Zero(type));
  pointer = b_.Select(address.valid, pointer, otherwise);
  return b_.Load(type, pointer, ElemBytes(elem));
}

void LaneMemory::StoreVector(const Value& value, const Value& base,
                             const LaneAddress& address, const Value& mask) {
  const Elem elem = value.type.elem;
  if (address.element.lanes() == 1 && address.lane_stride == 1) {
    const Value pointer = Pointer(base, elem, address);
    if (mask.valid()) {
      b_.MaskedStore(value, pointer, mask, ElemBytes(elem));
    } else {
      b_.Store(value, pointer, ElemBytes(elem));
    }
    return;
  }
  b_.Scatter(value, Pointers(base, elem, address),
             mask.valid() ? mask : IrBuilder::True(lanes_), ElemBytes(elem));
}

}  // namespace encore::backends::cpu
