// What lies in folders, and where links lead.
//
// By sys:: calls (system_calls.h), unlike std::filesystem. All are thread-safe;
// errors are ReadError's (file_stamp.h), which name the path.
#ifndef ENCORE_IR_SUPPORT_FOLDERS_H_
#define ENCORE_IR_SUPPORT_FOLDERS_H_

#include <sys/stat.h>

#include <string>
#include <vector>

#include "encore/ir/support/status.h"

namespace encore {

// The names in a folder, ascending, without "." and "..".
StatusOr<std::vector<std::string>> ListFolder(const std::string& path);

struct FoundFile {
  std::string path;
  struct stat info;
};

// What lies below a folder, however deep; links are not followed.
struct FolderContents {
  std::vector<FoundFile> files;      // by path
  std::vector<std::string> folders;  // by path; the folder itself first
  // The first folder or file that could not be looked at. What went while it
  // was looked at is no error.
  Status status;
};
FolderContents WalkFolder(const std::string& path);

// Makes a folder, and those that it lies in, where they are not there, for all
// whom the umask lets in. What is there in its place already is not looked at.
Status MakeFolders(const std::string& path);

// The path with the links that its last part is resolved, also where they lead
// to nothing yet: where a file of that path would be made.
std::string FollowLinks(const std::string& path);

// The path without links, dots and double slashes. NotFound where it leads to
// nothing.
StatusOr<std::string> RealPath(const std::string& path);
// The same of a path whose last parts need not be there.
StatusOr<std::string> RealPathOfExisting(const std::string& path);

}  // namespace encore

#endif  // ENCORE_IR_SUPPORT_FOLDERS_H_
