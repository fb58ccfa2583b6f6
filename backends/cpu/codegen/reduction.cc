#include "encore/backends/cpu/codegen/reduction.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "encore/backends/cpu/codegen/math/math.h"
#include "encore/backends/cpu/codegen/scalar_ops.h"
#include "encore/backends/cpu/codegen/staging.h"
#include "encore/backends/region/affine.h"
#include "encore/ir/types/float_formats.h"

namespace encore::backends::cpu {
namespace {

// Independent accumulators that hide the latency of an addition.
constexpr int kAccumulators = 4;
// Points of a window that are not a loop.
constexpr int64_t kMostUnrolled = 8;
// Points of a loop in which each addition waits for the one before for long,
// and operations of each beside which that is little.
constexpr int64_t kLongChain = 32, kMostChainOps = 4;

// Loops over variables [first, last) of the list, those from `unrolled` on
// point by point, then `body`.
void Nest(RegionEmitter& e, const FlatRegion& flat,
          const std::vector<uint32_t>& variables, size_t first, size_t last,
          size_t unrolled, const std::function<void()>& body) {
  if (first == last) return body();
  const uint32_t variable = variables[first];
  const auto point = [&](const Value& i) {
    std::vector<Value> memo = e.SaveMemo();
    e.SetVariable(variable, i);
    Nest(e, flat, variables, first + 1, last, unrolled, body);
    e.RestoreMemo(std::move(memo));
  };
  if (first < unrolled) {
    return e.builder().Loop(IrBuilder::I64(0),
                            e.SizeValue(flat.extents[variable]), 1, point);
  }
  for (int64_t i = 0; i < flat.extents[variable]; ++i) {
    point(IrBuilder::I64(i));
  }
}

void Nest(RegionEmitter& e, const FlatRegion& flat,
          const std::vector<uint32_t>& variables, size_t first, size_t last,
          const std::function<void()>& body) {
  Nest(e, flat, variables, first, last, last, body);
}

// `body(k)` for every vector of `variable`; k counts unrolled ones.
void VectorLoop(RegionEmitter& e, const Size& extent, int variable, int lanes,
                int unroll, const std::function<void(int)>& body) {
  IrBuilder& b = e.builder();
  const auto at = [&](const Value& i, int k, const Value& active) {
    std::vector<Value> memo = e.SaveMemo();
    e.SetVariable(static_cast<uint32_t>(variable), i);
    e.SetLanes(variable, active);
    body(k);
    e.SetLanes(kNoVariable, {});
    e.RestoreMemo(std::move(memo));
  };
  const int64_t step = int64_t{lanes} * unroll;
  const Value unrolled =
      unroll > 1 ? WholeSteps(e, extent, step) : IrBuilder::I64(0);
  const Value full = WholeSteps(e, extent, lanes);
  b.Loop(IrBuilder::I64(0), unrolled, step, [&](const Value& i) {
    for (int k = 0; k < unroll; ++k) {
      at(b.Add(i, int64_t{k} * lanes), k, {});
    }
  });
  b.Loop(unrolled, full, lanes, [&](const Value& i) { at(i, 0, {}); });
  WithTail(e, extent, lanes, [&](const Value& active) { at(full, 0, active); });
}

}  // namespace

std::vector<ExprId> KeepFixed(RegionEmitter& e, const FlatRegion& flat,
                              size_t stage) {
  std::vector<ExprId> fixed;
  // What has no points may read nothing.
  if (std::ranges::count(flat.extents, Size(0)) > 0) return fixed;
  const Region& region = *flat.region;
  const std::vector<bool> needed =
      Reachable(region, RootsOf(region.stages[stage]));
  const std::vector<bool> moving = MovingIn(flat, stage);
  for (uint32_t i = 0; i < needed.size(); ++i) {
    if (!needed[i] || moving[i] || region.exprs[i].kind != Expr::Kind::kOp) {
      continue;
    }
    fixed.push_back(ExprId(i));
    e.Keep(fixed.back(), e.Eval(fixed.back()));
  }
  return fixed;
}

Value WholeSteps(RegionEmitter& e, const Size& extent, int64_t step) {
  if (extent.is_constant()) return IrBuilder::I64(extent / step * step);
  IrBuilder& b = e.builder();
  const Value count = e.SizeValue(extent);
  return b.Sub(count, b.Binary("urem", count, IrBuilder::I64(step)));
}

void WithTail(RegionEmitter& e, const Size& extent, int lanes,
              const std::function<void(const Value& active)>& body) {
  if (extent.is_constant()) {
    if (extent % lanes == 0) return;
    return body(IrBuilder::PrefixMask(lanes, extent % lanes));
  }
  IrBuilder& b = e.builder();
  const Value left =
      b.Binary("urem", e.SizeValue(extent), IrBuilder::I64(lanes));
  b.If(b.Compare("ne", left, IrBuilder::I64(0)), [&] {
    const IrType type{Elem::kI64, lanes};
    body(b.Compare("ult", IrBuilder::Steps(type, 1), b.Splat(left, lanes)));
  });
}

void Loops(RegionEmitter& e, const FlatRegion& flat,
           const std::vector<uint32_t>& variables, int vector_variable,
           int lanes, const std::function<void()>& body) {
  if (vector_variable == kNoVariable) {
    return Nest(e, flat, variables, 0, variables.size(), body);
  }
  Nest(e, flat, variables, 0, variables.size() - 1, [&] {
    VectorLoop(e, flat.extents[variables.back()], vector_variable, lanes,
               /*unroll=*/1, [&](int) { body(); });
  });
}

Value ConvertDType(IrBuilder& b, DType from, DType to, const Value& value,
                   bool saturate) {
  Expr cast;
  cast.kind = Expr::Kind::kOp;
  cast.op = Op::kCast;
  cast.dtype = to;
  cast.saturate = saturate;
  if (from == to) return value;
  return EmitOp(b, {}, cast, {{from}}, {{value}});
}

Value FromAccumulated(IrBuilder& b, const Stage& stage, const Value& value) {
  const bool limited = (stage.combiner == RegionCombiner::kMax ||
                        stage.combiner == RegionCombiner::kMin) &&
                       IsFloat(stage.dtype) &&
                       !FormatOf(stage.dtype).has_infinity();
  return ConvertDType(b, stage.accumulate, stage.dtype, value, limited);
}

Value Fold(IrBuilder& b, RegionCombiner combiner, DType dtype, Value vector) {
  while (vector.lanes() > 2) {
    const int half = vector.lanes() / 2;
    std::vector<int> low(half), high(half);
    for (int i = 0; i < half; ++i) {
      low[i] = i;
      high[i] = half + i;
    }
    const Value a = b.Shuffle(vector, vector, low);
    const Value c = b.Shuffle(vector, vector, high);
    vector = Combine(b, combiner, dtype, a, c);
  }
  if (vector.lanes() == 1) return vector;
  return Combine(b, combiner, dtype, b.Extract(vector, 0),
                 b.Extract(vector, 1));
}

bool ComputesAlong(const FlatRegion& flat, size_t stage) {
  const Region& region = *flat.region;
  if (stage + 1 == region.stages.size()) return false;
  const Stage& map = region.stages[stage];
  const Stage& next = region.stages[stage + 1];
  if (map.kind != Stage::Kind::kMap || !map.value.valid() ||
      !map.stores.empty() || next.kind != Stage::Kind::kReduce ||
      next.combiner > RegionCombiner::kOr || !next.loops.empty() ||
      map.loops != next.reduced || map.loops.empty() ||
      flat.loops[stage] != flat.reduced[stage + 1]) {
    return false;
  }
  const Expr& value = region.expr(next.value);
  if (value.kind != Expr::Kind::kLoad) return false;
  const Access& access = region.accesses[value.number];
  return access.source == Access::Source::kStage && access.number == stage &&
         !access.checked &&
         std::ranges::equal(access.indices, map.loops, {},
                            [](const Index& index) {
                              return PureVariable(index).value_or(UINT32_MAX);
                            });
}

Reduction::Reduction(RegionEmitter& e, const FlatRegion& flat, size_t stage,
                     int vector_variable, int lanes,
                     std::optional<size_t> along)
    : e_(e),
      b_(e.builder()),
      flat_(flat),
      stage_(flat.region->stages[stage]),
      reduced_(flat.reduced[stage]),
      value_dtype_(flat.region->expr(stage_.value).dtype),
      variable_(vector_variable),
      lanes_(lanes),
      along_(along) {}

Value Reduction::Accumulated() {
  Value value;
  if (along_) {
    value = e_.EvalLanes(flat_.region->stages[*along_].value);
    e_.StoreResult(*along_, 0, value);
  } else {
    value = e_.EvalLanes(stage_.value);
  }
  return ConvertDType(b_, value_dtype_, stage_.accumulate, value);
}

size_t Reduction::FirstUnrolled() const {
  size_t first = reduced_.size();
  int64_t points = 1;
  while (first > 0) {
    const Size& extent = flat_.extents[reduced_[first - 1]];
    if (!extent.is_constant() || extent == 0 ||
        points * extent > kMostUnrolled) {
      break;
    }
    points *= extent;
    --first;
  }
  return first;
}

IrType Reduction::SumType() const {
  return {ComputeElem(stage_.accumulate),
          variable_ == kNoVariable ? e_.lanes() : lanes_};
}

int Reduction::SumCount() const {
  if (variable_ == kNoVariable) return 1;
  const Size& extent = flat_.extents[reduced_.back()];
  const bool is_long =
      !extent.is_constant() || extent >= int64_t{kAccumulators} * lanes_;
  return is_long ? kAccumulators : 1;
}

bool Reduction::WaitsForItself() const {
  if (variable_ != kNoVariable || along_ || reduced_.empty()) return false;
  const Size& extent = flat_.extents[reduced_.back()];
  const std::vector<bool> needed = Reachable(*flat_.region, {stage_.value});
  int64_t operations = 0;
  for (size_t e = 0; e < needed.size(); ++e) {
    const bool op = flat_.region->exprs[e].kind == Expr::Kind::kOp;
    operations += needed[e] && op ? 1 : 0;
  }
  return extent.is_constant() && extent >= kLongChain &&
         operations <= kMostChainOps;
}

void Reduction::Add(RegionCombiner combiner, const Element& element,
                    const std::vector<Value>& sums) {
  const DType dtype = stage_.accumulate;
  const IrType type = SumType();
  const bool along = variable_ != kNoVariable;
  const auto add = [&](int k) {
    Value value = element();
    if (along && e_.active().valid()) {
      value =
          b_.Select(e_.active(), value, Identity(combiner, dtype, type.lanes));
    }
    // The new value first: IrBuilder::Extreme.
    b_.Set(sums[k], Combine(b_, combiner, dtype, value, b_.Get(sums[k], type)));
  };
  if (!along) return add(0);
  VectorLoop(e_, flat_.extents[reduced_.back()], variable_, lanes_,
             static_cast<int>(sums.size()), add);
}

Value Reduction::Total(RegionCombiner combiner,
                       const std::vector<Value>& sums) {
  const DType dtype = stage_.accumulate;
  const IrType type = SumType();
  Value total = b_.Get(sums[0], type);
  for (size_t k = 1; k < sums.size(); ++k) {
    total = Combine(b_, combiner, dtype, total, b_.Get(sums[k], type));
  }
  return variable_ == kNoVariable ? total : Fold(b_, combiner, dtype, total);
}

void Reduction::AddInTurns(RegionCombiner combiner, const Element& element,
                           const std::vector<Value>& sums) {
  const uint32_t variable = reduced_.back();
  const int64_t extent = flat_.extents[variable];
  const auto count = static_cast<int64_t>(sums.size());
  const auto at = [&](const Value& i, int64_t k) {
    std::vector<Value> memo = e_.SaveMemo();
    e_.SetVariable(variable, i, k);
    Add(combiner, element, {sums[k]});
    e_.RestoreMemo(std::move(memo));
  };
  const Value whole = IrBuilder::I64(extent / count * count);
  b_.Loop(IrBuilder::I64(0), whole, count, [&](const Value& i) {
    for (int64_t k = 0; k < count; ++k) at(i, k);
  });
  for (int64_t k = 0; k < extent % count; ++k) at(whole, k);
}

Value Reduction::Simple(RegionCombiner combiner, const Element& element) {
  const IrType type = SumType();
  const bool in_turns = WaitsForItself();
  std::vector<Value> sums;
  for (int k = 0; k < (in_turns ? kAccumulators : SumCount()); ++k) {
    sums.push_back(b_.NewVariable(type));
    b_.Set(sums.back(), Identity(combiner, stage_.accumulate, type.lanes));
  }
  const bool along = variable_ != kNoVariable;
  const size_t last = reduced_.size() - (along || in_turns ? 1 : 0);
  Nest(e_, flat_, reduced_, 0, last, along ? last : FirstUnrolled(), [&] {
    if (in_turns) return AddInTurns(combiner, element, sums);
    Add(combiner, element, sums);
  });
  return Total(combiner, sums);
}

void Reduction::EmitTogether(int64_t points,
                             const std::function<void(const AtPoint&)>& each,
                             const std::function<void(const Value&)>& done) {
  const RegionCombiner combiner = stage_.combiner;
  const int count = SumCount();
  const IrType type{ComputeElem(stage_.accumulate), lanes_};
  const Value kept = b_.NewArray({type.elem, 1}, points * count * type.lanes);
  const auto place = [&](const Value& number, int k) {
    const Value first = b_.Mul(b_.Add(b_.Mul(number, count), k), type.lanes);
    return b_.Gep(kept, type.elem, first);
  };
  std::vector<Value> sums;
  for (int k = 0; k < count; ++k) sums.push_back(b_.NewVariable(type));
  const int align = ElemBytes(type.elem);
  const auto load = [&](const Value& number) {
    for (int k = 0; k < count; ++k) {
      b_.Set(sums[k], b_.Load(type, place(number, k), align));
    }
  };
  const auto store = [&](const Value& number) {
    for (int k = 0; k < count; ++k) {
      b_.Store(b_.Get(sums[k], type), place(number, k), align);
    }
  };
  each([&](const Value& number) {
    for (const Value& sum : sums) {
      b_.Set(sum, Identity(combiner, stage_.accumulate, type.lanes));
    }
    store(number);
  });
  const size_t inside = variable_ == kNoVariable ? 0 : 1;
  Nest(e_, flat_, reduced_, 0, reduced_.size() - inside, [&] {
    each([&](const Value& number) {
      load(number);
      Add(combiner, [this] { return Accumulated(); }, sums);
      store(number);
    });
  });
  each([&](const Value& number) {
    load(number);
    done(FromAccumulated(b_, stage_, Total(combiner, sums)));
  });
}

// Keeps the better of what is in `best` and `index` and a candidate.
void Reduction::ArgUpdate(const Value& best, const Value& index,
                          const Value& value, const Value& candidate,
                          const Value& active) {
  const bool max = stage_.combiner == RegionCombiner::kArgMax ||
                   stage_.combiner == RegionCombiner::kArgMaxLast;
  const bool last = stage_.combiner == RegionCombiner::kArgMaxLast ||
                    stage_.combiner == RegionCombiner::kArgMinLast;
  const Value old = b_.Get(best, value.type);
  const Value old_index = b_.Get(index, candidate.type);
  const bool is_float = IsFloat(value_dtype_);
  const bool is_signed = IsSigned(value_dtype_);
  Value better, tie;
  if (is_float) {
    const Value new_nan = b_.Compare("uno", value, value);
    const Value old_nan = b_.Compare("uno", old, old);
    const Value both = b_.Binary("and", new_nan, old_nan);
    const Value only_new =
        b_.Binary("and", new_nan,
                  b_.Binary("xor", old_nan, IrBuilder::True(old_nan.lanes())));
    better =
        b_.Binary("or", b_.Compare(max ? "ogt" : "olt", value, old), only_new);
    tie = b_.Binary("or", b_.Compare("oeq", value, old), both);
  } else {
    better = b_.Compare(
        max ? (is_signed ? "sgt" : "ugt") : (is_signed ? "slt" : "ult"), value,
        old);
    tie = b_.Compare("eq", value, old);
  }
  const Value wins = b_.Compare(last ? "sgt" : "slt", candidate, old_index);
  Value take = b_.Binary("or", better, b_.Binary("and", tie, wins));
  take =
      b_.Binary("or", take,
                b_.Compare("slt", old_index, IrBuilder::Zero(old_index.type)));
  if (active.valid()) take = b_.Binary("and", take, active);
  b_.Set(best, b_.Select(take, value, old));
  b_.Set(index, b_.Select(take, candidate, old_index));
}

std::vector<Value> Reduction::Arg() {
  const bool along = variable_ != kNoVariable;
  const int lanes = along ? lanes_ : e_.lanes();
  const IrType type{ComputeElem(value_dtype_), lanes};
  const IrType index_type{Elem::kI64, lanes};
  const Value best = b_.NewVariable(type), index = b_.NewVariable(index_type);
  b_.Set(best, IrBuilder::Zero(type));
  b_.Set(index, IrBuilder::Int(index_type, -1));
  // The last reduced variable of the region, merged or not, is what counts.
  // An axis of extent 1 has none: its only position is 0.
  Affine self;
  if (!stage_.reduced.empty()) self.AddTerm(stage_.reduced.back(), 1);
  const auto update = [&] {
    Value candidate = b_.Splat(e_.AffineValue(self), lanes);
    if (along && self.Coefficient(static_cast<uint32_t>(variable_)) != 0) {
      candidate = b_.Binary("add", candidate, IrBuilder::Steps(index_type, 1));
    }
    ArgUpdate(best, index, e_.EvalLanes(stage_.value), candidate,
              along ? e_.active() : Value());
  };
  Loops(e_, flat_, reduced_, variable_, lanes_, update);
  Value result = b_.Get(index, index_type);
  if (along) {
    const Value values = b_.Get(best, type);
    const IrType one = type.Lanes(1);
    const Value winner = b_.NewVariable(one);
    const Value where = b_.NewVariable({Elem::kI64, 1});
    b_.Set(winner, b_.Extract(values, 0));
    b_.Set(where, b_.Extract(result, 0));
    for (int lane = 1; lane < lanes; ++lane) {
      const Value candidate = b_.Extract(result, lane);
      ArgUpdate(winner, where, b_.Extract(values, lane), candidate,
                b_.Compare("sge", candidate, IrBuilder::I64(0)));
    }
    result = b_.Get(where, {Elem::kI64, 1});
  }
  return {ConvertDType(b_, DType::kI64, stage_.dtype, result)};
}

std::vector<Value> Reduction::Welford() {
  const DType dtype = stage_.accumulate;
  Size count = 1;
  for (const uint32_t v : reduced_) count *= flat_.extents[v];
  const auto counted = [&](const Value& like) {
    if (count.is_constant()) {
      return IrBuilder::Float(like.type, static_cast<double>(int64_t{count}));
    }
    return b_.Splat(b_.Convert("sitofp", e_.SizeValue(count), like.type.elem),
                    like.lanes());
  };
  // Two passes: more precise than one, and the second reads from the cache.
  const Value sum =
      Simple(RegionCombiner::kSum, [this] { return Accumulated(); });
  const Value mean = b_.Binary("fdiv", sum, counted(sum));
  const Value squares = Simple(RegionCombiner::kSum, [&] {
    const Value value = Accumulated();
    const Value d = b_.Binary("fsub", value, b_.Splat(mean, value.lanes()));
    return b_.Binary("fmul", d, d);
  });
  return {ConvertDType(b_, dtype, stage_.dtype, mean),
          ConvertDType(b_, dtype, stage_.dtype, squares)};
}

std::vector<Value> Reduction::OnlineSoftmax() {
  const DType dtype = stage_.accumulate;
  const Value max =
      Simple(RegionCombiner::kMax, [this] { return Accumulated(); });
  MathEmitter math{b_, e_.helpers()};
  const Value sum = Simple(RegionCombiner::kSum, [&] {
    const Value value = Accumulated();
    return math.Exp(b_.Binary("fsub", value, b_.Splat(max, value.lanes())));
  });
  return {ConvertDType(b_, dtype, stage_.dtype, max),
          ConvertDType(b_, dtype, stage_.dtype, sum)};
}

std::vector<Value> Reduction::Emit() {
  switch (stage_.combiner) {
    case RegionCombiner::kArgMax:
    case RegionCombiner::kArgMin:
    case RegionCombiner::kArgMaxLast:
    case RegionCombiner::kArgMinLast:
      return Arg();
    case RegionCombiner::kWelford:
      return Welford();
    case RegionCombiner::kOnlineSoftmax:
      return OnlineSoftmax();
    default:
      break;
  }
  const Value total = Simple(stage_.combiner, [this] { return Accumulated(); });
  return {FromAccumulated(b_, stage_, total)};
}

}  // namespace encore::backends::cpu
