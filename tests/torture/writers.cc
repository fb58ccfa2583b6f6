#include "encore/tests/torture/writers.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <optional>

#include "encore/ir/support/check.h"
#include "encore/ir/support/strings.h"

namespace encore::torture {
namespace {

namespace fs = std::filesystem;

// Writes all of a file, made where it is not there; with the time of
// modification that is given.
void WriteAll(const std::string& path, std::string_view bytes,
              std::optional<timespec> time) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  ENCORE_CHECK(fd >= 0) << path;
  const ssize_t written = pwrite(fd, bytes.data(), bytes.size(), 0);
  ENCORE_CHECK(written == static_cast<ssize_t>(bytes.size())) << path;
  if (time) {
    const timespec times[2] = {{0, UTIME_OMIT}, *time};
    ENCORE_CHECK(futimens(fd, times) == 0) << path;
  }
  ENCORE_CHECK(fsync(fd) == 0) << path;
  close(fd);
}

timespec TimeOf(const std::string& path) {
  struct stat info;
  ENCORE_CHECK(stat(path.c_str(), &info) == 0) << path;
  return info.st_mtim;
}

}  // namespace

std::string_view Name(Way way) {
  constexpr std::string_view kNames[] = {"Rename", "RenameTimes", "Link",
                                         "InPlace", "InPlaceTimes"};
  return kNames[static_cast<size_t>(way)];
}

bool IsInPlace(Way way) {
  return way == Way::kInPlace || way == Way::kInPlaceTimes;
}

void Replace(const std::string& path, std::string_view bytes, Way way) {
  std::optional<timespec> time;
  if (way == Way::kRenameTimes || way == Way::kInPlaceTimes) {
    time = TimeOf(path);
  }
  if (IsInPlace(way)) {
    // A reader that has the file mapped may not lose a page of it.
    ENCORE_CHECK(fs::file_size(path) == bytes.size()) << path;
    WriteAll(path, bytes, time);
    return;
  }
  const std::string staged = path + ".new";
  WriteAll(staged, bytes, time);
  if (way == Way::kLink) {
    // Of these there is one for each change, since somebody may be about to
    // open any of them.
    static int number = 0;
    const std::string target = StrCat(path, ".", ++number);
    fs::rename(staged, target);
    fs::create_symlink(fs::path(target).filename(), staged);
  }
  fs::rename(staged, path);
}

}  // namespace encore::torture
