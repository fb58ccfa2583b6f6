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

StatusOr<std::unique_ptr<FileLock>> FileLock::Try(const std::string& path) {
  for (;;) {
    Descriptor file(sys::OpenAt(AT_FDCWD, path.c_str(),
                                O_RDWR | O_CREAT | O_CLOEXEC,
                                S_IRUSR | S_IWUSR));
    if (!file.is_open()) return WriteError(path, errno);
    if (sys::FLock(file.number(), LOCK_EX | LOCK_NB) != 0) {
      if (errno == EWOULDBLOCK) return nullptr;
      return WriteError(path, errno);
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

void RemoveDeadLocks(const std::string& folder) {
  const auto names = ListFolder(folder);
  if (!names.ok()) return;
  // Each goes with its lock.
  for (const std::string& name : *names) {
    (void)FileLock::Try(StrCat(folder, "/", name));
  }
}

}  // namespace encore::cache
