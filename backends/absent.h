// What is said where a backend or a device is not there: one text and one code,
// with or without the compilers.
#ifndef ENCORE_BACKENDS_ABSENT_H_
#define ENCORE_BACKENDS_ABSENT_H_

#include <cstdint>
#include <span>
#include <string_view>

#include "encore/ir/support/status.h"

namespace encore::backends {

// NotFound: no backend is called `name`; names those in `known`.
Status NoBackend(std::string_view name,
                 std::span<const std::string_view> known);

// NotFound: `backend` has `count` devices, at least one, and none with that
// ordinal.
Status NoDevice(std::string_view backend, uint32_t ordinal, uint32_t count = 1);

}  // namespace encore::backends

#endif  // ENCORE_BACKENDS_ABSENT_H_
