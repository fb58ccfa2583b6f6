// A compiled graph in a container: what the disk store keeps under a key, and
// what SavePlan writes.
//
// Sections: headline (the key's ingredients, stencil included), compiled graph,
// and, where the compile had a choice of kernels, the measurements it had.
#ifndef ENCORE_CACHE_STORE_ENTRY_H_
#define ENCORE_CACHE_STORE_ENTRY_H_

#include <memory>
#include <optional>
#include <string_view>

#include "encore/cache/key/key.h"
#include "encore/cache/store/container.h"
#include "encore/cache/store/container_writer.h"
#include "encore/cache/store/disk_store.h"
#include "encore/cache/store/measurement_table.h"
#include "encore/ir/support/sha256.h"
#include "encore/ir/support/status.h"
#include "encore/runtime/plan/compiled_graph.h"

namespace encore::cache {

// The kind of such entries in a disk store.
inline constexpr std::string_view kGraphKind = "graph";

ContainerWriter MakeEntry(const KeyIngredients& ingredients,
                          const runtime::CompiledGraph& graph,
                          const MeasurementTable& measurements);

// The ingredients of an entry; DataLoss for a damaged one.
StatusOr<KeyIngredients> ReadEntryIngredients(const Container& container);

// What the graph of an entry was compiled with; DataLoss for a damaged one.
StatusOr<MeasurementTable> ReadEntryMeasurements(const Container& container);

// FailedPrecondition, with what differs, where the entry was made from other
// ingredients; DataLoss for a damaged one.
Status CheckEntry(const Container& container,
                  const KeyIngredients& ingredients);

// The compiled graph of an entry, over the mapped file, whatever it was made
// from. DataLoss for a damaged one.
StatusOr<runtime::CompiledGraph> ReadEntry(
    std::shared_ptr<const Container> container);

// An entry that is another one's key (a name of the caller's, a guess), and
// back: nothing where there is none. A damaged one is put into quarantine.
ContainerWriter MakeKeyEntry(const Digest& key);
std::optional<Digest> ReadKeyEntry(DiskStore& disk, std::string_view kind,
                                   const Digest& name);

}  // namespace encore::cache

#endif  // ENCORE_CACHE_STORE_ENTRY_H_
