#include "encore/cache/store/container_writer.h"

#include <sys/stat.h>

#include <limits>
#include <memory>

#include "encore/cache/store/container_format.h"
#include "encore/ir/support/bytes.h"
#include "encore/ir/support/check.h"
#include "encore/ir/support/integers.h"
#include "encore/ir/support/staged_file.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::cache {
namespace {

using namespace container_format;  // NOLINT: layout constants

// What a file's size is counted in (off_t).
constexpr uint64_t kMaxFileSize = std::numeric_limits<int64_t>::max();
constexpr uint64_t kNoFileSize = std::numeric_limits<uint64_t>::max();

Status TooLarge() {
  return ResourceExhaustedError("more bytes than a file can have");
}

// Appends to a file. Small pieces are gathered: a file of many sections takes
// no system call for each.
class FileSink {
 public:
  explicit FileSink(StagedFile* file) : file_(file) {}

  Status Append(std::span<const std::byte> piece) {
    if (gathered_.size() + piece.size() > kGathered) {
      ENCORE_RETURN_IF_ERROR(Flush());
      if (piece.size() > kGathered) return file_->Write(piece);
    }
    gathered_.insert(gathered_.end(), piece.begin(), piece.end());
    return OkStatus();
  }
  Status Flush() {
    ENCORE_RETURN_IF_ERROR(file_->Write(gathered_));
    gathered_.clear();
    return OkStatus();
  }

 private:
  static constexpr size_t kGathered = size_t{1} << 16;

  StagedFile* const file_;
  std::vector<std::byte> gathered_;
};

}  // namespace

void ContainerWriter::Add(SectionType type, std::span<const std::byte> bytes,
                          size_t alignment) {
  ENCORE_CHECK(alignment >= kMinAlignment && alignment <= kMaxAlignment &&
               (alignment & (alignment - 1)) == 0);
  pending_.push_back({type, bytes, alignment, nullptr});
}

void ContainerWriter::AddOwned(SectionType type, std::string bytes,
                               size_t alignment) {
  auto owner = std::make_shared<const std::string>(std::move(bytes));
  Add(type, std::as_bytes(std::span(*owner)), alignment);
  pending_.back().owner = std::move(owner);
}

template <typename Place>
uint64_t ContainerWriter::LayOut(const Place& place) const {
  // The sections are in memory, so that their number times 40 fits.
  uint64_t end = kHeaderSize + pending_.size() * kEntrySize;
  for (const Pending& pending : pending_) {
    const uint64_t offset = RoundUp(end, pending.alignment);
    // Neither sum overflows: `end` was at most kMaxFileSize.
    if (offset > kMaxFileSize || pending.bytes.size() > kMaxFileSize - offset) {
      return kNoFileSize;
    }
    place(offset);
    end = offset + pending.bytes.size();
  }
  return end;
}

uint64_t ContainerWriter::size() const {
  return LayOut([](uint64_t) {});
}

std::string ContainerWriter::Head(std::span<const uint64_t> offsets,
                                  uint64_t size) const {
  ByteWriter head;
  head.Raw(kMagic);
  head.Fixed64(VersionOf(offsets.size()));
  head.Fixed64(offsets.size());
  head.Fixed64(size);
  head.Raw(std::string(kHeaderSize - kChecksumAt, '\0'));
  for (size_t i = 0; i < offsets.size(); ++i) {
    head.Fixed64(static_cast<uint64_t>(pending_[i].type));
    head.Fixed64(offsets[i]);
    head.Fixed64(pending_[i].bytes.size());
    head.Raw(AsText(ChecksumOf(pending_[i].bytes)));
  }
  std::string bytes = head.Take();
  bytes.replace(kChecksumAt, kChecksumSize,
                AsText(HeadChecksum(std::as_bytes(std::span(bytes)))));
  return bytes;
}

Status ContainerWriter::Write(const Sink& sink) const {
  static constexpr std::byte kZeros[kMaxAlignment] = {};
  std::vector<uint64_t> offsets;
  offsets.reserve(pending_.size());
  const uint64_t size =
      LayOut([&](uint64_t offset) { offsets.push_back(offset); });
  if (size == kNoFileSize) return TooLarge();
  const std::string head = Head(offsets, size);
  ENCORE_RETURN_IF_ERROR(sink(std::as_bytes(std::span(head))));
  uint64_t end = head.size();
  for (size_t i = 0; i < offsets.size(); ++i) {
    ENCORE_RETURN_IF_ERROR(sink(std::span(kZeros).first(offsets[i] - end)));
    ENCORE_RETURN_IF_ERROR(sink(pending_[i].bytes));
    end = offsets[i] + pending_[i].bytes.size();
  }
  return OkStatus();
}

StatusOr<std::string> ContainerWriter::ToBytes() const {
  std::string bytes;
  ENCORE_RETURN_IF_ERROR(Write([&](std::span<const std::byte> piece) {
    bytes.append(reinterpret_cast<const char*>(piece.data()), piece.size());
    return OkStatus();
  }));
  return bytes;
}

Status WriteFile(const ContainerWriter& writer, const std::string& path,
                 const WriteOptions& options) {
  if (writer.size() == kNoFileSize) return Annotate(TooLarge(), path);
  ENCORE_ASSIGN_OR_RETURN(
      StagedFile file,
      StagedFile::Create(path, {.mode = S_IRUSR | S_IWUSR,
                                .folder = options.staging_folder,
                                .synced = options.synced}));
  FileSink sink(&file);
  ENCORE_RETURN_IF_ERROR(
      writer.Write([&sink](std::span<const std::byte> piece) {
        return sink.Append(piece);
      }));
  ENCORE_RETURN_IF_ERROR(sink.Flush());
  if (options.check) {
    ENCORE_RETURN_IF_ERROR(file.Sync());
    ENCORE_RETURN_IF_ERROR(options.check());
  }
  return file.Commit();
}

}  // namespace encore::cache
