#include "encore/backends/cpu/image.h"

#include <elf.h>

#include <cerrno>
#include <cstring>

#include "encore/backends/cpu/elf/elf_bytes.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/support/system_calls.h"
#include "xxhash.h"

namespace encore::backends::cpu {

// Where things lie; all tables are within the bytes.
struct ImageLayout {
  uint64_t code_end = 0;  // the one executable segment is [0, code_end)
  uint64_t dynamic = 0, dynamic_size = 0;
  uint64_t symbols = 0, symbol_count = 0;
  uint64_t strings = 0;
  uint64_t buckets = 0, bucket_count = 0;
  uint64_t chains = 0;  // a number for each symbol
};

namespace {

constexpr size_t kMaxImageBytes = size_t{1} << 30;

Status Bad(std::string_view what) {
  return DataLossError(StrCat("not an image of generated code: ", what));
}

Status CheckHeader(const ElfBytes& reader) {
  const auto header = reader.Header();
  if (!header || header->e_type != ET_DYN) {
    return Bad("no shared object for x86-64");
  }
  if (header->e_phentsize != sizeof(Elf64_Phdr) ||
      !reader.ContainsTable(header->e_phoff, header->e_phnum,
                            sizeof(Elf64_Phdr))) {
    return Bad("program headers outside the file");
  }
  return OkStatus();
}

Status ReadSegments(const ElfBytes& reader, ImageLayout* layout) {
  const auto header = reader.At<Elf64_Ehdr>(0);
  for (uint64_t i = 0; i < header.e_phnum; ++i) {
    const auto segment =
        reader.At<Elf64_Phdr>(header.e_phoff + i * sizeof(Elf64_Phdr));
    switch (segment.p_type) {
      case PT_LOAD:
        if (layout->code_end != 0) return Bad("more than one segment");
        if (segment.p_flags != (PF_R | PF_X)) {
          return Bad("a segment that is not read and execute");
        }
        if (segment.p_offset != 0 || segment.p_vaddr != 0 ||
            segment.p_filesz != segment.p_memsz || segment.p_filesz == 0 ||
            segment.p_filesz > reader.size()) {
          return Bad("a segment that is not the file's beginning");
        }
        layout->code_end = segment.p_filesz;
        break;
      case PT_DYNAMIC:
        layout->dynamic = segment.p_offset;
        layout->dynamic_size = segment.p_filesz;
        break;
      case PT_PHDR:
      case PT_GNU_STACK:
      case PT_NULL:
        break;
      default:
        return Bad(StrCat("a segment of type ", segment.p_type));
    }
  }
  if (layout->code_end == 0) return Bad("no segment");
  if (layout->dynamic_size == 0 ||
      !reader.Contains(layout->dynamic, layout->dynamic_size)) {
    return Bad("no dynamic section within the file");
  }
  return OkStatus();
}

// Which says how many symbols there are.
Status ReadHashTable(const ElfBytes& reader, uint64_t hash,
                     ImageLayout* layout) {
  constexpr uint64_t kWord = sizeof(uint32_t);
  if (!reader.Contains(hash, 2 * kWord) || hash == 0) {
    return Bad("no symbol hash table");
  }
  layout->bucket_count = reader.At<uint32_t>(hash);
  layout->symbol_count = reader.At<uint32_t>(hash + kWord);
  layout->buckets = hash + 2 * kWord;
  layout->chains = layout->buckets + layout->bucket_count * kWord;
  if (!reader.ContainsTable(layout->buckets,
                            layout->bucket_count + layout->symbol_count,
                            kWord)) {
    return Bad("a symbol hash table outside the file");
  }
  if (!reader.ContainsTable(layout->symbols, layout->symbol_count,
                            sizeof(Elf64_Sym))) {
    return Bad("symbols outside the file");
  }
  if (layout->strings >= reader.size()) return Bad("names outside the file");
  return OkStatus();
}

Status ReadDynamic(const ElfBytes& reader, ImageLayout* layout) {
  uint64_t hash = 0;
  for (uint64_t at = 0; at + sizeof(Elf64_Dyn) <= layout->dynamic_size;
       at += sizeof(Elf64_Dyn)) {
    const auto entry = reader.At<Elf64_Dyn>(layout->dynamic + at);
    if (entry.d_tag == DT_NULL) break;
    switch (entry.d_tag) {
      case DT_SYMTAB:
        layout->symbols = entry.d_un.d_ptr;
        break;
      case DT_STRTAB:
        layout->strings = entry.d_un.d_ptr;
        break;
      case DT_HASH:
        hash = entry.d_un.d_ptr;
        break;
      case DT_SYMENT:
        if (entry.d_un.d_val != sizeof(Elf64_Sym)) return Bad("symbol size");
        break;
      case DT_STRSZ:
      case DT_FLAGS:
        break;
      default:
        // Needed libraries, relocations, initializers: nobody would act on
        // them.
        return Bad(StrCat("a dynamic entry of type ", entry.d_tag));
    }
  }
  return ReadHashTable(reader, hash, layout);
}

// What a symbol is called, once it is known to be a function in the code.
StatusOr<std::string_view> CheckSymbol(const ElfBytes& reader,
                                       const ImageLayout& layout,
                                       const Elf64_Sym& symbol) {
  if (symbol.st_shndx == SHN_UNDEF) return Bad("an undefined symbol");
  if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC) {
    return Bad("a symbol that is no function");
  }
  if (symbol.st_value < sizeof(Elf64_Ehdr) ||
      symbol.st_value >= layout.code_end ||
      symbol.st_size > layout.code_end - symbol.st_value) {
    return Bad("a function outside the code");
  }
  const auto name = reader.Text(layout.strings + uint64_t{symbol.st_name});
  if (!name) return Bad("a name outside the file");
  return *name;
}

StatusOr<ImageLayout> ReadLayout(const ElfBytes& reader) {
  if (reader.size() > kMaxImageBytes) return Bad("too long");
  ENCORE_RETURN_IF_ERROR(CheckHeader(reader));
  ImageLayout layout;
  ENCORE_RETURN_IF_ERROR(ReadSegments(reader, &layout));
  ENCORE_RETURN_IF_ERROR(ReadDynamic(reader, &layout));
  for (uint64_t i = 1; i < layout.symbol_count; ++i) {
    const auto symbol =
        reader.At<Elf64_Sym>(layout.symbols + i * sizeof(Elf64_Sym));
    ENCORE_RETURN_IF_ERROR(CheckSymbol(reader, layout, symbol).status());
  }
  return layout;
}

// The offset of the function `name`; 0 where there is none. REQUIRES the bytes
// that the layout was read from.
uint64_t FindFunction(const ElfBytes& reader, const ImageLayout& layout,
                      std::string_view name) {
  if (layout.bucket_count == 0) return 0;
  uint64_t at =
      layout.buckets + ElfHash(name) % layout.bucket_count * sizeof(uint32_t);
  // A chain may lead round in a circle.
  for (uint64_t steps = 0; steps < layout.symbol_count; ++steps) {
    const auto number = reader.At<uint32_t>(at);
    if (number == STN_UNDEF || number >= layout.symbol_count) return 0;
    const auto symbol =
        reader.At<Elf64_Sym>(layout.symbols + number * sizeof(Elf64_Sym));
    if (reader.Text(layout.strings + uint64_t{symbol.st_name}) == name) {
      return symbol.st_value;
    }
    at = layout.chains + number * sizeof(uint32_t);
  }
  return 0;
}

}  // namespace

