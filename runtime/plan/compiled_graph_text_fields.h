// What the text of a compiled graph has, once for both directions: the printer
// and the parser are two archives that these functions are given, with members
// of the same names. Grammar: compiled_graph_text_parser.h.
//
// A function takes its struct apart by name, so that a field without text does
// not compile. Those of steps are in compiled_graph_text_steps.h.
//
// An archive has kReads, which says that it fills what it is given, and
//   Word(w), Mark(m)             a keyword, a punctuation
//   Value(v)                     an id, number, dim, type or name
//   Enum(v, names)               the name of its value
//   Flag(w, v)                   the keyword, where the bool is true
//   Field(w, v)                  the keyword, then the value
//   Optional(w, v, none)         likewise, where it is not `none`
//   Assumed(w, v, f)             likewise; read where it is missing as f()
//   List(open, list, close)      items with commas between them
//   OptionalList(w, list)        the keyword and [items], where there are any
//   OptionalBytes(w, bytes)      the keyword and "hex", where there are any
//   SlotNumber(n)                a slot's number as its id
//   Contents(blob)               bytes, or what they are known by
//   Table<Id>(w, rows), Block(steps), Op(op), Line(w)
#ifndef ENCORE_RUNTIME_PLAN_COMPILED_GRAPH_TEXT_FIELDS_H_
#define ENCORE_RUNTIME_PLAN_COMPILED_GRAPH_TEXT_FIELDS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "encore/ir/support/typed_id.h"
#include "encore/ir/types/dim.h"
#include "encore/ir/types/shape.h"
#include "encore/runtime/plan/compiled_graph.h"
#include "encore/runtime/plan/compiled_graph_text_steps.h"
#include "encore/runtime/plan/sizes.h"

namespace encore::runtime::plan_text {

inline constexpr uint32_t kTextVersion = 1;
// Longer blobs are given by their SHA-256.
inline constexpr size_t kMostHexBytes = 64;

using SymbolId = TypedId<struct SymbolTag>;

// The words of the enums, in their order.
inline constexpr std::string_view kRoles[] = {
    "input", "output", "parameter", "derived", "constant", "temporary"};
inline constexpr std::string_view kSources[] = {"dim", "element"};

template <typename A>
void Fields(A& a, Of<A, DeviceInfo>& device) {
  auto& [backend, ordinal, pool] = device;
  a.Value(backend);
  a.Optional("ordinal", ordinal, uint32_t{0});
  a.Optional("pool", pool, kHostPool);
}

template <typename A>
void Fields(A& a, Of<A, PoolInfo>& pool) {
  auto& [device] = pool;
  a.Optional("device", device, DeviceId());
}

template <typename A>
void Fields(A& a, Of<A, SymbolInfo>& symbol) {
  auto& [lower, upper, source, index, element, message] = symbol;
  a.Word("in");
  a.Mark("[");
  a.Value(lower);
  a.Mark(",");
  a.Value(upper);
  a.Mark("]");
  a.Word("from");
  a.Enum(source, kSources);
  a.Value(element);
  a.Word("of");
  if (source == SymbolInfo::Source::kInputDim) {
    a.Field("input", index);
  } else {
    a.SlotNumber(index);
  }
  a.Optional("message", message, std::string());
}

template <typename A>
void Fields(A& a, Of<A, Slot>& slot) {
  auto& [role, is_arena, type, pool, bytes, base, offset, blob, blob_offset] =
      slot;
  a.Enum(role, kRoles);
  a.Flag("arena", is_arena);
  if (is_arena) {
    a.Optional("type", type, TensorType());
  } else {
    a.Value(type);
  }
  a.Assumed("bytes", bytes,
            [&] { return is_arena ? Dim::Invalid() : DenseBytes(type); });
  a.Optional("pool", pool, kHostPool);
  a.Optional("base", base, SlotId());
  a.Optional("offset", offset, Dim());
  a.Optional("blob", blob, BlobId());
  a.Optional("blob_offset", blob_offset, int64_t{0});
}

template <typename A>
void Fields(A& a, Of<A, Blob>& blob) {
  auto& [bytes, owner, executable] = blob;
  a.Contents(blob);
  a.Flag("executable", executable);
}

template <typename A>
void Fields(A& a, Of<A, KernelBinary>& binary) {
  auto& [backend, artifact, entry, params, requirements, reads, writes, args,
         identity] = binary;
  a.Value(backend);
  a.Mark(":");
  a.Value(entry);
  a.Optional("reads", reads, uint32_t{0});
  a.Optional("writes", writes, uint32_t{0});
  a.Optional("args", args, uint32_t{0});
  a.Optional("artifact", artifact, BlobId());
  a.OptionalBytes("params", params);
  a.OptionalList("requires", requirements);
  a.OptionalBytes("identity", identity);
}

template <typename A>
void Fields(A& a, Of<A, CompiledGraph>& graph) {
  auto& [devices, pools, symbols, slots, blobs, kernel_binaries, plans, prepare,
         run, inputs, outputs, parameters] = graph;
  a.template Table<DeviceId>("device", devices);
  a.template Table<PoolId>("pool", pools);
  a.template Table<SymbolId>("symbol", symbols);
  a.template Table<BlobId>("blob", blobs);
  a.template Table<SlotId>("slot", slots);
  a.template Table<KernelBinaryId>("kernel_binary", kernel_binaries);
  a.Line("inputs");
  a.List("(", inputs, ")");
  a.Line("outputs");
  a.List("(", outputs, ")");
  a.Line("parameters");
  a.List("(", parameters, ")");
  a.Line("prepare");
  a.Value(prepare);
  a.Line("run");
  a.Value(run);
  a.template Table<PlanId>("plan", plans);
  a.Line("end");
}

// An item of a list.
template <typename A, typename T>
void Item(A& a, T& item) {
  if constexpr (requires { a.Value(item); }) {
    a.Value(item);
  } else {
    Fields(a, item);
  }
}

}  // namespace encore::runtime::plan_text

#endif  // ENCORE_RUNTIME_PLAN_COMPILED_GRAPH_TEXT_FIELDS_H_
