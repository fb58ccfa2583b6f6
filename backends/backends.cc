#include "encore/backends/backends.h"

#include <algorithm>
#include <string>
#include <type_traits>
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

CompileOptions UsedOptions(const CompileOptions& options,
                           std::vector<std::string>* unused,
                           std::span<const Backend* const> backends) {
  const auto own = FindBackend(options.target, backends);
  if (!own.ok()) return options;
  // With a placement, parts may be on any of them.
  if (options.placement.empty()) backends = {&*own, 1};
  CompileOptions used;
  VisitOptions(used, [&](const OptionInfo& info, auto& field) {
    VisitOptions(options, [&](const OptionInfo& other, const auto& given) {
      if constexpr (std::is_same_v<std::decay_t<decltype(given)>,
                                   std::decay_t<decltype(field)>>) {
        if (info.name != other.name || given == field) return;
        const auto uses = [&](const Backend* backend) {
          return backend->Uses(info.name);
        };
        if (std::ranges::any_of(backends, uses)) {
          field = given;
        } else {
          unused->emplace_back(info.name);
        }
      }
    });
  });
  return used;
}

}  // namespace encore::backends
