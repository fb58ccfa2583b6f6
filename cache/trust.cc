#include "encore/cache/trust.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::cache {
namespace {

namespace fs = std::filesystem;

Status CheckOwner(const fs::path& path) {
  struct stat info;
  if (lstat(path.c_str(), &info) != 0) {
    return PermissionDeniedError(StrCat(path.string(), " cannot be examined"));
  }
  if (info.st_uid != geteuid()) {
    return PermissionDeniedError(
        StrCat(path.string(), " belongs to another user"));
  }
  if ((info.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return PermissionDeniedError(
        StrCat(path.string(), " is open to other users"));
  }
  return OkStatus();
}

}  // namespace

Status CheckOwnerOnly(const std::string& path, const std::string& store) {
  std::error_code error;
  if (store.empty()) return PermissionDeniedError("there is no store");
  const fs::path root = fs::canonical(store, error);
  if (error) return PermissionDeniedError(StrCat("there is no store ", store));
  const fs::path file = fs::canonical(path, error);
  if (error || !fs::is_regular_file(file, error)) {
    return PermissionDeniedError(StrCat(path, " is no regular file"));
  }
  const fs::path below = file.lexically_relative(root);
  if (below.empty() || *below.begin() == ".." || *below.begin() == ".") {
    return PermissionDeniedError(
        StrCat(path, " does not lie in the store ", store));
  }
  ENCORE_RETURN_IF_ERROR(CheckOwner(root));
  fs::path part = root;
  for (const fs::path& name : below) {
    part /= name;
    ENCORE_RETURN_IF_ERROR(CheckOwner(part));
  }
  return OkStatus();
}

}  // namespace encore::cache
