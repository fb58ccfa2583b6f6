#include "encore/ir/support/folders.h"

#include <fcntl.h>
#include <limits.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

#include "encore/ir/support/file_stamp.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/system_calls.h"

namespace encore {
namespace {

// Where the link leads; nothing where the path is none.
std::optional<std::string> ReadLink(const std::string& path) {
  char text[PATH_MAX];
  const ssize_t size = sys::ReadLink(path.c_str(), text, sizeof(text));
  if (size < 0 || size == sizeof(text)) return std::nullopt;
  return std::string(text, static_cast<size_t>(size));
}

// Adds what lies in the folder itself.
void LookInto(const std::string& folder, FolderContents* contents) {
  const auto keep = [&](const Status& status) {
    if (contents->status.ok() && status.code() != StatusCode::kNotFound) {
      contents->status = status;
    }
  };
  const auto names = ListFolder(folder);
  if (!names.ok()) return keep(names.status());
  for (const std::string& name : *names) {
    FoundFile file{folder + "/" + name, {}};
    if (sys::FStatAt(AT_FDCWD, file.path.c_str(), &file.info,
                     AT_SYMLINK_NOFOLLOW) != 0) {
      keep(ReadError(file.path, errno));
    } else if (S_ISDIR(file.info.st_mode)) {
      contents->folders.push_back(std::move(file.path));
    } else {
      contents->files.push_back(std::move(file));
    }
  }
}

}  // namespace

StatusOr<std::vector<std::string>> ListFolder(const std::string& path) {
  DIR* const folder = sys::OpenDir(path.c_str());
  if (folder == nullptr) return ReadError(path, errno);
  std::vector<std::string> names;
  int error = 0;
  for (;;) {
    errno = 0;
    const struct dirent* const entry = sys::ReadDir(folder);
    if (entry == nullptr) {
      error = errno;
      break;
    }
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  sys::CloseDir(folder);
  if (error != 0) return ReadError(path, error);
  std::sort(names.begin(), names.end());
  return names;
}

FolderContents WalkFolder(const std::string& path) {
  FolderContents contents;
  contents.folders.push_back(path);
  for (size_t i = 0; i < contents.folders.size(); ++i) {
    LookInto(std::string(contents.folders[i]), &contents);
  }
  std::sort(contents.folders.begin() + 1, contents.folders.end());
  std::ranges::sort(contents.files, {}, &FoundFile::path);
  return contents;
}

Status MakeFolders(const std::string& path) {
  std::filesystem::path above;
  int error = 0;
  for (const auto& part : std::filesystem::path(path)) {
    above /= part;
    // What is there already may be closed to us: the last of them counts.
    error = sys::MkDir(above.c_str(), ACCESSPERMS) == 0 ? 0 : errno;
  }
  return error == 0 || error == EEXIST ? OkStatus() : ReadError(path, error);
}

std::string FollowLinks(const std::string& path) {
  constexpr int kMostLinks = 40;  // as the kernel has it
  std::filesystem::path resolved = path;
  for (int i = 0; i < kMostLinks; ++i) {
    const auto link = ReadLink(resolved.string());
    if (!link) break;
    resolved = resolved.parent_path() / *link;
  }
  return resolved.string();
}

StatusOr<std::string> RealPath(const std::string& path) {
  char text[PATH_MAX];
  if (sys::RealPath(path.c_str(), text) == nullptr) {
    return ReadError(path, errno);
  }
  return std::string(text);
}

StatusOr<std::string> RealPathOfExisting(const std::string& path) {
  std::filesystem::path there = path, missing;
  for (;;) {
    const auto real = RealPath(there.empty() ? "." : there.string());
    if (real.ok()) {
      const std::filesystem::path whole = *real / missing;
      return (missing.empty() ? std::filesystem::path(*real) : whole)
          .lexically_normal()
          .string();
    }
    if (real.status().code() != StatusCode::kNotFound || there.empty()) {
      return real.status();
    }
    missing = missing.empty() ? there.filename() : there.filename() / missing;
    if (there.parent_path() == there) return real.status();
    there = there.parent_path();
  }
}

}  // namespace encore
