#include "encore/backends/cpu/vendor/sum_region.h"

#include <algorithm>
#include <utility>

#include "encore/ir/ops/op.h"

namespace encore::backends::cpu {
namespace {

constexpr size_t kMostInputs = 40;

}  // namespace

std::optional<SumRegion> SumRegion::Find(const Region& region) {
  SumRegion sum(region);
  if (!sum.FindSum()) return std::nullopt;
  std::optional<FlatRegion> flat = Flatten(region);
  if (!flat) return std::nullopt;
  sum.flat_ = *std::move(flat);
  if (!sum.IsLinear()) return std::nullopt;
  for (const int64_t extent : sum.flat_.extents) {
    if (extent < 1) return std::nullopt;
  }
  sum.PlaceSums();
  return sum;
}

bool SumRegion::IsPlainLoad(ExprId id) const {
  const Expr& expr = region().expr(id);
  return expr.kind == Expr::Kind::kLoad && expr.dtype == DType::kF32 &&
         Load(id).source == Access::Source::kInput;
}

bool SumRegion::FindSum() {
  if (region().stages.size() < 2 || region().symbols != 0 ||
      region().inputs.size() > kMostInputs) {
    return false;
  }
  const Stage& sum = region().stages[0];
  if (sum.kind != Stage::Kind::kReduce || !sum.loops.empty() ||
      sum.combiner != RegionCombiner::kSum || sum.dtype != DType::kF32 ||
      sum.accumulate != DType::kF32) {
    return false;
  }
  for (size_t s = 1; s < region().stages.size(); ++s) {
    const Stage& stage = region().stages[s];
    if (stage.kind != Stage::Kind::kMap || !stage.loops.empty()) return false;
    for (const Store& store : stage.stores) {
      if (store.update != Update::kSet) return false;
    }
  }
  const Expr& product = region().expr(sum.value);
  if (product.kind != Expr::Kind::kOp || product.op != Op::kMul) return false;
  lhs_ = product.operands[0];
  rhs_ = product.operands[1];
  if (!IsPlainLoad(lhs_) || !IsPlainLoad(rhs_)) return false;
  return std::all_of(
      region().inputs.begin(), region().inputs.end(),
      [](const Operand& input) { return input.layout.is_row_major(); });
}

std::vector<bool> SumRegion::Needed() const {
  std::vector<ExprId> roots;
  for (size_t s = 1; s < region().stages.size(); ++s) {
    const Stage& stage = region().stages[s];
    if (stage.value.valid()) roots.push_back(stage.value);
    for (const Store& store : stage.stores) roots.push_back(store.value);
  }
  return Reachable(region(), roots);
}

bool SumRegion::IsLinear() const {
  const std::vector<bool> needed = Needed();
  for (size_t i = 0; i < needed.size(); ++i) {
    const Expr& expr = region().exprs[i];
    if (!needed[i] || expr.kind != Expr::Kind::kLoad) continue;
    const FlatAccess& load = flat_.loads[expr.number];
    if (!load.dynamic.empty() || load.panel != FlatAccess::kNoPanel) {
      return false;
    }
  }
  for (const std::vector<FlatAccess>& stores : flat_.stores) {
    for (const FlatAccess& store : stores) {
      if (!store.dynamic.empty()) return false;
    }
  }
  return true;
}

bool SumRegion::IsSumLoad(ExprId id) const {
  const Expr& expr = region().expr(id);
  return expr.kind == Expr::Kind::kLoad &&
         Load(id).source == Access::Source::kStage && Load(id).number == 0;
}

void SumRegion::PlaceSums() {
  if (region().stages.size() == 2 && region().stages[1].stores.size() == 1 &&
      region().outputs.size() == 1 &&
      region().outputs[0].dtype == DType::kF32) {
    sums_ = flat_.stores[1][0].address;
    bool each = sums_.offset >= 0;
    for (const uint32_t v : flat_.outer) each &= sums_.Coefficient(v) > 0;
    if (each) return;
  }
  sums_in_scratch_ = true;
  sums_ = {};
  int64_t stride = 1;
  for (size_t i = flat_.outer.size(); i-- > 0;) {
    sums_.AddTerm(flat_.outer[i], stride);
    stride *= flat_.extents[flat_.outer[i]];
  }
}

bool SumRegion::HasEpilogue() const {
  if (sums_in_scratch_) return true;
  return !IsSumLoad(region().stages[1].stores[0].value);
}

}  // namespace encore::backends::cpu
