// ElfBytes: reads fixed-size records out of the bytes of an ELF file, whatever
// they are and wherever they come from.
#ifndef ENCORE_BACKENDS_CPU_ELF_ELF_BYTES_H_
#define ENCORE_BACKENDS_CPU_ELF_ELF_BYTES_H_

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>

namespace encore::backends::cpu {

// A view: the bytes outlive it. Thread-safe.
class ElfBytes {
 public:
  ElfBytes() = default;
  explicit ElfBytes(std::span<const std::byte> bytes) : bytes_(bytes) {}

  size_t size() const { return bytes_.size(); }

  bool Contains(uint64_t offset, uint64_t size) const {
    return offset <= bytes_.size() && size <= bytes_.size() - offset;
  }
  bool ContainsTable(uint64_t offset, uint64_t count, size_t record) const {
    return offset <= bytes_.size() &&
           count <= (bytes_.size() - offset) / record;
  }

  // REQUIRES that the record lies within.
  template <typename T>
  T At(uint64_t offset) const {
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof(T));
    return value;
  }

  // REQUIRES that they lie within.
  std::string_view Text(uint64_t offset, uint64_t size) const {
    return {reinterpret_cast<const char*>(bytes_.data()) + offset, size};
  }
  // The zero-terminated text at `offset`; nothing where it does not end.
  std::optional<std::string_view> Text(uint64_t offset) const {
    if (offset >= bytes_.size()) return std::nullopt;
    const std::string_view rest = Text(offset, bytes_.size() - offset);
    const size_t end = rest.find('\0');
    if (end == std::string_view::npos) return std::nullopt;
    return rest.substr(0, end);
  }

  // The header of a file for x86-64 (64 bits, little-endian), of whatever type.
  std::optional<Elf64_Ehdr> Header() const {
    if (!Contains(0, sizeof(Elf64_Ehdr))) return std::nullopt;
    const auto header = At<Elf64_Ehdr>(0);
    if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
        header.e_ident[EI_CLASS] != ELFCLASS64 ||
        header.e_ident[EI_DATA] != ELFDATA2LSB ||
        header.e_machine != EM_X86_64) {
      return std::nullopt;
    }
    return header;
  }

 private:
  std::span<const std::byte> bytes_;
};

// The hash of DT_HASH tables.
inline uint32_t ElfHash(std::string_view name) {
  uint32_t hash = 0;
  for (const char c : name) {
    hash = (hash << 4) + static_cast<unsigned char>(c);
    const uint32_t high = hash & 0xf0000000;
    hash = (hash ^ high >> 24) & ~high;
  }
  return hash;
}

}  // namespace encore::backends::cpu

#endif  // ENCORE_BACKENDS_CPU_ELF_ELF_BYTES_H_
