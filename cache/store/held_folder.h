// HeldFolder: a folder that is held open, so that what is reached through it is
// in this very folder, whatever its path leads to by now.
//
// Links are never followed below it: who can swap a link for a folder, or a
// folder for a link, between a check and a use gains nothing. Movable;
// thread-safe as far as a descriptor is.
#ifndef ENCORE_CACHE_STORE_HELD_FOLDER_H_
#define ENCORE_CACHE_STORE_HELD_FOLDER_H_

#include <string>
#include <string_view>

#include "encore/ir/support/status.h"

namespace encore::cache {

class HeldFolder {
 public:
  // Errors as ReadError's, which name the path. Links in `path` itself are
  // followed.
  static StatusOr<HeldFolder> Open(const std::string& path);

  HeldFolder(HeldFolder&& other) noexcept;
  HeldFolder& operator=(HeldFolder&& other) noexcept;
  ~HeldFolder();

  // A folder or file in this one, for reading; `name` has no slash. Errors as
  // above, InvalidArgument for a link. OpenFile's descriptor is the caller's.
  StatusOr<HeldFolder> OpenFolder(std::string_view name) const;
  StatusOr<int> OpenFile(std::string_view name) const;

  int descriptor() const { return fd_; }
  const std::string& path() const { return path_; }

 private:
  HeldFolder(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}
  StatusOr<int> OpenIn(std::string_view name, int flags) const;

  int fd_ = -1;
  std::string path_;  // for messages
};

}  // namespace encore::cache

#endif  // ENCORE_CACHE_STORE_HELD_FOLDER_H_
