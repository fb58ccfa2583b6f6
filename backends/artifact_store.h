// ArtifactStore: where a backend keeps what it wants to find again in another
// process: kernels, measurements, vendor plans. The cache implements it; a
// compile without one passes null.
#ifndef ENCORE_BACKENDS_ARTIFACT_STORE_H_
#define ENCORE_BACKENDS_ARTIFACT_STORE_H_

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace encore::backends {

// Kernels of a backend that are compiled already (backends/cpu/kernel_spec.h).
// They are code: a store has none that this user's compilers did not put there.
inline constexpr std::string_view kKernelKind = "kernel";
// What rules led to in a graph, whatever the machine
// (opt/tensor/kept/kept_choices.h).
inline constexpr std::string_view kRewriteKind = "rewrite";

// Thread-safe. Failures are "not there": no compile fails for lack of a store.
// Measurements, of kernels and of plans, alone change what is compiled
// (measurement.h).
class ArtifactStore {
 public:
  virtual ~ArtifactStore() = default;

  // What was put under (kind, key), the same bytes, or nothing. `kind` names
  // the sort of artifact ("kernel"), `key` must say everything that the
  // bytes depend on beside the compiler's identity, which the store adds.
  virtual std::optional<std::vector<std::byte>> Get(std::string_view kind,
                                                    std::string_view key) = 0;
  virtual void Put(std::string_view kind, std::string_view key,
                   std::span<const std::byte> bytes) = 0;
  // The compile was cut short by the clock (CompileOptions::max_seconds): its
  // compiled graph is not what its options give, and nobody keeps it. Artifacts
  // are what their keys say all the same.
  virtual void CutShort() {}
};

}  // namespace encore::backends

#endif  // ENCORE_BACKENDS_ARTIFACT_STORE_H_
