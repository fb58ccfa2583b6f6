// FileLock: a file that stands for a lock among processes (flock).
//
// It is made to lock and removed to unlock, also where it cannot be locked.
// What a killed process leaves is a file that nobody holds, which is as good as
// none. Movable; not thread-safe.
#ifndef ENCORE_CACHE_STORE_FILE_LOCK_H_
#define ENCORE_CACHE_STORE_FILE_LOCK_H_

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "encore/ir/support/descriptor.h"
#include "encore/ir/support/status.h"

namespace encore::cache {

class FileLock {
 public:
  // The lock, held as long as the object lives; null while somebody else has
  // it. Errors as WriteError's, which name the path: a folder that is not
  // there, a file system without locks.
  static StatusOr<std::unique_ptr<FileLock>> Try(const std::string& path);

  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  FileLock(Descriptor file, std::string path)
      : file_(std::move(file)), path_(std::move(path)) {}

  const Descriptor file_;
  const std::string path_;
};

// Removes the files of a folder of locks that nobody holds. Of those that
// cannot be locked, on a file system without locks, that is said of what was
// made before `abandoned_ns`, by its clock.
void RemoveDeadLocks(
    const std::string& folder,
    int64_t abandoned_ns = std::numeric_limits<int64_t>::min());

}  // namespace encore::cache

#endif  // ENCORE_CACHE_STORE_FILE_LOCK_H_
