#include "encore/backends/cpu/elf/object_file.h"

#include <utility>

#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::backends::cpu {
namespace {

Status Bad(std::string_view what) {
  return InternalError(StrCat("not an object file: ", what));
}

}  // namespace

StatusOr<ObjectFile> ObjectFile::Read(std::string_view bytes) {
  ObjectFile file(bytes);
  ENCORE_RETURN_IF_ERROR(file.ReadSections());
  ENCORE_RETURN_IF_ERROR(file.ReadSymbols());
  ENCORE_RETURN_IF_ERROR(file.ReadRelocations());
  return file;
}

Status ObjectFile::ReadSections() {
  const auto header = bytes_.Header();
  if (!header || header->e_type != ET_REL) {
    return Bad("no relocatable ELF file for x86-64");
  }
  if (header->e_shentsize != sizeof(Elf64_Shdr) ||
      !bytes_.ContainsTable(header->e_shoff, header->e_shnum,
                            sizeof(Elf64_Shdr))) {
    return Bad("section headers outside the file");
  }
  for (uint64_t i = 0; i < header->e_shnum; ++i) {
    const auto section =
        bytes_.At<Elf64_Shdr>(header->e_shoff + i * sizeof(Elf64_Shdr));
    if (section.sh_type != SHT_NULL && section.sh_type != SHT_NOBITS &&
        !bytes_.Contains(section.sh_offset, section.sh_size)) {
      return Bad(StrCat("section ", i, " outside the file"));
    }
    sections_.push_back(section);
  }
  return OkStatus();
}

Status ObjectFile::ReadSymbols() {
  for (const Elf64_Shdr& section : sections_) {
    if (section.sh_type != SHT_SYMTAB) continue;
    if (!symbols_.empty()) return Bad("two symbol tables");
    if (section.sh_entsize != sizeof(Elf64_Sym) ||
        section.sh_link >= sections_.size() ||
        sections_[section.sh_link].sh_type != SHT_STRTAB) {
      return Bad("a symbol table without its names");
    }
    names_ = sections_[section.sh_link].sh_offset;
    for (uint64_t at = 0; section.sh_size - at >= sizeof(Elf64_Sym);
         at += sizeof(Elf64_Sym)) {
      symbols_.push_back(bytes_.At<Elf64_Sym>(section.sh_offset + at));
      if (!bytes_.Text(names_ + symbols_.back().st_name)) {
        return Bad("a name outside the file");
      }
    }
  }
  return OkStatus();
}

Status ObjectFile::ReadRelocations() {
  relocations_.resize(sections_.size());
  for (const Elf64_Shdr& section : sections_) {
    if (section.sh_type != SHT_RELA) continue;
    if (section.sh_entsize != sizeof(Elf64_Rela) ||
        section.sh_info >= sections_.size()) {
      return Bad("relocations of no section");
    }
    std::vector<Elf64_Rela>& relocations = relocations_[section.sh_info];
    for (uint64_t at = 0; section.sh_size - at >= sizeof(Elf64_Rela);
         at += sizeof(Elf64_Rela)) {
      relocations.push_back(bytes_.At<Elf64_Rela>(section.sh_offset + at));
      if (ELF64_R_SYM(relocations.back().r_info) >= symbols_.size()) {
        return Bad("a relocation without its symbol");
      }
    }
  }
  return OkStatus();
}

std::string_view ObjectFile::ContentsOf(size_t section) const {
  const Elf64_Shdr& header = sections_[section];
  if (header.sh_type == SHT_NULL || header.sh_type == SHT_NOBITS) return {};
  return bytes_.Text(header.sh_offset, header.sh_size);
}

}  // namespace encore::backends::cpu
