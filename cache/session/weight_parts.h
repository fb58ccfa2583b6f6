// Parts of prepared weights: the bytes of each derived slot, under a name that
// holds in any graph (runtime/plan/derived_identity.h), so that another model
// with the same weights, packed in the same way, finds them.
//
// The entry of a model's prepared weights has a list of its parts. The bytes of
// a part lie in that entry, or in one of another model, in which case the list
// says where. No part is kept twice on purpose, and a start opens few files.
// Where an entry that is referred to is gone, so is the part.
#ifndef ENCORE_CACHE_SESSION_WEIGHT_PARTS_H_
#define ENCORE_CACHE_SESSION_WEIGHT_PARTS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "encore/cache/store/container.h"
#include "encore/cache/store/disk_store.h"
#include "encore/ir/support/sha256.h"
#include "encore/ir/support/status.h"
#include "encore/runtime/plan/compiled_graph.h"

namespace encore::cache {

// The kind of entries of prepared weights.
inline constexpr std::string_view kWeightsKind = "weights";

// Where bytes lie: in the entry of that key, the derived section of that
// number.
struct PartPlace {
  Digest entry;
  uint64_t section = 0;

  bool operator==(const PartPlace&) const = default;
};

struct WeightPart {
  std::optional<Digest> identity;  // nothing: of no use to other graphs
  // Nothing: in the entry that has the list.
  std::optional<PartPlace> elsewhere;
};

// The section `parts`, one per derived slot, and back: DataLoss for other
// bytes.
std::string EncodeParts(std::span<const WeightPart> parts);
StatusOr<std::vector<WeightPart>> DecodeParts(std::span<const std::byte> bytes);

// Where the store has parts of those identities, in the order given; nothing
// for those that it has not, or that have no identity. Looks at the entries
// that were used last, kMostEntries at most, and takes parts from kMostSources
// at most. Cost: mapping these, no pass over weights.
inline constexpr size_t kMostEntries = 64, kMostSources = 4;
std::vector<std::optional<PartPlace>> FindParts(
    DiskStore& store, std::span<const std::optional<Digest>> identities);

// Verifies an entry's sections unless that was done on this machine, or
// `always`.
Status VerifyOnce(const Container& container, DiskStore& store, bool always);

// Entries that parts are read from, each opened and verified once.
class PartSources {
 public:
  // `store` outlives the sources. `verify` as in VerifyOnce.
  PartSources(DiskStore* store, bool verify) : store_(store), verify_(verify) {}

  // The `bytes` bytes of a part, mapped. NotFound where they are not there; an
  // entry that is damaged is set aside.
  StatusOr<runtime::Blob> Read(const PartPlace& place, uint64_t bytes);

 private:
  std::shared_ptr<const Container> Open(const Digest& entry);

  DiskStore* const store_;
  const bool verify_;
  std::map<Digest, std::shared_ptr<const Container>> open_;
};

}  // namespace encore::cache

#endif  // ENCORE_CACHE_SESSION_WEIGHT_PARTS_H_
