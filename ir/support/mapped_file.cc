#include "encore/ir/support/mapped_file.h"

#include <fcntl.h>

#include <cerrno>
#include <utility>

#include "encore/ir/support/descriptor.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/support/system_calls.h"

namespace encore {
StatusOr<std::shared_ptr<const MappedFile>> MappedFile::Open(
    const std::string& path) {
  return Open(path, path);
}

StatusOr<std::shared_ptr<const MappedFile>> MappedFile::Open(
    const std::string& path, const std::string& name) {
  // A pipe would have the caller wait for a writer.
  const Descriptor file(sys::OpenAt(AT_FDCWD, path.c_str(),
                                    O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0));
  if (!file.is_open()) return ReadError(name, errno);
  return OfDescriptor(file.number(), name);
}

StatusOr<std::shared_ptr<const MappedFile>> MappedFile::OfDescriptor(
    int fd, const std::string& path) {
  struct stat info;
  if (sys::FStat(fd, &info) != 0) return ReadError(path, errno);
  if (!S_ISREG(info.st_mode)) {
    return InvalidArgumentError(StrCat(path, S_ISDIR(info.st_mode)
                                                 ? ": a folder, expected a file"
                                                 : ": no regular file"));
  }
  ENCORE_ASSIGN_OR_RETURN(const FileStamp stamp, StampOf(fd, path));
  const std::byte* data = nullptr;
  if (stamp.size > 0) {
    void* mapped =
        sys::MMap(nullptr, stamp.size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (mapped == MAP_FAILED) return ReadError(path, errno);
    data = static_cast<const std::byte*>(mapped);
  }
  return std::shared_ptr<const MappedFile>(new MappedFile(path, stamp, data));
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) sys::MUnmap(const_cast<std::byte*>(data_), stamp_.size);
}

bool MappedFile::UnchangedSinceOpen() const {
  const auto now = StampOf(path_);
  return now.ok() && *now == stamp_;
}

}  // namespace encore
