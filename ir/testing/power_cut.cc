#include "encore/ir/testing/power_cut.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <random>
#include <ranges>
#include <system_error>
#include <utility>

#include "encore/ir/support/strings.h"

namespace encore {
namespace {

namespace fs = std::filesystem;

bool Writes(SystemCall call) {
  switch (call) {
    case SystemCall::kWrite:
    case SystemCall::kFSync:
    case SystemCall::kRename:
    case SystemCall::kUnlink:
    case SystemCall::kMkDir:
    case SystemCall::kUTimeNsAt:
      return true;
    default:
      return false;
  }
}

// Leaves the first `safe` bytes of the file as they are; what follows is kept,
// zero or cut off.
void LoseBytes(const std::string& path, off_t safe, std::mt19937_64& random) {
  std::error_code error;
  const auto size = static_cast<off_t>(fs::file_size(path, error));
  if (error || size <= safe) return;
  const auto kept =
      safe +
      static_cast<off_t>(random() % static_cast<uint64_t>(size - safe + 1));
  fs::resize_file(path, static_cast<uintmax_t>(kept), error);
  if (random() % 2 == 0)
    fs::resize_file(path, static_cast<uintmax_t>(size), error);
}

}  // namespace

void PowerCut::CutAt(uint64_t number) {
  const std::lock_guard lock(mutex_);
  calls_ = 0;
  cut_ = number;
}

uint64_t PowerCut::calls() const {
  const std::lock_guard lock(mutex_);
  return calls_;
}

int PowerCut::Before(SystemCall call) {
  const std::lock_guard lock(mutex_);
  ++calls_;
  return Cut() && Writes(call) ? EIO : 0;
}

bool PowerCut::Cut() { return cut_ && calls_ > *cut_; }

void PowerCut::Note(const std::string& path, std::optional<std::string> from) {
  Change change{fs::path(path).parent_path(), path, std::nullopt,
                std::move(from)};
  std::error_code error;
  if (fs::is_regular_file(fs::symlink_status(path, error))) {
    std::string copy = StrCat(folder_, "/", copies_++);
    fs::create_hard_link(path, copy, error);
    if (!error) change.was = std::move(copy);
  }
  changes_.push_back(std::move(change));
}

int PowerCut::OpenAt(int folder, const char* path, int flags, mode_t mode) {
  {
    const std::lock_guard lock(mutex_);
    if (Cut() && (flags & (O_CREAT | O_TRUNC)) != 0) {
      ++calls_;
      errno = EIO;
      return -1;
    }
    if ((flags & O_CREAT) != 0 && !fs::exists(path)) Note(path, std::nullopt);
  }
  const int fd = WatchedSystem::OpenAt(folder, path, flags, mode);
  if (fd >= 0) {
    const std::lock_guard lock(mutex_);
    open_[fd] = path;
  }
  return fd;
}

int PowerCut::Close(int fd) {
  {
    const std::lock_guard lock(mutex_);
    open_.erase(fd);
  }
  return WatchedSystem::Close(fd);
}

ssize_t PowerCut::Write(int fd, const void* data, size_t size) {
  {
    const std::lock_guard lock(mutex_);
    struct stat info;
    if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) &&
        !kept_.contains(info.st_ino)) {
      const std::string link = StrCat(folder_, "/", copies_++);
      std::error_code error;
      fs::create_hard_link(open_[fd], link, error);
      if (!error) kept_[info.st_ino] = link;
      synced_.emplace(info.st_ino, 0);
    }
  }
  return WatchedSystem::Write(fd, data, size);
}

int PowerCut::FSync(int fd) {
  const int result = WatchedSystem::FSync(fd);
  if (result != 0) return result;
  const std::lock_guard lock(mutex_);
  struct stat info;
  if (fstat(fd, &info) != 0) return result;
  if (S_ISDIR(info.st_mode)) {
    const std::string& folder = open_[fd];
    std::erase_if(changes_,
                  [&](const Change& c) { return c.folder == folder; });
  } else {
    synced_[info.st_ino] = info.st_size;
  }
  return result;
}

int PowerCut::Rename(const char* from, const char* to) {
  {
    const std::lock_guard lock(mutex_);
    if (!Cut()) Note(to, from);
  }
  return WatchedSystem::Rename(from, to);
}

int PowerCut::Unlink(const char* path) {
  {
    const std::lock_guard lock(mutex_);
    if (!Cut()) Note(path, std::nullopt);
  }
  return WatchedSystem::Unlink(path);
}

int PowerCut::MkDir(const char* path, mode_t mode) {
  {
    const std::lock_guard lock(mutex_);
    if (!Cut() && !fs::exists(path)) Note(path, std::nullopt);
  }
  return WatchedSystem::MkDir(path, mode);
}

void PowerCut::Undo(const Change& change) {
  std::error_code error;
  if (change.from && fs::exists(change.name) && !fs::exists(*change.from)) {
    fs::rename(change.name, *change.from, error);
  } else if (!change.was || fs::exists(change.name)) {
    fs::remove_all(change.name, error);
  }
  if (change.was) fs::create_hard_link(*change.was, change.name, error);
}

void PowerCut::Lose(uint64_t seed) {
  std::mt19937_64 random(seed);
  const std::lock_guard lock(mutex_);
  for (const auto& [number, link] : kept_) {
    LoseBytes(link, synced_[number], random);
  }
  for (const Change& change : changes_ | std::views::reverse) {
    if (random() % 2 == 0) Undo(change);
  }
}

}  // namespace encore
