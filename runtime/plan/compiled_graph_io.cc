#include "encore/runtime/plan/compiled_graph_io.h"

#include <bit>
#include <cstring>
#include <utility>

#include "encore/ir/support/bytes.h"
#include "encore/ir/support/integers.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/types/dim.h"
#include "encore/ir/types/dim_codec.h"
#include "encore/runtime/plan/compiled_graph_fields.h"

namespace encore::runtime {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr uint32_t kMagic = 0x31474345;  // "ECG1"

size_t AlignUp(size_t n) { return RoundUp(n, size_t{kAlignment}); }

// Appends the fields (compiled_graph_fields.h).
class Writer {
 public:
  static constexpr bool kReads = false;
  std::vector<std::byte> out;

  bool ok() const { return true; }
  template <typename T>
  void Integer(const T& value) {
    const auto* data = reinterpret_cast<const std::byte*>(&value);
    out.insert(out.end(), data, data + sizeof(value));
  }
  // An enum whose largest enumerator is `last`, or a bool.
  template <typename E>
  void Enum(const E& value, E last) {
    Integer(static_cast<uint8_t>(value));
  }
  template <typename Container>
  void Bytes(const Container& bytes) {
    Resize(bytes, 1);
    const auto* data = reinterpret_cast<const std::byte*>(bytes.data());
    out.insert(out.end(), data, data + bytes.size());
  }
  template <typename Container>
  void Resize(const Container& list, size_t item_bytes) {
    Integer(static_cast<uint32_t>(list.size()));
  }
  void Extent(const Dim& dim) {
    ByteWriter bytes;
    WriteDim(dim, &bytes);
    const auto* data = reinterpret_cast<const std::byte*>(bytes.str().data());
    out.insert(out.end(), data, data + bytes.str().size());
  }
};

// Reads what Writer wrote.
class Reader {
 public:
  static constexpr bool kReads = true;
  explicit Reader(std::span<const std::byte> bytes) : rest_(bytes) {}

  bool ok() const { return ok_; }
  void Fail() {
    ok_ = false;
    rest_ = {};
  }
  template <typename T>
  void Integer(T& value) {
    if (rest_.size() < sizeof(value)) return Fail();
    std::memcpy(&value, rest_.data(), sizeof(value));
    rest_ = rest_.subspan(sizeof(value));
  }
  template <typename E>
  void Enum(E& value, E last) {
    uint8_t byte = 0;
    Integer(byte);
    if (byte > static_cast<uint8_t>(last)) return Fail();
    value = static_cast<E>(byte);
  }
  template <typename Container>
  void Bytes(Container& bytes) {
    Resize(bytes, 1);
    if (!ok_ || bytes.empty()) return;
    std::memcpy(bytes.data(), rest_.data(), bytes.size());
    rest_ = rest_.subspan(bytes.size());
  }
  // Items take at least `item_bytes` each, so a count past the end is no size
  // to reserve.
  template <typename Container>
  void Resize(Container& list, size_t item_bytes) {
    uint32_t count = 0;
    Integer(count);
    if (count > rest_.size() / item_bytes) return Fail();
    list.resize(count);
  }
  // Over any symbols: the verifier decides which there are.
  void Extent(Dim& dim) {
    ByteReader bytes(rest_);
    dim = ReadDim(&bytes, UINT32_MAX);
    if (!bytes.ok()) return Fail();
    rest_ = rest_.last(bytes.remaining());
  }

 private:
  std::span<const std::byte> rest_;
  bool ok_ = true;
};

struct BlobEntry {
  uint64_t offset = 0, size = 0;
  bool executable = false;
};
template <typename Archive, Is<BlobEntry> S>
void Transfer(Archive& a, S& entry) {
  a.Integer(entry.offset);
  a.Integer(entry.size);
  a.Enum(entry.executable, true);
}
constexpr size_t kBlobEntryBytes = 17;
constexpr size_t kHeaderBytes = 8;

Status Damaged(std::string_view what) {
  return DataLossError(StrCat("compiled graph: ", what));
}

}  // namespace

std::vector<std::byte> SerializeCompiledGraph(const CompiledGraph& graph) {
  Writer writer;
  writer.Integer(kMagic);
  writer.Integer(kCompiledGraphVersion);
  Transfer(writer, graph);
  std::vector<BlobEntry> entries;
  size_t end =
      AlignUp(writer.out.size() + 4 + graph.blobs.size() * kBlobEntryBytes);
  for (const Blob& blob : graph.blobs) {
    entries.push_back({end, blob.bytes.size(), blob.executable});
    end = AlignUp(end + blob.bytes.size());
  }
  writer.out.reserve(end);
  Transfer(writer, std::as_const(entries));
  writer.out.resize(end);
  for (size_t i = 0; i < entries.size(); ++i) {
    if (entries[i].size == 0) continue;
    std::memcpy(writer.out.data() + entries[i].offset,
                graph.blobs[i].bytes.data(), entries[i].size);
  }
  return std::move(writer.out);
}

StatusOr<CompiledGraph> ParseCompiledGraph(std::span<const std::byte> bytes,
                                           std::shared_ptr<const void> owner) {
  Reader reader(bytes);
  uint32_t magic = 0, version = 0;
  reader.Integer(magic);
  reader.Integer(version);
  if (!reader.ok() || magic != kMagic) return Damaged("no such file");
  if (version != kCompiledGraphVersion) {
    return Damaged(StrCat("version ", version, ", this program reads ",
                          kCompiledGraphVersion));
  }
  CompiledGraph graph;
  std::vector<BlobEntry> entries;
  Transfer(reader, graph);
  Transfer(reader, entries);
  if (!reader.ok()) return Damaged("cut off or malformed");
  for (const BlobEntry& entry : entries) {
    if (entry.offset % kAlignment != 0 || entry.offset < kHeaderBytes ||
        entry.offset > bytes.size() ||
        entry.size > bytes.size() - entry.offset) {
      return Damaged("a blob lies outside the file");
    }
  }
  // Blobs that overlap would multiply bytes when they are copied.
  for (size_t i = 1; i < entries.size(); ++i) {
    if (entries[i].offset < entries[i - 1].offset + entries[i - 1].size) {
      return Damaged("blobs overlap");
    }
  }
  for (const BlobEntry& entry : entries) {
    const auto data = bytes.subspan(entry.offset, entry.size);
    const bool aligned =
        reinterpret_cast<uintptr_t>(data.data()) % kAlignment == 0;
    graph.blobs.push_back(aligned ? Blob{data, owner, entry.executable}
                                  : Blob::Copy(data, entry.executable));
  }
  return graph;
}

}  // namespace encore::runtime
