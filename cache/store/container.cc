#include "encore/cache/store/container.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "encore/cache/store/container_format.h"
#include "encore/ir/support/bytes.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/support/system_calls.h"

namespace encore::cache {
namespace {

using namespace container_format;  // NOLINT: layout constants

bool IsZero(std::span<const std::byte> bytes) {
  return std::all_of(bytes.begin(), bytes.end(),
                     [](std::byte byte) { return byte == std::byte{0}; });
}

}  // namespace

std::string_view Name(SectionType type) {
  constexpr std::string_view kNames[] = {
      "?",       "headline", "stencil",  "constants", "compiled graph",
      "blob",    "code",     "derived",  "names",     "weights",
      "calls",   "tensor",   "artifact", "text",      "measurements",
      "address", "parts"};
  const auto i = static_cast<size_t>(type);
  return i < std::size(kNames) ? kNames[i] : kNames[0];
}

StatusOr<std::shared_ptr<const Container>> Container::Open(
    const std::string& path) {
  Descriptor file(sys::OpenAt(AT_FDCWD, path.c_str(),
                              O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0));
  if (!file.is_open()) return ReadError(path, errno);
  return OfDescriptor(std::move(file), path);
}

StatusOr<std::shared_ptr<const Container>> Container::OfDescriptor(
    Descriptor file, const std::string& path) {
  std::shared_ptr<Container> container(new Container);
  container->open_ = std::move(file);
  container->path_ = path;
  ENCORE_ASSIGN_OR_RETURN(
      container->file_,
      MappedFile::OfDescriptor(container->open_.number(), path));
  container->bytes_ = container->file_->bytes();
  if (container->bytes_.size() < kHeaderSize) {
    return DataLossError(
        StrCat(path, ": no container: ", container->bytes_.size(), " bytes"));
  }
  ENCORE_RETURN_IF_ERROR(container->Parse());
  return container;
}

StatusOr<std::shared_ptr<const Container>> Container::FromBytes(
    std::string bytes) {
  std::shared_ptr<Container> container(new Container);
  container->owned_ = std::move(bytes);
  container->bytes_ = std::as_bytes(std::span(container->owned_));
  ENCORE_RETURN_IF_ERROR(container->Parse());
  return container;
}

Status Container::Parse() {
  const auto damaged = [&](std::string_view what) {
    return DataLossError(StrCat(path_, ": header: ", what));
  };
  if (bytes_.size() < kHeaderSize) return damaged("truncated");
  ByteReader header(bytes_.first(kHeaderSize));
  if (header.Raw(kMagic.size()) != kMagic) return damaged("no container");
  version_ = header.Fixed64();
  const uint64_t count = header.Fixed64();
  const uint64_t size = header.Fixed64();
  if (count > (bytes_.size() - kHeaderSize) / kEntrySize) {
    return damaged("truncated, or an impossible number of sections");
  }
  const auto head = bytes_.first(kHeaderSize + count * kEntrySize);
  const std::string_view stored = header.Raw(kChecksumSize);
  if (stored != AsText(HeadChecksum(head))) return damaged("checksum mismatch");
  if (version_ != 1 && version_ != 2) {
    return FailedPreconditionError(
        StrCat(path_, ": container version ", version_, ", expected 1 or 2"));
  }
  if (version_ != VersionOf(count)) {
    return damaged(StrCat("version ", version_, " with ", count, " sections"));
  }
  if (size != bytes_.size()) {
    return damaged(StrCat(bytes_.size(), " bytes, expected ", size));
  }
  return ParseTable(count);
}

Status Container::ParseTable(uint64_t count) {
  ByteReader table(bytes_.subspan(kHeaderSize, count * kEntrySize));
  uint64_t end = kHeaderSize + count * kEntrySize;
  sections_.reserve(count);
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t type = table.Fixed64();
    if (type > UINT32_MAX) {
      return DataLossError(StrCat(path_, ": section ", i, ": type ", type));
    }
    Section section{static_cast<SectionType>(type)};
    std::vector<size_t>& places = by_type_[section.type];
    section.index = places.size();
    section.offset = table.Fixed64();
    section.length = table.Fixed64();
    const std::string_view checksum = table.Raw(kChecksumSize);
    std::copy(checksum.begin(), checksum.end(), section.checksum.begin());
    if (section.offset < end || section.offset > bytes_.size() ||
        section.length > bytes_.size() - section.offset ||
        section.offset % kMinAlignment != 0) {
      return DataLossError(
          StrCat(Describe(section), ": lies outside the file"));
    }
    if (!IsGap(end, section.offset)) {
      return DataLossError(
          StrCat(Describe(section), ": the gap before it is not empty"));
    }
    end = section.offset + section.length;
    places.push_back(sections_.size());
    sections_.push_back(section);
  }
  if (end == bytes_.size()) return OkStatus();
  return DataLossError(StrCat(path_, ": bytes after the last section"));
}

// Gaps are shorter than the largest alignment, and zeros.
bool Container::IsGap(uint64_t begin, uint64_t end) const {
  return end - begin < kMaxAlignment &&
         IsZero(bytes_.subspan(begin, end - begin));
}

std::string Container::Describe(const Section& section) const {
  return StrCat(path_, ": section ", Name(section.type), " ", section.index);
}

const Section* Container::Find(SectionType type, uint64_t index) const {
  const auto places = by_type_.find(type);
  if (places == by_type_.end() || index >= places->second.size()) {
    return nullptr;
  }
  return &sections_[places->second[index]];
}

size_t Container::Count(SectionType type) const {
  const auto places = by_type_.find(type);
  return places == by_type_.end() ? 0 : places->second.size();
}

StatusOr<std::span<const std::byte>> Container::Read(SectionType type,
                                                     uint64_t index) const {
  const Section* section = Find(type, index);
  if (section == nullptr) {
    return DataLossError(
        StrCat(path_, ": no section ", Name(type), " ", index));
  }
  ENCORE_RETURN_IF_ERROR(Verify(*section));
  return Unverified(*section);
}

Status Container::Verify(const Section& section) const {
  ENCORE_RETURN_IF_ERROR(CheckSize());
  if (ChecksumOf(Unverified(section)) == section.checksum) return OkStatus();
  return DataLossError(StrCat(Describe(section), ": checksum mismatch"));
}

Status Container::VerifyAll() const {
  for (const Section& section : sections_) {
    ENCORE_RETURN_IF_ERROR(Verify(section));
  }
  return OkStatus();
}

std::span<const std::byte> Container::Unverified(const Section& section) const {
  return bytes_.subspan(section.offset, section.length);
}

Status Container::CheckSize() const {
  if (!open_.is_open()) return OkStatus();
  ENCORE_ASSIGN_OR_RETURN(const FileStamp now, StampOf(open_.number(), path_));
  if (now.size >= bytes_.size()) return OkStatus();
  return DataLossError(StrCat(path_, ": truncated to ", now.size,
                              " bytes while in use, expected ", bytes_.size()));
}

}  // namespace encore::cache
