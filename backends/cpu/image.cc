#include "encore/backends/cpu/image.h"

#include <elf.h>
#include <sys/mman.h>

#include <cstring>

#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "xxhash.h"

namespace encore::backends::cpu {
namespace {

constexpr size_t kMaxImageBytes = size_t{1} << 30;

Status Bad(std::string_view what) {
  return DataLossError(StrCat("not an image of generated code: ", what));
}

// Reads fixed-size records out of bytes of unknown origin.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  size_t size() const { return bytes_.size(); }
  bool Contains(uint64_t offset, uint64_t size) const {
    return offset <= bytes_.size() && size <= bytes_.size() - offset;
  }
  // REQUIRES that the record lies within.
  template <typename T>
  T At(uint64_t offset) const {
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof(T));
    return value;
  }
  // The zero-terminated text at `offset`; nothing where it does not end.
  std::optional<std::string_view> Text(uint64_t offset) const {
    if (offset >= bytes_.size()) return std::nullopt;
    const char* begin = reinterpret_cast<const char*>(bytes_.data()) + offset;
    const size_t limit = bytes_.size() - offset;
    const void* end = std::memchr(begin, 0, limit);
    if (end == nullptr) return std::nullopt;
    return std::string_view(begin, static_cast<const char*>(end) - begin);
  }

 private:
  std::span<const std::byte> bytes_;
};

// Where things lie; all tables are within the bytes.
struct Layout {
  uint64_t code_end = 0;  // the one executable segment is [0, code_end)
  uint64_t dynamic = 0, dynamic_size = 0;
  uint64_t symbols = 0, symbol_count = 0;
  uint64_t strings = 0;
};

Status CheckHeader(const Reader& reader) {
  if (!reader.Contains(0, sizeof(Elf64_Ehdr))) return Bad("too short");
  const auto header = reader.At<Elf64_Ehdr>(0);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return Bad("no ELF");
  if (header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_ident[EI_DATA] != ELFDATA2LSB || header.e_machine != EM_X86_64 ||
      header.e_type != ET_DYN) {
    return Bad("not a shared object for x86-64");
  }
  if (header.e_phentsize != sizeof(Elf64_Phdr) ||
      !reader.Contains(header.e_phoff,
                       uint64_t{header.e_phnum} * sizeof(Elf64_Phdr))) {
    return Bad("program headers outside the file");
  }
  return OkStatus();
}

Status ReadSegments(const Reader& reader, Layout* layout) {
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

Status ReadDynamic(const Reader& reader, Layout* layout) {
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
  if (!reader.Contains(hash, 2 * sizeof(uint32_t)) || hash == 0) {
    return Bad("no symbol hash table");
  }
  layout->symbol_count = reader.At<uint32_t>(hash + sizeof(uint32_t));
  if (!reader.Contains(layout->symbols,
                       layout->symbol_count * sizeof(Elf64_Sym))) {
    return Bad("symbols outside the file");
  }
  if (layout->strings >= reader.size()) return Bad("names outside the file");
  return OkStatus();
}

// What a symbol is called, once it is known to be a function in the code.
StatusOr<std::string_view> CheckSymbol(const Reader& reader,
                                       const Layout& layout,
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

StatusOr<Layout> ReadLayout(const Reader& reader) {
  if (reader.size() > kMaxImageBytes) return Bad("too long");
  ENCORE_RETURN_IF_ERROR(CheckHeader(reader));
  Layout layout;
  ENCORE_RETURN_IF_ERROR(ReadSegments(reader, &layout));
  ENCORE_RETURN_IF_ERROR(ReadDynamic(reader, &layout));
  for (uint64_t i = 1; i < layout.symbol_count; ++i) {
    const auto symbol =
        reader.At<Elf64_Sym>(layout.symbols + i * sizeof(Elf64_Sym));
    ENCORE_RETURN_IF_ERROR(CheckSymbol(reader, layout, symbol).status());
  }
  return layout;
}

}  // namespace

uint64_t ImageDigest(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

Status Image::Verify(std::span<const std::byte> bytes) {
  return ReadLayout(Reader(bytes)).status();
}

StatusOr<std::shared_ptr<const Image>> Image::Load(
    std::span<const std::byte> bytes, std::optional<uint64_t> digest) {
  if (bytes.empty() || bytes.size() > kMaxImageBytes) return Bad("its size");
  void* data = mmap(nullptr, bytes.size(), PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) {
    return ResourceExhaustedError("no memory for generated code");
  }
  const std::shared_ptr<const Image> image(
      new Image(static_cast<std::byte*>(data), bytes.size()));
  std::memcpy(data, bytes.data(), bytes.size());
  const std::span<const std::byte> copy(image->data_, image->size_);
  if (digest && ImageDigest(copy) != *digest) {
    return DataLossError("generated code has changed since it was compiled");
  }
  ENCORE_RETURN_IF_ERROR(Verify(copy));
  if (mprotect(data, bytes.size(), PROT_READ | PROT_EXEC) != 0) {
    return FailedPreconditionError(
        "the system does not let generated code run (mprotect)");
  }
  return image;
}

Image::~Image() { munmap(data_, size_); }

const void* Image::Find(std::string_view name) const {
  const Reader reader({data_, size_});
  const StatusOr<Layout> layout = ReadLayout(reader);
  if (!layout.ok()) return nullptr;
  for (uint64_t i = 1; i < layout->symbol_count; ++i) {
    const auto symbol =
        reader.At<Elf64_Sym>(layout->symbols + i * sizeof(Elf64_Sym));
    if (reader.Text(layout->strings + uint64_t{symbol.st_name}) == name) {
      return data_ + symbol.st_value;
    }
  }
  return nullptr;
}

}  // namespace encore::backends::cpu
