#include "encore/runtime/plan/compiled_graph_io.h"

#include <bit>
#include <concepts>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>

#include "encore/ir/support/bytes.h"
#include "encore/ir/support/integers.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/support/typed_id.h"
#include "encore/ir/types/dim.h"
#include "encore/ir/types/dim_codec.h"
#include "encore/ir/types/dtype.h"
#include "encore/ir/types/shape.h"

namespace encore::runtime {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr uint32_t kMagic = 0x31474345;  // "ECG1"

size_t AlignUp(size_t n) { return RoundUp(n, size_t{kAlignment}); }

// What an item of a list takes at least.
template <typename T>
constexpr size_t kLeastBytes = sizeof(uint32_t);
template <>
constexpr size_t kLeastBytes<Dim> = 2;

// Appends values; Reader has the same members and reads them back, so that one
// Transfer function per struct is both directions: it takes a struct that is
// const for Writer and open for Reader (Is).
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

template <typename S, typename T>
concept Is = std::same_as<std::remove_const_t<S>, T>;

template <typename Tag>
void Transfer(Writer& a, const TypedId<Tag>& id) {
  a.Integer(id.valid() ? id.value() : UINT32_MAX);
}
template <typename Tag>
void Transfer(Reader& a, TypedId<Tag>& id) {
  uint32_t value = UINT32_MAX;
  a.Integer(value);
  id = value == UINT32_MAX ? TypedId<Tag>() : TypedId<Tag>(value);
}
template <typename Archive, Is<uint32_t> S>
void Transfer(Archive& a, S& value) {
  a.Integer(value);
}
template <typename Archive, Is<Dim> S>
void Transfer(Archive& a, S& dim) {
  a.Extent(dim);
}
template <typename Archive, Is<std::string> S>
void Transfer(Archive& a, S& text) {
  a.Bytes(text);
}

// A count and that many items.
template <typename Archive, typename List>
  requires Is<List, std::vector<typename List::value_type>>
void Transfer(Archive& a, List& list) {
  a.Resize(list, kLeastBytes<typename List::value_type>);
  for (auto& item : list) {
    if (!a.ok()) return;
    Transfer(a, item);
  }
}

template <typename Archive, Is<DeviceInfo> S>
void Transfer(Archive& a, S& device) {
  Transfer(a, device.backend);
  a.Integer(device.ordinal);
  Transfer(a, device.pool);
}
template <typename Archive, Is<PoolInfo> S>
void Transfer(Archive& a, S& pool) {
  Transfer(a, pool.device);
}
template <typename Archive, Is<SymbolInfo> S>
void Transfer(Archive& a, S& symbol) {
  a.Integer(symbol.lower);
  a.Integer(symbol.upper);
  a.Enum(symbol.source, SymbolInfo::Source::kSlot);
  a.Integer(symbol.index);
  a.Integer(symbol.element);
  Transfer(a, symbol.message);
}

template <typename Archive, Is<TensorType> S>
void Transfer(Archive& a, S& type) {
  auto dtype = static_cast<uint8_t>(type.dtype);
  a.Integer(dtype);
  if constexpr (Archive::kReads) {
    if (!IsValidDType(dtype)) return a.Fail();
    type.dtype = static_cast<DType>(dtype);
  }
  a.Enum(type.kind, ValueKind::kOptionalSequence);
  if constexpr (Archive::kReads) {
    Transfer(a, type.shape.mutable_dims());
    if (type.shape.rank() > kMaxRank) a.Fail();
  } else {
    Transfer(a, type.shape.dims());
  }
}

template <typename Archive, Is<Slot> S>
void Transfer(Archive& a, S& slot) {
  a.Enum(slot.role, SlotRole::kTemporary);
  a.Enum(slot.is_arena, true);
  Transfer(a, slot.type);
  Transfer(a, slot.pool);
  Transfer(a, slot.bytes);
  Transfer(a, slot.base);
  Transfer(a, slot.offset);
  Transfer(a, slot.blob);
  a.Integer(slot.blob_offset);
}

template <typename Archive, Is<KernelBinary> S>
void Transfer(Archive& a, S& binary) {
  Transfer(a, binary.backend);
  Transfer(a, binary.artifact);
  Transfer(a, binary.entry);
  a.Bytes(binary.params);
  Transfer(a, binary.requirements);
  a.Integer(binary.reads);
  a.Integer(binary.writes);
  a.Integer(binary.args);
}

template <typename Archive, Is<Allocate> S>
void Transfer(Archive& a, S& op) {
  Transfer(a, op.pool);
  Transfer(a, op.slot);
  Transfer(a, op.bytes);
}
template <typename Archive, Is<Copy> S>
void Transfer(Archive& a, S& op) {
  Transfer(a, op.src);
  Transfer(a, op.dst);
}
template <typename Archive, Is<Launch::InPlace> S>
void Transfer(Archive& a, S& pair) {
  a.Integer(pair.read);
  a.Integer(pair.write);
}
template <typename Archive, Is<Launch> S>
void Transfer(Archive& a, S& op) {
  Transfer(a, op.binary);
  Transfer(a, op.device);
  Transfer(a, op.reads);
  Transfer(a, op.writes);
  Transfer(a, op.args);
  Transfer(a, op.in_place);
}
template <typename Archive, Is<Deallocate> S>
void Transfer(Archive& a, S& op) {
  Transfer(a, op.pool);
  Transfer(a, op.slot);
}
template <typename Archive, Is<Invoke::Carried> S>
void Transfer(Archive& a, S& carried) {
  Transfer(a, carried.state);
  Transfer(a, carried.next);
}
template <typename Archive, Is<Invoke::StackedOperand> S>
void Transfer(Archive& a, S& scanned) {
  Transfer(a, scanned.stacked);
  Transfer(a, scanned.slice);
  a.Enum(scanned.reversed, true);
}
template <typename Archive, Is<Invoke> S>
void Transfer(Archive& a, S& op) {
  a.Enum(op.kind, InvokeKind::kScan);
  Transfer(a, op.plans);
  Transfer(a, op.selector);
  Transfer(a, op.trips);
  Transfer(a, op.carried);
  Transfer(a, op.scanned);
  Transfer(a, op.reads);
  Transfer(a, op.writes);
}

// Makes `op` hold alternative `kind`.
template <size_t kIndex = 0, typename Variant>
void Emplace(Variant& op, size_t kind) {
  if constexpr (kIndex < std::variant_size_v<Variant>) {
    if (kind == kIndex) {
      op.template emplace<kIndex>();
    } else {
      Emplace<kIndex + 1>(op, kind);
    }
  }
}

template <typename Archive, Is<Step> S>
void Transfer(Archive& a, S& step) {
  auto kind = static_cast<uint8_t>(step.op.index());
  a.Integer(kind);
  if constexpr (Archive::kReads) {
    if (kind >= std::variant_size_v<decltype(step.op)>) return a.Fail();
    Emplace(step.op, kind);
  }
  std::visit([&a](auto& op) { Transfer(a, op); }, step.op);
  Transfer(a, step.origins);
}

template <typename Archive, Is<Plan> S>
void Transfer(Archive& a, S& plan) {
  Transfer(a, plan.steps);
}

// Everything but blobs.
template <typename Archive, Is<CompiledGraph> S>
void Transfer(Archive& a, S& graph) {
  Transfer(a, graph.devices);
  Transfer(a, graph.pools);
  Transfer(a, graph.symbols);
  Transfer(a, graph.slots);
  Transfer(a, graph.kernel_binaries);
  Transfer(a, graph.plans);
  Transfer(a, graph.prepare);
  Transfer(a, graph.run);
  Transfer(a, graph.inputs);
  Transfer(a, graph.outputs);
  Transfer(a, graph.parameters);
}

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
