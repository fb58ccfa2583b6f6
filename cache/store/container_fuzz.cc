// Any bytes, as they are, and with their checksums made right, so that what is
// behind those is reached as well: packages.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "encore/cache/package/package.h"
#include "encore/cache/package/package_loader.h"
#include "encore/cache/store/container.h"
#include "encore/cache/store/container_format.h"
#include "encore/ir/support/bytes.h"

namespace {

using namespace encore;                           // NOLINT
using namespace encore::cache;                    // NOLINT
using namespace encore::cache::container_format;  // NOLINT

void Use(std::string bytes) {
  auto container = Container::FromBytes(std::move(bytes));
  if (!container.ok()) return;
  (void)(*container)->VerifyAll();
  const auto package = ReadPackage(*std::move(container));
  if (package.ok()) (void)CheckPackage(*package);
}

// Header, size and checksums of a container around the rest of the input: its
// number of sections, table and contents are the fuzzer's.
std::string Signed(std::string bytes) {
  if (bytes.size() < kHeaderSize) return bytes;
  ByteWriter head;
  head.Raw(kMagic);
  const uint64_t count = static_cast<uint8_t>(bytes[16]) % 16;
  head.Fixed64(VersionOf(count));
  head.Fixed64(count);
  head.Fixed64(bytes.size());
  bytes.replace(0, head.str().size(), head.str());
  const size_t table = kHeaderSize + count * kEntrySize;
  if (bytes.size() < table) return bytes;
  std::fill(bytes.begin() + kChecksumAt, bytes.begin() + kHeaderSize, '\0');
  for (size_t entry = kHeaderSize; entry < table; entry += kEntrySize) {
    ByteReader in(std::string_view(bytes).substr(entry, kEntrySize));
    in.Fixed64();
    const uint64_t offset = in.Fixed64(), length = in.Fixed64();
    if (offset > bytes.size() || length > bytes.size() - offset) continue;
    bytes.replace(
        entry + 24, kChecksumSize,
        AsText(ChecksumOf(
            std::as_bytes(std::span(bytes)).subspan(offset, length))));
  }
  bytes.replace(
      kChecksumAt, kChecksumSize,
      AsText(HeadChecksum(std::as_bytes(std::span(bytes)).first(table))));
  return bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  Use(bytes);
  Use(Signed(bytes));
  return 0;
}
