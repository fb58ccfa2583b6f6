// The layout of a container's head; see cache/README.md.
#ifndef ENCORE_CACHE_STORE_CONTAINER_FORMAT_H_
#define ENCORE_CACHE_STORE_CONTAINER_FORMAT_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace encore::cache::container_format {

// As PNG's: shows what text transfer, a missing high bit or a cut did to it.
inline constexpr std::string_view kMagic =
    "\x89"
    "ENC\r\n\x1a\n";
inline constexpr size_t kChecksumSize = 16;
inline constexpr size_t kHeaderSize = 64;
// Where the header keeps the checksum of header and table.
inline constexpr size_t kChecksumAt = 32;
// type, offset, length (8 bytes each), checksum.
inline constexpr size_t kEntrySize = 40;
inline constexpr size_t kMinAlignment = 64;
inline constexpr size_t kMaxAlignment = 4096;

// The version of a file with that many sections: programs that know version 1
// alone take no more than these.
inline constexpr uint64_t kMostOfVersion1 = uint64_t{1} << 16;
inline constexpr uint64_t VersionOf(uint64_t sections) {
  return sections <= kMostOfVersion1 ? 1 : 2;
}

// XXH3, 128 bits, in its canonical (big-endian) form.
using Checksum = std::array<uint8_t, kChecksumSize>;
Checksum ChecksumOf(std::span<const std::byte> bytes);
// Of header and table with the checksum itself taken as zeros. REQUIRES a whole
// header.
Checksum HeadChecksum(std::span<const std::byte> head);

inline std::string_view AsText(const Checksum& checksum) {
  return {reinterpret_cast<const char*>(checksum.data()), checksum.size()};
}

}  // namespace encore::cache::container_format

#endif  // ENCORE_CACHE_STORE_CONTAINER_FORMAT_H_
