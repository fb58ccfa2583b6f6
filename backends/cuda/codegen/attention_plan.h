// AttentionPlan: how a block computes attention in one pass over the keys.
//
// A block has a head and a tile of the rows that share its keys. Steps of
// `keys` keys go through shared memory: scores of the tile are computed in
// registers, where they become e^(score - m), m the largest of the row so far,
// and are multiplied by the values. Sums and results are scaled as m grows, and
// rows are divided by their sums at the end. Where there are few tiles, the
// keys are cut into pieces, a block for each, which a second launch merges.
//
// Source: M. Milakov, N. Gimelshein, Online normalizer calculation for softmax,
// 2018; T. Dao et al., FlashAttention, 2022; T. Dao et al., Flash-Decoding,
// 2023.
#ifndef ENCORE_BACKENDS_CUDA_CODEGEN_ATTENTION_PLAN_H_
#define ENCORE_BACKENDS_CUDA_CODEGEN_ATTENTION_PLAN_H_

#include <cstdint>
#include <optional>

#include "encore/backends/region/flat/attention_region.h"
#include "encore/ir/types/dtype.h"

namespace encore::backends::cuda {

// A factor of one of the two products.
struct AttentionFactor {
  ExprId value;
  // Whether neighbours in what is summed over, or of values in a column, lie
  // side by side, rather than neighbours in a row or key.
  bool along_rows = false;
  // Of an input that is loaded as it lies: groups of 8 elements in the
  // direction of neighbours begin at multiples of 8.
  bool in_groups = false;
};

struct AttentionPlan {
  AttentionFactor query, key, value;
  int rows = 0;     // of a block
  int warps = 0;    // which share the rows
  int keys = 0;     // of a step
  int depth = 0;    // with zeros behind the last
  int columns = 0;  // of a block, likewise
  // Above 1: what blocks share the keys of a row as, in order.
  int pieces = 1;
  // Whether steps all of whose scores are known to be -infinity before their
  // products are left out: their values count as finite then.
  bool skips_hidden = false;
  // On tensor cores: what factors are rounded to, f32 for TF32, and as the sum
  // of how many such numbers weights are.
  std::optional<DType> tensor = std::nullopt;
  int terms = 1;
  // On tensor cores: whether values have memory of their own beside the keys,
  // so that one is copied while the other is used.
  bool overlaps = false;

  int threads() const { return 32 * warps; }
  // Rows of results that go through shared memory at a time on tensor cores,
  // and the elements of f32 from one to the next.
  int strip_rows() const { return 8 * warps; }
  int strip_pitch() const;
  // Shared memory of a block on tensor cores: queries, keys and values, in
  // whose place results are at the end.
  int64_t tensor_bytes() const;
  int64_t tiles(const AttentionRegion& attention) const;
  // Blocks that share a row's columns; each computes its weights.
  int64_t column_tiles(const AttentionRegion& attention) const;
  int64_t blocks(const AttentionRegion& attention) const;
  // Keys of a piece, a multiple of `keys`.
  int64_t piece_keys(const AttentionRegion& attention) const;
};

// In f32; nothing where what products sum over is longer than a block keeps.
// `multiprocessors` of the device, which pieces are to give work to.
std::optional<AttentionPlan> MakeAttentionPlan(const AttentionRegion& attention,
                                               int64_t multiprocessors);

// The same on tensor cores: of factors in f16 or bf16; of f32 where `precision`
// is one of these, or f32 for TF32. Weights keep as many bits as it has,
// without it as many as matter beside the rounding of f32.
std::optional<AttentionPlan> MakeTensorAttentionPlan(
    const AttentionRegion& attention, std::optional<DType> precision,
    int64_t multiprocessors);

}  // namespace encore::backends::cuda

#endif  // ENCORE_BACKENDS_CUDA_CODEGEN_ATTENTION_PLAN_H_
