#include "encore/ir/support/staged_file.h"

#include <fcntl.h>
#include <sys/file.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <limits>
#include <memory>
#include <string_view>
#include <utility>

#include "encore/ir/support/check.h"
#include "encore/ir/support/descriptor.h"
#include "encore/ir/support/file_stamp.h"
#include "encore/ir/support/folders.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/support/system_calls.h"

namespace encore {
namespace {

// A staging file that RemoveStagedFiles removes.
struct Staged {
  const std::string path;
  Staged* next = nullptr;
};
// Whoever takes one out owns it.
std::array<std::atomic<Staged*>, 64> all_staged;
// Those that were removed: nothing may be freed where that is done.
std::atomic<Staged*> all_removed = nullptr;

// The place of `path` in all_staged; -1 where all are taken.
int Register(const std::string& path) {
  auto staged = std::make_unique<Staged>(path);
  for (size_t i = 0; i < all_staged.size(); ++i) {
    Staged* none = nullptr;
    if (all_staged[i].compare_exchange_strong(none, staged.get())) {
      (void)staged.release();
      return static_cast<int>(i);
    }
  }
  return -1;
}

void Unregister(int place) {
  if (place >= 0) delete all_staged[place].exchange(nullptr);
}

// How names of staging files for `target` begin.
std::string PrefixOf(const std::filesystem::path& target) {
  constexpr size_t kMostBytes = 200;  // names have 255 at most
  return "." + target.filename().string().substr(0, kMostBytes) + ".";
}

// A name that nobody else makes up: the process id would repeat in containers.
StatusOr<std::string> RandomName(std::string name) {
  uint64_t number = 0;
  if (sys::GetRandom(&number, sizeof(number), 0) != sizeof(number)) {
    return InternalError("there is no randomness");
  }
  constexpr char kDigits[] = "0123456789abcdef";
  for (int shift = 60; shift >= 0; shift -= 4) {
    name += kDigits[number >> shift & 15];
  }
  return name + std::string(StagedFile::kSuffix);
}

// Whether RandomName may have made the name. In a folder of staging files,
// where `prefix` is empty, all of them are; elsewhere files of others may be
// called alike but for the number.
bool IsStagedName(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix) || !name.ends_with(StagedFile::kSuffix)) {
    return false;
  }
  if (prefix.empty()) return true;
  constexpr size_t kDigits = 16;
  if (name.size() != prefix.size() + kDigits + StagedFile::kSuffix.size()) {
    return false;
  }
  return name.substr(prefix.size(), kDigits)
             .find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// Whether the open file is still the one that the path leads to.
StatusOr<bool> IsAt(int fd, const std::string& path) {
  struct stat mine, there;
  if (sys::FStat(fd, &mine) != 0) return WriteError(path, errno);
  if (sys::FStatAt(AT_FDCWD, path.c_str(), &there, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return false;
    return WriteError(path, errno);
  }
  return mine.st_dev == there.st_dev && mine.st_ino == there.st_ino;
}

// How often in a row somebody else may take a new file for dead. More often
// than once it is no accident, but a system whose every lock is taken.
constexpr int kMostTaken = 8;

// Locks a file for its writer. False where whoever looks for dead files has
// locked it before, and removes it, if not yet.
bool LockForWriter(int fd) {
  if (sys::FLock(fd, LOCK_EX | LOCK_NB) == 0) return true;
  // Without locks on this file system nobody removes it either.
  return errno != EWOULDBLOCK;
}

// Makes the entries of the folder that `path` lies in durable; errno, or 0.
// File systems that cannot do that say EINVAL.
int SyncFolderOf(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path();
  const Descriptor open(sys::OpenAt(AT_FDCWD,
                                    folder.empty() ? "." : folder.c_str(),
                                    O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0));
  // A folder may be closed to reading and open to writing.
  if (!open.is_open()) return errno == EACCES ? 0 : errno;
  if (sys::FSync(open.number()) == 0 || errno == EINVAL || errno == ENOTSUP) {
    return 0;
  }
  return errno;
}

// Whether the writer of an open file is dead. The lock goes with the
// descriptor.
bool IsDead(int fd, const std::string& path, int64_t abandoned_ns) {
  if (sys::FLock(fd, LOCK_EX | LOCK_NB) == 0) return true;
  if (errno == EWOULDBLOCK) return false;
  const auto stamp = StampOf(fd, path);
  return stamp.ok() && stamp->modified_ns < abandoned_ns;
}

// Of those whose names begin with `prefix`.
int RemoveDead(const std::string& folder, std::string_view prefix,
               int64_t abandoned_ns) {
  const auto names = ListFolder(folder);
  if (!names.ok()) return 0;
  int removed = 0;
  for (const std::string& name : *names) {
    if (!IsStagedName(name, prefix)) continue;
    const std::string path = folder + "/" + name;
    const Descriptor file(
        sys::OpenAt(AT_FDCWD, path.c_str(),
                    O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0));
    if (!file.is_open() || !IsDead(file.number(), path, abandoned_ns)) continue;
    const auto is_there = IsAt(file.number(), path);
    if (is_there.ok() && *is_there) removed += sys::Unlink(path.c_str()) == 0;
  }
  return removed;
}

}  // namespace

void RemoveStagedFiles() {
  for (auto& place : all_staged) {
    Staged* const staged = place.exchange(nullptr);
    if (staged == nullptr) continue;
    (void)sys::Unlink(staged->path.c_str());
    staged->next = all_removed.exchange(staged);
  }
}

Status WriteError(const std::string& path, int error) {
  std::string text = StrCat(path, ": ", std::strerror(error));
  switch (error) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return ResourceExhaustedError(std::move(text));
    case ENOENT:
    case ENOTDIR:
      return NotFoundError(std::move(text));
    default:
      return PermissionDeniedError(std::move(text));
  }
}

