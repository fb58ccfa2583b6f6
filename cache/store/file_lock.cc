#include "encore/cache/store/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>

#include "encore/ir/support/file_stamp.h"
#include "encore/ir/support/folders.h"
#include "encore/ir/support/staged_file.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/support/system_calls.h"

namespace encore::cache {

namespace {

Descriptor OpenLock(const std::string& path, int flags) {
  return Descriptor(sys::OpenAt(AT_FDCWD, path.c_str(),
                                O_RDWR | O_CLOEXEC | flags, S_IRUSR | S_IWUSR));
}

}  // namespace

StatusOr<std::unique_ptr<FileLock>> FileLock::Try(const std::string& path) {
  for (;;) {
    // Whoever has made the file removes it where it cannot be locked.
    Descriptor file = OpenLock(path, O_CREAT | O_EXCL);
    const bool is_mine = file.is_open();
    if (!is_mine && errno == EEXIST) {
      file = OpenLock(path, O_NOFOLLOW);
      if (!file.is_open() && errno == ENOENT) continue;
    }
    if (!file.is_open()) return WriteError(path, errno);
    if (sys::FLock(file.number(), LOCK_EX | LOCK_NB) != 0) {
      const int error = errno;
      if (error == EWOULDBLOCK) return nullptr;
      if (is_mine) (void)sys::Unlink(path.c_str());
      return WriteError(path, error);
    }
    // Whoever held it may have removed the file: then the lock is on nothing.
    ENCORE_ASSIGN_OR_RETURN(const FileStamp mine, StampOf(file.number(), path));
    const auto there = StampOf(path);
    if (there.ok() && mine.inode == there->inode) {
      return std::unique_ptr<FileLock>(new FileLock(std::move(file), path));
    }
    if (!there.ok() && there.status().code() != StatusCode::kNotFound) {
      return there.status();
    }
  }
}

FileLock::~FileLock() { (void)sys::Unlink(path_.c_str()); }

void RemoveDeadLocks(const std::string& folder, int64_t abandoned_ns) {
  const auto names = ListFolder(folder);
  if (!names.ok()) return;
  // Each goes with its lock.
  for (const std::string& name : *names) {
    const std::string path = StrCat(folder, "/", name);
    if (FileLock::Try(path).ok()) continue;
    const auto stamp = StampOf(path);
    if (stamp.ok() && stamp->modified_ns < abandoned_ns) {
      (void)sys::Unlink(path.c_str());
    }
  }
}

}  // namespace encore::cache
