#include "encore/backends/backends.h"

#include <algorithm>
#include <string>
#include <vector>

#include "encore/backends/cpu/cpu_backend.h"
#include "encore/backends/ref/ref.h"
#include "encore/ir/support/strings.h"

namespace encore::backends {
namespace {

Status CheckVariant(const Backend& backend, std::string_view name) {
  const size_t colon = name.find(':');
  if (colon == std::string_view::npos) return OkStatus();
  const std::string_view variant = name.substr(colon + 1);
  if (ParseInt64(variant).value_or(-1) >= 0) return OkStatus();
  const std::vector<std::string> known = backend.variants();
  if (std::ranges::find(known, variant) != known.end()) return OkStatus();
  return NotFoundError(StrCat(
      Quote(name), ": after ", backend.name(), ": comes a device's number",
      known.empty() ? "" : " or one of ", StrJoin(known, ", ")));
}

}  // namespace

std::span<const Backend* const> AllBackends() {
  static const Backend* const backends[] = {
      cpu::CpuBackend(),
      &ref::RefBackend(),
  };
  return backends;
}

StatusOr<const Backend*> FindBackend(std::string_view name,
                                     std::span<const Backend* const> backends) {
  const std::string_view wanted = name.substr(0, name.find(':'));
  for (const Backend* backend : backends) {
    if (backend->name() != wanted) continue;
    if (const Status variant = CheckVariant(*backend, name); !variant.ok()) {
      return variant;
    }
    return backend;
  }
  return NotFoundError(StrCat(
      "no backend ", Quote(wanted), "; there are: ",
      StrJoin(backends, ", ", [](std::string* out, const Backend* backend) {
        out->append(backend->name());
      })));
}

}  // namespace encore::backends
