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
#include <utility>

#include "encore/ir/support/descriptor.h"
#include "encore/ir/support/status.h"

namespace encore::cache {

class HeldFolder {
 public:
  // Errors as ReadError's, which name the path. Links in `path` itself are
  // followed.
  static StatusOr<HeldFolder> Open(const std::string& path);

  // A folder or file in this one, for reading; `name` has no slash. Errors as
  // above, InvalidArgument for a link.
  StatusOr<HeldFolder> OpenFolder(std::string_view name) const;
  StatusOr<Descriptor> OpenFile(std::string_view name) const;

  int descriptor() const { return folder_.number(); }
  const std::string& path() const { return path_; }

 private:
  HeldFolder(Descriptor folder, std::string path)
      : folder_(std::move(folder)), path_(std::move(path)) {}
  StatusOr<Descriptor> OpenIn(std::string_view name, int flags) const;

  Descriptor folder_;
  std::string path_;  // for messages
};

}  // namespace encore::cache

#endif  // ENCORE_CACHE_STORE_HELD_FOLDER_H_
