#include "encore/backends/region/flat/attention_region.h"

#include <algorithm>
#include <array>
#include <utility>

#include "encore/backends/region/affine.h"
#include "encore/backends/region/flat/dependences.h"
#include "encore/ir/ops/op.h"
#include "encore/ir/types/dtype.h"

namespace encore::backends {
namespace {

// Floats whose results are computed in f32.
bool IsInF32(DType dtype) { return IsFloat(dtype) && BitWidth(dtype) <= 32; }

bool IsOp(const Region& region, ExprId id, Op op) {
  const Expr& expr = region.expr(id);
  return expr.kind == Expr::Kind::kOp && expr.op == op && IsInF32(expr.dtype);
}

}  // namespace

std::optional<AttentionRegion> AttentionRegion::Find(const Region& region) {
  constexpr size_t kLeastStages = 6;
  if (region.symbols != 0 || !region.checks.empty() ||
      region.stages.size() < kLeastStages) {
    return std::nullopt;
  }
  std::optional<FlatRegion> flat = Flatten(region);
  if (!flat) return std::nullopt;
  AttentionRegion found;
  found.flat_ = *std::move(flat);
  if (!found.IsPlain() || !found.FindStages() || !found.FindProducts() ||
      !found.FindVariables()) {
    return std::nullopt;
  }
  return found;
}

int64_t AttentionRegion::Points(const std::vector<uint32_t>& variables) const {
  int64_t points = 1;
  for (const uint32_t v : variables) points *= int64_t{flat_.extents[v]};
  return points;
}

// No padding to write, every element once, and results of stages read where
// they are computed.
bool AttentionRegion::IsPlain() const {
  for (const auto* operands : {&region().inputs, &region().outputs}) {
    for (const Operand& operand : *operands) {
      if (!operand.layout.is_row_major() || IsPacked(operand.dtype)) {
        return false;
      }
    }
  }
  for (const int64_t extent : flat_.extents) {
    if (extent < 1) return false;
  }
  for (const Access& access : region().accesses) {
    if (access.source != Access::Source::kStage) continue;
    const Stage& stage = region().stages[access.number];
    for (size_t i = 0; i < stage.loops.size(); ++i) {
      if (PureVariable(access.indices[i]) != stage.loops[i]) return false;
    }
  }
  return true;
}

std::optional<uint32_t> AttentionRegion::StageOf(ExprId id) const {
  if (region().expr(id).kind != Expr::Kind::kLoad) return std::nullopt;
  const Access& access = region().access(id);
  if (access.source != Access::Source::kStage) return std::nullopt;
  return access.number;
}

bool AttentionRegion::IsSum(size_t stage) const {
  const Stage& s = region().stages[stage];
  return s.kind == Stage::Kind::kReduce && s.combiner == RegionCombiner::kSum &&
         IsInF32(s.dtype) && s.accumulate == DType::kF32;
}

ExprId AttentionRegion::WithoutCasts(ExprId id) const {
  while (IsOp(region(), id, Op::kCast) &&
         IsInF32(region().expr(region().expr(id).operands[0]).dtype)) {
    id = region().expr(id).operands[0];
  }
  return id;
}

// The last sum, of weights that a map keeps by values; behind it the epilogue.
bool AttentionRegion::FindStages() {
  const std::vector<Stage>& stages = region().stages;
  results_ = stages.size();
  while (results_ > 0 && stages[results_ - 1].kind == Stage::Kind::kMap) {
    const Stage& map = stages[--results_];
    if (map.value.valid() || flat_.loops[results_] != flat_.loops.back()) {
      return false;
    }
    for (const Store& store : map.stores) {
      if (store.update != Update::kSet || store.checked) return false;
    }
  }
  if (results_ == 0 || results_ == stages.size()) return false;
  --results_;
  if (results_ != 4 || !IsSum(results_)) return false;
  const ExprId product = stages[results_].value;
  if (!IsOp(region(), product, Op::kMul)) return false;
  std::array<ExprId, 2> factors = {
      WithoutCasts(region().expr(product).operands[0]),
      WithoutCasts(region().expr(product).operands[1])};
  if (!StageOf(factors[0])) std::swap(factors[0], factors[1]);
  const std::optional<uint32_t> weights = StageOf(factors[0]);
  if (!weights || StageOf(factors[1])) return false;
  weights_ = *weights;
  value_ = factors[1];
  const Stage& map = stages[weights_];
  return map.kind == Stage::Kind::kMap && map.stores.empty() &&
         FindWeights(WithoutCasts(map.value));
}

// e^(s - m) / l of the maximum m and the sum l.
bool AttentionRegion::FindWeights(ExprId weight) {
  const std::vector<Stage>& stages = region().stages;
  if (!IsOp(region(), weight, Op::kDiv)) return false;
  const auto [power, total] = std::pair(region().expr(weight).operands[0],
                                        region().expr(weight).operands[1]);
  const std::optional<uint32_t> sums = StageOf(total);
  if (!sums || !IsSum(*sums) || stages[*sums].value != power ||
      !IsOp(region(), power, Op::kExp)) {
    return false;
  }
  sums_ = *sums;
  const ExprId below = region().expr(power).operands[0];
  if (!IsOp(region(), below, Op::kSub)) return false;
  score_ = region().expr(below).operands[0];
  const std::optional<uint32_t> maxima =
      StageOf(region().expr(below).operands[1]);
  if (!maxima) return false;
  maxima_ = *maxima;
  const Stage& stage = stages[maxima_];
  return stage.kind == Stage::Kind::kReduce &&
         stage.combiner == RegionCombiner::kMax && stage.value == score_ &&
         IsInF32(region().expr(score_).dtype);
}

// The one stage that is left, which alone the score reads; the epilogue reads
// the results alone.
bool AttentionRegion::FindProducts() {
  while (products_ == maxima_ || products_ == sums_ || products_ == weights_) {
    ++products_;
  }
  if (products_ >= results_ || !IsSum(products_)) return false;
  const ExprId product = region().stages[products_].value;
  if (!IsOp(region(), product, Op::kMul)) return false;
  query_ = region().expr(product).operands[0];
  key_ = region().expr(product).operands[1];
  for (const ExprId factor : {query_, key_, value_}) {
    if (!ReadsOnly({factor}, std::nullopt)) return false;
  }
  std::vector<ExprId> stored;
  for (size_t s = results_ + 1; s < region().stages.size(); ++s) {
    for (const Store& store : region().stages[s].stores) {
      stored.push_back(store.value);
      for (const Index& index : store.indices) {
        if (index.indirect.valid()) stored.push_back(index.indirect);
      }
    }
  }
  return ReadsOnly({score_}, products_) && ReadsOnly(stored, results_);
}

// Whether the expressions need results of that stage at most.
bool AttentionRegion::ReadsOnly(const std::vector<ExprId>& roots,
                                std::optional<size_t> stage) const {
  const std::vector<bool> needed = Reachable(region(), roots);
  for (uint32_t e = 0; e < needed.size(); ++e) {
    if (!needed[e]) continue;
    const std::optional<uint32_t> read = StageOf(ExprId(e));
    if (read && *read != stage) return false;
  }
  return true;
}

bool AttentionRegion::FindVariables() {
  const auto& loops = flat_.loops;
  const auto& reduced = flat_.reduced;
  if (loops[products_].size() != 1 || reduced[products_].size() > 1 ||
      loops[results_].size() != 1 || loops.back() != loops[results_]) {
    return false;
  }
  const std::vector<uint32_t> keys = loops[products_];
  for (const size_t stage : {maxima_, sums_, results_}) {
    if (reduced[stage] != keys) return false;
  }
  if (loops[weights_] != keys || !loops[maxima_].empty() ||
      !loops[sums_].empty()) {
    return false;
  }
  key_variable_ = keys[0];
  column_ = loops[results_][0];
  if (!reduced[products_].empty()) {
    depth_ = static_cast<int>(reduced[products_][0]);
  }
  const Dependences depends(flat_);
  if (depends.On(query_, key_variable_)) std::swap(query_, key_);
  if (depends.On(query_, key_variable_)) return false;
  for (const uint32_t v : flat_.outer) {
    const bool head = depends.On(key_, v) || depends.On(value_, v);
    (head ? heads_ : rows_).push_back(v);
  }
  return true;
}

}  // namespace encore::backends
