#include "encore/cache/prepared_weights.h"

#include <optional>
#include <utility>

#include "encore/cache/parameter_blobs.h"
#include "encore/ir/stencil.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::cache {
namespace {

using runtime::Blob;

constexpr std::string_view kWeightsKind = "weights";
constexpr std::string_view kMemoKind = "memo";
// Derived slots are mapped by whole pages where they are large.
constexpr size_t kPage = 4096;

// A text remembered under a key.
std::optional<std::string> Recall(DiskStore& store, const Digest& key) {
  const auto container = store.Get(kMemoKind, key);
  if (container == nullptr) return std::nullopt;
  const auto bytes = container->Read(SectionType::kText);
  if (!bytes.ok()) {
    store.Quarantine(kMemoKind, key, Message(bytes.status()));
    return std::nullopt;
  }
  return std::string(reinterpret_cast<const char*>(bytes->data()),
                     bytes->size());
}

void Remember(DiskStore& store, const Digest& key, std::string text) {
  ContainerWriter writer;
  writer.AddOwned(SectionType::kText, std::move(text));
  store.Put(kMemoKind, key, writer);
}

// What the files' contents can be told by; nothing where that is not safe.
std::optional<std::string> StampsOf(std::span<const std::string> files,
                                    int64_t now_ns) {
  if (files.empty()) return std::nullopt;
  std::string stamps;
  for (const std::string& file : files) {
    const auto stamp = StampOf(file);
    if (!stamp.ok() || !stamp->settled(now_ns)) return std::nullopt;
    StrAppend(&stamps, stamp->ToString(), " ");
  }
  return stamps;
}

// Verifies an entry's derived sections unless that was done on this machine.
// The store's folder is the user's own, where change times move with uses, so
// they do not count.
Status VerifyOnce(const Container& container, DiskStore& store, bool always) {
  FileStamp stamp = container.stamp();
  stamp.changed_ns = 0;
  const Digest memo = Sha256Of(StrCat("verified ", stamp.ToString()));
  if (!always && Recall(store, memo) == "yes") return OkStatus();
  const int64_t now = NowNs();
  ENCORE_RETURN_IF_ERROR(container.VerifyAll());
  if (stamp.settled(now)) Remember(store, memo, "yes");
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
      return DataLossError("prepared weights of another graph");
    }
    derived.push_back({container->Unverified(*section), container, false});
  }
  return derived;
}

void KeepDerived(const runtime::Weights& weights, size_t count,
                 const Digest& key, DiskStore& store) {
  ContainerWriter writer;
  std::vector<Blob> blobs;
  for (size_t i = 0; i < count; ++i) {
    auto blob = weights.DerivedBytes(i);
    if (!blob.ok()) return;
    blobs.push_back(*std::move(blob));
    writer.Add(SectionType::kDerived, blobs.back().bytes,
               blobs.back().bytes.size() >= kPage ? kPage : 64);
  }
  store.Put(kWeightsKind, key, writer);
}

}  // namespace

Digest WeightDigest(std::span<const Literal> weights,
                    std::span<const std::string> files, const Digest& context,
                    DiskStore* store) {
  const auto stamps =
      store != nullptr ? StampsOf(files, NowNs()) : std::nullopt;
  Digest memo;
  if (stamps) {
    memo = Sha256Of(StrCat("digest ", context.ToHex(), " ", *stamps));
    if (const auto text = Recall(*store, memo)) {
      if (const auto digest = Digest::FromHex(*text)) return *digest;
    }
  }
  Sha256 hash;
  for (const Literal& literal : weights) {
    hash.Update(LiteralDigest(literal).view());
  }
  const Digest digest = hash.Finish();
  // The files may have changed while they were read.
  if (stamps && StampsOf(files, NowNs()) == stamps) {
    Remember(*store, memo, digest.ToHex());
  }
  return digest;
}

StatusOr<std::shared_ptr<const runtime::Weights>> GetWeights(
    std::shared_ptr<const runtime::Executable> executable, const Digest& key,
    std::span<const Literal> parameters, const WeightOptions& options,
    DiskStore* store, runtime::ThreadPool* threads, bool* restored) {
  *restored = false;
  ENCORE_ASSIGN_OR_RETURN(const std::vector<Blob> blobs, BlobsOf(parameters));
  const size_t count = executable->derived().size();
  if (count == 0 || store == nullptr) {
    return runtime::Weights::Prepare(std::move(executable), blobs, threads);
  }
  const Digest digest = WeightDigest(parameters, options.files, key, store);
  const Digest entry = Sha256Of(StrCat(key.ToHex(), digest.ToHex()));
  if (const auto container = store->Get(kWeightsKind, entry)) {
    const auto derived = ReadDerived(container, *executable, options, *store);
    auto weights = derived.ok()
                       ? runtime::Weights::Restore(executable, blobs, *derived)
                       : derived.status();
    if (weights.ok()) {
      *restored = true;
      return weights;
    }
    store->Quarantine(kWeightsKind, entry, Message(weights.status()));
  }
  ENCORE_ASSIGN_OR_RETURN(
      std::shared_ptr<const runtime::Weights> weights,
      runtime::Weights::Prepare(executable, blobs, threads));
  KeepDerived(*weights, count, entry, *store);
  return weights;
}

}  // namespace encore::cache
