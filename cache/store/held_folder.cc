#include "encore/cache/store/held_folder.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "encore/ir/support/file_stamp.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::cache {

StatusOr<HeldFolder> HeldFolder::Open(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return ReadError(path, errno);
  return HeldFolder(fd, path);
}

HeldFolder::HeldFolder(HeldFolder&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), path_(std::move(other.path_)) {}

HeldFolder& HeldFolder::operator=(HeldFolder&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(path_, other.path_);
  return *this;
}

HeldFolder::~HeldFolder() {
  if (fd_ >= 0) close(fd_);
}

StatusOr<int> HeldFolder::OpenIn(std::string_view name, int flags) const {
  const int fd = openat(fd_, std::string(name).c_str(),
                        O_RDONLY | O_CLOEXEC | O_NOFOLLOW | flags);
  if (fd < 0) return ReadError(StrCat(path_, "/", name), errno);
  return fd;
}

StatusOr<HeldFolder> HeldFolder::OpenFolder(std::string_view name) const {
  ENCORE_ASSIGN_OR_RETURN(const int fd, OpenIn(name, O_DIRECTORY));
  return HeldFolder(fd, StrCat(path_, "/", name));
}

StatusOr<int> HeldFolder::OpenFile(std::string_view name) const {
  return OpenIn(name, O_NONBLOCK);
}

}  // namespace encore::cache
