#include "encore/backends/absent.h"

#include "encore/ir/support/strings.h"

namespace encore::backends {

Status NoBackend(std::string_view name,
                 std::span<const std::string_view> known) {
  return NotFoundError(StrCat("no backend ", Quote(name),
                              "; there are: ", StrJoin(known, ", ")));
}

Status NoDevice(std::string_view backend, uint32_t ordinal, uint32_t count) {
  return NotFoundError(count == 1 ? StrCat("no device ", backend, ":", ordinal,
                                           "; there is ", backend, ":0")
                                  : StrCat("no device ", backend, ":", ordinal,
                                           "; there are ", backend, ":0 to ",
                                           backend, ":", count - 1));
}

}  // namespace encore::backends
