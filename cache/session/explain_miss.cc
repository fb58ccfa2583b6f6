#include "encore/cache/session/explain_miss.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "encore/cache/key/key.h"
#include "encore/cache/session/session_request.h"
#include "encore/cache/store/disk_store.h"
#include "encore/cache/store/entry.h"
#include "encore/ir/support/sha256.h"
#include "encore/ir/support/status_macros.h"

namespace encore::cache {
namespace {

// How far an entry is from what is looked for: first whether its graph is
// another one, then how many of the other ingredients are.
std::pair<bool, size_t> Distance(const KeyIngredients& a,
                                 const KeyIngredients& b) {
  const std::map<std::string_view, std::string_view> other(b.parts.begin(),
                                                           b.parts.end());
  size_t shared = 0;
  for (const auto& [name, value] : a.parts) {
    const auto found = other.find(name);
    shared += found != other.end() && found->second == value;
  }
  return {a.stencil != b.stencil,
          std::max(a.parts.size(), b.parts.size()) - shared};
}

// The compiled graphs that were used last, first.
std::vector<DiskStore::Entry> NewestGraphs(const DiskStore& disk) {
  std::vector<DiskStore::Entry> entries = disk.ListKind(kGraphKind);
  SortByUse(&entries);
  if (entries.size() > kMostExplained) entries.resize(kMostExplained);
  return entries;
}

// Without `but`, where that is given.
std::optional<KeyIngredients> NearestTo(const KeyIngredients& ingredients,
                                        const DiskStore& disk,
                                        const Digest* but) {
  std::optional<KeyIngredients> nearest;
  for (const DiskStore::Entry& entry : NewestGraphs(disk)) {
    if (but != nullptr && entry.key == *but) continue;
    const auto container = disk.Peek(entry.kind, entry.key);
    if (container == nullptr) continue;
    auto stored = ReadEntryIngredients(*container);
    if (!stored.ok()) continue;
    if (!nearest ||
        Distance(*stored, ingredients) < Distance(*nearest, ingredients)) {
      nearest = *std::move(stored);
    }
  }
  return nearest;
}

StatusOr<std::optional<std::string>> ExplainBut(const Session& session,
                                                const Graph& graph,
                                                const LoadOptions& options,
                                                bool but_itself) {
  std::optional<std::string> why;
  const DiskStore* const disk = session.options().disk.get();
  if (disk == nullptr) return why;
  ENCORE_ASSIGN_OR_RETURN(
      const SessionRequest request,
      MakeSessionRequest(graph, session.options(), options));
  const auto nearest = NearestTo(request.ingredients, *disk,
                                 but_itself ? &request.key : nullptr);
  if (nearest) why = Explain(*nearest, request.ingredients);
  return why;
}

}  // namespace

StatusOr<std::optional<std::string>> ExplainMiss(const Session& session,
                                                 const Graph& graph,
                                                 const LoadOptions& options) {
  return ExplainBut(session, graph, options, /*but_itself=*/false);
}

StatusOr<std::optional<std::string>> ExplainCompiled(
    const Session& session, const Graph& graph, const LoadOptions& options) {
  return ExplainBut(session, graph, options, /*but_itself=*/true);
}

}  // namespace encore::cache
