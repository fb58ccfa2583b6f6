// FileStamp: what tells a file's present contents from its earlier ones without
// reading it: device, inode, size and times.
//
// A stamp may stand for the contents only if the file had been left alone for
// kSettled before it was hashed: a write within the clock's granularity of an
// earlier one leaves the same times.
#ifndef ENCORE_CACHE_FILE_STAMP_H_
#define ENCORE_CACHE_FILE_STAMP_H_

#include <cstdint>
#include <string>

#include "encore/ir/support/status.h"

namespace encore::cache {

struct FileStamp {
  uint64_t device = 0, inode = 0, size = 0;
  int64_t modified_ns = 0, changed_ns = 0;  // since the epoch

  static constexpr int64_t kSettledNs = 2'000'000'000;
  // Whether both times lie at least kSettledNs before `now_ns`, and are in the
  // past.
  bool settled(int64_t now_ns) const;

  bool operator==(const FileStamp&) const = default;
  // A form for keys.
  std::string ToString() const;
};

// NotFound or PermissionDenied with the path.
StatusOr<FileStamp> StampOf(const std::string& path);
StatusOr<FileStamp> StampOf(int fd);

// The clock that file times are of.
int64_t NowNs();

}  // namespace encore::cache

#endif  // ENCORE_CACHE_FILE_STAMP_H_
