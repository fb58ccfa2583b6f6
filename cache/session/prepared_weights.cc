#include "encore/cache/session/prepared_weights.h"

#include <algorithm>
#include <utility>

#include "encore/cache/package/parameter_blobs.h"
#include "encore/cache/session/weight_identity.h"
#include "encore/cache/store/container_writer.h"
#include "encore/cache/store/memo.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::cache {
namespace {

using runtime::Blob;

constexpr std::string_view kWeightsKind = "weights";
// Derived slots are mapped by whole pages where they are large.
constexpr size_t kPage = 4096;

// Verifies an entry's sections unless that was done on this machine.
Status VerifyOnce(const Container& container, DiskStore& store, bool always) {
  const MappedFile& file = *container.file();
  const Digest memo = Sha256Of(StrCat("verified ", file.stamp().ToString()));
  if (!always && ReadMemo(store, memo) == "yes") return OkStatus();
  ENCORE_RETURN_IF_ERROR(container.VerifyAll());
  if (file.settled() && file.UnchangedSinceOpen()) {
    WriteMemo(store, memo, "yes");
  }
  return OkStatus();
}

// The derived slots in an entry; an error where it is none of `executable`.
StatusOr<std::vector<Blob>> ReadDerived(
    const std::shared_ptr<const Container>& container,
    const runtime::Executable& executable, const WeightOptions& options,
    DiskStore& store) {
  ENCORE_RETURN_IF_ERROR(VerifyOnce(*container, store, options.verify));
  ENCORE_RETURN_IF_ERROR(container->CheckSize());
  std::vector<Blob> derived;
  for (size_t i = 0; i < executable.derived().size(); ++i) {
    const Section* section =
        container->Find(SectionType::kDerived, static_cast<uint32_t>(i));
    const Dim& bytes = executable.graph().slot(executable.derived()[i]).bytes;
    if (section == nullptr || !bytes.is_constant() ||
        static_cast<uint64_t>(bytes.constant()) != section->length) {
      return DataLossError("the prepared weights do not fit this graph");
    }
    derived.push_back({container->Unverified(*section), container, false});
  }
  return derived;
}

// `parameters` with those that the entry keeps in its own place.
StatusOr<std::vector<Blob>> WithKept(
    const std::shared_ptr<const Container>& container,
    std::span<const Blob> parameters) {
  std::vector<Blob> blobs(parameters.begin(), parameters.end());
  for (size_t i = 0; i < blobs.size(); ++i) {
    const Section* section =
        container->Find(SectionType::kWeights, static_cast<uint32_t>(i));
    if (section == nullptr || section->length == 0) continue;
    if (section->length != blobs[i].bytes.size()) {
      return DataLossError(
          "the prepared weights were made from other parameters");
    }
    blobs[i] = {container->Unverified(*section), container, false};
  }
  return blobs;
}

// Whether a later start is spared work by an entry.
bool IsWorthKeeping(const runtime::Executable& executable,
                    std::span<const Blob> parameters) {
  if (!executable.derived().empty()) return true;
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (executable.replay_reads(i) &&
        !runtime::Weights::IsUsedInPlace(executable, i, parameters[i])) {
      return true;
    }
  }
  return false;
}

// The parameters that replays read elsewhere than where `given` has them:
// copies, because of their alignment, or what an entry kept of such. Empty
// blobs in place of the others.
std::vector<Blob> Moved(const runtime::Weights& weights,
                        std::span<const Blob> given) {
  std::vector<Blob> moved(given.size());
  for (size_t i = 0; i < given.size(); ++i) {
    const auto* at = static_cast<const std::byte*>(weights.parameters()[i]);
    if (at == nullptr || at == given[i].bytes.data()) continue;
    moved[i].bytes = {at, given[i].bytes.size()};
  }
  return moved;
}

size_t CountNonEmpty(std::span<const Blob> blobs) {
  return std::count_if(blobs.begin(), blobs.end(),
                       [](const Blob& blob) { return !blob.bytes.empty(); });
}

void Keep(const runtime::Weights& weights, std::span<const Blob> moved,
          const Digest& key, DiskStore& store) {
  ContainerWriter writer;
  std::vector<Blob> blobs;
  const auto add = [&](SectionType type, Blob blob) {
    const size_t alignment = blob.bytes.size() >= kPage ? kPage : 64;
    blobs.push_back(std::move(blob));
    writer.Add(type, blobs.back().bytes, alignment);
  };
  for (size_t i = 0; i < weights.derived().size(); ++i) {
    auto blob = weights.DerivedBytes(i);
    if (!blob.ok()) return;
    add(SectionType::kDerived, *std::move(blob));
  }
  if (CountNonEmpty(moved) > 0) {
    for (const Blob& blob : moved) add(SectionType::kWeights, blob);
  }
  store.Put(kWeightsKind, key, writer);
}

// Null where the entry is not there or good for nothing.
std::shared_ptr<const runtime::Weights> RestoreFrom(
    DiskStore& store, const Digest& entry,
    const std::shared_ptr<const runtime::Executable>& executable,
    std::span<const Blob> parameters, const WeightOptions& options) {
  const auto container = store.Get(kWeightsKind, entry);
  if (container == nullptr) return nullptr;
  const auto restore =
      [&]() -> StatusOr<std::shared_ptr<const runtime::Weights>> {
    ENCORE_ASSIGN_OR_RETURN(
        const std::vector<Blob> derived,
        ReadDerived(container, *executable, options, store));
    ENCORE_ASSIGN_OR_RETURN(const std::vector<Blob> blobs,
                            WithKept(container, parameters));
    return runtime::Weights::Restore(executable, blobs, derived);
  };
  auto weights = restore();
  if (!weights.ok()) {
    // Anything else is no fault of the entry's.
    if (weights.status().code() == StatusCode::kDataLoss) {
      store.Quarantine(kWeightsKind, entry, weights.status());
    }
    return nullptr;
  }
  // The same weights may come from a file where they are aligned otherwise.
  const std::vector<Blob> moved = Moved(**weights, parameters);
  size_t kept = 0;
  for (const Section& section : container->sections()) {
    kept += section.type == SectionType::kWeights && section.length > 0;
  }
  if (CountNonEmpty(moved) > kept) Keep(**weights, moved, entry, store);
  return *std::move(weights);
}

}  // namespace

StatusOr<std::shared_ptr<const runtime::Weights>> GetWeights(
    std::shared_ptr<const runtime::Executable> executable, const Digest& key,
    std::span<const Literal> parameters, const WeightOptions& options,
    DiskStore* store, runtime::ThreadPool* threads, bool* restored) {
  *restored = false;
  ENCORE_ASSIGN_OR_RETURN(const std::vector<Blob> blobs, BlobsOf(parameters));
  if (store == nullptr || !IsWorthKeeping(*executable, blobs)) {
    return runtime::Weights::Prepare(std::move(executable), blobs, threads);
  }
  const WeightIdentity identity(parameters, options.files, store);
  const Digest entry = Sha256Of(StrCat(key.ToHex(), identity.digest().ToHex()));
  if (auto weights = RestoreFrom(*store, entry, executable, blobs, options)) {
    *restored = true;
    return weights;
  }
  ENCORE_ASSIGN_OR_RETURN(
      std::shared_ptr<const runtime::Weights> weights,
      runtime::Weights::Prepare(executable, blobs, threads));
  if (identity.StillHolds()) {
    Keep(*weights, Moved(*weights, blobs), entry, *store);
  }
  return weights;
}

}  // namespace encore::cache
