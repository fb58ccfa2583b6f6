#include "encore/cache/session/weight_parts.h"

#include <algorithm>
#include <set>
#include <utility>

#include "encore/cache/store/memo.h"
#include "encore/cache/store/settled_file.h"
#include "encore/ir/support/bytes.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::cache {
namespace {

// Bytes of the shortest part.
constexpr size_t kLeastPart = 2;

std::optional<Digest> ReadDigest(ByteReader* in) {
  Digest digest;
  const std::string_view raw = in->Raw(digest.bytes.size());
  if (!in->ok()) return std::nullopt;
  std::ranges::copy(raw, digest.bytes.begin());
  return digest;
}

// Whether something follows, as a byte.
bool ReadFlag(ByteReader* in) {
  const uint8_t flag = in->Byte();
  if (flag > 1) in->Fail();
  return flag == 1;
}

// The entries that were used last, first.
std::vector<DiskStore::Entry> NewestEntries(const DiskStore& store) {
  std::vector<DiskStore::Entry> entries = store.ListKind(kWeightsKind);
  SortByUse(&entries);
  if (entries.size() > kMostEntries) entries.resize(kMostEntries);
  return entries;
}

}  // namespace

std::string EncodeParts(std::span<const WeightPart> parts) {
  ByteWriter out;
  out.Varint(parts.size());
  for (const WeightPart& part : parts) {
    out.Byte(part.identity ? 1 : 0);
    if (part.identity) out.Raw(part.identity->view());
    out.Byte(part.elsewhere ? 1 : 0);
    if (!part.elsewhere) continue;
    out.Raw(part.elsewhere->entry.view());
    out.Varint(part.elsewhere->section);
  }
  return out.Take();
}

StatusOr<std::vector<WeightPart>> DecodeParts(
    std::span<const std::byte> bytes) {
  ByteReader in(bytes);
  std::vector<WeightPart> parts(in.Count(kLeastPart));
  for (WeightPart& part : parts) {
    if (ReadFlag(&in)) part.identity = ReadDigest(&in);
    if (!ReadFlag(&in)) continue;
    const std::optional<Digest> entry = ReadDigest(&in);
    const uint64_t section = in.Varint();
    if (entry) part.elsewhere = {*entry, section};
  }
  if (in.ok() && in.done()) return parts;
  return DataLossError("malformed list of parts of prepared weights");
}

std::vector<std::optional<PartPlace>> FindParts(
    DiskStore& store, std::span<const std::optional<Digest>> identities) {
  std::vector<std::optional<PartPlace>> places(identities.size());
  std::map<Digest, std::vector<size_t>> wanted;
  for (size_t i = 0; i < identities.size(); ++i) {
    if (identities[i]) wanted[*identities[i]].push_back(i);
  }
  if (wanted.empty()) return places;
  std::set<Digest> sources;
  for (const DiskStore::Entry& entry : NewestEntries(store)) {
    const auto container = store.Peek(kWeightsKind, entry.key);
    if (container == nullptr ||
        container->Find(SectionType::kParts) == nullptr) {
      continue;
    }
    const auto bytes = container->Read(SectionType::kParts);
    const auto parts = bytes.ok() ? DecodeParts(*bytes) : bytes.status();
    if (!parts.ok()) continue;  // whoever reads the weights sets it aside
    for (size_t p = 0; p < parts->size(); ++p) {
      const WeightPart& part = (*parts)[p];
      const auto found =
          part.identity ? wanted.find(*part.identity) : wanted.end();
      if (found == wanted.end()) continue;
      const PartPlace place = part.elsewhere.value_or(PartPlace{entry.key, p});
      if (!sources.contains(place.entry)) {
        if (sources.size() == kMostSources) continue;
        sources.insert(place.entry);
      }
      for (const size_t i : found->second) places[i] = place;
      wanted.erase(found);
    }
    if (wanted.empty()) break;
  }
  return places;
}

Status VerifyOnce(const Container& container, DiskStore& store, bool always) {
  const MappedFile& file = *container.file();
  const Digest memo =
      Sha256Of(StrCat("settled and verified ", file.stamp().ToString()));
  if (!always && ReadMemo(store, memo) == "yes") return OkStatus();
  const bool settled = IsSettled(file, store);
  ENCORE_RETURN_IF_ERROR(container.VerifyAll());
  if (settled && file.UnchangedSinceOpen()) WriteMemo(store, memo, "yes");
  return OkStatus();
}

std::shared_ptr<const Container> PartSources::Open(const Digest& entry) {
  const auto [at, is_new] = open_.try_emplace(entry);
  if (!is_new) return at->second;
  auto container = store_->Get(kWeightsKind, entry);
  if (container == nullptr) return nullptr;
  Status status = VerifyOnce(*container, *store_, verify_);
  if (status.ok()) status = container->CheckSize();
  if (!status.ok()) {
    if (status.code() == StatusCode::kDataLoss) {
      store_->Quarantine(kWeightsKind, entry, *container, status);
    }
    return nullptr;
  }
  return at->second = std::move(container);
}

StatusOr<runtime::Blob> PartSources::Read(const PartPlace& place,
                                          uint64_t bytes) {
  const auto container = Open(place.entry);
  const Section* section =
      container == nullptr
          ? nullptr
          : container->Find(SectionType::kDerived, place.section);
  if (section == nullptr || section->length != bytes) {
    return NotFoundError("prepared weights that another entry had are gone");
  }
  return runtime::Blob{container->Unverified(*section), container, false};
}

}  // namespace encore::cache
