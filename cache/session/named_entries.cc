#include "encore/cache/session/named_entries.h"

#include <string>

#include "encore/cache/session/session_request.h"
#include "encore/cache/store/container_writer.h"
#include "encore/cache/store/entry.h"
#include "encore/ir/support/status_macros.h"

namespace encore::cache {
namespace {

constexpr std::string_view kNameKind = "named";

Digest NameKey(std::string_view name) { return Sha256Of(name); }

}  // namespace

StatusOr<Digest> PutNamed(Session& session, std::string_view name,
                          const Graph& graph, const LoadOptions& options) {
  ENCORE_ASSIGN_OR_RETURN(
      const SessionRequest request,
      MakeSessionRequest(graph, session.options(), options));
  ENCORE_RETURN_IF_ERROR(CheckKeyable(request));
  ENCORE_RETURN_IF_ERROR(session.graphs().GetOrCompile(request).status());
  if (DiskStore* const disk = session.options().disk.get(); disk != nullptr) {
    session.Flush();  // no name without its graph
    ContainerWriter writer = MakeKeyEntry(request.key);
    writer.AddOwned(SectionType::kHeadline, std::string(name));
    disk->Put(kNameKind, NameKey(name), writer);
  }
  return request.key;
}

std::optional<Digest> GetNamed(const Session& session, std::string_view name) {
  DiskStore* const disk = session.options().disk.get();
  if (disk == nullptr) return std::nullopt;
  return ReadKeyEntry(*disk, kNameKind, NameKey(name));
}

bool ContainsNamed(const Session& session, std::string_view name) {
  const auto key = GetNamed(session, name);
  return key && session.options().disk->Contains(kGraphKind, *key);
}

}  // namespace encore::cache
