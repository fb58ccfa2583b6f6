#include "encore/cache/store/container_format.h"

#include <xxhash.h>

#include <cstring>
#include <memory>

#include "encore/ir/support/check.h"

namespace encore::cache::container_format {
namespace {

Checksum Canonical(const XXH128_hash_t& hash) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, hash);
  Checksum checksum;
  static_assert(sizeof(checksum) == sizeof(canonical.digest));
  std::memcpy(checksum.data(), canonical.digest, sizeof(checksum));
  return checksum;
}

struct FreeState {
  void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
};

}  // namespace

Checksum ChecksumOf(std::span<const std::byte> bytes) {
  return Canonical(XXH3_128bits(bytes.data(), bytes.size()));
}

Checksum HeadChecksum(std::span<const std::byte> head) {
  static constexpr std::byte kZeros[kChecksumSize] = {};
  const std::unique_ptr<XXH3_state_t, FreeState> state(XXH3_createState());
  ENCORE_CHECK(state != nullptr);
  XXH3_128bits_reset(state.get());
  const auto after = head.subspan(kChecksumAt + kChecksumSize);
  XXH3_128bits_update(state.get(), head.data(), kChecksumAt);
  XXH3_128bits_update(state.get(), kZeros, kChecksumSize);
  XXH3_128bits_update(state.get(), after.data(), after.size());
  return Canonical(XXH3_128bits_digest(state.get()));
}

}  // namespace encore::cache::container_format
