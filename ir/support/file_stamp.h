// FileStamp: what tells a file's present contents from its earlier ones without
// reading it: device, inode, size and times.
//
// The change time counts beside the modification time: whoever writes may set
// the latter back, never the former.
//
// A stamp may stand for the contents only if the file had been left alone for
// kSettledNs before it was read: a write within the clock's granularity of an
// earlier one leaves the same times. That clock is the file system's, which may
// be a server's, ahead of this machine's or behind it. Writes through a shared
// mapping move the times when a page becomes dirty, not at each store: a file
// that somebody has mapped for writing is beyond what a stamp can tell.
#ifndef ENCORE_IR_SUPPORT_FILE_STAMP_H_
#define ENCORE_IR_SUPPORT_FILE_STAMP_H_

#include <cstdint>
#include <string>

#include "encore/ir/support/status.h"

namespace encore {

struct FileStamp {
  uint64_t device = 0, inode = 0, size = 0;
  int64_t modified_ns = 0, changed_ns = 0;  // since the epoch

  static constexpr int64_t kSettledNs = 2'000'000'000;
  // Whether both times lie at least kSettledNs before `now_ns`, of the clock of
  // that file system.
  bool settled(int64_t now_ns) const;

  bool operator==(const FileStamp&) const = default;
  // A form for keys.
  std::string ToString() const;
};

// Of what the path leads to now, links followed; of an open file. Errors as
// those of ReadError; both name `path`.
StatusOr<FileStamp> StampOf(const std::string& path);
StatusOr<FileStamp> StampOf(int fd, const std::string& path);

// Of an empty file that is made in `folder` now, without a name (O_TMPFILE),
// and is gone at once: what the clock of that file system says. Errors as those
// of ReadError, which names the folder: one that is not to be written to, or on
// a file system without such files.
StatusOr<FileStamp> StampOfNewFile(const std::string& folder);

// This machine's clock, since the epoch.
int64_t NowNs();

// The error of a failed call that opens, examines or maps `path`, from errno:
// NotFound where there is nothing, PermissionDenied where it is closed to us,
// ResourceExhausted where the process or the machine has no descriptor or
// memory left, InvalidArgument for a path that cannot lead to a file, else
// (a device that fails, a network that is gone) Unavailable.
Status ReadError(const std::string& path, int error);

}  // namespace encore

#endif  // ENCORE_IR_SUPPORT_FILE_STAMP_H_
