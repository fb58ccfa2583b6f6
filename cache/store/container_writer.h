// ContainerWriter: what makes containers.
#ifndef ENCORE_CACHE_STORE_CONTAINER_WRITER_H_
#define ENCORE_CACHE_STORE_CONTAINER_WRITER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "encore/cache/store/container.h"
#include "encore/ir/support/status.h"

namespace encore::cache {

// Collects sections and writes them in order. What no file can hold is an error
// of whoever writes, never a failed check.
class ContainerWriter {
 public:
  // `bytes` must stay until the writer has written. `alignment`: of the offset
  // in the file, a power of two from 64 to 4096.
  void Add(SectionType type, std::span<const std::byte> bytes,
           size_t alignment = 64);
  // As above, keeping the bytes.
  void AddOwned(SectionType type, std::string bytes, size_t alignment = 64);

  // Calls sink(piece) for successive pieces of the file until one fails; that
  // status is returned. ResourceExhausted, without a call, for more than
  // 2^63 - 1 bytes. Cost: one pass over the bytes for their checksums, another
  // for the sink.
  using Sink = std::function<Status(std::span<const std::byte>)>;
  Status Write(const Sink& sink) const;
  StatusOr<std::string> ToBytes() const;
  // The size of the file; the largest uint64_t where no file can hold it. Cost:
  // O(sections).
  uint64_t size() const;

 private:
  struct Pending {
    SectionType type;
    std::span<const std::byte> bytes;
    size_t alignment;
    std::shared_ptr<const std::string> owner;
  };
  // Calls place(offset) for each section; returns the size as above.
  template <typename Place>
  uint64_t LayOut(const Place& place) const;
  std::string Head(std::span<const uint64_t> offsets, uint64_t size) const;

  std::vector<Pending> pending_;
};

struct WriteOptions {
  // StagedFile::Options.
  std::string staging_folder = {};
  bool synced = true;
  // Where given, is asked when all is written and synced, right before the
  // file takes its place: its error keeps it from that.
  std::function<Status()> check = nullptr;
};

// Writes a container to `path` as a StagedFile, so that a reader sees the old
// file or the new one. Mode 0600.
Status WriteFile(const ContainerWriter& writer, const std::string& path,
                 const WriteOptions& options = {});

}  // namespace encore::cache

#endif  // ENCORE_CACHE_STORE_CONTAINER_WRITER_H_
