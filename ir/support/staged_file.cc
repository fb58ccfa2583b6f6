#include "encore/ir/support/staged_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

#include "encore/ir/support/check.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore {
namespace {

// The path with symbolic links resolved, also where the last one leads to
// nothing yet.
std::string Resolve(const std::string& path) {
  constexpr int kMaxLinks = 40;
  std::filesystem::path resolved = path;
  std::error_code error;
  for (int i = 0; i < kMaxLinks; ++i) {
    const auto link = std::filesystem::read_symlink(resolved, error);
    if (error) break;
    resolved = resolved.parent_path() / link;
  }
  return resolved.string();
}

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

// A name that nobody else makes up: the process id would repeat in containers.
StatusOr<std::string> RandomName() {
  uint64_t number = 0;
  ssize_t got;
  do {
    got = getrandom(&number, sizeof(number), 0);
  } while (got < 0 && errno == EINTR);
  if (got != sizeof(number)) return InternalError("there is no randomness");
  constexpr char kDigits[] = "0123456789abcdef";
  std::string name = ".";
  for (int shift = 60; shift >= 0; shift -= 4) {
    name += kDigits[number >> shift & 15];
  }
  return name + std::string(StagedFile::kSuffix);
}

// Whether the open file is still the one that the path leads to.
bool IsAt(int fd, const std::string& path) {
  struct stat mine, there;
  return fstat(fd, &mine) == 0 && lstat(path.c_str(), &there) == 0 &&
         mine.st_dev == there.st_dev && mine.st_ino == there.st_ino;
}

// A new file for writing, with its writer's lock on it; -1 with errno.
int CreateLocked(const std::string& path, int mode) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                      static_cast<mode_t>(mode));
  // Without locks on this file system nobody removes it either.
  if (fd >= 0) (void)flock(fd, LOCK_EX | LOCK_NB);
  return fd;
}

// Makes the entries of the folder that `path` lies in durable. File systems
// that cannot do that say EINVAL.
bool SyncFolderOf(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path();
  const int fd = open(folder.empty() ? "." : folder.c_str(),
                      O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  // A folder may be closed to reading and open to writing.
  if (fd < 0) return errno == EACCES;
  const bool synced = fsync(fd) == 0 || errno == EINVAL || errno == ENOTSUP;
  const int error = errno;
  close(fd);
  errno = error;
  return synced;
}

}  // namespace

void RemoveStagedFiles() {
  for (auto& place : all_staged) {
    Staged* const staged = place.exchange(nullptr);
    if (staged == nullptr) continue;
    (void)unlink(staged->path.c_str());
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
      registered_(std::exchange(other.registered_, -1)) {}

StagedFile::~StagedFile() {
  if (pending_ && !direct()) unlink(staging_.c_str());
  if (fd_ >= 0) close(fd_);
  Unregister(registered_);
}

StatusOr<StagedFile> StagedFile::Create(const std::string& path,
                                        const Options& options) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0) {
    if (errno != ENOENT) return WriteError(path, errno);
  } else if (S_ISDIR(info.st_mode)) {
    return InvalidArgumentError(StrCat(path, ": a folder, expected a file"));
  } else if (!S_ISREG(info.st_mode)) {
    return StagedFile(path, path, path, -1, -1);
  }
  const std::string target = Resolve(path);
  const std::filesystem::path folder =
      options.folder.empty() ? std::filesystem::path(target).parent_path()
                             : std::filesystem::path(options.folder);
  for (;;) {
    ENCORE_ASSIGN_OR_RETURN(const std::string name, RandomName());
    std::string staging = (folder / name).string();
    const int registered = Register(staging);
    const int fd = CreateLocked(staging, options.mode);
    if (fd < 0) {
      Status status = WriteError(path, errno);
      Unregister(registered);
      return status;
    }
    // Between its making and its lock somebody may have taken it for dead.
    if (IsAt(fd, staging)) {
      return StagedFile(path, target, std::move(staging), fd, registered);
    }
    close(fd);
    Unregister(registered);
  }
}

Status StagedFile::Write(std::span<const std::byte> bytes) {
  if (fd_ < 0) fd_ = open(target_.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC);
  if (fd_ < 0) return WriteError(path_, errno);
  while (!bytes.empty()) {
    const ssize_t written = write(fd_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return WriteError(path_, errno);
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return OkStatus();
}

Status StagedFile::Commit() {
  ENCORE_CHECK(pending_) << "committed twice";
  if (!direct()) {
    if (fsync(fd_) != 0 || rename(staging_.c_str(), target_.c_str()) != 0) {
      return WriteError(path_, errno);
    }
    pending_ = false;
    if (!SyncFolderOf(target_)) return WriteError(path_, errno);
  }
  pending_ = false;
  // The last chance of some file systems to say that a write went wrong.
  if (fd_ >= 0 && close(std::exchange(fd_, -1)) != 0 && errno != EINTR) {
    return WriteError(path_, errno);
  }
  return OkStatus();
}

int RemoveDeadStagedFiles(const std::string& folder) {
  std::error_code error;
  std::vector<std::string> staged;
  for (std::filesystem::directory_iterator entry(folder, error), end;
       !error && entry != end; entry.increment(error)) {
    if (entry->path().extension() == StagedFile::kSuffix) {
      staged.push_back(entry->path());
    }
  }
  int removed = 0;
  for (const std::string& path : staged) {
    const int fd =
        open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) continue;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0 && IsAt(fd, path)) {
      removed += unlink(path.c_str()) == 0;
    }
    close(fd);
  }
  return removed;
}

Status WriteWholeFile(const std::string& path, std::string_view bytes) {
  ENCORE_ASSIGN_OR_RETURN(StagedFile file, StagedFile::Create(path));
  ENCORE_RETURN_IF_ERROR(file.Write(std::as_bytes(std::span(bytes))));
  return file.Commit();
}

}  // namespace encore
