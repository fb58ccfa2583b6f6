// Image: generated code in memory, ready to call.
//
// An image is one ELF shared object for x86-64 that needs no dynamic linker: no
// imports, no relocations, no writable data, every byte at the address that is
// its offset in the file. Loading is therefore a copy into anonymous memory
// that is then made read-only and executable; the file may vanish or change
// afterwards. What is checked is the copy: its digest, if the caller knows one,
// and its structure, in which every offset is bounded. Bytes that are not such
// an image are rejected, whatever they are; whether the code itself may be
// trusted is for the store that it came from to decide.
#ifndef ENCORE_BACKENDS_CPU_IMAGE_H_
#define ENCORE_BACKENDS_CPU_IMAGE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "encore/ir/support/status.h"

namespace encore::backends::cpu {

// XXH3 of an image's bytes.
uint64_t ImageDigest(std::span<const std::byte> bytes);

struct ImageLayout;

// Thread-safe once loaded.
class Image {
 public:
  // DataLoss says what is wrong with `bytes`. ResourceExhausted without memory
  // and FailedPrecondition where the system lets no code run that was not in a
  // file; neither says anything of `bytes`. Without `digest` the bytes are
  // taken as they are.
  static StatusOr<std::shared_ptr<const Image>> Load(
      std::span<const std::byte> bytes, std::optional<uint64_t> digest);

  // Only checks the structure, as Load does.
  static Status Verify(std::span<const std::byte> bytes);

  ~Image();
  Image(const Image&) = delete;
  Image& operator=(const Image&) = delete;

  // Address of the function `name`; null where there is none. Cost: a look-up
  // in the image's hash table.
  const void* Find(std::string_view name) const;

  int64_t size() const { return static_cast<int64_t>(size_); }

 private:
  Image(std::byte* data, size_t size);

  std::byte* data_;
  size_t size_;
  std::unique_ptr<const ImageLayout> layout_;
};

}  // namespace encore::backends::cpu

#endif  // ENCORE_BACKENDS_CPU_IMAGE_H_
