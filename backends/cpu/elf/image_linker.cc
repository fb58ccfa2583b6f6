#include "encore/backends/cpu/elf/image_linker.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "encore/backends/cpu/elf/elf_bytes.h"
#include "encore/backends/cpu/elf/object_file.h"
#include "encore/ir/support/check.h"
#include "encore/ir/support/integers.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::backends::cpu {
namespace {

constexpr uint64_t kPageBytes = 4096;
constexpr uint64_t kMaxImageBytes = uint64_t{1} << 30;
constexpr size_t kSegments = 3;
constexpr size_t kDynamicEntries = 6;
// Between sections: an instruction that traps.
constexpr std::byte kFiller{0xcc};

Status Unlinkable(std::string_view what) {
  return InternalError(StrCat("cannot be linked: ", what));
}

// A section of an object, and what becomes of it.
struct Part {
  const ObjectFile* object = nullptr;
  size_t section = 0;
  bool live = false;
  // A table of constants: each is found by its value, wherever it then lies.
  bool constants = false;
  uint64_t address = 0;
  std::vector<uint64_t> addresses;  // of each constant

  const Elf64_Shdr& header() const { return object->sections()[section]; }
  std::string_view contents() const { return object->ContentsOf(section); }
  std::span<const Elf64_Rela> relocations() const {
    return object->RelocationsOf(section);
  }
  bool is_code() const { return (header().sh_flags & SHF_EXECINSTR) != 0; }
};

// What a symbol stands for.
struct Definition {
  Part* part = nullptr;
  Elf64_Sym symbol = {};
};

class Linker {
 public:
  // `names`: of the objects' functions, one each; empty: as they call them.
  Status Read(std::span<const std::string> objects,
              std::span<const std::string> names);
  // Finds out what the exported functions reach.
  Status Mark();
  // Gives everything its address.
  Status LayOut();
  // Copies everything to its address and fills in references.
  StatusOr<std::vector<std::byte>> Write();

 private:
  Part& PartOf(const ObjectFile& object, size_t section) {
    return parts_[static_cast<size_t>(&object - objects_.data())][section];
  }
  // `name`: what the one function is called in the image; null: all, by their
  // own names.
  Status ReadExports(const ObjectFile& object, const std::string* name);
  Status MarkOne(Part* part, std::vector<Part*>* pending);
  StatusOr<Definition> Resolve(const ObjectFile& object, uint64_t symbol);
  StatusOr<uint64_t> AddressOf(const Definition& definition) const;
  void LayOutTables();
  void LayOutConstants(Part* part);
  Status Relocate(const Part& part);
  void WriteHeaders();
  void WriteSymbols();

  template <typename T>
  void Put(uint64_t offset, const T& value) {
    std::memcpy(image_.data() + offset, &value, sizeof(T));
  }

