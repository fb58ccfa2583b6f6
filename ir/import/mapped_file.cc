#include "encore/ir/import/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "encore/ir/support/strings.h"

namespace encore {
namespace {

Status OpenError(const std::string& path) {
  const int error = errno;
  const std::string message = StrCat(path, ": ", std::strerror(error));
  if (error == EACCES || error == EPERM) return PermissionDeniedError(message);
  return NotFoundError(message);
}

// Closes a descriptor at the end of a scope.
struct Descriptor {
  int fd;
  ~Descriptor() {
    if (fd >= 0) close(fd);
  }
};

}  // namespace

StatusOr<std::shared_ptr<const MappedFile>> MappedFile::Open(
    const std::string& path) {
  const Descriptor file{open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file.fd < 0) return OpenError(path);
  struct stat info;
  if (fstat(file.fd, &info) != 0) return OpenError(path);
  if (!S_ISREG(info.st_mode)) {
    return InvalidArgumentError(StrCat(path, ": no regular file"));
  }
  const auto size = static_cast<size_t>(info.st_size);
  const std::byte* data = nullptr;
  if (size > 0) {
    void* mapped = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.fd, 0);
    if (mapped == MAP_FAILED) return OpenError(path);
    data = static_cast<const std::byte*>(mapped);
  }
  return std::shared_ptr<const MappedFile>(new MappedFile(data, size));
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) munmap(const_cast<std::byte*>(data_), size_);
}

}  // namespace encore
