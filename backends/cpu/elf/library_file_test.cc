#include "encore/backends/cpu/elf/library_file.h"

#include <elf.h>
#include <sys/stat.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "encore/ir/support/strings.h"
#include "gtest/gtest.h"

namespace encore::backends::cpu {
namespace {

namespace fs = std::filesystem;

std::string Write(const std::string& name, const std::string& bytes) {
  std::string path = testing::TempDir() + "/" + name;
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

template <typename T>
void Append(const T& value, std::string* bytes) {
  bytes->append(reinterpret_cast<const char*>(&value), sizeof(T));
}

std::string Note(std::string_view owner, uint32_t type, std::string_view text) {
  std::string bytes;
  Append(Elf64_Nhdr{static_cast<uint32_t>(owner.size() + 1),
                    static_cast<uint32_t>(text.size()), type},
         &bytes);
  bytes.append(owner).append(1 + (3 - owner.size() % 4), '\0');
  return bytes.append(text).append((4 - text.size() % 4) % 4, '\0');
}

// An ELF file that has one segment, of notes, at `offset`.
std::string Library(const std::string& notes, uint64_t offset) {
  Elf64_Ehdr header = {};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_machine = EM_X86_64;
  header.e_phoff = sizeof(header);
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = 1;
  Elf64_Phdr segment = {};
  segment.p_type = PT_NOTE;
  segment.p_offset = offset;
  segment.p_filesz = notes.size();
  segment.p_align = 4;
  std::string bytes;
  Append(header, &bytes);
  Append(segment, &bytes);
  bytes.resize(offset);
  return bytes + notes;
}

const std::string kNotes = Note("Other", NT_GNU_BUILD_ID, "no") +
                           Note("GNU", NT_GNU_BUILD_ID, "\x01\xab\xff") +
                           Note("Encore", 1, std::string("19.1.7\0", 7));

TEST(LibraryFile, TheBuildIdIsReadWhereverItLies) {
  for (const uint64_t offset : {200, 4090, 100'000}) {
    const LibraryFile file = ReadLibraryFile(
        Write(StrCat("library", offset), Library(kNotes, offset)));
    EXPECT_EQ(file.id, "01abff") << offset;
    EXPECT_EQ(file.Note("Encore", 1), "19.1.7");
    EXPECT_EQ(file.Note("Encore", 2), "");
  }
}

// What the test itself is linked to: the system's linker made it.
TEST(LibraryFile, TheSystemsLibrariesHaveOne) {
  const LibraryFile file = ReadLibraryFile("/lib/x86_64-linux-gnu/libc.so.6");
  EXPECT_EQ(file.id.size(), 40) << file.id;
  EXPECT_EQ(file.id.find_first_not_of("0123456789abcdef"), std::string::npos);
}

// A file without one is known by what changes when it is written.
TEST(LibraryFile, WithoutABuildIdTheFilesTimeAndSizeStandForIt) {
  const std::string path = Write("plain", "no ELF at all");
  const std::string id = ReadLibraryFile(path).id;
  EXPECT_EQ(ReadLibraryFile(path).id, id);
  const auto time = fs::last_write_time(path);
  fs::last_write_time(path, time + std::chrono::nanoseconds(1000));
  EXPECT_NE(ReadLibraryFile(path).id, id);
  Write("plain", "no ELF at all!");
  fs::last_write_time(path, time);
  EXPECT_NE(ReadLibraryFile(path).id, id);
}

TEST(LibraryFile, WhatIsNoReadableFileIsSaidAndNotWaitedFor) {
  const std::string pipe = testing::TempDir() + "/pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(ReadLibraryFile(pipe).id, "unreadable");
  EXPECT_EQ(ReadLibraryFile(testing::TempDir()).id, "unreadable");
  EXPECT_EQ(ReadLibraryFile("/nowhere").id, "unreadable");
}

// Whatever a flipped bit or a cut does, reading ends within its bounds.
TEST(LibraryFile, HostileBytesAreBounded) {
  const std::string bytes = Library(kNotes, 120);
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string mutant = bytes;
    mutant[bit / 8] = static_cast<char>(mutant[bit / 8] ^ 1 << bit % 8);
    EXPECT_FALSE(ReadLibraryFile(Write("mutant", mutant)).id.empty());
  }
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(
        ReadLibraryFile(Write("cut", bytes.substr(0, size))).id.empty());
  }
}

}  // namespace
}  // namespace encore::backends::cpu
