// A file mapped read-only into memory.
#ifndef ENCORE_IR_IMPORT_MAPPED_FILE_H_
#define ENCORE_IR_IMPORT_MAPPED_FILE_H_

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "encore/ir/support/status.h"

namespace encore {

// Shared owner of a mapping; literals over it keep it alive. The bytes are
// those of the file: a caller that lets others truncate it gets SIGBUS, as with
// any mapping.
class MappedFile {
 public:
  // NotFound or PermissionDenied where the file cannot be opened,
  // InvalidArgument where it is no regular file; the message names the path.
  static StatusOr<std::shared_ptr<const MappedFile>> Open(
      const std::string& path);

  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return {data_, size_}; }

 private:
  MappedFile(const std::byte* data, size_t size) : data_(data), size_(size) {}

  const std::byte* data_;
  size_t size_;
};

}  // namespace encore

#endif  // ENCORE_IR_IMPORT_MAPPED_FILE_H_
