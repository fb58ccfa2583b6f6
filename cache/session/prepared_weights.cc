#include "encore/cache/session/prepared_weights.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "encore/cache/package/parameter_blobs.h"
#include "encore/cache/session/weight_identity.h"
#include "encore/cache/session/weight_parts.h"
#include "encore/cache/store/container.h"
#include "encore/cache/store/container_writer.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/runtime/plan/derived_identity.h"

namespace encore::cache {
namespace {

using runtime::Blob;

// Derived slots are mapped by whole pages where they are large.
constexpr size_t kPage = 4096;

// The derived slots in an entry, and in those that it refers to; NotFound where
// one of these is gone, DataLoss where it is none of `executable`.
StatusOr<std::vector<Blob>> ReadDerived(
    const std::shared_ptr<const Container>& container,
    const runtime::Executable& executable, const WeightOptions& options,
    DiskStore& store) {
  ENCORE_RETURN_IF_ERROR(VerifyOnce(*container, store, options.verify));
  ENCORE_RETURN_IF_ERROR(container->CheckSize());
  PartSources sources(&store, options.verify);
  std::vector<WeightPart> parts;
  std::vector<Blob> derived;
  for (size_t i = 0; i < executable.derived().size(); ++i) {
    const Section* section = container->Find(SectionType::kDerived, i);
    const Dim& bytes = executable.graph().slot(executable.derived()[i]).bytes;
    const auto unfit = [] {
      return DataLossError("the prepared weights do not fit this graph");
    };
    if (section == nullptr || !bytes.is_constant()) return unfit();
    const auto size = static_cast<uint64_t>(bytes.constant());
    if (section->length == size) {
      derived.push_back({container->Unverified(*section), container, false});
      continue;
    }
    if (section->length != 0) return unfit();
    if (parts.empty()) {
      ENCORE_ASSIGN_OR_RETURN(const auto list,
                              container->Read(SectionType::kParts));
      ENCORE_ASSIGN_OR_RETURN(parts, DecodeParts(list));
    }
    if (i >= parts.size() || !parts[i].elsewhere) return unfit();
    ENCORE_ASSIGN_OR_RETURN(Blob part, sources.Read(*parts[i].elsewhere, size));
    derived.push_back(std::move(part));
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

// `parts`: of each derived slot, with the place of those that are not kept
// here.
void Keep(const runtime::Weights& weights, std::span<const Blob> moved,
          std::span<const WeightPart> parts, const Digest& key,
          DiskStore& store) {
  ContainerWriter writer;
  std::vector<Blob> blobs;
  const auto add = [&](SectionType type, Blob blob) {
    const size_t alignment = blob.bytes.size() >= kPage ? kPage : 64;
    blobs.push_back(std::move(blob));
    writer.Add(type, blobs.back().bytes, alignment);
  };
  for (size_t i = 0; i < weights.derived().size(); ++i) {
    if (parts[i].elsewhere) {
      add(SectionType::kDerived, {});
      continue;
    }
    auto blob = weights.DerivedBytes(i);
    if (!blob.ok()) return;
    add(SectionType::kDerived, *std::move(blob));
  }
  if (CountNonEmpty(moved) > 0) {
    for (const Blob& blob : moved) add(SectionType::kWeights, blob);
  }
  if (!parts.empty()) {
    writer.AddOwned(SectionType::kParts, EncodeParts(parts));
  }
  store.Put(kWeightsKind, key, writer);
}

// The list of an entry's parts; of one without, parts that nobody else finds.
std::vector<WeightPart> PartsOf(const Container& container, size_t derived) {
  if (container.Find(SectionType::kParts) != nullptr) {
    const auto bytes = container.Read(SectionType::kParts);
    auto parts = bytes.ok() ? DecodeParts(*bytes) : bytes.status();
    if (parts.ok() && parts->size() == derived) return *std::move(parts);
  }
  return std::vector<WeightPart>(derived);
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
      store.Quarantine(kWeightsKind, entry, *container, weights.status());
    }
    return nullptr;
  }
  // The same weights may come from a file where they are aligned otherwise.
  const std::vector<Blob> moved = Moved(**weights, parameters);
  size_t kept = 0;
  for (const Section& section : container->sections()) {
    kept += section.type == SectionType::kWeights && section.length > 0;
  }
  if (CountNonEmpty(moved) > kept) {
    Keep(**weights, moved, PartsOf(*container, (*weights)->derived().size()),
         entry, store);
  }
  return *std::move(weights);
}

// What other entries have of the derived slots that are made of parameters of
// those digests, else empty blobs; and the list of all parts, for `entry`.
std::vector<Blob> FindKnown(const runtime::Executable& executable,
                            std::span<const Digest> parameters,
                            const Digest& entry, const WeightOptions& options,
                            DiskStore& store, std::vector<WeightPart>* parts) {
  const runtime::CompiledGraph& graph = executable.graph();
  std::vector<Blob> known(executable.derived().size());
  parts->resize(known.size());
  if (known.empty()) return known;
  const auto identities = runtime::DerivedIdentities(graph, parameters);
  const auto places = FindParts(store, identities);
  PartSources sources(&store, options.verify);
  for (size_t i = 0; i < known.size(); ++i) {
    (*parts)[i].identity = identities[i];
    const Dim& bytes = graph.slot(executable.derived()[i]).bytes;
    if (!places[i] || bytes.constant() == 0) continue;
    auto blob = sources.Read(*places[i], bytes.constant());
    if (!blob.ok()) continue;
    known[i] = *std::move(blob);
    // An entry of one's own that lacks other parts is replaced.
    if (places[i]->entry != entry) (*parts)[i].elsewhere = places[i];
  }
  return known;
}

// Weights, held, and which values they have.
struct HeldWeights {
  HeldWeights(std::span<const Literal> weights, const MappedFiles& files,
              DiskStore* store)
      : values(weights.begin(), weights.end()),
        identity(values, files, store) {}

