#include "encore/ir/support/staged_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

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
                       std::string staging, int registered)
    : path_(std::move(path)),
      target_(std::move(target)),
      staging_(std::move(staging)),
      registered_(registered) {}

StagedFile::StagedFile(StagedFile&& other) noexcept
    : path_(std::move(other.path_)),
      target_(std::move(other.target_)),
      staging_(std::move(other.staging_)),
      pending_(std::exchange(other.pending_, false)),
      registered_(std::exchange(other.registered_, -1)) {}

StagedFile::~StagedFile() {
  if (pending_ && !direct()) unlink(staging_.c_str());
  Unregister(registered_);
}

StatusOr<StagedFile> StagedFile::Create(const std::string& path, int mode) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0) {
    if (errno != ENOENT) return WriteError(path, errno);
  } else if (S_ISDIR(info.st_mode)) {
    return InvalidArgumentError(StrCat(path, ": a folder, expected a file"));
  } else if (!S_ISREG(info.st_mode)) {
    return StagedFile(path, path, path, -1);
  }
  static std::atomic<uint64_t> counter = 0;
  const std::string target = Resolve(path);
  std::string staging =
      StrCat(target, ".", getpid(), ".", counter.fetch_add(1), ".tmp");
  const int registered = Register(staging);
  const int fd = open(staging.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                      static_cast<mode_t>(mode));
  if (fd < 0) {
    Status status = WriteError(path, errno);
    Unregister(registered);
    return status;
  }
  close(fd);
  return StagedFile(path, target, std::move(staging), registered);
}

Status StagedFile::Commit() {
  ENCORE_CHECK(pending_) << "committed twice";
  if (!direct() && rename(staging_.c_str(), target_.c_str()) != 0) {
    return WriteError(path_, errno);
  }
  pending_ = false;
  return OkStatus();
}

Status WriteWholeFile(const std::string& path, std::string_view bytes) {
  ENCORE_ASSIGN_OR_RETURN(StagedFile file, StagedFile::Create(path));
  errno = 0;
  std::FILE* out = std::fopen(file.staging().c_str(), "wb");
  if (out == nullptr) return WriteError(path, errno);
  const bool written =
      std::fwrite(bytes.data(), 1, bytes.size(), out) == bytes.size();
  int error = written ? 0 : errno;
  if (std::fclose(out) != 0 && error == 0) error = errno;
  if (error != 0 || !written) return WriteError(path, error);
  return file.Commit();
}

}  // namespace encore
