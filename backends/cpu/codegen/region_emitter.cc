#include "encore/backends/cpu/codegen/region_emitter.h"

#include <algorithm>
#include <array>
#include <utility>

#include "encore/backends/cpu/codegen/scalar_ops.h"
#include "encore/ir/support/check.h"
#include "encore/ir/support/strings.h"

namespace encore::backends::cpu {
namespace {

int ElemBytes(Elem elem) { return std::max(ElemBits(elem) / 8, 1); }

// Stage results are kept as they are computed, bool as bytes.
Elem StageElem(DType dtype) {
  return dtype == DType::kBool ? Elem::kI8 : ComputeElem(dtype);
}

RegionCombiner UpdateCombiner(Update update) {
  switch (update) {
    case Update::kAdd:
      return RegionCombiner::kSum;
    case Update::kMul:
      return RegionCombiner::kProduct;
    case Update::kMax:
      return RegionCombiner::kMax;
    default:
      return RegionCombiner::kMin;
  }
}

}  // namespace

RegionEmitter::RegionEmitter(const FlatRegion& flat, int lanes, IrBuilder& b,
                             size_t staged)
    : flat_(flat), region_(*flat.region), lanes_(lanes), b_(b) {
  const Value buffers = IrBuilder::Parameter("buffers", Elem::kPtr);
  helpers_ = IrBuilder::Parameter("helpers", Elem::kPtr);
  const auto load = [&](size_t i) {
    return b_.Load({Elem::kPtr, 1},
                   b_.Gep(buffers, Elem::kPtr, IrBuilder::I64(i)), 8);
  };
  const size_t inputs = region_.inputs.size() - staged;
  for (size_t i = 0; i < inputs; ++i) inputs_.push_back(load(i));
  for (size_t i = 0; i < region_.outputs.size(); ++i) {
    outputs_.push_back(load(inputs + i));
  }
  inputs_.resize(region_.inputs.size());
  const Value args = IrBuilder::Parameter("args", Elem::kPtr);
  for (uint32_t i = 0; i < region_.symbols; ++i) {
    symbols_.push_back(b_.Load({Elem::kI64, 1},
                               b_.Gep(args, Elem::kI64, IrBuilder::I64(i)), 8));
  }
  bases_.resize(region_.accesses.size());
  variables_.resize(region_.extents.size(), IrBuilder::I64(0));
  offsets_.resize(region_.extents.size());
  memo_.resize(region_.exprs.size());
  kept_.resize(region_.exprs.size());
  results_.resize(region_.stages.size(), std::vector<Result>(2));
}

void RegionEmitter::SetVariable(uint32_t variable, const Value& value,
                                int64_t offset) {
  variables_[variable] = value;
  offsets_[variable] = offset;
  memo_.assign(memo_.size(), Value());
}

void RegionEmitter::SetLanes(int variable, const Value& active) {
  variable_ = variable;
  active_ = active;
  memo_.assign(memo_.size(), Value());
}

void RegionEmitter::SetResult(size_t stage, int component, const Value& value) {
  results_[stage][component].value = value;
}

void RegionEmitter::SetResultBuffer(size_t stage, int component,
                                    const Value& pointer, int shared_lanes) {
  results_[stage][component].buffer = pointer;
  results_[stage][component].shared_lanes = shared_lanes;
}

Value RegionEmitter::IndexVector(const DynamicIndex& dynamic) {
  Value index = AffineValue(dynamic.index);
  const Size step =
      variable_ == kNoVariable
          ? Size(0)
          : dynamic.index.Coefficient(static_cast<uint32_t>(variable_));
  if (!(step == 0)) {
    index = b_.Binary("add", b_.Splat(index, lanes_), SizeSteps(step));
  }
  if (!dynamic.indirect.valid()) return index;
  const Value indirect = Eval(dynamic.indirect);
  const int lanes = std::max(index.lanes(), indirect.lanes());
  return b_.Binary("add", b_.Splat(index, lanes), b_.Splat(indirect, lanes));
}

Value RegionEmitter::LaneSteps(const Address& address) {
  const IrType type{Elem::kI64, lanes_};
  if (address.repeat == 1) return IrBuilder::Steps(type, address.lane_stride);
  return IrBuilder::Steps(type, address.lane_stride, address.repeat);
}

void RegionEmitter::AddRepeats(const FlatAccess& access, Address* address) {
  for (const FlatAccess::Repeat& repeat : access.repeats) {
    const Value at =
        b_.Add(variables_[repeat.variable], offsets_[repeat.variable]);
    const Value element = b_.Binary("udiv", at, IrBuilder::I64(repeat.divisor));
    address->element =
        b_.Add(address->element, b_.Mul(element, repeat.coefficient));
    // Vectors begin at multiples of their lanes, and both are powers of two.
    if (static_cast<int>(repeat.variable) == variable_ &&
        repeat.divisor < lanes_) {
      address->lane_stride = repeat.coefficient;
      address->repeat = repeat.divisor;
    }
  }
}

void RegionEmitter::AddPhase(const FlatAccess& access, Address* address) {
  int64_t position = access.phased.offset;
  for (const auto& [variable, coefficient] : access.phased.terms) {
    position += coefficient * offsets_[variable];
    if (const auto constant = ParseInt64(variables_[variable].name)) {
      position += coefficient * *constant;
      continue;
    }
    ENCORE_CHECK_EQ(coefficient % access.phases, 0);
    address->element =
        b_.Add(address->element,
               b_.Mul(variables_[variable], coefficient / access.phases));
  }
  address->offset +=
      position % access.phases * access.phase_pitch + position / access.phases;
}

Value RegionEmitter::LoadRepeated(IrType type, const Value& pointer, int repeat,
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

void RegionEmitter::AddAffine(const FlatAccess& access, Address* address) {
  address->element = IrBuilder::I64(0);
  Size offset = access.address.offset, lane_stride = 0;
  for (const auto& [variable, coefficient] : access.address.terms) {
    const bool panel = variable == access.panel;
    address->element = b_.Add(
        address->element, b_.Mul(variables_[variable], SizeValue(coefficient)));
    offset += (panel ? Size(1) : coefficient) * offsets_[variable];
    if (static_cast<int>(variable) == variable_) {
      lane_stride = panel ? Size(1) : coefficient;
    }
  }
  if (offset.is_constant()) {
    address->offset = offset;
  } else {
    address->element = b_.Add(address->element, SizeValue(offset));
  }
  if (lane_stride.is_constant()) {
    address->lane_stride = lane_stride;
  } else {
    address->element = b_.Binary("add", b_.Splat(address->element, lanes_),
                                 SizeSteps(lane_stride));
  }
}

RegionEmitter::Address RegionEmitter::MakeAddress(const FlatAccess& access) {
  Address address;
  AddAffine(access, &address);
  AddRepeats(access, &address);
  if (access.padded) AddPhase(access, &address);
  const auto require = [&](const Value& condition) {
    if (!address.valid.valid()) {
      address.valid = condition;
      return;
    }
    const int lanes = std::max(address.valid.lanes(), condition.lanes());
    address.valid = b_.Binary("and", b_.Splat(address.valid, lanes),
                              b_.Splat(condition, lanes));
  };
  for (const DynamicIndex& dynamic : access.dynamic) {
    Value index = IndexVector(dynamic);
    if (dynamic.divisor > 1) {
      const Value divisor = IrBuilder::Int(index.type, dynamic.divisor);
      const Value rest = b_.Binary("srem", index, divisor);
      if (dynamic.checked) {
        require(b_.Compare("eq", rest, IrBuilder::Zero(index.type)));
        require(b_.Compare("sge", index, IrBuilder::Zero(index.type)));
      }
      index = b_.Binary("sdiv", index, divisor);
    }
    if (dynamic.checked) {
      // Unsigned, so that negative ones are out of range too.
      require(b_.Compare("ult", index,
                         b_.Splat(SizeValue(dynamic.extent), index.lanes())));
    }
    if (dynamic.stride == 0) continue;
    if (dynamic.block > 1) {
      AddBlocked(access, dynamic, index, &address);
      continue;
    }
    const Value step = dynamic.divisor > 1 ? index : Eval(dynamic.indirect);
    AddStep(b_.Binary("mul", step,
                      b_.Splat(SizeValue(dynamic.stride), step.lanes())),
            &address);
  }
  return address;
}

Value RegionEmitter::LaneMask(const Value& valid) {
  Value mask = valid.valid() ? b_.Splat(valid, lanes_) : active_;
  if (valid.valid() && active_.valid()) mask = b_.Binary("and", mask, active_);
  return mask;
}

Value RegionEmitter::Pointer(const Value& base, Elem elem,
                             const Address& address) {
  return b_.Gep(b_.Gep(base, elem, address.element), elem,
                IrBuilder::I64(address.offset));
}

Value RegionEmitter::Pointers(const Value& base, Elem elem,
                              const Address& address) {
  Value index = b_.Add(b_.Splat(address.element, lanes_), address.offset);
  if (address.lane_stride != 0) {
    index = b_.Binary("add", index, LaneSteps(address));
  }
  return b_.Gep(base, elem, index);
}

Value RegionEmitter::LoadVector(Elem elem, const Value& base,
                                const Address& address, const Value& fill,
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
Value RegionEmitter::LoadEven(IrType type, const Value& pointer,
                              const Value& mask, const Value& otherwise) {
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

Value RegionEmitter::LoadScalar(Elem elem, const Value& base,
                                const Address& address, const Value& fill) {
  const IrType type{elem, 1};
  Value pointer = Pointer(base, elem, address);
  if (!address.valid.valid()) return b_.Load(type, pointer, ElemBytes(elem));
  const Value otherwise = b_.NewVariable(type);
  b_.Set(otherwise, fill.valid() ? fill : IrBuilder::Zero(type));
  pointer = b_.Select(address.valid, pointer, otherwise);
  return b_.Load(type, pointer, ElemBytes(elem));
}

Value RegionEmitter::LoadStage(const Access& access, const FlatAccess& flat,
                               DType dtype) {
  const Result& result = results_[access.number][access.component];
  if (!result.buffer.valid()) return result.value;
  const Elem elem = StageElem(dtype);
  Value fill;
  if (access.fill.valid()) {
    fill = Eval(access.fill);
    if (dtype == DType::kBool) fill = b_.Convert("zext", fill, Elem::kI8);
  }
  Address address = MakeAddress(flat);
  Value loaded;
  if (result.shared_lanes > 1) {
    ENCORE_CHECK(!address.is_vector() && !address.valid.valid());
    const Value at =
        b_.Mul(b_.Add(address.element, address.offset), result.shared_lanes);
    loaded = b_.Load({elem, result.shared_lanes},
                     b_.Gep(result.buffer, elem, at), ElemBytes(elem));
  } else if (address.is_vector() || address.valid.lanes() > 1) {
    loaded =
        LoadVector(elem, result.buffer, address, fill, LaneMask(address.valid));
  } else {
    loaded = LoadScalar(elem, result.buffer, address, fill);
  }
  return dtype == DType::kBool ? FromMemory(b_, dtype, loaded) : loaded;
}

Value RegionEmitter::EmitLoad(uint32_t number, DType dtype) {
  const Access& access = region_.accesses[number];
  const FlatAccess& flat = flat_.loads[number];
  if (access.source == Access::Source::kStage) {
    return LoadStage(access, flat, dtype);
  }
  const Elem elem = MemoryElem(dtype);
  Value fill;
  if (access.fill.valid()) fill = ToMemory(b_, dtype, Eval(access.fill));
  const Address address = MakeAddress(flat);
  const Value& base =
      bases_[number].valid() ? bases_[number] : inputs_[access.number];
  if (!address.is_vector() && address.valid.lanes() <= 1) {
    return FromMemory(b_, dtype, LoadScalar(elem, base, address, fill));
  }
  // Panels along the lanes and copies are whole.
  const bool whole = flat.padded || (address.whole && !address.valid.valid()) ||
                     (variable_ != kNoVariable &&
                      flat.panel == static_cast<uint32_t>(variable_));
  const Value mask = whole ? Value() : LaneMask(address.valid);
  return FromMemory(b_, dtype, LoadVector(elem, base, address, fill, mask));
}

Value RegionEmitter::EmitExpr(const Expr& expr) {
  switch (expr.kind) {
    case Expr::Kind::kConstant:
      return ConstantValue(expr.dtype, expr.bits, 1);
    case Expr::Kind::kDim:
      return DimValue(expr.dim);
    case Expr::Kind::kVariable: {
      const Value base = b_.Add(variables_[expr.number], offsets_[expr.number]);
      if (static_cast<int>(expr.number) != variable_) return base;
      const Value splat = b_.Splat(base, lanes_);
      return b_.Binary("add", splat, IrBuilder::Steps(splat.type, 1));
    }
    case Expr::Kind::kLoad:
      return EmitLoad(expr.number, expr.dtype);
    case Expr::Kind::kChecked:
      return EmitChecked(expr);
    case Expr::Kind::kOp:
      break;
  }
  std::vector<Value> operands;
  std::vector<DType> dtypes;
  int lanes = 1;
  for (const ExprId id : expr.operands) {
    if (!id.valid()) break;
    operands.push_back(memo_[id.value()]);
    dtypes.push_back(region_.expr(id).dtype);
    lanes = std::max(lanes, operands.back().lanes());
  }
  for (Value& operand : operands) operand = b_.Splat(operand, lanes);
  return EmitOp(b_, helpers_, expr, dtypes, operands);
}

Value RegionEmitter::Eval(ExprId id) {
  if (kept_[id.value()].valid()) return kept_[id.value()];
  if (memo_[id.value()].valid()) return memo_[id.value()];
  const std::vector<bool> needed = Reachable(region_, {id});
  for (size_t i = 0; i <= id.value(); ++i) {
    if (!needed[i] || memo_[i].valid()) continue;
    memo_[i] = kept_[i].valid() ? kept_[i] : EmitExpr(region_.exprs[i]);
  }
  return memo_[id.value()];
}

void RegionEmitter::StoreVector(const Value& value, const Value& base,
                                const Address& address) {
  const Elem elem = value.type.elem;
  const Value mask = LaneMask(address.valid);
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

void RegionEmitter::EmitStore(size_t stage, size_t number) {
  const Store& store = region_.stages[stage].stores[number];
  const DType dtype = region_.outputs[store.output].dtype;
  const Value& base = outputs_[store.output];
  Value value = EvalLanes(store.value);
  const Address address = MakeAddress(flat_.stores[stage][number]);
  const Elem elem = MemoryElem(dtype);
  const auto combined = [&](const Value& old) {
    return Combine(b_, UpdateCombiner(store.update), dtype,
                   FromMemory(b_, dtype, old), value);
  };
  if (lanes() > 1) {
    if (store.update != Update::kSet) {
      value = combined(
          LoadVector(elem, base, address, {}, LaneMask(address.valid)));
    }
    StoreVector(ToMemory(b_, dtype, value), base, address);
    return;
  }
  const auto write = [&] {
    const Value pointer = Pointer(base, elem, address);
    if (store.update != Update::kSet) {
      value = combined(b_.Load({elem, 1}, pointer, ElemBytes(elem)));
    }
    b_.Store(ToMemory(b_, dtype, value), pointer, ElemBytes(elem));
  };
  if (address.valid.valid()) {
    b_.If(address.valid, write);
  } else {
    write();
  }
}

void RegionEmitter::StoreResult(size_t stage, int component,
                                const Value& value) {
  const Result& result = results_[stage][component];
  if (!result.buffer.valid()) {
    SetResult(stage, component, value);
    return;
  }
  const DType dtype = region_.stages[stage].dtype;
  const Value kept =
      dtype == DType::kBool ? b_.Convert("zext", value, Elem::kI8) : value;
  const Elem elem = kept.type.elem;
  Address address;
  address.element = AffineValue(flat_.results[stage]);
  if (result.shared_lanes > 1) {
    const Value at = b_.Mul(address.element, result.shared_lanes);
    b_.Store(b_.Splat(kept, result.shared_lanes),
             b_.Gep(result.buffer, elem, at), ElemBytes(elem));
  } else if (lanes() > 1) {
    address.lane_stride =
        flat_.results[stage].Coefficient(static_cast<uint32_t>(variable_));
    StoreVector(b_.Splat(kept, lanes_), result.buffer, address);
  } else {
    b_.Store(kept, b_.Gep(result.buffer, elem, address.element),
             ElemBytes(elem));
  }
}

}  // namespace encore::backends::cpu
