// What tells a shared library's code from another's, read from its file without
// loading it: a few system calls and microseconds.
#ifndef ENCORE_BACKENDS_CPU_ELF_LIBRARY_FILE_H_
#define ENCORE_BACKENDS_CPU_ELF_LIBRARY_FILE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace encore::backends::cpu {

struct ElfNote {
  std::string owner;
  uint32_t type = 0;
  std::string bytes;
};

struct LibraryFile {
  // The GNU build id in hexadecimal, which linkers make of the contents. Where
  // the file has none, its size and the time of its last change: another file
  // of the same contents is then another library, never the other way round.
  // "unreadable" where it cannot be read or is no regular file.
  std::string id;
  std::vector<ElfNote> notes;

  // The text of the first such note; empty where there is none.
  std::string_view Note(std::string_view owner, uint32_t type) const;
};

// Reads no more than some pages, whatever is in the file, and does not wait
// where the path is a pipe. Thread-safe.
LibraryFile ReadLibraryFile(const std::string& path);

}  // namespace encore::backends::cpu

#endif  // ENCORE_BACKENDS_CPU_ELF_LIBRARY_FILE_H_
