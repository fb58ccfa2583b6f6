// A file mapped read-only into memory, with its identity as it was read.
#ifndef ENCORE_IR_SUPPORT_MAPPED_FILE_H_
#define ENCORE_IR_SUPPORT_MAPPED_FILE_H_

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "encore/ir/support/file_stamp.h"
#include "encore/ir/support/status.h"

namespace encore {

// Shared owner of a mapping; literals over it keep it alive. The bytes are
// those of the file: a caller that lets others truncate it gets SIGBUS, as with
// any mapping.
//
// What the file is does not follow from its path, which may lead elsewhere a
// moment later, but from the descriptor that was mapped: its stamp is taken
// before the first byte can be read. Thread-safe.
class MappedFile {
 public:
  // Errors as ReadError's; InvalidArgument where it is no regular file. The
  // message names the path.
  static StatusOr<std::shared_ptr<const MappedFile>> Open(
      const std::string& path);
  // The same of the file at `path`, to which `name` led a moment ago: it is the
  // file's path() from then on.
  static StatusOr<std::shared_ptr<const MappedFile>> Open(
      const std::string& path, const std::string& name);
  // The same of a file that is open for reading; `fd` stays the caller's.
  static StatusOr<std::shared_ptr<const MappedFile>> OfDescriptor(
      int fd, const std::string& path);

  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return {data_, stamp_.size}; }
  // As given to Open, for messages and for UnchangedSinceOpen.
  const std::string& path() const { return path_; }
  const FileStamp& stamp() const { return stamp_; }

  // Whether the path leads to this very file, and the file has the stamp that
  // it was opened with: what was read in between was read from one state of it
  // if the stamp was settled before (FileStamp::settled).
  bool UnchangedSinceOpen() const;

 private:
  MappedFile(std::string path, FileStamp stamp, const std::byte* data)
      : path_(std::move(path)), stamp_(stamp), data_(data) {}

  const std::string path_;
  const FileStamp stamp_;
  const std::byte* const data_;
};

using MappedFiles = std::vector<std::shared_ptr<const MappedFile>>;

}  // namespace encore

#endif  // ENCORE_IR_SUPPORT_MAPPED_FILE_H_
