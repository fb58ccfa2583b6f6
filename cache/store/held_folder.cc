#include "encore/cache/store/held_folder.h"

#include <fcntl.h>

#include <cerrno>
#include <utility>

#include "encore/ir/support/file_stamp.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/support/system_calls.h"

namespace encore::cache {

StatusOr<HeldFolder> HeldFolder::Open(const std::string& path) {
  Descriptor folder(sys::OpenAt(AT_FDCWD, path.c_str(),
                                O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0));
  if (!folder.is_open()) return ReadError(path, errno);
  return HeldFolder(std::move(folder), path);
}

StatusOr<Descriptor> HeldFolder::OpenIn(std::string_view name,
                                        int flags) const {
  Descriptor open(sys::OpenAt(folder_.number(), std::string(name).c_str(),
                              O_RDONLY | O_CLOEXEC | O_NOFOLLOW | flags, 0));
  if (!open.is_open()) return ReadError(StrCat(path_, "/", name), errno);
  return open;
}

StatusOr<HeldFolder> HeldFolder::OpenFolder(std::string_view name) const {
  ENCORE_ASSIGN_OR_RETURN(Descriptor folder, OpenIn(name, O_DIRECTORY));
  return HeldFolder(std::move(folder), StrCat(path_, "/", name));
}

StatusOr<Descriptor> HeldFolder::OpenFile(std::string_view name) const {
  return OpenIn(name, O_NONBLOCK);
}

}  // namespace encore::cache
