// RelocatableKernel: a generated kernel that is not part of an image yet.
//
// Nothing in it depends on the graph that it is generated for, nor on the other
// kernels of that graph: it is kept by its spec (kernel_spec.h) and linked into
// any image. Its functions are texts of LLVM IR first and object files then;
// each has exactly one exported function, called kRelocatableName.
#ifndef ENCORE_BACKENDS_CPU_RELOCATABLE_KERNEL_H_
#define ENCORE_BACKENDS_CPU_RELOCATABLE_KERNEL_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "encore/backends/backend.h"
#include "encore/ir/support/status.h"
#include "encore/ir/types/dim.h"
#include "encore/runtime/plan/compiled_graph.h"

namespace encore::backends::cpu {

inline constexpr std::string_view kRelocatableName = "kernel";

struct RelocatableKernel {
  struct Code {
    // Its place in `functions`; nothing where it has none.
    std::optional<uint32_t> function;
    // As KernelCode::params (kernel_params.h, vendor/program.h), with an image
    // digest of 0.
    std::vector<std::byte> params;
  };
  // As PackedInput.
  struct Packing {
    uint32_t input = 0;
    int64_t bytes = 0;
    Code code;
  };

  std::vector<std::string> functions;
  Code code;
  std::vector<Packing> packed;
  Dim scratch;
  std::vector<runtime::Launch::InPlace> in_place;
};

// The bytes that are kept under `key`, behind a SHA-256 of both. REQUIRES
// functions that are object files.
std::string Encode(const RelocatableKernel& kernel, std::string_view key);

// The kernel of those bytes. DataLoss where they were not made for `key`, or
// are no kernel for `request`: indices, sizes and params are looked at, and
// each object must make an image of one function by itself
// (elf/image_linker.h). What the code does is not: bytes come from a store that
// nobody but this user's compiler writes to.
StatusOr<RelocatableKernel> DecodeRelocatable(std::span<const std::byte> bytes,
                                              std::string_view key,
                                              const KernelRequest& request);

}  // namespace encore::backends::cpu

#endif  // ENCORE_BACKENDS_CPU_RELOCATABLE_KERNEL_H_
