// The layout of a container's head; see cache/README.md.
#ifndef ENCORE_CACHE_CONTAINER_FORMAT_H_
#define ENCORE_CACHE_CONTAINER_FORMAT_H_

#include <cstddef>
#include <span>
#include <string>
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

// XXH3, 128 bits, in its canonical (big-endian) form.
std::string Checksum(std::span<const std::byte> bytes);
// Over header and table with the checksum itself taken as zeros.
std::string HeadChecksum(std::span<const std::byte> head);

}  // namespace encore::cache::container_format

#endif  // ENCORE_CACHE_CONTAINER_FORMAT_H_
