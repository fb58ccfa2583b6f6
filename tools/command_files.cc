#include "encore/tools/command_files.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>
#include <utility>

#include "encore/ir/support/folders.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/support/system_calls.h"

namespace encore::tools {

namespace fs = std::filesystem;

std::optional<CommandFiles::Identity> CommandFiles::Identify(
    const std::string& path) {
  struct stat info;
  if (sys::FStatAt(AT_FDCWD, path.c_str(), &info, 0) == 0) {
    if (!S_ISREG(info.st_mode)) return std::nullopt;
    return Identity(info.st_dev, info.st_ino, "");
  }
  if (errno != ENOENT) return std::nullopt;
  const fs::path made = FollowLinks(path);
  const std::string folder =
      made.has_parent_path() ? made.parent_path().string() : ".";
  if (!made.has_filename() ||
      sys::FStatAt(AT_FDCWD, folder.c_str(), &info, 0) != 0) {
    return std::nullopt;
  }
  return Identity(info.st_dev, info.st_ino, made.filename().string());
}

void CommandFiles::Add(std::string_view what, const std::string& path,
                       std::vector<File>* files) {
  if (path.empty()) return;
  if (auto identity = Identify(path)) {
    files->push_back({std::string(what), path, *std::move(identity)});
  }
}

void CommandFiles::Reads(std::string_view what, const std::string& path) {
  Add(what, path, &read_);
}

void CommandFiles::Writes(std::string_view what, const std::string& path) {
  Add(what, path, &written_);
}

void CommandFiles::WritesData(std::string_view what, const std::string& path) {
  if (path == "-") {
    on_stdout_.emplace_back(what);
  } else {
    Writes(what, path);
  }
}

void CommandFiles::WritesInto(std::string_view what, const std::string& folder,
                              bool (*is_written)(std::string_view name)) {
  struct stat info;
  if (sys::FStatAt(AT_FDCWD, folder.c_str(), &info, 0) != 0 ||
      !S_ISDIR(info.st_mode)) {
    return;
  }
  folders_.push_back(
      {{std::string(what), folder, Identity(info.st_dev, info.st_ino, "")},
       is_written});
  const auto names = ListFolder(folder);
  if (!names.ok()) return;
  for (const std::string& name : *names) {
    if (is_written(name)) Add(what, StrCat(folder, "/", name), &written_);
  }
}

void CommandFiles::ReadsInput(const std::string& input) {
  const size_t equals = input.find('=');
  Reads("--input",
        equals == std::string::npos ? input : input.substr(equals + 1));
}

bool CommandFiles::replaces_any() const {
  return std::ranges::any_of(written_, [](const File& file) {
    return std::get<2>(file.identity).empty();
  });
}

Status CommandFiles::CheckApart() const {
  std::map<Identity, const File*> known;
  for (const File& file : read_) known.emplace(file.identity, &file);
  const auto refuse = [](const File& file, const File& other,
                         std::string_view why) {
    return InvalidArgumentError(StrCat(file.what, " ", file.path,
                                       ": is the same file as ", other.what,
                                       " ", other.path, ", ", why));
  };
  for (const File& file : written_) {
    const auto same = known.find(file.identity);
    if (same != known.end()) {
      return refuse(file, *same->second, "which would be lost");
    }
  }
  if (on_stdout_.size() > 1) {
    return InvalidArgumentError(
        StrCat(on_stdout_[0], " and ", on_stdout_[1],
               ": only one of them can be written to standard output"));
  }
  known.clear();
  for (const File& file : written_) {
    const auto [same, added] = known.emplace(file.identity, &file);
    if (!added) {
      return refuse(file, *same->second, "which is written too");
    }
    const auto& [device, inode, name] = file.identity;
    for (const Folder& folder : folders_) {
      if (!name.empty() && folder.is_written(name) &&
          folder.file.identity == Identity(device, inode, "")) {
        return InvalidArgumentError(
            StrCat(file.what, " ", file.path, ": is a file that ",
                   folder.file.what, " ", folder.file.path, " writes too"));
      }
    }
  }
  return OkStatus();
}

}  // namespace encore::tools
