#include "encore/cache/file_stamp.h"

#include <sys/stat.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "encore/ir/support/strings.h"

namespace encore::cache {
namespace {

int64_t Nanoseconds(const timespec& time) {
  return static_cast<int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

FileStamp FromStat(const struct stat& info) {
  return {info.st_dev, info.st_ino, static_cast<uint64_t>(info.st_size),
          Nanoseconds(info.st_mtim), Nanoseconds(info.st_ctim)};
}

}  // namespace

bool FileStamp::settled(int64_t now_ns) const {
  return std::max(modified_ns, changed_ns) <= now_ns - kSettledNs;
}

std::string FileStamp::ToString() const {
  return StrCat(device, ":", inode, ":", size, ":", modified_ns, ":",
                changed_ns);
}

StatusOr<FileStamp> StampOf(const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) == 0) return FromStat(info);
  const int error = errno;
  const std::string message = StrCat(path, ": ", std::strerror(error));
  return error == EACCES ? PermissionDeniedError(message)
                         : NotFoundError(message);
}

StatusOr<FileStamp> StampOf(int fd) {
  struct stat info;
  if (fstat(fd, &info) == 0) return FromStat(info);
  return InternalError(StrCat("fstat: ", std::strerror(errno)));
}

int64_t NowNs() {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return Nanoseconds(now);
}

}  // namespace encore::cache
