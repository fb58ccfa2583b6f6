// WeightIdentity: which values a set of weights has, told without reading those
// that lie in files which did not change.
//
// The digest of the values names what was made from them. It is remembered in a
// store under where the bytes lie: for a weight in a mapped file that file's
// stamp, as it was when the file was opened and if it was settled
// (cache/store/settled_file.h), and the weight's place in it; for
// any other weight (one that the importer had to convert) the checksum that
// containers have, XXH3 in 128 bits, over all of its bytes: a twentieth of what
// SHA-256 takes, and as safe against chance, not against an adversary who makes
// the user's weights. So a warm start hashes no file, and nothing but the bytes
// can stand for them: not a path, not the list of files that a caller knows of,
// which only saves work.
#ifndef ENCORE_CACHE_SESSION_WEIGHT_IDENTITY_H_
#define ENCORE_CACHE_SESSION_WEIGHT_IDENTITY_H_

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "encore/cache/store/disk_store.h"
#include "encore/ir/support/mapped_file.h"
#include "encore/ir/support/sha256.h"
#include "encore/ir/types/literal.h"

namespace encore::cache {

class WeightIdentity {
 public:
  // `weights` and `files` outlive the object. `store` (may be null) remembers.
  // Cost: a lookup where the digest is remembered, and a pass over the bytes of
  // the weights that lie in no file; else a pass over all bytes.
  WeightIdentity(std::span<const Literal> weights, const MappedFiles& files,
                 DiskStore* store);

  // SHA-256 over dtype, dims and bytes of each, in order.
  const Digest& digest() const { return digest_; }
  // Whether it was there already, so that nothing was hashed.
  bool is_remembered() const { return !remembered_.empty(); }

  // SHA-256 over dtype, dims and bytes of each weight by itself, in order.
  // Cost: a pass over all bytes where they are not remembered.
  std::span<const Digest> digests();

  // Whether the bytes are still those that the digest is of, so that what was
  // made from them since may be kept under it. A pass over the bytes again
  // where a file had not been settled before they were hashed (IsSettled).
  bool StillHolds() const;

 private:
  // By which a digest is remembered; nothing where there are no weights.
  std::optional<Digest> PlaceKey();
  std::vector<Digest> HashEach() const;

  const std::span<const Literal> weights_;
  // Those of the files that weights lie in, by address.
  MappedFiles files_;
  Digest digest_;
  bool settled_ = false;    // all of files_ were, before the bytes were read
  std::string remembered_;  // of the store, where it has the digest
  std::vector<Digest> digests_;  // empty: not hashed yet
};

}  // namespace encore::cache

#endif  // ENCORE_CACHE_SESSION_WEIGHT_IDENTITY_H_
