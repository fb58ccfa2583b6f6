// ObjectFile: a relocatable ELF file for x86-64 whose tables have been checked.
#ifndef ENCORE_BACKENDS_CPU_ELF_OBJECT_FILE_H_
#define ENCORE_BACKENDS_CPU_ELF_OBJECT_FILE_H_

#include <elf.h>

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "encore/backends/cpu/elf/elf_bytes.h"
#include "encore/ir/support/status.h"

namespace encore::backends::cpu {

class ObjectFile {
 public:
  // Internal says what is wrong with `bytes`, which outlive the object.
  static StatusOr<ObjectFile> Read(std::string_view bytes);

  std::span<const Elf64_Shdr> sections() const { return sections_; }
  std::span<const Elf64_Sym> symbols() const { return symbols_; }

  // REQUIRES one of symbols().
  std::string_view NameOf(const Elf64_Sym& symbol) const {
    return *bytes_.Text(names_ + symbol.st_name);
  }
  // REQUIRES the number of one of sections(). Empty where the file has none.
  std::string_view ContentsOf(size_t section) const;
  // Each names one of symbols().
  std::span<const Elf64_Rela> RelocationsOf(size_t section) const {
    return relocations_[section];
  }

 private:
  explicit ObjectFile(std::string_view bytes)
      : bytes_(std::as_bytes(std::span(bytes))) {}

  Status ReadSections();
  Status ReadSymbols();
  Status ReadRelocations();

  ElfBytes bytes_;
  std::vector<Elf64_Shdr> sections_;
  std::vector<Elf64_Sym> symbols_;
  uint64_t names_ = 0;
  std::vector<std::vector<Elf64_Rela>> relocations_;  // by section
};

}  // namespace encore::backends::cpu

#endif  // ENCORE_BACKENDS_CPU_ELF_OBJECT_FILE_H_
