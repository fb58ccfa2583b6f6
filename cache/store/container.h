// Container: the `.encore` file, a list of typed, aligned sections, each with
// its length and checksum (bytes in cache/README.md).
//
// Cache entries, packages and recordings are containers; they differ in which
// sections they have. A container is mapped, not read: opening one checks its
// header, its table and that the gaps between sections are zero, and touches no
// section. Read verifies a section's checksum before it hands the bytes out, so
// a flipped bit is found before its value is used; the error names the section.
// Unverified is for bulk data whose contents are known to be good by other
// means (ir/support/file_stamp.h).
//
// Any bytes are safe to open: sizes and offsets are checked before use, time
// and memory are bounded by the size of the table. There may be as many
// sections as a file has room for; finding one of n takes O(log n). Containers
// are immutable and safe to share between threads.
#ifndef ENCORE_CACHE_STORE_CONTAINER_H_
#define ENCORE_CACHE_STORE_CONTAINER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "encore/ir/support/descriptor.h"
#include "encore/ir/support/mapped_file.h"
#include "encore/ir/support/status.h"

namespace encore::cache {

// What a section holds. Values are stored: rows are only added.
enum class SectionType : uint32_t {
  kHeadline = 1,       // key, kind and description of the file
  kStencil = 2,        // bytes of the graph
  kConstants = 3,      // constants that the stencil has as digests
  kCompiledGraph = 4,  // plans, slots, programs; without blobs
  kBlob = 5,           // constants and kernel data of the compiled graph
  kCode = 6,           // as kBlob, executable
  kDerived = 7,        // what the prepare plan made
  kNames = 8,          // names of the signature and origins
  kWeights = 9,        // a parameter's data
  kCalls = 10,         // inputs and expected outputs of calls
  kTensor = 11,        // the bytes of one of them
  kArtifact = 12,      // what a backend keeps
  kText = 13,          // anything small under a caller's name
  kMeasurements = 14,  // what kernels were chosen by
  kAddress = 15,       // of a store's entry: the kind and key it is kept under
  kParts = 16,         // of prepared weights: what derived slots are made of
};
std::string_view Name(SectionType type);

struct Section {
  SectionType type;
  uint64_t index = 0;  // among the sections of its type
  uint64_t offset = 0, length = 0;
  std::array<uint8_t, 16> checksum = {};
};

class Container {
 public:
  // Maps the file. Errors of MappedFile::Open; DataLoss for a file that is
  // damaged or none of ours, FailedPrecondition for another version.
  static StatusOr<std::shared_ptr<const Container>> Open(
      const std::string& path);
  // The same of a file that is open for reading; takes `file` over.
  static StatusOr<std::shared_ptr<const Container>> OfDescriptor(
      Descriptor file, const std::string& path);
  // Over bytes in memory; same errors.
  static StatusOr<std::shared_ptr<const Container>> FromBytes(
      std::string bytes);

  Container(const Container&) = delete;
  Container& operator=(const Container&) = delete;

  std::span<const Section> sections() const { return sections_; }
  // Null where there is none.
  const Section* Find(SectionType type, uint64_t index = 0) const;
  size_t Count(SectionType type) const;

  // The bytes, once their checksum is right: DataLoss otherwise, also where
  // there is no such section, which whoever reads it cannot do without. Cost:
  // one pass over the section. The span lives as long as the container.
  StatusOr<std::span<const std::byte>> Read(SectionType type,
                                            uint64_t index = 0) const;
  Status Verify(const Section& section) const;
  // Every section.
  Status VerifyAll() const;
  // The bytes as they are.
  std::span<const std::byte> Unverified(const Section& section) const;

  // DataLoss where the file has become shorter since it was opened: touching
  // the mapping would then fault.
  Status CheckSize() const;

  size_t size() const { return bytes_.size(); }
  // The mapped file; null for bytes in memory.
  const std::shared_ptr<const MappedFile>& file() const { return file_; }
  // The file's descriptor, of which ownership and times can be asked whatever
  // its path leads to by now; -1 for bytes in memory.
  int descriptor() const { return open_.number(); }
  // Of the format, as the file says it.
  uint64_t version() const { return version_; }

 private:
  Container() = default;
  Status Parse();
  Status ParseTable(uint64_t count);
  bool IsGap(uint64_t begin, uint64_t end) const;
  std::string Describe(const Section& section) const;

  std::string path_ = "container";
  std::string owned_;
  Descriptor open_;
  std::shared_ptr<const MappedFile> file_;
  std::span<const std::byte> bytes_;
  uint64_t version_ = 0;
  std::vector<Section> sections_;
  // Places in sections_, by index.
  std::map<SectionType, std::vector<size_t>> by_type_;
};

}  // namespace encore::cache

#endif  // ENCORE_CACHE_STORE_CONTAINER_H_
