#include "encore/backends/backends.h"

#include "encore/backends/cpu/cpu_backend.h"
#include "encore/backends/ref/ref.h"
#include "encore/ir/support/strings.h"

namespace encore::backends {

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
    if (backend->name() == wanted) return backend;
  }
  return NotFoundError(StrCat(
      "no backend ", Quote(wanted), "; there are: ",
      StrJoin(backends, ", ", [](std::string* out, const Backend* backend) {
        out->append(backend->name());
      })));
}

}  // namespace encore::backends
