#include "encore/backends/cpu/elf/library_file.h"

#include <elf.h>
#include <fcntl.h>

#include <algorithm>
#include <cstddef>
#include <span>

#include "encore/backends/cpu/elf/elf_bytes.h"
#include "encore/ir/support/descriptor.h"
#include "encore/ir/support/integers.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/support/system_calls.h"

namespace encore::backends::cpu {
namespace {

// Header, program headers and the build id are usually within the first page.
constexpr size_t kHeadBytes = 4096;
constexpr size_t kMaxSegments = 64;
constexpr size_t kMaxNoteBytes = 64 << 10;

// As many of `size` bytes at `offset` as there are.
std::vector<std::byte> ReadAt(const Descriptor& file, uint64_t offset,
                              size_t size) {
  std::vector<std::byte> bytes(size);
  size_t filled = 0;
  while (filled < size) {
    const ssize_t got =
        sys::PRead(file.number(), bytes.data() + filled, size - filled,
                   static_cast<off_t>(offset + filled));
    if (got <= 0) break;
    filled += static_cast<size_t>(got);
  }
  bytes.resize(filled);
  return bytes;
}

// One range of a file, of which the beginning has been read.
std::vector<std::byte> Range(const Descriptor& file,
                             const std::vector<std::byte>& head,
                             uint64_t offset, size_t size) {
  if (!ElfBytes(head).Contains(offset, size)) return ReadAt(file, offset, size);
  const auto begin = head.begin() + static_cast<ptrdiff_t>(offset);
  return {begin, begin + static_cast<ptrdiff_t>(size)};
}

void ReadNotes(const ElfBytes& bytes, uint64_t alignment,
               std::vector<ElfNote>* notes) {
  const auto round_up = [alignment](uint64_t value) {
    return RoundUp(value, alignment);
  };
  uint64_t at = 0;
  while (bytes.Contains(at, sizeof(Elf64_Nhdr))) {
    const auto header = bytes.At<Elf64_Nhdr>(at);
    const uint64_t owner = at + sizeof(Elf64_Nhdr);
    const uint64_t text = round_up(owner + header.n_namesz);
    if (!bytes.Contains(owner, header.n_namesz) ||
        !bytes.Contains(text, header.n_descsz)) {
      return;
    }
    std::string_view name = bytes.Text(owner, header.n_namesz);
    if (name.ends_with('\0')) name.remove_suffix(1);
    notes->push_back({std::string(name), header.n_type,
                      std::string(bytes.Text(text, header.n_descsz))});
    at = round_up(text + header.n_descsz);
  }
}

std::vector<ElfNote> AllNotes(const Descriptor& file) {
  std::vector<ElfNote> notes;
  const std::vector<std::byte> head = ReadAt(file, 0, kHeadBytes);
  const auto header = ElfBytes(head).Header();
  if (!header || header->e_phentsize != sizeof(Elf64_Phdr) ||
      header->e_phnum > kMaxSegments) {
    return notes;
  }
  const size_t table_bytes = header->e_phnum * sizeof(Elf64_Phdr);
  const std::vector<std::byte> table =
      Range(file, head, header->e_phoff, table_bytes);
  const ElfBytes segments(table);
  for (uint64_t at = 0; segments.Contains(at, sizeof(Elf64_Phdr));
       at += sizeof(Elf64_Phdr)) {
    const auto segment = segments.At<Elf64_Phdr>(at);
    if (segment.p_type != PT_NOTE || segment.p_filesz > kMaxNoteBytes) continue;
    const std::vector<std::byte> bytes =
        Range(file, head, segment.p_offset, segment.p_filesz);
    ReadNotes(ElfBytes(bytes), segment.p_align == 8 ? 8 : 4, &notes);
  }
  return notes;
}

std::string InHexadecimal(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text += {kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return text;
}

}  // namespace

std::string_view LibraryFile::Note(std::string_view owner,
                                   uint32_t type) const {
  const auto found =
      std::find_if(notes.begin(), notes.end(), [&](const ElfNote& note) {
        return note.owner == owner && note.type == type;
      });
  if (found == notes.end()) return {};
  const std::string_view text = found->bytes;
  return text.substr(0, text.find('\0'));
}

LibraryFile ReadLibraryFile(const std::string& path) {
  const Descriptor file(sys::OpenAt(
      AT_FDCWD, path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0));
  struct stat info;
  if (!file.is_open() || sys::FStat(file.number(), &info) != 0 ||
      !S_ISREG(info.st_mode)) {
    return {"unreadable", {}};
  }
  LibraryFile library = {"", AllNotes(file)};
  for (const ElfNote& note : library.notes) {
    if (note.owner != ELF_NOTE_GNU || note.type != NT_GNU_BUILD_ID) continue;
    library.id = InHexadecimal(note.bytes);
  }
  if (library.id.empty()) {
    library.id = StrCat(info.st_size, "-", info.st_mtim.tv_sec, ".",
                        info.st_mtim.tv_nsec);
  }
  return library;
}

}  // namespace encore::backends::cpu
