#include <sys/stat.h>
#include <xxhash.h>

#include <map>

#include "encore/cache/container.h"
#include "encore/cache/container_format.h"
#include "encore/ir/support/bytes.h"
#include "encore/ir/support/check.h"
#include "encore/ir/support/staged_file.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::cache {
namespace container_format {

std::string Checksum(std::span<const std::byte> bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, hash);
  return std::string(reinterpret_cast<const char*>(canonical.digest),
                     sizeof(canonical.digest));
}

std::string HeadChecksum(std::span<const std::byte> head) {
  std::string copy(reinterpret_cast<const char*>(head.data()), head.size());
  copy.replace(kChecksumAt, kChecksumSize, kChecksumSize, '\0');
  return Checksum(std::as_bytes(std::span(copy)));
}

}  // namespace container_format

namespace {

using namespace container_format;  // NOLINT: layout constants

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

std::vector<Section> ContainerWriter::Layout() const {
  ENCORE_CHECK_LE(pending_.size(), kMaxSections);
  std::vector<Section> sections;
  std::map<SectionType, uint32_t> counts;
  uint64_t end = kHeaderSize + pending_.size() * kEntrySize;
  for (const Pending& pending : pending_) {
    const uint64_t offset =
        (end + pending.alignment - 1) / pending.alignment * pending.alignment;
    sections.push_back({pending.type,
                        counts[pending.type]++,
                        offset,
                        pending.bytes.size(),
                        {}});
    end = offset + pending.bytes.size();
  }
  return sections;
}

uint64_t ContainerWriter::size() const {
  const std::vector<Section> sections = Layout();
  if (sections.empty()) return kHeaderSize;
  return sections.back().offset + sections.back().length;
}

std::string ContainerWriter::Head(const std::vector<Section>& sections) const {
  ByteWriter head;
  head.Raw(kMagic);
  head.Fixed64(kContainerVersion);
  head.Fixed64(sections.size());
  head.Fixed64(size());
  head.Raw(std::string(kHeaderSize - kChecksumAt, '\0'));
  for (size_t i = 0; i < sections.size(); ++i) {
    head.Fixed64(static_cast<uint64_t>(sections[i].type));
    head.Fixed64(sections[i].offset);
    head.Fixed64(sections[i].length);
    head.Raw(Checksum(pending_[i].bytes));
  }
  std::string bytes = head.Take();
  bytes.replace(kChecksumAt, kChecksumSize,
                HeadChecksum(std::as_bytes(std::span(bytes))));
  return bytes;
}

Status ContainerWriter::Write(const Sink& sink) const {
  static constexpr std::byte kZeros[kMaxAlignment] = {};
  const std::vector<Section> sections = Layout();
  const std::string head = Head(sections);
  ENCORE_RETURN_IF_ERROR(sink(std::as_bytes(std::span(head))));
  uint64_t end = head.size();
  for (size_t i = 0; i < sections.size(); ++i) {
    ENCORE_RETURN_IF_ERROR(
        sink(std::span(kZeros).first(sections[i].offset - end)));
    ENCORE_RETURN_IF_ERROR(sink(pending_[i].bytes));
    end = sections[i].offset + sections[i].length;
  }
  return OkStatus();
}

std::string ContainerWriter::ToBytes() const {
  std::string bytes;
  ENCORE_CHECK_OK(Write([&](std::span<const std::byte> piece) {
    bytes.append(reinterpret_cast<const char*>(piece.data()), piece.size());
    return OkStatus();
  }));
  return bytes;
}

Status WriteFile(const ContainerWriter& writer, const std::string& path,
                 const std::string& staging_folder,
                 const std::function<Status()>& check) {
  ENCORE_ASSIGN_OR_RETURN(StagedFile file,
                          StagedFile::Create(path, {.mode = S_IRUSR | S_IWUSR,
                                                    .folder = staging_folder}));
  ENCORE_RETURN_IF_ERROR(writer.Write(
      [&](std::span<const std::byte> piece) { return file.Write(piece); }));
  if (check) ENCORE_RETURN_IF_ERROR(check());
  return file.Commit();
}

}  // namespace encore::cache
