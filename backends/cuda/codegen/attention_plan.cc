#include "encore/backends/cuda/codegen/attention_plan.h"

#include <algorithm>
#include <vector>

#include "encore/backends/cuda/codegen/tile_plan.h"
#include "encore/ir/support/integers.h"

namespace encore::backends::cuda {
namespace {

// Of 16 bits, of which 16 bytes are copied at once.
constexpr int kGroupElements = 8;

// What a block keeps of a row, of queries and of results.
constexpr int64_t kLongest = 256;
// Of results on tensor cores, where a lane has those of two rows.
constexpr int kTensorColumns = 128;
constexpr int kStepKeys = 32;
// What depths and columns are padded to.
constexpr int kUnit = 32;
// Query or result elements of a block in f32: registers and shared memory.
constexpr int kBlockElements = 4096;
constexpr int kWarps = 4;
// Rows of a warp on tensor cores.
constexpr int kTensorRows = 16;
constexpr int kSharedBytes = 48 * 1024;
// Behind rows of results: four rows of four pairs are in 32 banks.
constexpr int kStripPadding = 8;
// Steps that a piece has at least.
constexpr int64_t kLeastSteps = 4;
constexpr int64_t kMostPieces = 64;

AttentionFactor FactorOf(const AttentionRegion& attention, ExprId value,
                         const std::vector<uint32_t>& rows,
                         const std::vector<uint32_t>& along) {
  AttentionFactor factor{.value = value};
  factor.along_rows = Contiguous(attention.flat(), value, rows) >
                      Contiguous(attention.flat(), value, along);
  return factor;
}

std::vector<uint32_t> DepthOf(const AttentionRegion& attention) {
  if (attention.depth_variable() < 0) return {};
  return {static_cast<uint32_t>(attention.depth_variable())};
}

// The factors, and what does not depend on where products are computed.
std::optional<AttentionPlan> Begin(const AttentionRegion& attention) {
  if (attention.depth() > kLongest) return std::nullopt;
  AttentionPlan plan;
  const std::vector<uint32_t> depth = DepthOf(attention);
  const std::vector<uint32_t> keys = {attention.key_variable()};
  plan.query = FactorOf(attention, attention.query(), attention.rows(), depth);
  plan.key = FactorOf(attention, attention.key(), keys, depth);
  plan.value = FactorOf(attention, attention.value(), keys,
                        {attention.column_variable()});
  plan.keys = kStepKeys;
  plan.depth = static_cast<int>(RoundUp<int64_t>(attention.depth(), kUnit));
  plan.columns = static_cast<int>(
      RoundUp<int64_t>(std::min(attention.columns(), kLongest), kUnit));
  return plan;
}

// Blocks that a multiprocessor is to have: those of few rows wait for keys more
// than they compute.
int64_t WantedBlocks(const AttentionPlan& plan) {
  if (plan.tensor) return plan.warps < kWarps ? 2 * kWarps / plan.warps : 1;
  return plan.rows <= kTensorRows ? kWarps : 1;
}

void Split(const AttentionRegion& attention, int64_t multiprocessors,
           AttentionPlan* plan) {
  const int64_t blocks = plan->blocks(attention);
  const int64_t steps = CeilDiv<int64_t>(attention.keys(), plan->keys);
  const int64_t wanted = std::min(
      {multiprocessors * WantedBlocks(*plan) / std::max<int64_t>(blocks, 1),
       steps / kLeastSteps, kMostPieces});
  if (wanted < 2) return;
  // None without keys.
  const int64_t each = CeilDiv<int64_t>(steps, wanted);
  plan->pieces = static_cast<int>(CeilDiv<int64_t>(steps, each));
}

// As many warps as shared memory has room for the rows of.
bool ChooseTensorRows(const AttentionRegion& attention, AttentionPlan* plan) {
  const int64_t needed = CeilDiv<int64_t>(attention.row_count(), kTensorRows);
  for (int warps = kWarps; warps > 0; warps /= 2) {
    if (warps > 1 && needed <= warps / 2) continue;
    plan->warps = warps;
    plan->rows = warps * kTensorRows;
    for (const bool overlaps : {true, false}) {
      plan->overlaps = overlaps;
      if (plan->tensor_bytes() <= kSharedBytes &&
          (overlaps || warps < kWarps)) {
        return true;
      }
    }
  }
  return false;
}

// Steps of twice as many keys meet at half as many barriers, where all warps
// have rows and there is room for them.
bool ChooseSteps(const AttentionRegion& attention, AttentionPlan* plan) {
  if (*plan->tensor != DType::kF32) {
    plan->keys = 2 * kStepKeys;
    if (ChooseTensorRows(attention, plan) && plan->warps == kWarps) return true;
    plan->keys = kStepKeys;
  }
  return ChooseTensorRows(attention, plan);
}

// As how many numbers of a dtype's bits weights are kept where so many matter.
int TermsFor(DType dtype, std::optional<DType> precision) {
  const auto bits = [](DType of) { return of == DType::kBF16 ? 8 : 11; };
  const int wanted = precision ? bits(*precision) : 22;
  return CeilDiv(wanted, bits(dtype));
}

}  // namespace

int AttentionPlan::strip_pitch() const { return columns + kStripPadding; }

int64_t AttentionPlan::tensor_bytes() const {
  const int64_t element = *tensor == DType::kF32 ? 4 : 2;
  const int64_t query_bytes = int64_t{rows} * depth * element;
  const int64_t key_bytes = int64_t{keys} * depth * element;
  // Of a Tile of device/tensor.cuh that is transposed.
  const int64_t padding = element == 2 ? 8 : 0;
  const int64_t value_bytes = int64_t{keys} * (columns + padding) * element;
  const int64_t factors =
      query_bytes +
      (overlaps ? key_bytes + value_bytes : std::max(key_bytes, value_bytes));
  constexpr int64_t kResult = 4;
  return std::max(factors, kResult * strip_rows() * strip_pitch());
}

int64_t AttentionPlan::tiles(const AttentionRegion& attention) const {
  return CeilDiv<int64_t>(attention.row_count(), rows);
}

int64_t AttentionPlan::column_tiles(const AttentionRegion& attention) const {
  return CeilDiv<int64_t>(attention.columns(), columns);
}

int64_t AttentionPlan::blocks(const AttentionRegion& attention) const {
  return tiles(attention) * column_tiles(attention) * attention.head_count() *
         pieces;
}

int64_t AttentionPlan::piece_keys(const AttentionRegion& attention) const {
  const int64_t steps = CeilDiv<int64_t>(attention.keys(), keys);
  return CeilDiv<int64_t>(steps, pieces) * keys;
}

std::optional<AttentionPlan> MakeAttentionPlan(const AttentionRegion& attention,
                                               int64_t multiprocessors) {
  std::optional<AttentionPlan> plan = Begin(attention);
  if (!plan) return std::nullopt;
  plan->warps = kWarps;
  const int longest = std::max({plan->depth, plan->columns, 64});
  plan->rows = 16;
  while (2 * plan->rows * longest <= kBlockElements &&
         plan->rows < attention.row_count()) {
    plan->rows *= 2;
  }
  Split(attention, multiprocessors, &*plan);
  return plan;
}

std::optional<AttentionPlan> MakeTensorAttentionPlan(
    const AttentionRegion& attention, std::optional<DType> precision,
    int64_t multiprocessors) {
  std::optional<AttentionPlan> plan = Begin(attention);
  if (!plan) return std::nullopt;
  plan->columns = std::min(plan->columns, kTensorColumns);
  const Region& region = attention.region();
  for (AttentionFactor* factor : {&plan->query, &plan->key, &plan->value}) {
    factor->value = WithoutWidening(region, factor->value);
  }
  const DType dtype = region.expr(plan->query.value).dtype;
  for (const AttentionFactor* factor : {&plan->key, &plan->value}) {
    if (region.expr(factor->value).dtype != dtype) return std::nullopt;
  }
  if (IsTensor(dtype)) {
    plan->tensor = dtype;
    plan->terms = TermsFor(dtype, precision);
  } else if (dtype == DType::kF32 && precision) {
    plan->tensor = precision;
  } else {
    return std::nullopt;
  }
  const auto find_groups = [&](AttentionFactor* factor, int along) {
    factor->in_groups = IsTensor(dtype) && !factor->along_rows && along >= 0 &&
                        InGroups(attention.flat(), factor->value,
                                 static_cast<uint32_t>(along), kGroupElements);
  };
  find_groups(&plan->query, attention.depth_variable());
  find_groups(&plan->key, attention.depth_variable());
  find_groups(&plan->value, static_cast<int>(attention.column_variable()));
  if (!ChooseSteps(attention, &*plan)) return std::nullopt;
  Split(attention, multiprocessors, &*plan);
  return plan;
}

}  // namespace encore::backends::cuda
