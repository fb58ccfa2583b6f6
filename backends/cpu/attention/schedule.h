// How attention in one pass over the keys is cut.
//
// A unit of work is a head and a chunk of the rows that share it. It runs
// through the keys by blocks: keys and values of a block are packed into panels
// of scratch memory, then for each tile of a few rows
//
//   1. products  [rows of a tile] x [keys of the block], in register tiles
//   2. scores    and e^(score - m) in place, m the largest so far of the row
//   3. results   += [rows of a tile] x [columns], scaled to the new m before
//
// so that scores stay in the first level of cache. Rows are divided by their
// sums at the end. Where one block has all keys, nothing is scaled. What is
// computed does not depend on how many threads there are.
//
// Source: M. Milakov, N. Gimelshein, Online normalizer calculation for softmax,
// 2018; T. Dao et al., FlashAttention, 2022.
#ifndef ENCORE_BACKENDS_CPU_ATTENTION_SCHEDULE_H_
#define ENCORE_BACKENDS_CPU_ATTENTION_SCHEDULE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "encore/backends/cpu/cpu_features.h"
#include "encore/backends/region/flat/attention_region.h"
#include "encore/backends/region/flat/flat_region.h"
#include "encore/backends/region/region.h"

namespace encore::backends::cpu {

// What a kernel is called: cut for so many threads, whatever runs it.
struct AttentionName {
  int threads = 1;

  std::string ToString() const;  // "attention/2"
  static std::optional<AttentionName> Parse(std::string_view name);
};

struct AttentionSchedule {
  int lanes = 1;
  int rows = 1;            // of a register tile
  int key_vectors = 1;     // of a register tile of products
  int column_vectors = 1;  // of one of results
  int64_t heads = 1;
  int64_t chunks = 1;      // of the rows of a head
  int64_t chunk_rows = 1;  // at most; a multiple of `rows` where there are more
  int64_t block_keys = 1;  // a multiple of key_vectors * lanes where more exist
  int64_t keys = 1, all_rows = 1, depth = 1, columns = 1;
  int64_t partitions = 1;
  int threads = 1;  // that the work is cut for
  // Estimates of the largest unit on one core: its products in register tiles,
  // and what is computed of other vectors.
  double product_cycles = 0, vector_cycles = 0;

  int64_t units() const { return heads * chunks; }
  // Blocks with all of their keys, and keys of the last one, if it has fewer.
  int64_t whole_blocks() const { return keys / block_keys; }
  int64_t last_keys() const { return keys % block_keys; }
  bool is_online() const { return keys > block_keys; }
  // Rows whose state is kept at a time.
  int64_t state_rows() const { return is_online() ? chunk_rows : rows; }
  // Extents in scratch memory, whole vectors.
  int64_t padded_keys() const;  // of a block
  int64_t padded_columns() const;
  int64_t padded_depth() const;
  // Units that the thread with most of them runs.
  int64_t rounds() const;
};

// Cycles of evaluating `value` for a vector of `lanes` along `variable`, -1:
// for one element.
double VectorCycles(const FlatRegion& flat, ExprId value, int variable,
                    int lanes);

// Whether vectors along `along` are best evaluated along `across`, as many as
// there are lanes, and transposed.
bool IsTransposed(const FlatRegion& flat, ExprId value, int along, int across,
                  int lanes);

AttentionSchedule MakeAttentionSchedule(const AttentionRegion& attention,
                                        const AttentionName& name, Isa isa);

}  // namespace encore::backends::cpu

#endif  // ENCORE_BACKENDS_CPU_ATTENTION_SCHEDULE_H_
