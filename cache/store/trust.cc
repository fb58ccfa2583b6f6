#include "encore/cache/store/trust.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include "encore/cache/store/held_folder.h"
#include "encore/ir/support/file_stamp.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::cache {
namespace {

namespace fs = std::filesystem;

// The file `below`, reached from `folder` by folders that are owner-only.
StatusOr<int> OpenBelow(HeldFolder folder, const fs::path& below) {
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
  if (fstat(fd, &info) != 0) {
    return PermissionDeniedError(StrCat(path, " cannot be examined"));
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
  std::error_code error;
  const fs::path root = fs::canonical(store, error);
  if (error) {
    return PermissionDeniedError(
        StrCat("the cache folder ", store, " is not there"));
  }
  const fs::path below = fs::canonical(path, error).lexically_relative(root);
  if (error || below.empty() || *below.begin() == ".." ||
      *below.begin() == ".") {
    return PermissionDeniedError(
        StrCat(path, " does not lie in the store ", store));
  }
  const auto found = [&]() -> StatusOr<FileStamp> {
    ENCORE_ASSIGN_OR_RETURN(HeldFolder folder, HeldFolder::Open(root));
    ENCORE_ASSIGN_OR_RETURN(const int fd, OpenBelow(std::move(folder), below));
    auto stamp = StampOf(fd, path);
    close(fd);
    return stamp;
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
