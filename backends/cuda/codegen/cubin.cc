#include "encore/backends/cuda/codegen/cubin.h"

#include <elf.h>

#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "encore/backends/cpu/elf/elf_bytes.h"
#include "encore/ir/support/parse_number.h"

namespace encore::backends::cuda {
namespace {

using cpu::ElfBytes;

constexpr uint16_t kMachine = 190;  // EM_CUDA
// How an attribute of .nv.info holds its value: in the two bytes of its size
// unless it is sized, which then are as many bytes behind it.
constexpr uint8_t kSized = 4;
constexpr uint8_t kFrameSize = 0x11, kRegisterCount = 0x2f;
constexpr std::string_view kShared = ".nv.shared.";

class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  bool Read() { return ReadSections() && ReadSymbols() && ReadInfo(); }
  std::map<std::string, KernelResources> Take() { return std::move(kernels_); }

 private:
  bool ReadSections() {
    if (!bytes_.Contains(0, sizeof(Elf64_Ehdr))) return false;
    const auto header = bytes_.At<Elf64_Ehdr>(0);
    if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
        header.e_ident[EI_CLASS] != ELFCLASS64 ||
        header.e_machine != kMachine ||
        !bytes_.ContainsTable(header.e_shoff, header.e_shnum,
                              sizeof(Elf64_Shdr)) ||
        header.e_shstrndx >= header.e_shnum) {
      return false;
    }
    for (uint64_t i = 0; i < header.e_shnum; ++i) {
      sections_.push_back(
          bytes_.At<Elf64_Shdr>(header.e_shoff + i * sizeof(Elf64_Shdr)));
    }
    names_ = sections_[header.e_shstrndx];
    return true;
  }

  // The text at `offset` of a section of texts; empty where there is none.
  std::string_view TextAt(const Elf64_Shdr& texts, uint32_t offset) const {
    if (offset >= texts.sh_size) return {};
    return bytes_.Text(texts.sh_offset + offset).value_or("");
  }

  bool ReadSymbols() {
    for (const Elf64_Shdr& section : sections_) {
      if (section.sh_type != SHT_SYMTAB) continue;
      const uint64_t count = section.sh_size / sizeof(Elf64_Sym);
      if (section.sh_link >= sections_.size() ||
          !bytes_.ContainsTable(section.sh_offset, count, sizeof(Elf64_Sym))) {
        return false;
      }
      for (uint64_t i = 0; i < count; ++i) {
        const auto symbol =
            bytes_.At<Elf64_Sym>(section.sh_offset + i * sizeof(Elf64_Sym));
        symbols_.emplace_back(
            TextAt(sections_[section.sh_link], symbol.st_name));
        if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC &&
            ELF64_ST_BIND(symbol.st_info) == STB_GLOBAL) {
          kernels_[symbols_.back()];
        }
      }
    }
    return true;
  }

  bool ReadInfo() {
    for (const Elf64_Shdr& section : sections_) {
      const std::string_view name = TextAt(names_, section.sh_name);
      if (name.starts_with(kShared)) {
        const auto kernel =
            kernels_.find(std::string(name.substr(kShared.size())));
        if (kernel != kernels_.end()) {
          kernel->second.shared_bytes = section.sh_size;
        }
      } else if (name == ".nv.info" &&
                 !ReadAttributes(section.sh_offset, section.sh_size)) {
        return false;
      }
    }
    return true;
  }

  bool ReadAttributes(uint64_t at, uint64_t size) {
    if (!bytes_.Contains(at, size)) return false;
    for (const uint64_t end = at + size; at < end;) {
      if (end - at < 4) return false;
      const auto format = bytes_.At<uint8_t>(at);
      const auto attribute = bytes_.At<uint8_t>(at + 1);
      const uint64_t count = format == kSized ? bytes_.At<uint16_t>(at + 2) : 0;
      at += 4;
      if (count > end - at) return false;
      if (count >= 8) {
        Note(attribute, bytes_.At<uint32_t>(at), bytes_.At<uint32_t>(at + 4));
      }
      at += count;
    }
    return true;
  }

  void Note(uint8_t attribute, uint32_t symbol, uint32_t value) {
    if (symbol >= symbols_.size()) return;
    const auto kernel = kernels_.find(symbols_[symbol]);
    if (kernel == kernels_.end()) return;
    if (attribute == kRegisterCount) kernel->second.registers = value;
    if (attribute == kFrameSize) kernel->second.frame_bytes = value;
  }

  ElfBytes bytes_;
  std::vector<Elf64_Shdr> sections_;
  Elf64_Shdr names_ = {};
  std::vector<std::string> symbols_;
  std::map<std::string, KernelResources> kernels_;
};

}  // namespace

StatusOr<std::map<std::string, KernelResources>> ReadResources(
    std::span<const std::byte> cubin) {
  Reader reader(cubin);
  if (!reader.Read()) return DataLossError("no machine code of a CUDA device");
  return reader.Take();
}

uint64_t SpilledBytes(std::string_view log) {
  constexpr std::string_view kStores = " bytes spill stores";
  uint64_t sum = 0;
  for (size_t at = log.find(kStores); at != std::string_view::npos;
       at = log.find(kStores, at + 1)) {
    size_t begin = at;
    while (begin > 0 && log[begin - 1] >= '0' && log[begin - 1] <= '9') --begin;
    sum += ParseNumber<uint64_t>(log.substr(begin, at - begin)).value_or(0);
  }
  return sum;
}

}  // namespace encore::backends::cuda
