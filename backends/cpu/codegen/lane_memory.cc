#include "encore/backends/cpu/codegen/lane_memory.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <vector>

namespace encore::backends::cpu {
namespace {

bool AreNeighbours(const LaneAddress& address) {
  return address.element.lanes() == 1 && address.lane_stride == 1 &&
         address.repeat == 1;
}

// Of elements of `bits` bits: the byte that element `index` is in, and how far
// it is shifted there.
Value ByteOf(IrBuilder& b, const Value& index, int bits) {
  return b.Binary("lshr", index,
                  IrBuilder::Int(index.type, std::countr_zero(8u / bits)));
}
Value ShiftOf(IrBuilder& b, const Value& index, int bits) {
  const Value place =
      b.Binary("and", index, IrBuilder::Int(index.type, 8 / bits - 1));
  return b.Convert("trunc",
                   b.Binary("mul", place, IrBuilder::Int(index.type, bits)),
                   Elem::kI8);
}

Value ElementOf(IrBuilder& b, const Value& byte, const Value& index, int bits) {
  return b.Binary("and", b.Binary("lshr", byte, ShiftOf(b, index, bits)),
                  IrBuilder::Int(byte.type, (1 << bits) - 1));
}

}  // namespace

bool IsShuffledStride(int64_t stride, int lanes) {
  return stride >= 2 && stride <= std::min(kMostShuffledStride, lanes);
}

int64_t PhasesOf(int64_t repeat, int64_t repeat_step, int lanes) {
  return repeat / std::gcd(repeat_step * lanes, repeat);
}

bool IsShuffledRepeat(int64_t repeat, int64_t repeat_step, int lanes) {
  return 2 * PhasesOf(repeat, repeat_step, lanes) < lanes;
}

Value LaneMemory::LaneSteps(const LaneAddress& address) {
  const IrType type{Elem::kI64, lanes_};
  if (address.phase.valid()) {
    const Value at = b_.Binary("add", b_.Splat(address.phase, lanes_),
                               IrBuilder::Steps(type, address.repeat_step));
    return b_.Binary(
        "mul", b_.Binary("udiv", at, IrBuilder::Int(type, address.repeat)),
        IrBuilder::Int(type, address.lane_stride));
  }
  if (address.repeat == 1) return IrBuilder::Steps(type, address.lane_stride);
  return IrBuilder::Steps(type, address.lane_stride, address.repeat);
}

Value LaneMemory::Pointer(const Value& base, Elem elem,
                          const LaneAddress& address) {
  return b_.Gep(b_.Gep(base, elem, address.element), elem,
                IrBuilder::I64(address.offset));
}

Value LaneMemory::ReadablePointer(const Value& base, Elem elem,
                                  const LaneAddress& address) {
  const Value pointer = Pointer(base, elem, address);
  if (!address.valid.valid() || address.valid.lanes() > 1) return pointer;
  return b_.Select(address.valid, pointer, base);
}

Value LaneMemory::Indices(const LaneAddress& address) {
  Value index = b_.Add(b_.Splat(address.element, lanes_), address.offset);
  if (address.lane_stride != 0) {
    index = b_.Binary("add", index, LaneSteps(address));
  }
  return index;
}

Value LaneMemory::Pointers(const Value& base, Elem elem,
                           const LaneAddress& address) {
  return b_.Gep(base, elem, Indices(address));
}

Value LaneMemory::LoadVector(Elem elem, const Value& base,
                             const LaneAddress& address, const Value& fill,
                             const Value& mask) {
  const IrType type{elem, lanes_};
  const int align = ElemBytes(elem);
  const Value otherwise =
      fill.valid() ? b_.Splat(fill, lanes_) : IrBuilder::Zero(type);
  if (address.packed_bits > 0) {
    return LoadPackedVector(base, address, otherwise, mask);
  }
  if (address.repeat > 1 && address.element.lanes() == 1 &&
      address.lane_stride == 1 && !address.valid.valid()) {
    const Value pointer = Pointer(base, elem, address);
    if (!address.phase.valid()) {
      return LoadRepeated(type, pointer, static_cast<int>(address.repeat),
                          mask);
    }
    if (IsShuffledRepeat(address.repeat, address.repeat_step, lanes_)) {
      return LoadUneven(type, pointer, address, mask);
    }
  }
  const bool even = address.repeat == 1 && address.element.lanes() == 1;
  if (even && address.lane_stride == 1) {
    const Value pointer = ReadablePointer(base, elem, address);
    if (!mask.valid()) return b_.Load(type, pointer, align);
    return b_.MaskedLoad(type, pointer, mask, otherwise, align);
  }
  if (even && IsShuffledStride(address.lane_stride, lanes_)) {
    return LoadStrided(type, ReadablePointer(base, elem, address),
                       static_cast<int>(address.lane_stride), mask, otherwise);
  }
  return b_.Gather(type, Pointers(base, elem, address),
                   mask.valid() ? mask : IrBuilder::True(lanes_), otherwise,
                   align);
}

// Elements 0, s, 2 s, … behind `pointer`, picked from s vectors one after the
// other, of which the last one ends at the last element.
Value LaneMemory::LoadStrided(IrType type, const Value& pointer, int stride,
                              const Value& mask, const Value& otherwise) {
  const int align = ElemBytes(type.elem), last = (lanes_ - 1) * (stride - 1);
  const Value none = mask.valid() ? IrBuilder::Zero(mask.type) : Value();
  Value result;
  for (int v = 0; v < stride; ++v) {
    const int first = v + 1 < stride ? v * lanes_ : last;
    // Lane of the result that each element of the vector is; `lanes_`: none.
    std::vector<int> needed(lanes_, lanes_), pick;
    for (int i = 0; i < lanes_; ++i) {
      const int at = i * stride - first;
      const bool here = i * stride >= v * lanes_ && at < lanes_;
      if (here) needed[at] = i;
      pick.push_back(here ? lanes_ + at : i);
    }
    const Value place = b_.Gep(pointer, type.elem, IrBuilder::I64(first));
    const Value loaded =
        mask.valid()
            ? b_.MaskedLoad(type, place, b_.Shuffle(mask, none, needed),
                            IrBuilder::Zero(type), align)
            : b_.Load(type, place, align);
    result = b_.Shuffle(result.valid() ? result : loaded, loaded, pick);
  }
  return mask.valid() ? b_.Select(mask, result, otherwise) : result;
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

Value LaneMemory::LoadUneven(IrType type, const Value& pointer,
                             const LaneAddress& address, const Value& mask) {
  const auto repeat = static_cast<int>(address.repeat);
  const auto step = static_cast<int>(address.repeat_step);
  const auto place = [&](int begin, int lane) {
    return (begin + step * lane) / repeat;
  };
  // As many as there may be, in a whole vector; what is beyond the last lane's
  // may not be there.
  const int most = place(repeat - 1, lanes_ - 1) + 1;
  const IrType part =
      type.Lanes(static_cast<int>(std::bit_ceil(static_cast<unsigned>(most))));
  // What `of` gives for the phase.
  const auto by_phase = [&](const auto& of) {
    const int phases = static_cast<int>(PhasesOf(repeat, step, lanes_));
    Value result;
    for (int begin = 0; begin < repeat; begin += repeat / phases) {
      const Value value = of(begin);
      const Value here = b_.Compare("eq", address.phase, IrBuilder::I64(begin));
      result = begin == 0
                   ? value
                   : b_.Select(b_.Splat(here, value.lanes()), value, result);
    }
    return result;
  };
  Value there;
  if (mask.valid()) {
    there = by_phase([&](int begin) {
      std::vector<int> first(part.lanes, lanes_);  // lane of each element
      for (int i = lanes_; i-- > 0;) first[place(begin, i)] = i;
      return b_.Shuffle(mask, IrBuilder::Zero(mask.type), first);
    });
  } else {
    const Value last =
        b_.Binary("udiv", b_.Add(address.phase, int64_t{lanes_ - 1} * step),
                  IrBuilder::I64(repeat));
    there = b_.Compare("ule", IrBuilder::Steps({Elem::kI64, part.lanes}, 1),
                       b_.Splat(last, part.lanes));
  }
  const Value loaded = b_.MaskedLoad(
      part, pointer, there, IrBuilder::Zero(part), ElemBytes(type.elem));
  return by_phase([&](int begin) {
    std::vector<int> spread;
    for (int i = 0; i < lanes_; ++i) spread.push_back(place(begin, i));
    return b_.Shuffle(loaded, loaded, spread);
  });
}

Value LaneMemory::LoadScalar(Elem elem, const Value& base,
                             const LaneAddress& address, const Value& fill) {
  const IrType type{elem, 1};
  const Value index = b_.Add(address.element, address.offset);
  const int bits = address.packed_bits;
  Value pointer = bits > 0 ? b_.Gep(base, elem, ByteOf(b_, index, bits))
                           : Pointer(base, elem, address);
  const Value otherwise = fill.valid() ? fill : IrBuilder::Zero(type);
  if (address.valid.valid()) {
    pointer = b_.Select(address.valid, pointer, b_.Spill(otherwise));
  }
  const Value loaded = b_.Load(type, pointer, ElemBytes(elem));
  if (bits == 0) return loaded;
  const Value element = ElementOf(b_, loaded, index, bits);
  if (!address.valid.valid()) return element;
  return b_.Select(address.valid, element, otherwise);
}

void LaneMemory::StoreScalar(const Value& value, const Value& base,
                             const LaneAddress& address) {
  const Elem elem = value.type.elem;
  if (address.packed_bits > 0) {
    return StorePacked(value, base, b_.Add(address.element, address.offset),
                       address.packed_bits);
  }
  b_.Store(value, Pointer(base, elem, address), ElemBytes(elem));
}

Value LaneMemory::LoadPackedVector(const Value& base,
                                   const LaneAddress& address,
                                   const Value& otherwise, const Value& mask) {
  const int bits = address.packed_bits;
  if (bits == 4 && !mask.valid() && AreNeighbours(address)) {
    return LoadHalves(base, b_.Add(address.element, address.offset));
  }
  const Value index = Indices(address);
  const Value bytes = b_.Gather(
      otherwise.type, b_.Gep(base, Elem::kI8, ByteOf(b_, index, bits)),
      mask.valid() ? mask : IrBuilder::True(lanes_),
      IrBuilder::Zero(otherwise.type), 1);
  const Value elements = ElementOf(b_, bytes, index, bits);
  return mask.valid() ? b_.Select(mask, elements, otherwise) : elements;
}

Value LaneMemory::LoadHalves(const Value& base, const Value& first) {
  const IrType type{Elem::kI8, lanes_ / 2};
  const auto pointer = [&](const Value& index) {
    return b_.Gep(base, Elem::kI8, ByteOf(b_, index, 4));
  };
  const Value bytes = b_.Load(type, pointer(first), 1);
  const Value low = b_.Binary("and", bytes, IrBuilder::Int(type, 15));
  const Value high = b_.Binary("lshr", bytes, IrBuilder::Int(type, 4));
  std::vector<int> order, next;
  for (int i = 0; i < lanes_; ++i) {
    order.push_back(i / 2 + (i % 2 == 0 ? 0 : lanes_ / 2));
    next.push_back(i + 1);
  }
  const Value even = b_.Shuffle(low, high, order);
  // From an odd half on they end in the low half of one byte more.
  const Value last =
      b_.Load(type.Lanes(1), pointer(b_.Add(first, lanes_ - 1)), 1);
  const Value rest =
      b_.Splat(b_.Binary("and", last, IrBuilder::Int(last.type, 15)), lanes_);
  return b_.Select(b_.Convert("trunc", first, Elem::kI1),
                   b_.Shuffle(even, rest, next), even);
}

void LaneMemory::StorePackedVector(const Value& value, const Value& base,
                                   const LaneAddress& address,
                                   const Value& mask) {
  if (address.packed_bits != 4 || mask.valid() || !AreNeighbours(address)) {
    return StoreEachPacked(value, base, address, mask);
  }
  const Value first = b_.Add(address.element, address.offset);
  b_.If(
      b_.Convert("trunc", first, Elem::kI1),
      [&] { StoreEachPacked(value, base, address, mask); },
      [&] { StoreHalves(value, base, first); });
}

// From an even half on: whole bytes.
void LaneMemory::StoreHalves(const Value& value, const Value& base,
                             const Value& first) {
  std::vector<int> even, odd;
  for (int i = 0; i < lanes_; i += 2) {
    even.push_back(i);
    odd.push_back(i + 1);
  }
  const Value low = b_.Shuffle(value, value, even);
  const Value high = b_.Shuffle(value, value, odd);
  const Value bytes =
      b_.Binary("or", b_.Binary("and", low, IrBuilder::Int(low.type, 15)),
                b_.Binary("shl", high, IrBuilder::Int(high.type, 4)));
  b_.Store(bytes, b_.Gep(base, Elem::kI8, ByteOf(b_, first, 4)), 1);
}

// Lane by lane, in a loop.
void LaneMemory::StoreEachPacked(const Value& value, const Value& base,
                                 const LaneAddress& address,
                                 const Value& mask) {
  const Value values = b_.Spill(value), indices = b_.Spill(Indices(address));
  const Value stored =
      b_.Spill(mask.valid() ? b_.Convert("zext", mask, Elem::kI8)
                            : IrBuilder::Int({Elem::kI8, lanes_}, 1));
  b_.Loop(IrBuilder::I64(0), IrBuilder::I64(lanes_), 1, [&](const Value& i) {
    const auto at = [&](const Value& slot, Elem elem) {
      return b_.Load({elem, 1}, b_.Gep(slot, elem, i), ElemBytes(elem));
    };
    const Value wanted = at(stored, Elem::kI8);
    b_.If(b_.Compare("ne", wanted, IrBuilder::Zero(wanted.type)), [&] {
      StorePacked(at(values, Elem::kI8), base, at(indices, Elem::kI64),
                  address.packed_bits);
    });
  });
}

void LaneMemory::StorePacked(const Value& value, const Value& base,
                             const Value& index, int bits) {
  const Value pointer = b_.Gep(base, Elem::kI8, ByteOf(b_, index, bits));
  const Value shift = ShiftOf(b_, index, bits);
  const Value ones = IrBuilder::Int(value.type, (1 << bits) - 1);
  const Value others = b_.Binary("xor", b_.Binary("shl", ones, shift),
                                 IrBuilder::Int(value.type, -1));
  b_.AtomicUpdate("and", pointer, others);
  b_.AtomicUpdate("or", pointer,
                  b_.Binary("shl", b_.Binary("and", value, ones), shift));
}

void LaneMemory::StoreVector(const Value& value, const Value& base,
                             const LaneAddress& address, const Value& mask) {
  const Elem elem = value.type.elem;
  if (address.packed_bits > 0) {
    return StorePackedVector(value, base, address, mask);
  }
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
