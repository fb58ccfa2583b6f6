#include "encore/backends/cpu/codegen/region_emitter.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <utility>

#include "encore/backends/cpu/codegen/scalar_ops.h"
#include "encore/backends/cpu/codegen/staging.h"
#include "encore/backends/cpu/helpers.h"
#include "encore/ir/support/check.h"
#include "encore/ir/support/strings.h"

namespace encore::backends::cpu {
namespace {

constexpr int64_t kFaultOffset = offsetof(HelperTable, fault);

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
    : flat_(flat),
      region_(*flat.region),
      lanes_(lanes),
      b_(b),
      sizes_(b),
      memory_(lanes, b) {
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
  sizes_.LoadSymbols(region_.symbols);
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
    index =
        b_.Binary("add", b_.Splat(index, lanes_), sizes_.Steps(step, lanes_));
  }
  if (!dynamic.indirect.valid()) return index;
  const Value indirect = Eval(dynamic.indirect);
  const int lanes = std::max(index.lanes(), indirect.lanes());
  return b_.Binary("add", b_.Splat(index, lanes), b_.Splat(indirect, lanes));
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

void RegionEmitter::AddStep(const Value& step, LaneAddress* address) {
  const int lanes = std::max(address->element.lanes(), step.lanes());
  if (lanes > 1 && address->lane_stride != 0) {
    address->element = b_.Splat(address->element, lanes);
    address->element =
        b_.Binary("add", address->element, memory_.LaneSteps(*address));
    address->lane_stride = 0;
    address->repeat = address->repeat_step = 1;
    address->phase = {};
  }
  address->element = b_.Binary("add", b_.Splat(address->element, lanes),
                               b_.Splat(step, lanes));
}

void RegionEmitter::AddBlocked(const FlatAccess& access,
                               const DynamicIndex& dynamic, const Value& index,
                               LaneAddress* address) {
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

void RegionEmitter::AddRepeats(const FlatAccess& access, LaneAddress* address) {
  for (const FlatAccess::Repeat& repeat : access.repeats) {
    const Value at =
        b_.Mul(b_.Add(variables_[repeat.variable], offsets_[repeat.variable]),
               repeat.step);
    const Value divisor = IrBuilder::I64(repeat.divisor);
    const Value element = b_.Binary("udiv", at, divisor);
    address->element =
        b_.Add(address->element, b_.Mul(element, repeat.coefficient));
    if (static_cast<int>(repeat.variable) != variable_) continue;
    // Vectors begin at multiples of their lanes, a power of two.
    const bool even =
        repeat.step == 1 && std::has_single_bit(uint64_t(repeat.divisor));
    if (even && repeat.divisor >= lanes_) continue;
    address->lane_stride = repeat.coefficient;
    address->repeat = repeat.divisor;
    address->repeat_step = repeat.step;
    if (!even) address->phase = b_.Binary("urem", at, divisor);
  }
}

void RegionEmitter::AddPhase(const FlatAccess& access, LaneAddress* address) {
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

void RegionEmitter::AddAffine(const FlatAccess& access, LaneAddress* address) {
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
                                 sizes_.Steps(lane_stride, lanes_));
  }
}

LaneAddress RegionEmitter::MakeAddress(const FlatAccess& access) {
  LaneAddress address;
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
  LaneAddress address = MakeAddress(flat);
  Value loaded;
  if (result.shared_lanes > 1) {
    ENCORE_CHECK(!address.is_vector() && !address.valid.valid());
    const Value at =
        b_.Mul(b_.Add(address.element, address.offset), result.shared_lanes);
    loaded = b_.Load({elem, result.shared_lanes},
                     b_.Gep(result.buffer, elem, at), ElemBytes(elem));
  } else if (address.is_vector() || address.valid.lanes() > 1) {
    loaded = memory_.LoadVector(elem, result.buffer, address, fill,
                                LaneMask(address.valid));
  } else {
    loaded = memory_.LoadScalar(elem, result.buffer, address, fill);
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
  LaneAddress address = MakeAddress(flat);
  address.packed_bits = PackedBits(dtype);
  const Value& base =
      bases_[number].valid() ? bases_[number] : inputs_[access.number];
  if (!address.is_vector() && address.valid.lanes() <= 1) {
    return FromMemory(b_, dtype, memory_.LoadScalar(elem, base, address, fill));
  }
  // Panels along the lanes and copies are whole.
  const bool whole = flat.padded || (address.whole && !address.valid.valid()) ||
                     (variable_ != kNoVariable &&
                      flat.panel == static_cast<uint32_t>(variable_));
  const Value mask = whole ? Value() : LaneMask(address.valid);
  return FromMemory(b_, dtype,
                    memory_.LoadVector(elem, base, address, fill, mask));
}

Value RegionEmitter::FirstElement(uint32_t access) {
  const LaneAddress at = MakeAddress(flat_.loads[access]);
  const uint32_t input = region_.accesses[access].number;
  return b_.Gep(inputs_[input], MemoryElem(region_.inputs[input].dtype),
                b_.Add(at.element, at.offset));
}

Value RegionEmitter::EmitExpr(const Expr& expr) {
  switch (expr.kind) {
    case Expr::Kind::kConstant:
      return ConstantValue(expr.dtype, expr.bits, 1);
    case Expr::Kind::kDim:
      return sizes_.DimValue(expr.dim);
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

void RegionEmitter::EmitStore(size_t stage, size_t number) {
  const Store& store = region_.stages[stage].stores[number];
  const DType dtype = region_.outputs[store.output].dtype;
  const Value& base = outputs_[store.output];
  Value value = EvalLanes(store.value);
  LaneAddress address = MakeAddress(flat_.stores[stage][number]);
  address.packed_bits = PackedBits(dtype);
  const Elem elem = MemoryElem(dtype);
  const auto combined = [&](const Value& old) {
    return Combine(b_, UpdateCombiner(store.update), dtype,
                   FromMemory(b_, dtype, old), value);
  };
  if (lanes() > 1) {
    if (store.update != Update::kSet) {
      value = combined(
          memory_.LoadVector(elem, base, address, {}, LaneMask(address.valid)));
    }
    value = ToMemory(b_, dtype, value);
    memory_.StoreVector(value, base, address, LaneMask(address.valid));
    return;
  }
  const Value valid = std::exchange(address.valid, Value());
  const auto write = [&] {
    if (store.update != Update::kSet) {
      value = combined(memory_.LoadScalar(elem, base, address, {}));
    }
    memory_.StoreScalar(ToMemory(b_, dtype, value), base, address);
  };
  if (valid.valid()) {
    b_.If(valid, write);
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
  LaneAddress address;
  address.element = AffineValue(flat_.results[stage]);
  if (result.shared_lanes > 1) {
    const Value at = b_.Mul(address.element, result.shared_lanes);
    b_.Store(b_.Splat(kept, result.shared_lanes),
             b_.Gep(result.buffer, elem, at), ElemBytes(elem));
  } else if (lanes() > 1) {
    address.lane_stride =
        flat_.results[stage].Coefficient(static_cast<uint32_t>(variable_));
    const Value lanes = b_.Splat(kept, lanes_);
    memory_.StoreVector(lanes, result.buffer, address, LaneMask(address.valid));
  } else {
    b_.Store(kept, b_.Gep(result.buffer, elem, address.element),
             ElemBytes(elem));
  }
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
  const IndexCheck& check = region_.checks[expr.number];
  const Value index = memo_[expr.operands[0].value()];
  const int lanes = index.lanes();
  const Value count = sizes_.DimValue(check.count);
  // Unsigned, so that negative ones are out of range too.
  Value bad = b_.Compare("uge", index, b_.Splat(count, lanes));
  if (lanes > 1 && active_.valid()) bad = b_.Binary("and", bad, active_);
  Value any = bad;
  if (lanes > 1) {
    const Value wide = b_.Convert("sext", bad, Elem::kI64);
    any = b_.Compare("ne", b_.ReduceOr(wide), IrBuilder::I64(0));
  }
  b_.If(any, [&] {
    const auto spill = [&](const Value& value) {
      return b_.Spill(b_.Splat(value, lanes));
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
             indices, positions, count, sizes_.DimValue(check.extent)},
            // What it keeps is no memory that kernels know.
            "cold memory(argmem: read, inaccessiblemem: readwrite)");
  });
  return b_.Select(bad, IrBuilder::Zero(index.type), index);
}

}  // namespace encore::backends::cpu