StagedFile::StagedFile(std::string path, std::string target,
                       std::string staging, int fd, int registered)
    : path_(std::move(path)),
      target_(std::move(target)),
      staging_(std::move(staging)),
      fd_(fd),
      registered_(registered) {}

StagedFile::StagedFile(StagedFile&& other) noexcept
    : path_(std::move(other.path_)),
      target_(std::move(other.target_)),
      staging_(std::move(other.staging_)),
      fd_(std::exchange(other.fd_, -1)),
      pending_(std::exchange(other.pending_, false)),
      synced_(other.synced_),
      has_synced_(other.has_synced_),
      registered_(std::exchange(other.registered_, -1)) {}

StagedFile::~StagedFile() {
  if (pending_ && !direct()) sys::Unlink(staging_.c_str());
  if (fd_ >= 0) sys::Close(fd_);
  Unregister(registered_);
}

StatusOr<StagedFile> StagedFile::Create(const std::string& path,
                                        const Options& options) {
  struct stat info;
  if (sys::FStatAt(AT_FDCWD, path.c_str(), &info, 0) != 0) {
    if (errno != ENOENT) return WriteError(path, errno);
  } else if (S_ISDIR(info.st_mode)) {
    return InvalidArgumentError(StrCat(path, ": a folder, expected a file"));
  } else if (!S_ISREG(info.st_mode)) {
    return StagedFile(path, path, path, -1, -1);
  }
  const std::string target = FollowLinks(path);
  const std::filesystem::path folder =
      options.folder.empty() ? std::filesystem::path(target).parent_path()
                             : std::filesystem::path(options.folder);
  // What writers that were killed left of this very file.
  if (options.folder.empty()) {
    RemoveDead(folder.empty() ? "." : folder.string(), PrefixOf(target),
               std::numeric_limits<int64_t>::min());
  }
  for (int taken = 0;;) {
    const auto name = RandomName(PrefixOf(target));
    if (!name.ok()) return Annotate(name.status(), path);
    std::string staging = (folder / *name).string();
    const int registered = Register(staging);
    const int fd = sys::OpenAt(AT_FDCWD, staging.c_str(),
                               O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                               static_cast<mode_t>(options.mode));
    if (fd < 0) {
      Status status = WriteError(path, errno);
      Unregister(registered);
      return status;
    }
    StagedFile file(path, target, std::move(staging), fd, registered);
    file.synced_ = options.synced;
    // Between its making and its lock somebody may have taken it for dead.
    if (!LockForWriter(fd) && ++taken < kMostTaken) continue;
    ENCORE_ASSIGN_OR_RETURN(const bool is_there, IsAt(fd, file.staging()));
    if (is_there) return file;
  }
}

Status StagedFile::Write(std::span<const std::byte> bytes) {
  has_synced_ = false;
  if (fd_ < 0) {
    fd_ = sys::OpenAt(AT_FDCWD, target_.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC,
                      0);
  }
  if (fd_ < 0) return WriteError(path_, errno);
  while (!bytes.empty()) {
    const ssize_t written = sys::Write(fd_, bytes.data(), bytes.size());
    if (written < 0) return WriteError(path_, errno);
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return OkStatus();
}

Status StagedFile::Sync() {
  if (!synced_ || has_synced_ || direct()) return OkStatus();
  if (sys::FSync(fd_) != 0) return WriteError(path_, errno);
  has_synced_ = true;
  return OkStatus();
}

Status StagedFile::Commit() {
  ENCORE_CHECK(pending_) << "committed twice";
  if (!direct()) {
    ENCORE_RETURN_IF_ERROR(Sync());
    if (sys::Rename(staging_.c_str(), target_.c_str()) != 0) {
      return WriteError(path_, errno);
    }
    pending_ = false;
    if (const int error = synced_ ? SyncFolderOf(target_) : 0) {
      return WriteError(path_, error);
    }
  }
  pending_ = false;
  // The last chance of some file systems to say that a write went wrong.
  if (fd_ >= 0 && sys::Close(std::exchange(fd_, -1)) != 0 && errno != EINTR) {
    return WriteError(path_, errno);
  }
  return OkStatus();
}

int RemoveDeadStagedFiles(const std::string& folder, int64_t abandoned_ns) {
  return RemoveDead(folder, "", abandoned_ns);
}

Status WriteWholeFile(const std::string& path, std::string_view bytes) {
  ENCORE_ASSIGN_OR_RETURN(StagedFile file, StagedFile::Create(path));
  ENCORE_RETURN_IF_ERROR(file.Write(std::as_bytes(std::span(bytes))));
  return file.Commit();
}

}  // namespace encore
