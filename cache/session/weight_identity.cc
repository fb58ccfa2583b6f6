#include "encore/cache/session/weight_identity.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "encore/cache/store/container_format.h"
#include "encore/cache/store/memo.h"
#include "encore/cache/store/settled_file.h"
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

// Digits of a digest in a memo: that of all weights, then that of each.
constexpr size_t kHexDigits = 2 * sizeof(Digest::bytes);

Digest Joined(std::span<const Digest> digests) {
  Sha256 hash;
  for (const Digest& digest : digests) hash.Update(digest.view());
  return hash.Finish();
}

}  // namespace

WeightIdentity::WeightIdentity(std::span<const Literal> weights,
                               const MappedFiles& files, DiskStore* store)
    : weights_(weights), files_(files) {
  std::erase(files_, nullptr);
  std::ranges::sort(files_, {},
                    [](const auto& file) { return file->bytes().data(); });
  const std::optional<Digest> place = PlaceKey();
  const bool memorable = store != nullptr && place.has_value();
  if (memorable) {
    // Remembered of stamps that were settled, and so are now.
    remembered_ = ReadMemo(*store, *place).value_or("");
    const auto first = std::string_view(remembered_).substr(0, kHexDigits);
    if (const auto digest = Digest::FromHex(first)) {
      digest_ = *digest;
      settled_ = true;
      return;
    }
    remembered_.clear();
    // A later write may leave a file that is not settled the stamp that it has.
    // Each is looked at: that may be what it becomes settled by.
    settled_ = true;
    for (const auto& file : files_) settled_ &= IsSettled(*file, *store);
  }
  digests_ = HashEach();
  digest_ = Joined(digests_);
  if (!settled_ || !StillHolds()) return;
  std::string text = digest_.ToHex();
  for (const Digest& digest : digests_) text += digest.ToHex();
  WriteMemo(*store, *place, std::move(text));
}

std::span<const Digest> WeightIdentity::digests() {
  if (!digests_.empty()) return digests_;
  const std::string_view text = remembered_;
  std::vector<Digest> known;
  for (size_t at = kHexDigits; at < text.size(); at += kHexDigits) {
    const auto digest = Digest::FromHex(text.substr(at, kHexDigits));
    if (digest) known.push_back(*digest);
  }
  const bool whole =
      known.size() == weights_.size() && Joined(known) == digest_;
  digests_ = whole ? std::move(known) : HashEach();
  return digests_;
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
  return Sha256Of(StrCat("settled weights ", key.Take()));
}

std::vector<Digest> WeightIdentity::HashEach() const {
  std::vector<Digest> digests;
  for (const Literal& weight : weights_) {
    digests.push_back(LiteralDigest(weight));
  }
  return digests;
}

bool WeightIdentity::StillHolds() const {
  const auto unchanged = [](const auto& file) {
    return file->UnchangedSinceOpen();
  };
  if (!std::ranges::all_of(files_, unchanged)) return false;
  return settled_ || Joined(HashEach()) == digest_;
}

}  // namespace encore::cache
