// The fields of a compiled graph, in the order of its bytes.
//
// Transfer(archive, struct) hands every field to `archive`, which writes it,
// reads it (kReads) or does something else with it: compiled_graph_io.cc has
// the two of the format. A struct is const for an archive that does not read.
// An archive has
//
//   static constexpr bool kReads;
//   bool ok() const;                 false: the rest of a list is left out
//   void Fail();                     of one that reads: a value is none
//   void Integer(T& value);          a fixed-width integer
//   void Enum(E& value, E last);     an enum whose largest enumerator is
//                                    `last`, or a bool
//   void Bytes(Container& bytes);    a count and so many bytes
//   void Resize(List& list, size_t item_bytes);
//                                    a count; so many items follow, of at least
//                                    `item_bytes` each
//   void Extent(Dim& dim);
#ifndef ENCORE_RUNTIME_PLAN_COMPILED_GRAPH_FIELDS_H_
#define ENCORE_RUNTIME_PLAN_COMPILED_GRAPH_FIELDS_H_

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "encore/ir/support/typed_id.h"
#include "encore/ir/types/dim.h"
#include "encore/ir/types/dtype.h"
#include "encore/ir/types/shape.h"
#include "encore/runtime/plan/compiled_graph.h"

namespace encore::runtime {

// What an item of a list takes at least.
template <typename T>
inline constexpr size_t kLeastFieldBytes = sizeof(uint32_t);
template <>
inline constexpr size_t kLeastFieldBytes<Dim> = 2;

template <typename S, typename T>
concept Is = std::same_as<std::remove_const_t<S>, T>;

template <typename Archive, typename Tag>
  requires(!Archive::kReads)
void Transfer(Archive& a, const TypedId<Tag>& id) {
  a.Integer(id.valid() ? id.value() : UINT32_MAX);
}
template <typename Archive, typename Tag>
  requires Archive::kReads
void Transfer(Archive& a, TypedId<Tag>& id) {
  uint32_t value = id.valid() ? id.value() : UINT32_MAX;
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
  a.Resize(list, kLeastFieldBytes<typename List::value_type>);
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
  a.Bytes(binary.identity);
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
    if (kind != step.op.index()) Emplace(step.op, kind);
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

}  // namespace encore::runtime

#endif  // ENCORE_RUNTIME_PLAN_COMPILED_GRAPH_FIELDS_H_