  std::vector<ObjectFile> objects_;
  std::vector<std::vector<Part>> parts_;  // by object and section
  std::map<std::string_view, Definition> exports_;
  // Constants by their bytes.
  std::unordered_map<std::string_view, uint64_t> constants_;
  // Addresses.
  uint64_t symbols_ = 0, hash_ = 0, names_ = 0, dynamic_ = 0, end_ = 0;
  uint64_t names_bytes_ = 0;
  std::vector<std::byte> image_;
};

Status Linker::Read(std::span<const std::string> objects,
                    std::span<const std::string> names) {
  objects_.reserve(objects.size());
  for (const std::string& bytes : objects) {
    ENCORE_ASSIGN_OR_RETURN(ObjectFile object, ObjectFile::Read(bytes));
    objects_.push_back(std::move(object));
  }
  parts_.resize(objects_.size());
  for (size_t o = 0; o < objects_.size(); ++o) {
    parts_[o].resize(objects_[o].sections().size());
    for (size_t s = 0; s < parts_[o].size(); ++s) {
      parts_[o][s].object = &objects_[o];
      parts_[o][s].section = s;
    }
  }
  for (size_t o = 0; o < objects_.size(); ++o) {
    ENCORE_RETURN_IF_ERROR(
        ReadExports(objects_[o], names.empty() ? nullptr : &names[o]));
  }
  return OkStatus();
}

Status Linker::ReadExports(const ObjectFile& object, const std::string* given) {
  const size_t before = exports_.size();
  for (const Elf64_Sym& symbol : object.symbols()) {
    if (ELF64_ST_BIND(symbol.st_info) != STB_GLOBAL ||
        ELF64_ST_TYPE(symbol.st_info) != STT_FUNC ||
        ELF64_ST_VISIBILITY(symbol.st_other) != STV_DEFAULT ||
        symbol.st_shndx == SHN_UNDEF) {
      continue;
    }
    const std::string_view name =
        given == nullptr ? object.NameOf(symbol) : *given;
    if (symbol.st_shndx >= object.sections().size()) {
      return Unlinkable(StrCat("function ", name, " is in no section"));
    }
    Part& part = PartOf(object, symbol.st_shndx);
    if (symbol.st_value >= part.contents().size() ||
        symbol.st_size > part.contents().size() - symbol.st_value) {
      return Unlinkable(StrCat("function ", name, " is outside its section"));
    }
    if (!exports_.try_emplace(name, Definition{&part, symbol}).second) {
      return Unlinkable(StrCat("two functions are called ", name));
    }
  }
  if (given != nullptr && exports_.size() == before) {
    return Unlinkable(StrCat("no function for the name ", *given));
  }
  return OkStatus();
}

StatusOr<Definition> Linker::Resolve(const ObjectFile& object,
                                     uint64_t number) {
  const Elf64_Sym& symbol = object.symbols()[number];
  const std::string_view name = object.NameOf(symbol);
  if (symbol.st_shndx == SHN_UNDEF) {
    const auto found = exports_.find(name);
    if (found != exports_.end()) return found->second;
    return Unlinkable(StrCat("nothing defines ", name));
  }
  if (symbol.st_shndx >= object.sections().size()) {
    return Unlinkable(StrCat(name, " is in no section"));
  }
  return Definition{&PartOf(object, symbol.st_shndx), symbol};
}

Status Linker::Mark() {
  std::vector<Part*> pending;
  for (const auto& [name, definition] : exports_) {
    if (!definition.part->is_code()) {
      return Unlinkable(StrCat("function ", name, " is not code"));
    }
    ENCORE_RETURN_IF_ERROR(MarkOne(definition.part, &pending));
  }
  while (!pending.empty()) {
    const Part* const part = pending.back();
    pending.pop_back();
    for (const Elf64_Rela& relocation : part->relocations()) {
      ENCORE_ASSIGN_OR_RETURN(
          const Definition target,
          Resolve(*part->object, ELF64_R_SYM(relocation.r_info)));
      ENCORE_RETURN_IF_ERROR(MarkOne(target.part, &pending));
      // Where in the section is then said by an addend that has other things in
      // it: the constant meant is not known.
      if (ELF64_ST_TYPE(target.symbol.st_info) == STT_SECTION) {
        target.part->constants = false;
      }
    }
  }
  return OkStatus();
}

Status Linker::MarkOne(Part* part, std::vector<Part*>* pending) {
  if (part->live) return OkStatus();
  const Elf64_Shdr& header = part->header();
  if (header.sh_type != SHT_PROGBITS || (header.sh_flags & SHF_ALLOC) == 0) {
    return Unlinkable(StrCat("a section of type ", header.sh_type));
  }
  if ((header.sh_flags & (SHF_WRITE | SHF_TLS)) != 0) {
    return Unlinkable("writable data");
  }
  if (header.sh_addralign > kPageBytes ||
      (header.sh_addralign != 0 && !std::has_single_bit(header.sh_addralign))) {
    return Unlinkable(StrCat("data aligned to ", header.sh_addralign));
  }
  part->live = true;
  part->constants = (header.sh_flags & SHF_MERGE) != 0 &&
                    (header.sh_flags & (SHF_STRINGS | SHF_EXECINSTR)) == 0 &&
                    std::has_single_bit(header.sh_entsize) &&
                    header.sh_addralign <= header.sh_entsize &&
                    header.sh_entsize <= kPageBytes &&
                    part->contents().size() % header.sh_entsize == 0 &&
                    part->relocations().empty();
  pending->push_back(part);
  return OkStatus();
}

void Linker::LayOutTables() {
  const uint64_t count = exports_.size();
  symbols_ = sizeof(Elf64_Ehdr) + kSegments * sizeof(Elf64_Phdr);
  dynamic_ = symbols_ + (count + 1) * sizeof(Elf64_Sym);
  hash_ = dynamic_ + kDynamicEntries * sizeof(Elf64_Dyn);
  names_ = hash_ + (2 + 2 * (count + 1)) * sizeof(uint32_t);
  names_bytes_ = 1;
  for (const auto& [name, definition] : exports_) {
    names_bytes_ += name.size() + 1;
  }
  end_ = names_ + names_bytes_;
}

// Each constant is aligned to its size.
void Linker::LayOutConstants(Part* part) {
  const std::string_view contents = part->contents();
  const uint64_t size = part->header().sh_entsize;
  for (uint64_t at = 0; at < contents.size(); at += size) {
    const uint64_t next = RoundUp(end_, size);
    const auto [constant, is_new] =
        constants_.emplace(contents.substr(at, size), next);
    if (is_new) end_ = next + size;
    part->addresses.push_back(constant->second);
  }
}

Status Linker::LayOut() {
  LayOutTables();
  // The largest constants first, which wastes nothing on their alignment; then
  // other data, then code.
  std::map<uint64_t, std::vector<Part*>, std::greater<>> constants;
  std::vector<Part*> data, code;
  for (std::vector<Part>& parts : parts_) {
    for (Part& part : parts) {
      if (!part.live) continue;
      if (part.constants) {
        constants[part.header().sh_entsize].push_back(&part);
      } else {
        (part.is_code() ? code : data).push_back(&part);
      }
    }
  }
  for (const auto& [size, parts] : constants) {
    for (Part* part : parts) LayOutConstants(part);
  }
  for (const auto* parts : {&data, &code}) {
    for (Part* part : *parts) {
      part->address =
          RoundUp(end_, std::max<uint64_t>(part->header().sh_addralign, 1));
      end_ = part->address + part->contents().size();
    }
  }
  if (end_ > kMaxImageBytes) return Unlinkable("more than 1 GiB");
  return OkStatus();
}

StatusOr<uint64_t> Linker::AddressOf(const Definition& definition) const {
  const Part& part = *definition.part;
  const uint64_t offset = definition.symbol.st_value;
  if (!part.constants) {
    if (offset <= part.contents().size()) return part.address + offset;
  } else if (const uint64_t size = part.header().sh_entsize;
             offset < part.contents().size()) {
    return part.addresses[offset / size] + offset % size;
  }
  return Unlinkable("a symbol outside its section");
}

Status Linker::Relocate(const Part& part) {
  for (const Elf64_Rela& relocation : part.relocations()) {
    const uint64_t type = ELF64_R_TYPE(relocation.r_info);
    if (type != R_X86_64_PC32 && type != R_X86_64_PLT32) {
      return Unlinkable(
          StrCat("a relocation of type ", type,
                 ", which is not relative to where the code lies"));
    }
    if (relocation.r_offset > part.contents().size() ||
        part.contents().size() - relocation.r_offset < sizeof(int32_t)) {
      return Unlinkable("a relocation outside its section");
    }
    ENCORE_ASSIGN_OR_RETURN(
        const Definition target,
        Resolve(*part.object, ELF64_R_SYM(relocation.r_info)));
    ENCORE_ASSIGN_OR_RETURN(const uint64_t address, AddressOf(target));
    const uint64_t from = part.address + relocation.r_offset;
    const auto distance = static_cast<int64_t>(
        address + static_cast<uint64_t>(relocation.r_addend) - from);
    if (distance != static_cast<int32_t>(distance)) {
      return Unlinkable("a distance of more than 2 GiB");
    }
    Put(from, static_cast<int32_t>(distance));
  }
  return OkStatus();
}

StatusOr<std::vector<std::byte>> Linker::Write() {
  image_.assign(end_, kFiller);
  for (const auto& [bytes, address] : constants_) {
    std::memcpy(image_.data() + address, bytes.data(), bytes.size());
  }
  for (const std::vector<Part>& parts : parts_) {
    for (const Part& part : parts) {
      if (!part.live || part.constants) continue;
      const std::string_view contents = part.contents();
      std::memcpy(image_.data() + part.address, contents.data(),
                  contents.size());
      ENCORE_RETURN_IF_ERROR(Relocate(part));
    }
  }
  WriteHeaders();
  WriteSymbols();
  return std::move(image_);
}

void Linker::WriteHeaders() {
  Elf64_Ehdr header = {};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_DYN;
  header.e_machine = EM_X86_64;
  header.e_version = EV_CURRENT;
  header.e_phoff = sizeof(Elf64_Ehdr);
  header.e_ehsize = sizeof(Elf64_Ehdr);
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = kSegments;
  Put(0, header);
  const uint64_t dynamic_bytes = kDynamicEntries * sizeof(Elf64_Dyn);
  const std::array<Elf64_Phdr, kSegments> segments = {
      Elf64_Phdr{PT_LOAD, PF_R | PF_X, 0, 0, 0, end_, end_, kPageBytes},
      Elf64_Phdr{PT_DYNAMIC, PF_R, dynamic_, dynamic_, dynamic_, dynamic_bytes,
                 dynamic_bytes, alignof(Elf64_Dyn)},
      Elf64_Phdr{PT_GNU_STACK, PF_R | PF_W, 0, 0, 0, 0, 0, 0}};
  Put(sizeof(Elf64_Ehdr), segments);
  const std::array<Elf64_Dyn, kDynamicEntries> dynamic = {
      Elf64_Dyn{DT_HASH, {hash_}},
      Elf64_Dyn{DT_SYMTAB, {symbols_}},
      Elf64_Dyn{DT_SYMENT, {sizeof(Elf64_Sym)}},
      Elf64_Dyn{DT_STRTAB, {names_}},
      Elf64_Dyn{DT_STRSZ, {names_bytes_}},
      Elf64_Dyn{DT_NULL, {0}}};
  Put(dynamic_, dynamic);
}

// The symbols with their names, and a bucket for each in the hash table.
void Linker::WriteSymbols() {
  Put(symbols_, Elf64_Sym{});
  Put(names_, '\0');
  const auto count = static_cast<uint32_t>(exports_.size() + 1);
  std::vector<uint32_t> buckets(count), chains(count);
  uint64_t name_end = names_ + 1;
  uint32_t number = 0;
  for (const auto& [name, definition] : exports_) {
    ++number;
    Elf64_Sym symbol = definition.symbol;
    symbol.st_name = static_cast<uint32_t>(name_end - names_);
    symbol.st_value += definition.part->address;
    symbol.st_shndx = 1;  // not undefined; there is no section table
    Put(symbols_ + number * sizeof(Elf64_Sym), symbol);
    std::memcpy(image_.data() + name_end, name.data(), name.size());
    Put(name_end + name.size(), '\0');
    name_end += name.size() + 1;
    uint32_t& bucket = buckets[ElfHash(name) % count];
    chains[number] = std::exchange(bucket, number);
  }
  Put(hash_, std::array<uint32_t, 2>{count, count});
  const uint64_t bytes = count * sizeof(uint32_t);
  const uint64_t tables = hash_ + 2 * sizeof(uint32_t);
  std::memcpy(image_.data() + tables, buckets.data(), bytes);
  std::memcpy(image_.data() + tables + bytes, chains.data(), bytes);
}

}  // namespace

StatusOr<std::vector<std::byte>> LinkImage(
    std::span<const std::string> objects) {
  return LinkImage(objects, {});
}

StatusOr<std::vector<std::byte>> LinkImage(std::span<const std::string> objects,
                                           std::span<const std::string> names) {
  ENCORE_CHECK(names.empty() || names.size() == objects.size());
  Linker linker;
  ENCORE_RETURN_IF_ERROR(linker.Read(objects, names));
  ENCORE_RETURN_IF_ERROR(linker.Mark());
  ENCORE_RETURN_IF_ERROR(linker.LayOut());
  return linker.Write();
}

}  // namespace encore::backends::cpu