  const std::vector<Literal> values;
  WeightIdentity identity;
};

}  // namespace

StatusOr<PreparedWeights> GetWeights(
    std::shared_ptr<const runtime::Executable> executable, const Digest& key,
    std::span<const Literal> parameters, const WeightOptions& options,
    DiskStore* store, runtime::ThreadPool* threads, WriteBehind* writes) {
  PreparedWeights prepared;
  ENCORE_ASSIGN_OR_RETURN(const std::vector<Blob> blobs, BlobsOf(parameters));
  if (store == nullptr || !IsWorthKeeping(*executable, blobs)) {
    prepared.parts_made = static_cast<int64_t>(executable->derived().size());
    ENCORE_ASSIGN_OR_RETURN(
        prepared.weights,
        runtime::Weights::Prepare(std::move(executable), blobs, threads));
    return prepared;
  }
  const auto held =
      std::make_shared<HeldWeights>(parameters, options.files, store);
  prepared.digest = held->identity.digest();
  const Digest entry = Sha256Of(StrCat(key.ToHex(), prepared.digest->ToHex()));
  writes->Wait();
  prepared.weights = RestoreFrom(*store, entry, executable, blobs, options);
  if (prepared.weights != nullptr) {
    prepared.restored = true;
    return prepared;
  }
  std::vector<WeightPart> parts;
  std::vector<Blob> known = FindKnown(*executable, held->identity.digests(),
                                      entry, options, *store, &parts);
  ENCORE_ASSIGN_OR_RETURN(
      prepared.weights,
      runtime::Weights::PrepareRest(executable, blobs, known, threads));
  for (size_t i = 0; i < known.size(); ++i) {
    if (known[i].bytes.empty()) parts[i].elsewhere.reset();
    ++(known[i].bytes.empty() ? prepared.parts_made : prepared.parts_found);
  }
  writes->Do([held, weights = prepared.weights,
              moved = Moved(*prepared.weights, blobs), parts = std::move(parts),
              entry, store] {
    if (held->identity.StillHolds())
      Keep(*weights, moved, parts, entry, *store);
  });
  return prepared;
}

}  // namespace encore::cache
