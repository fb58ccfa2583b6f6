// The backends' ArtifactStore over a disk store. Keys are joined with the
// compiler's identity: another compiler finds none of this one's artifacts.
//
// Kernels are entries of the kind "kernel", what rules led to of the kind
// "rewrite", others of the kind "artifact". A
// disk store is the user's alone (trust.h), and kernels enter it here alone:
// from a compiler in this process.
#ifndef ENCORE_CACHE_STORE_ARTIFACT_STORE_H_
#define ENCORE_CACHE_STORE_ARTIFACT_STORE_H_

#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "encore/backends/artifact_store.h"
#include "encore/cache/store/disk_store.h"

namespace encore::cache {

class DiskArtifactStore : public backends::ArtifactStore {
 public:
  explicit DiskArtifactStore(std::shared_ptr<DiskStore> store)
      : store_(std::move(store)) {}

  std::optional<std::vector<std::byte>> Get(std::string_view kind,
                                            std::string_view key) override;
  void Put(std::string_view kind, std::string_view key,
           std::span<const std::byte> bytes) override;

 private:
  const std::shared_ptr<DiskStore> store_;
};

}  // namespace encore::cache

#endif  // ENCORE_CACHE_STORE_ARTIFACT_STORE_H_
