#include "encore/cache/session/explain_miss.h"

#include <algorithm>
#include <utility>

#include "encore/cache/key/key.h"
#include "encore/cache/session/session_request.h"
#include "encore/cache/store/disk_store.h"
#include "encore/cache/store/entry.h"
#include "encore/ir/support/status_macros.h"

namespace encore::cache {
namespace {

// How many ingredients two keys share, from the first on.
size_t Shared(const KeyIngredients& a, const KeyIngredients& b) {
  const auto end = std::mismatch(a.parts.begin(), a.parts.end(),
                                 b.parts.begin(), b.parts.end());
  const auto shared = static_cast<size_t>(end.first - a.parts.begin());
  return shared == a.parts.size() && a.stencil == b.stencil ? shared + 1
                                                            : shared;
}

}  // namespace

StatusOr<std::optional<std::string>> ExplainMiss(const Session& session,
                                                 const Graph& graph,
                                                 const LoadOptions& options) {
  ENCORE_ASSIGN_OR_RETURN(
      const SessionRequest request,
      MakeSessionRequest(graph, session.options(), options));
  DiskStore* const disk = session.options().disk.get();
  std::optional<KeyIngredients> nearest;
  if (disk == nullptr) return std::optional<std::string>();
  for (const DiskStore::Entry& entry : disk->List()) {
    if (entry.kind != kGraphKind) continue;
    const auto container = disk->Get(entry.kind, entry.key);
    if (container == nullptr) continue;
    auto stored = ReadEntryIngredients(*container);
    if (!stored.ok()) continue;
    if (!nearest || Shared(*stored, request.ingredients) >
                        Shared(*nearest, request.ingredients)) {
      nearest = *std::move(stored);
    }
  }
  if (!nearest) return std::optional<std::string>();
  return Explain(*nearest, request.ingredients);
}

}  // namespace encore::cache
