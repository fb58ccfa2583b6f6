#include "encore/runtime/plan/compiled_graph_io.h"

#include <bit>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>

#include "encore/ir/support/strings.h"
#include "encore/ir/support/typed_id.h"
#include "encore/ir/types/dim.h"
#include "encore/ir/types/dtype.h"
#include "encore/ir/types/shape.h"

namespace encore::runtime {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr uint32_t kMagic = 0x31474345;  // "ECG1"

size_t AlignUp(size_t n) {
  return (n + kAlignment - 1) / kAlignment * kAlignment;
}

// Appends values; Reader has the same members and reads them back, so that one
// Transfer function per struct is both directions.
class Writer {
 public:
  static constexpr bool kReads = false;
  std::vector<std::byte> out;

  bool ok() const { return true; }
  template <typename T>
  void Integer(T& value) {
    const auto* data = reinterpret_cast<const std::byte*>(&value);
    out.insert(out.end(), data, data + sizeof(value));
  }
  // An enum whose largest enumerator is `last`, or a bool.
  template <typename E>
  void Enum(E& value, E last) {
    auto byte = static_cast<uint8_t>(value);
    Integer(byte);
  }
  template <typename Container>
  void Bytes(Container& bytes) {
    Resize(bytes, 1);
    const auto* data = reinterpret_cast<const std::byte*>(bytes.data());
    out.insert(out.end(), data, data + bytes.size());
  }
  template <typename Container>
  void Resize(Container& list, size_t item_bytes) {
    auto count = static_cast<uint32_t>(list.size());
    Integer(count);
  }
  void Extent(Dim& dim) {
    auto terms = static_cast<uint8_t>(dim.terms().size());
    int64_t constant = dim.constant_term();
    Integer(terms);
    Integer(constant);
    for (const Dim::Term& term : dim.terms()) {
      int64_t coefficient = term.coefficient;
      auto factors = static_cast<uint32_t>(term.factors.size());
      Integer(coefficient);
      Integer(factors);
      for (const Dim::Factor& factor : term.factors) {
        auto op = static_cast<uint8_t>(factor.op);
        uint32_t symbol = factor.symbol;
        Integer(op);
        if (factor.op == Dim::Op::kSymbol) {
          Integer(symbol);
        } else {  // at most kMaxDimDepth deep
          Dim a = *factor.a, b = *factor.b;
          Extent(a);
          Extent(b);
        }
      }
    }
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
  void Extent(Dim& dim) { dim = ReadExtent(0); }

 private:
  Dim ReadExtent(int depth) {
    uint8_t terms = 0;
    int64_t constant = 0;
    Integer(terms);
    Integer(constant);
    if (terms > kMaxDimTerms || depth > kMaxDimDepth) Fail();
    Dim sum(constant);
    for (int t = 0; t < terms && ok_; ++t) sum = sum + ReadTerm(depth);
    if (!sum.valid()) Fail();
    return sum;
  }
  Dim ReadTerm(int depth) {
    int64_t coefficient = 0;
    uint32_t factors = 0;
    Integer(coefficient);
    Integer(factors);
    if (factors > kMaxDimTerms) Fail();
    Dim product(coefficient);
    for (uint32_t f = 0; f < factors && ok_; ++f) {
      product = product * ReadFactor(depth);
    }
    return product;
  }
  Dim ReadFactor(int depth) {
    Dim::Op op = Dim::Op::kSymbol;
    Enum(op, Dim::Op::kMin);
    if (op == Dim::Op::kSymbol) {
      uint32_t symbol = 0;
      Integer(symbol);
      return Dim::OfSymbol(symbol);
    }
    const Dim a = ReadExtent(depth + 1);
    const Dim b = ReadExtent(depth + 1);
    if (op == Dim::Op::kFloorDiv) return FloorDiv(a, b);
    if (op == Dim::Op::kMod) return Mod(a, b);
    return op == Dim::Op::kMax ? Max(a, b) : Min(a, b);
  }

  std::span<const std::byte> rest_;
  bool ok_ = true;
};

template <typename Archive, typename Tag>
void Transfer(Archive& a, TypedId<Tag>& id) {
  uint32_t value = id.valid() ? id.value() : UINT32_MAX;
  a.Integer(value);
  id = value == UINT32_MAX ? TypedId<Tag>() : TypedId<Tag>(value);
}
template <typename Archive>
void Transfer(Archive& a, uint32_t& value) {
  a.Integer(value);
}
template <typename Archive>
void Transfer(Archive& a, Dim& dim) {
  a.Extent(dim);
}
template <typename Archive>
void Transfer(Archive& a, std::string& text) {
  a.Bytes(text);
}

// A count and that many items.
template <typename Archive, typename T>
void Transfer(Archive& a, std::vector<T>& list) {
  a.Resize(list, sizeof(uint32_t));
  for (T& item : list) {
    if (!a.ok()) return;
    Transfer(a, item);
  }
}

template <typename Archive>
void Transfer(Archive& a, DeviceInfo& device) {
  Transfer(a, device.backend);
  a.Integer(device.ordinal);
  Transfer(a, device.pool);
}
template <typename Archive>
void Transfer(Archive& a, PoolInfo& pool) {
  Transfer(a, pool.device);
}
template <typename Archive>
void Transfer(Archive& a, SymbolInfo& symbol) {
  a.Integer(symbol.lower);
  a.Integer(symbol.upper);
  a.Enum(symbol.source, SymbolInfo::Source::kSlot);
  a.Integer(symbol.index);
  a.Integer(symbol.element);
  Transfer(a, symbol.message);
}

template <typename Archive>
void Transfer(Archive& a, TensorType& type) {
  auto dtype = static_cast<uint8_t>(type.dtype);
  a.Integer(dtype);
  if constexpr (Archive::kReads) {
    if (!IsValidDType(dtype)) return a.Fail();
    type.dtype = static_cast<DType>(dtype);
  }
  a.Enum(type.kind, ValueKind::kOptionalSequence);
  Transfer(a, type.shape.mutable_dims());
  if constexpr (Archive::kReads) {
    if (type.shape.rank() > kMaxRank) a.Fail();
  }
}

template <typename Archive>
void Transfer(Archive& a, Slot& slot) {
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

template <typename Archive>
void Transfer(Archive& a, KernelBinary& program) {
  Transfer(a, program.backend);
  Transfer(a, program.artifact);
  Transfer(a, program.entry);
  a.Bytes(program.params);
  Transfer(a, program.requirements);
  a.Integer(program.reads);
  a.Integer(program.writes);
  a.Integer(program.args);
}

template <typename Archive>
void Transfer(Archive& a, Allocate& op) {
  Transfer(a, op.pool);
  Transfer(a, op.slot);
  Transfer(a, op.bytes);
}
template <typename Archive>
void Transfer(Archive& a, Copy& op) {
  Transfer(a, op.src);
  Transfer(a, op.dst);
}
template <typename Archive>
void Transfer(Archive& a, Launch::InPlace& pair) {
  a.Integer(pair.read);
  a.Integer(pair.write);
}
template <typename Archive>
void Transfer(Archive& a, Launch& op) {
  Transfer(a, op.program);
  Transfer(a, op.device);
  Transfer(a, op.reads);
  Transfer(a, op.writes);
  Transfer(a, op.args);
  Transfer(a, op.in_place);
}
template <typename Archive>
void Transfer(Archive& a, Deallocate& op) {
  Transfer(a, op.pool);
  Transfer(a, op.slot);
}
template <typename Archive>
void Transfer(Archive& a, Invoke::Carried& carried) {
  Transfer(a, carried.state);
  Transfer(a, carried.next);
}
template <typename Archive>
void Transfer(Archive& a, Invoke::StackedOperand& scanned) {
  Transfer(a, scanned.stacked);
  Transfer(a, scanned.slice);
  a.Enum(scanned.reversed, true);
}
template <typename Archive>
void Transfer(Archive& a, Invoke& op) {
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

template <typename Archive>
void Transfer(Archive& a, Step& step) {
  auto kind = static_cast<uint8_t>(step.op.index());
  a.Integer(kind);
  if constexpr (Archive::kReads) {
    if (kind >= std::variant_size_v<decltype(step.op)>) return a.Fail();
    Emplace(step.op, kind);
  }
  std::visit([&a](auto& op) { Transfer(a, op); }, step.op);
  Transfer(a, step.origins);
}

template <typename Archive>
void Transfer(Archive& a, Plan& plan) {
  Transfer(a, plan.steps);
}

// Everything but blobs.
template <typename Archive>
void Transfer(Archive& a, CompiledGraph& graph) {
  Transfer(a, graph.devices);
  Transfer(a, graph.pools);
  Transfer(a, graph.symbols);
  Transfer(a, graph.slots);
  Transfer(a, graph.programs);
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
template <typename Archive>
void Transfer(Archive& a, BlobEntry& entry) {
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
  uint32_t magic = kMagic, version = kCompiledGraphVersion;
  writer.Integer(magic);
  writer.Integer(version);
  CompiledGraph copy = graph;  // a writer takes what a reader could change
  Transfer(writer, copy);
  std::vector<BlobEntry> entries;
  size_t end =
      AlignUp(writer.out.size() + 4 + graph.blobs.size() * kBlobEntryBytes);
  for (const Blob& blob : graph.blobs) {
    entries.push_back({end, blob.bytes.size(), blob.executable});
    end = AlignUp(end + blob.bytes.size());
  }
  Transfer(writer, entries);
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
