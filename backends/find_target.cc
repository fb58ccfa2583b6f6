#include "encore/backends/find_target.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "encore/backends/absent.h"
#include "encore/ir/support/strings.h"

namespace encore::backends {

StatusOr<FoundTarget> FindTarget(std::string_view name,
                                 std::span<const Backend* const> backends) {
  const auto find = [&](std::string_view wanted) {
    return std::ranges::find(backends, wanted, [](const Backend* backend) {
      return backend->name();
    });
  };
  const size_t colon = name.find(':');
  if (colon != std::string_view::npos) {
    std::string own(name);
    own[colon] = '_';
    const auto it = find(own);
    if (it != backends.end()) return FoundTarget{*it, 0};
  }
  const std::string_view wanted = name.substr(0, colon);
  const auto it = find(wanted);
  if (it == backends.end()) {
    std::vector<std::string_view> known;
    for (const Backend* backend : backends) known.push_back(backend->name());
    return NoBackend(wanted, known);
  }
  FoundTarget target{*it, 0};
  if (colon == std::string_view::npos) return target;
  const std::string_view rest = name.substr(colon + 1);
  const std::optional<int64_t> number = ParseInt64(rest);
  if (number.has_value() && *number >= 0 && *number <= UINT32_MAX) {
    target.ordinal = static_cast<uint32_t>(*number);
    return target;
  }
  const std::vector<std::string> variants = target.backend->variants();
  if (std::ranges::find(variants, rest) != variants.end()) return target;
  if (const auto other = target.backend->CheckOtherVariant(rest)) {
    if (other->ok()) return target;
    return Annotate(*other, Quote(name));
  }
  return NotFoundError(
      StrCat(Quote(name), ": after ", wanted, ": expected a device number",
             variants.empty() ? "" : " or one of ", StrJoin(variants, ", ")));
}

}  // namespace encore::backends
