// StagedFile: a file that appears whole or not at all.
//
//   ENCORE_ASSIGN_OR_RETURN(StagedFile file, StagedFile::Create(path));
//   ENCORE_RETURN_IF_ERROR(file.Write(bytes));
//   return file.Commit();
//
// What is written goes to a new file beside the target, which Commit renames;
// until then, and where Commit is never reached, the target is as it was. A
// target behind symbolic links is replaced where it lies, the links stay. A
// target that is there and is no regular file (a device, a pipe) is written to
// itself: a rename would put a file in its place.
//
// Staging files have random names, so that no two objects of any processes, in
// whatever containers, meet in one, and are locked (flock) as long as their
// writer lives: that tells what a killed process left. Create removes what was
// left of the same target, RemoveDeadStagedFiles all there is in a folder. Not
// thread-safe.
#ifndef ENCORE_IR_SUPPORT_STAGED_FILE_H_
#define ENCORE_IR_SUPPORT_STAGED_FILE_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>

#include "encore/ir/support/status.h"

namespace encore {

class StagedFile {
 public:
  // How the name of every staging file ends.
  static constexpr std::string_view kSuffix = ".tmp";

  struct Options {
    int mode = 0666;  // less the umask
    // Where the staging file lies: a folder on the target's file system; empty
    // for that of the target.
    std::string folder = {};
    // Commit syncs file and folder. Without, a power cut may lose the file or
    // leave it in its place with other bytes: for what is checked when it is
    // read, and can be made again.
    bool synced = true;
  };

  // Makes the staging file, empty. InvalidArgument where `path` is a folder,
  // else errors as WriteError's; all name `path`.
  static StatusOr<StagedFile> Create(const std::string& path,
                                     const Options& options);
  static StatusOr<StagedFile> Create(const std::string& path) {
    return Create(path, Options());
  }

  StagedFile(StagedFile&& other) noexcept;
  StagedFile& operator=(StagedFile&& other) = delete;
  // Removes what was not committed.
  ~StagedFile();

  // Appends. Errors as WriteError's, which name `path`.
  Status Write(std::span<const std::byte> bytes);
  // Where to write by other means, for libraries that want a path.
  const std::string& staging() const { return staging_; }
  // Whether the target is written to itself, so that Commit changes nothing.
  bool direct() const { return staging_ == target_; }

  // Syncs what was written (Options::synced), so that Commit need not: for who
  // has to be quick between a decision and its Commit.
  Status Sync();

  // Puts the file in its place, for good: file and folder are synced, so that a
  // power cut afterwards leaves the new file and one before it the old one
  // (Options::synced).
  // Call once, after all writing. Errors as WriteError's, which name `path`.
  Status Commit();

 private:
  StagedFile(std::string path, std::string target, std::string staging, int fd,
             int registered);

  std::string path_, target_, staging_;
  int fd_;  // -1: not open
  bool pending_ = true;
  bool synced_ = true;
  bool has_synced_ = false;
  // Where RemoveStagedFiles finds this one; -1: it does not.
  int registered_;
};

// Removes the staging files of every thread, of the first 64 at once: for a
// signal that ends the process. Async-signal-safe; nothing may be committed
// afterwards.
void RemoveStagedFiles();

// Removes staging files in `folder` whose writers are dead, whether they lie
// there for their target's sake or by Options::folder; returns how many went.
// Those of living writers stay. Where the file system has no locks, nobody
// knows who lives: what was written to last before `abandoned_ns`, by its
// clock, goes.
int RemoveDeadStagedFiles(
    const std::string& folder,
    int64_t abandoned_ns = std::numeric_limits<int64_t>::min());

// Writes `bytes` to `path` as above.
Status WriteWholeFile(const std::string& path, std::string_view bytes);

// The error of a failed call that writes `path`, from errno: ResourceExhausted
// where there is no space, NotFound for a folder that is not there, else
// PermissionDenied.
Status WriteError(const std::string& path, int error);

}  // namespace encore

#endif  // ENCORE_IR_SUPPORT_STAGED_FILE_H_
