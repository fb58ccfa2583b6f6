#include "encore/cache/store/trust.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "encore/cache/store/held_folder.h"
#include "encore/ir/support/file_stamp.h"
#include "encore/ir/support/folders.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/support/system_calls.h"

namespace encore::cache {
namespace {

namespace fs = std::filesystem;

// The file `below`, reached from `folder` by folders that are owner-only.
StatusOr<Descriptor> OpenBelow(HeldFolder folder, const fs::path& below) {
  ENCORE_RETURN_IF_ERROR(CheckOwnerOnly(folder.descriptor(), folder.path()));
  for (auto name = below.begin(); name != below.end(); ++name) {
    if (std::next(name) == below.end()) return folder.OpenFile(name->string());
    ENCORE_ASSIGN_OR_RETURN(folder, folder.OpenFolder(name->string()));
    ENCORE_RETURN_IF_ERROR(CheckOwnerOnly(folder.descriptor(), folder.path()));
  }
  return InvalidArgumentError("an empty path");
}

}  // namespace

Status CheckOwnerOnly(int fd, const std::string& path) {
  struct stat info;
  if (sys::FStat(fd, &info) != 0) {
    return PermissionDeniedError(
        StrCat(path, " cannot be examined: ", std::strerror(errno)));
  }
  if (info.st_uid != geteuid()) {
    return PermissionDeniedError(StrCat(path, " belongs to another user"));
  }
  if ((info.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return PermissionDeniedError(StrCat(path, " is open to other users"));
  }
  return OkStatus();
}

Status CheckLiesInStore(const Container& file, const std::string& path,
                        const std::string& store) {
  if (store.empty()) {
    return PermissionDeniedError("no cache folder is given as its store");
  }
  if (file.file() == nullptr) {
    return PermissionDeniedError("it was read from memory");
  }
  // The names to go by. What they lead to is looked at on the way only.
  const auto root = RealPath(store);
  if (!root.ok()) {
    return PermissionDeniedError(
        StrCat("the cache folder ", Message(root.status())));
  }
  const auto real = RealPath(path);
  if (!real.ok()) return PermissionDeniedError(Message(real.status()));
  const fs::path below = fs::path(*real).lexically_relative(*root);
  if (below.empty() || *below.begin() == ".." || *below.begin() == ".") {
    return PermissionDeniedError(
        StrCat(path, " does not lie in the store ", store));
  }
  const auto found = [&]() -> StatusOr<FileStamp> {
    ENCORE_ASSIGN_OR_RETURN(HeldFolder folder, HeldFolder::Open(*root));
    ENCORE_ASSIGN_OR_RETURN(const Descriptor open,
                            OpenBelow(std::move(folder), below));
    return StampOf(open.number(), path);
  }();
  if (!found.ok()) return PermissionDeniedError(Message(found.status()));
  const FileStamp& mapped = file.file()->stamp();
  if (found->device != mapped.device || found->inode != mapped.inode) {
    return PermissionDeniedError(
        StrCat(path, " was replaced while it was opened"));
  }
  return CheckOwnerOnly(file.descriptor(), path);
}

}  // namespace encore::cache
