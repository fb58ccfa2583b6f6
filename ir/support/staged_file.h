// StagedFile: a file that appears whole or not at all.
//
//   ENCORE_ASSIGN_OR_RETURN(StagedFile file, StagedFile::Create(path));
//   … write to file.staging() …
//   return file.Commit();
//
// What is written goes to a new file beside the target, which Commit renames;
// until then, and where Commit is never reached, the target is as it was. A
// target behind symbolic links is replaced where it lies, the links stay. A
// target that is there and is no regular file (a device, a pipe) is written to
// itself: a rename would put a file in its place.
//
// Each object has a name of its own, also among processes. Not thread-safe.
#ifndef ENCORE_IR_SUPPORT_STAGED_FILE_H_
#define ENCORE_IR_SUPPORT_STAGED_FILE_H_

#include <string>
#include <string_view>

#include "encore/ir/support/status.h"

namespace encore {

class StagedFile {
 public:
  // Makes the staging file, empty, with the mode bits `mode` less the umask.
  // InvalidArgument where `path` is a folder, PermissionDenied where no file
  // can be made there; both name `path`.
  static StatusOr<StagedFile> Create(const std::string& path, int mode = 0666);

  StagedFile(StagedFile&& other) noexcept;
  StagedFile& operator=(StagedFile&& other) = delete;
  // Removes what was not committed.
  ~StagedFile();

  // Where to write.
  const std::string& staging() const { return staging_; }
  // Whether the target is written to itself, so that Commit changes nothing.
  bool direct() const { return staging_ == target_; }

  // Puts the file in its place. Call once, after writing and closing.
  // ResourceExhausted where there is no space, else PermissionDenied; both name
  // the path.
  Status Commit();

 private:
  StagedFile(std::string path, std::string target, std::string staging,
             int registered);

  std::string path_, target_, staging_;
  bool pending_ = true;
  // Where RemoveStagedFiles finds this one; -1: it does not.
  int registered_;
};

// Removes the staging files of every thread, of the first 64 at once: for a
// signal that ends the process. Async-signal-safe; nothing may be committed
// afterwards.
void RemoveStagedFiles();

// Writes `bytes` to `path` as above. Errors also where writing fails, which
// name the path.
Status WriteWholeFile(const std::string& path, std::string_view bytes);

// The error of a failed call on `path`, from errno: ResourceExhausted where
// there is no space, NotFound for a folder that is not there, else
// PermissionDenied.
Status WriteError(const std::string& path, int error);

}  // namespace encore

#endif  // ENCORE_IR_SUPPORT_STAGED_FILE_H_
