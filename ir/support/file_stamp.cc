#include "encore/ir/support/file_stamp.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "encore/ir/support/descriptor.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/support/system_calls.h"

namespace encore {
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
  if (sys::FStatAt(AT_FDCWD, path.c_str(), &info, 0) == 0)
    return FromStat(info);
  return ReadError(path, errno);
}

StatusOr<FileStamp> StampOf(int fd, const std::string& path) {
  struct stat info;
  if (sys::FStat(fd, &info) == 0) return FromStat(info);
  return ReadError(path, errno);
}

StatusOr<FileStamp> StampOfNewFile(const std::string& folder) {
  const Descriptor file(sys::OpenAt(AT_FDCWD, folder.c_str(),
                                    O_TMPFILE | O_WRONLY | O_CLOEXEC,
                                    S_IRUSR | S_IWUSR));
  if (!file.is_open()) return ReadError(folder, errno);
  return StampOf(file.number(), folder);
}

int64_t NowNs() {
  timespec now;
  sys::ClockGetTime(CLOCK_REALTIME, &now);
  return Nanoseconds(now);
}

Status ReadError(const std::string& path, int error) {
  const std::string message = StrCat(path, ": ", std::strerror(error));
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return NotFoundError(message);
    case EACCES:
    case EPERM:
      return PermissionDeniedError(message);
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case EAGAIN:
      return ResourceExhaustedError(message);
    case ELOOP:
    case ENAMETOOLONG:
    case EINVAL:
    case EISDIR:
    case ENODEV:
    case EOVERFLOW:
      return InvalidArgumentError(message);
    default:
      return MakeStatus(StatusCode::kUnavailable, message);
  }
}

}  // namespace encore