uint64_t ImageDigest(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

Image::Image(std::byte* data, size_t size) : data_(data), size_(size) {}

Image::~Image() { sys::MUnmap(data_, size_); }

Status Image::Verify(std::span<const std::byte> bytes) {
  return ReadLayout(ElfBytes(bytes)).status();
}

StatusOr<std::shared_ptr<const Image>> Image::Load(
    std::span<const std::byte> bytes, std::optional<uint64_t> digest) {
  if (bytes.empty() || bytes.size() > kMaxImageBytes) return Bad("its size");
  const auto no_memory = [&] {
    return ResourceExhaustedError(
        StrCat("no memory for ", bytes.size(),
               " bytes of generated code: ", std::strerror(errno)));
  };
  void* data = sys::MMap(nullptr, bytes.size(), PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) return no_memory();
  const std::shared_ptr<Image> image(
      new Image(static_cast<std::byte*>(data), bytes.size()));
  std::memcpy(data, bytes.data(), bytes.size());
  const std::span<const std::byte> copy(image->data_, image->size_);
  if (digest && ImageDigest(copy) != *digest) {
    return DataLossError("generated code has changed since it was compiled");
  }
  ENCORE_ASSIGN_OR_RETURN(ImageLayout layout, ReadLayout(ElfBytes(copy)));
  image->layout_ = std::make_unique<const ImageLayout>(layout);
  if (sys::MProtect(data, bytes.size(), PROT_READ | PROT_EXEC) != 0) {
    if (errno == ENOMEM) return no_memory();
    return FailedPreconditionError(
        StrCat("the system does not let generated code run (mprotect): ",
               std::strerror(errno)));
  }
  return image;
}

const void* Image::Find(std::string_view name) const {
  const uint64_t offset =
      FindFunction(ElfBytes({data_, size_}), *layout_, name);
  return offset == 0 ? nullptr : data_ + offset;
}

}  // namespace encore::backends::cpu
