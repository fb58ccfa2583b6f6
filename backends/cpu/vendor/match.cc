#include "encore/backends/cpu/vendor/match.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "encore/backends/cpu/vendor/matcher.h"

namespace encore::backends::cpu {
namespace {

constexpr size_t kMostInputs = 40;
constexpr size_t kMostBatchDims = 3;

void AddDim(VendorTensor* tensor, int64_t extent, int64_t stride) {
  tensor->dims.push_back(extent);
  tensor->strides.push_back(stride);
}

}  // namespace

std::optional<VendorMatch> MatchVendor(const Region& region,
                                       const std::vector<bool>& weights) {
  return Matcher(region, weights).Run();
}

std::optional<VendorMatch> Matcher::Run() {
  if (!FindSum()) return std::nullopt;
  flat_ = Flatten(region_);
  if (!flat_ || !IsLinear()) return std::nullopt;
  for (const int64_t extent : flat_->extents) {
    if (extent < 1) return std::nullopt;
  }
  PlaceSums();
  const std::pair<ExprId, ExprId> factors(lhs_, rhs_);
  if (!MatchDot()) {
    std::tie(lhs_, rhs_) = factors;
    if (!MatchConvolution()) return std::nullopt;
  }
  match_.program.source.buffer = Load(lhs_).number;
  match_.program.weights.buffer = Load(rhs_).number;
  const bool epilogue = HasEpilogue();
  Cut(epilogue);
  if (epilogue) MakeEpilogue();
  return std::move(match_);
}

bool Matcher::IsPlainLoad(ExprId id) const {
  const Expr& expr = region_.expr(id);
  return expr.kind == Expr::Kind::kLoad && expr.dtype == DType::kF32 &&
         Load(id).source == Access::Source::kInput;
}

bool Matcher::FindSum() {
  if (region_.stages.size() < 2 || region_.symbols != 0 ||
      region_.inputs.size() > kMostInputs) {
    return false;
  }
  const Stage& sum = region_.stages[0];
  if (sum.kind != Stage::Kind::kReduce || !sum.loops.empty() ||
      sum.combiner != RegionCombiner::kSum || sum.dtype != DType::kF32 ||
      sum.accumulate != DType::kF32) {
    return false;
  }
  for (size_t s = 1; s < region_.stages.size(); ++s) {
    const Stage& stage = region_.stages[s];
    if (stage.kind != Stage::Kind::kMap || !stage.loops.empty()) return false;
    for (const Store& store : stage.stores) {
      if (store.update != Update::kSet) return false;
    }
  }
  const Expr& product = region_.expr(sum.value);
  if (product.kind != Expr::Kind::kOp || product.op != Op::kMul) return false;
  lhs_ = product.operands[0];
  rhs_ = product.operands[1];
  if (!IsPlainLoad(lhs_) || !IsPlainLoad(rhs_)) return false;
  return std::all_of(
      region_.inputs.begin(), region_.inputs.end(),
      [](const Operand& input) { return input.layout.is_row_major(); });
}

std::vector<bool> Matcher::Needed() const {
  std::vector<ExprId> roots;
  for (size_t s = 1; s < region_.stages.size(); ++s) {
    const Stage& stage = region_.stages[s];
    if (stage.value.valid()) roots.push_back(stage.value);
    for (const Store& store : stage.stores) roots.push_back(store.value);
  }
  return Reachable(region_, roots);
}

bool Matcher::IsLinear() const {
  const std::vector<bool> needed = Needed();
  for (size_t i = 0; i < needed.size(); ++i) {
    const Expr& expr = region_.exprs[i];
    if (!needed[i] || expr.kind != Expr::Kind::kLoad) continue;
    const FlatAccess& load = flat_->loads[expr.number];
    if (!load.dynamic.empty() || load.panel != FlatAccess::kNoPanel) {
      return false;
    }
  }
  for (const std::vector<FlatAccess>& stores : flat_->stores) {
    for (const FlatAccess& store : stores) {
      if (!store.dynamic.empty()) return false;
    }
  }
  return true;
}

bool Matcher::IsSumLoad(ExprId id) const {
  const Expr& expr = region_.expr(id);
  return expr.kind == Expr::Kind::kLoad &&
         Load(id).source == Access::Source::kStage && Load(id).number == 0;
}

void Matcher::PlaceSums() {
  VendorTensor& result = match_.program.result;
  const auto reads = static_cast<uint32_t>(region_.inputs.size());
  if (region_.stages.size() == 2 && region_.stages[1].stores.size() == 1 &&
      region_.outputs.size() == 1 && region_.outputs[0].dtype == DType::kF32) {
    sums_ = flat_->stores[1][0].address;
    bool each = sums_.offset >= 0;
    for (const uint32_t v : flat_->outer) each &= sums_.Coefficient(v) > 0;
    if (each) {
      result.buffer = reads;
      return;
    }
  }
  match_.program.sums_in_scratch = true;
  result.buffer = reads + static_cast<uint32_t>(region_.outputs.size());
  sums_ = {};
  int64_t stride = 1;
  for (size_t i = flat_->outer.size(); i-- > 0;) {
    sums_.AddTerm(flat_->outer[i], stride);
    stride *= flat_->extents[flat_->outer[i]];
  }
}

bool Matcher::HasEpilogue() const {
  if (match_.program.sums_in_scratch) return true;
  return !IsSumLoad(region_.stages[1].stores[0].value);
}

bool Matcher::MatchDot() {
  const FlatAccess* a = &FlatLoad(lhs_);
  const FlatAccess* b = &FlatLoad(rhs_);
  if (!a->dynamic.empty() || !b->dynamic.empty() || a->address.offset < 0 ||
      b->address.offset < 0) {
    return false;
  }
  const std::vector<uint32_t>& reduced = flat_->reduced[0];
  if (reduced.size() > 1) return false;
  std::vector<uint32_t> rows, columns, batch;
  for (const uint32_t v : flat_->outer) {
    const int64_t x = a->address.Coefficient(v), y = b->address.Coefficient(v);
    if (x < 0 || y < 0 || (x == 0 && y == 0)) return false;
    (y == 0 ? rows : x == 0 ? columns : batch).push_back(v);
  }
  const auto dense = [&](uint32_t v) { return sums_.Coefficient(v) == 1; };
  const auto main = [&](const std::vector<uint32_t>& list) {
    int best = -1;
    for (const uint32_t v : list) {
      if (dense(v)) return static_cast<int>(v);
      if (best < 0 || Extent(v) > Extent(best)) best = static_cast<int>(v);
    }
    return best;
  };
  int m = main(rows), n = main(columns);
  if (m >= 0 && dense(m)) {
    std::swap(lhs_, rhs_);
    std::swap(m, n);
    std::swap(rows, columns);
  }
  if (n < 0 || !dense(n)) return false;
  for (const auto* list : {&rows, &columns}) {
    for (const uint32_t v : *list) {
      if (static_cast<int>(v) != m && static_cast<int>(v) != n) {
        batch.push_back(v);
      }
    }
  }
  if (batch.size() > kMostBatchDims) return false;
  std::sort(batch.begin(), batch.end());
  const int k = reduced.empty() ? -1 : static_cast<int>(reduced[0]);
  FillDot(m, n, k, batch);
  const VendorProgram& p = match_.program;
  const size_t last = p.result.dims.size() - 1;
  const auto plain = [last](const VendorTensor& tensor) {
    return tensor.strides[last] == 1 || tensor.strides[last - 1] == 1;
  };
  return plain(p.source) && (match_.pack || plain(p.weights)) &&
         (k < 0 || (FlatLoad(lhs_).address.Coefficient(k) > 0 &&
                    FlatLoad(rhs_).address.Coefficient(k) > 0));
}

void Matcher::FillDot(int m, int n, int k, const std::vector<uint32_t>& batch) {
  VendorProgram& p = match_.program;
  p.kind = VendorProgram::Kind::kMatmul;
  const Affine& a = FlatLoad(lhs_).address;
  const Affine& b = FlatLoad(rhs_).address;
  match_.pack = weights_[Load(rhs_).number];
  for (const uint32_t v : batch) {
    AddDim(&p.source, a.Coefficient(v) == 0 ? 1 : Extent(v), a.Coefficient(v));
    AddDim(&p.weights, b.Coefficient(v) == 0 ? 1 : Extent(v), b.Coefficient(v));
    AddDim(&p.result, Extent(v), sums_.Coefficient(v));
    result_variables_.push_back(static_cast<int>(v));
    if (b.Coefficient(v) != 0) match_.pack = false;
  }
  // A dim of extent 1 gets the stride that makes its tensor dense.
  const auto two = [this](VendorTensor* tensor, const Affine& address,
                          int first, int second) {
    int64_t outer = first < 0 ? Size(0) : address.Coefficient(first);
    int64_t inner = second < 0 ? Size(0) : address.Coefficient(second);
    if (second < 0)
      inner = outer == 1 ? std::max<int64_t>(Extent(first), 1) : 1;
    if (first < 0) outer = inner == 1 ? Extent(second) : 1;
    AddDim(tensor, Extent(first), outer);
    AddDim(tensor, Extent(second), inner);
    tensor->offset = address.offset;
  };
  two(&p.source, a, m, k);
  two(&p.weights, b, k, n);
  two(&p.result, sums_, m, n);
  // A tensor that a batch dim does not move in is broadcast along it.
  for (VendorTensor* tensor : {&p.source, &p.weights}) {
    int64_t size = 1;
    for (size_t d = 0; d < tensor->dims.size(); ++d) {
      size = std::max(size, tensor->dims[d] * tensor->strides[d]);
    }
    for (size_t d = 0; d < batch.size(); ++d) {
      if (tensor->dims[d] == 1) tensor->strides[d] = size;
    }
  }
  result_variables_.push_back(m);
  result_variables_.push_back(n);
}

}  // namespace encore::backends::cpu
