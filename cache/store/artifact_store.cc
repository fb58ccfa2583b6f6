#include "encore/cache/store/artifact_store.h"

#include <string>
#include <utility>

#include "encore/cache/key/compiler_id.h"
#include "encore/cache/store/container_writer.h"
#include "encore/ir/support/bytes.h"

namespace encore::cache {
namespace {

// Where artifacts of a kind lie, and how they are written: kernels and what
// rules led to are many, and made again in milliseconds.
struct Level {
  std::string_view kind;
  DiskStore::Durability durability;
};

Level LevelOf(std::string_view kind) {
  if (kind == backends::kKernelKind) {
    return {"kernel", DiskStore::Durability::kWritten};
  }
  if (kind == backends::kRewriteKind) {
    return {"rewrite", DiskStore::Durability::kWritten};
  }
  return {"artifact", DiskStore::Durability::kSynced};
}

// What an artifact is stored under, whole: compared when it is read.
std::string Identity(std::string_view kind, std::string_view key) {
  ByteWriter out;
  out.String(CompilerId());
  out.String(kind);
  out.String(key);
  return out.Take();
}

}  // namespace

std::optional<std::vector<std::byte>> DiskArtifactStore::Get(
    std::string_view kind, std::string_view key) {
  const std::string identity = Identity(kind, key);
  const Digest digest = Sha256Of(identity);
  const Level level = LevelOf(kind);
  const auto container = store_->Get(level.kind, digest, level.durability);
  if (container == nullptr) return std::nullopt;
  const auto headline = container->Read(SectionType::kHeadline);
  const auto bytes = container->Read(SectionType::kArtifact);
  if (headline.ok() && bytes.ok() &&
      std::string_view(reinterpret_cast<const char*>(headline->data()),
                       headline->size()) == identity) {
    return std::vector<std::byte>(bytes->begin(), bytes->end());
  }
  const Status why = !headline.ok() ? headline.status()
                     : !bytes.ok()
                         ? bytes.status()
                         : DataLossError("an artifact of another name");
  store_->Quarantine(level.kind, digest, *container, why, level.durability);
  return std::nullopt;
}

void DiskArtifactStore::Put(std::string_view kind, std::string_view key,
                            std::span<const std::byte> bytes) {
  std::string identity = Identity(kind, key);
  const Digest digest = Sha256Of(identity);
  ContainerWriter writer;
  writer.AddOwned(SectionType::kHeadline, std::move(identity));
  writer.Add(SectionType::kArtifact, bytes);
  const Level level = LevelOf(kind);
  store_->Put(level.kind, digest, std::move(writer), level.durability);
}

}  // namespace encore::cache
