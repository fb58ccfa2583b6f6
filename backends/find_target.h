// Targets by name, among backends that the caller has.
#ifndef ENCORE_BACKENDS_FIND_TARGET_H_
#define ENCORE_BACKENDS_FIND_TARGET_H_

#include <cstdint>
#include <span>
#include <string_view>

#include "encore/backends/backend.h"
#include "encore/ir/support/status.h"

namespace encore::backends {

struct FoundTarget {
  const Backend* backend = nullptr;
  uint32_t ordinal = 0;  // of the device; 0 unless the name has a number
};

// The target called `name`: a backend's name, alone or with a colon and a
// device's number ("cuda:1") or one of the backend's variants ("cpu:avx2"), or
// what makes another backend's name ("cuda:emulated": "cuda_emulated").
// NotFound names the backends that are there, or the variants where what
// follows the colon is neither one nor a number; errors of
// Backend::CheckOtherVariant. That the device is there is
// for Backend::NewDevice to say.
StatusOr<FoundTarget> FindTarget(std::string_view name,
                                 std::span<const Backend* const> backends);

}  // namespace encore::backends

#endif  // ENCORE_BACKENDS_FIND_TARGET_H_
