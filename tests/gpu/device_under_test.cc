#include "encore/tests/gpu/device_under_test.h"

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "encore/backends/backends.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::gpu {

std::optional<std::string> TakeArgument(const std::string& name,
                                        std::vector<char*>* arguments) {
  const std::string prefix = StrCat("--", name, "=");
  const auto found = std::ranges::find_if(*arguments, [&](const char* text) {
    return std::string_view(text).starts_with(prefix);
  });
  if (found == arguments->end()) return std::nullopt;
  std::string value(*found + prefix.size());
  arguments->erase(found);
  return value;
}

StatusOr<std::unique_ptr<runtime::Device>> OpenDevice(
    const std::string& target) {
  ENCORE_ASSIGN_OR_RETURN(const backends::Backend* backend,
                          backends::FindBackend(target));
  return backend->NewDevice(/*ordinal=*/0);
}

}  // namespace encore::gpu
