// Prepared weights: what a compiled graph's prepare plan made of one set of
// weights, kept as entries of their own, keyed by compiled graph and weight
// digest and mapped from disk.
//
// Of a graph or a set of weights without an entry, the parts that the store has
// in others (weight_parts.h) are taken from there: they are named by what made
// them of which weights. The prepare plan makes the rest, and the new entry has
// the bytes of that alone.
//
// Neither hashing the weights nor reading them is needed on a warm start: their
// digest is remembered (weight_identity.h), and so is that an entry's checksums
// were found right. Nothing is kept of weights that changed while they were
// prepared.
#ifndef ENCORE_CACHE_SESSION_PREPARED_WEIGHTS_H_
#define ENCORE_CACHE_SESSION_PREPARED_WEIGHTS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "encore/cache/session/write_behind.h"
#include "encore/cache/store/disk_store.h"
#include "encore/ir/support/mapped_file.h"
#include "encore/ir/support/sha256.h"
#include "encore/ir/support/status.h"
#include "encore/ir/types/literal.h"
#include "encore/runtime/device/thread_pool.h"
#include "encore/runtime/replay/executable.h"
#include "encore/runtime/replay/weights.h"

namespace encore::cache {

struct WeightOptions {
  // Files in which weights may lie; a weight in none of them is hashed at each
  // start.
  MappedFiles files;
  // Check the checksums of prepared weights whatever is remembered.
  bool verify = false;
};

struct PreparedWeights {
  std::shared_ptr<const runtime::Weights> weights;
  // Of the parameters (WeightIdentity), where the store was asked.
  std::optional<Digest> digest;
  // From the entry of this graph and these weights.
  bool restored = false;
  // Otherwise the derived slots that other entries had, and those that the
  // prepare plan made.
  int64_t parts_found = 0, parts_made = 0;
};

// The weights of `executable`, which was compiled under `key`: restored from
// `store`, which may be null, where they are there, else prepared and kept.
// `parameters` in the order of the signature. What is kept is written by
// `writes`, which uses `store` until it is done; what was to be written before
// is waited for, so that it is found.
StatusOr<PreparedWeights> GetWeights(
    std::shared_ptr<const runtime::Executable> executable, const Digest& key,
    std::span<const Literal> parameters, const WeightOptions& options,
    DiskStore* store, runtime::ThreadPool* threads, WriteBehind* writes);

}  // namespace encore::cache

#endif  // ENCORE_CACHE_SESSION_PREPARED_WEIGHTS_H_
