#include "encore/cache/session/weight_identity.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "encore/cache/store/container_format.h"
#include "encore/cache/store/memo.h"
#include "encore/ir/graph/stencil.h"
#include "encore/ir/support/bytes.h"
#include "encore/ir/support/strings.h"

namespace encore::cache {
namespace {

// The one of `files`, which are ordered by address, that the bytes lie in;
// their end where they lie in none.
MappedFiles::const_iterator FileOf(std::span<const std::byte> bytes,
                                   const MappedFiles& files) {
  if (bytes.empty()) return files.end();
  const auto after = std::ranges::upper_bound(
      files, bytes.data(), {},
      [](const auto& file) { return file->bytes().data(); });
  if (after == files.begin()) return files.end();
  const auto file = std::prev(after);
  const auto end = (*file)->bytes().data() + (*file)->bytes().size();
  return bytes.data() + bytes.size() <= end ? file : files.end();
}

}  // namespace

WeightIdentity::WeightIdentity(std::span<const Literal> weights,
                               const MappedFiles& files, DiskStore* store)
    : weights_(weights), files_(files) {
  std::erase(files_, nullptr);
  std::ranges::sort(files_, {},
                    [](const auto& file) { return file->bytes().data(); });
  const std::optional<Digest> place = PlaceKey();
  // A later write may leave a file that was not settled the stamp that it has.
  const bool memorable = store != nullptr && place.has_value() &&
                         std::ranges::all_of(files_, [](const auto& file) {
                           return file->settled();
                         });
  if (memorable) {
    const auto known = ReadMemo(*store, *place);
    if (const auto digest = known ? Digest::FromHex(*known) : std::nullopt) {
      digest_ = *digest;
      return;
    }
  }
  digest_ = Hash();
  if (memorable && StillHolds()) WriteMemo(*store, *place, digest_.ToHex());
}

std::optional<Digest> WeightIdentity::PlaceKey() {
  ByteWriter key;
  std::vector<bool> used(files_.size());
  for (const Literal& weight : weights_) {
    const auto bytes = weight.bytes();
    const auto file = FileOf(bytes, files_);
    key.Varint(static_cast<uint64_t>(file - files_.begin()));
    if (file == files_.end()) {
      key.Raw(container_format::AsText(container_format::ChecksumOf(bytes)));
    } else {
      used[file - files_.begin()] = true;
      key.Varint(static_cast<uint64_t>(bytes.data() - (*file)->bytes().data()));
    }
    key.Byte(static_cast<uint8_t>(weight.dtype()));
    key.Varint(weight.dims().size());
    for (const int64_t dim : weight.dims()) {
      key.Varint(static_cast<uint64_t>(dim));
    }
  }
  // Numbers of files depend on all of them.
  for (const auto& file : files_) key.String(file->stamp().ToString());
  size_t i = 0;
  std::erase_if(files_, [&](const auto&) { return !used[i++]; });
  if (weights_.empty()) return std::nullopt;
  return Sha256Of(StrCat("weights ", key.Take()));
}

Digest WeightIdentity::Hash() const {
  Sha256 hash;
  for (const Literal& weight : weights_) {
    hash.Update(LiteralDigest(weight).view());
  }
  return hash.Finish();
}

bool WeightIdentity::StillHolds() const {
  const auto unchanged = [](const auto& file) {
    return file->UnchangedSinceOpen();
  };
  if (!std::ranges::all_of(files_, unchanged)) return false;
  const auto settled = [](const auto& file) { return file->settled(); };
  return std::ranges::all_of(files_, settled) || Hash() == digest_;
}

}  // namespace encore::cache
