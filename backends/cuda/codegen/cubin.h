// What a kernel takes of a multiprocessor, as its machine code (a cubin, an ELF
// file) says.
//
// Of each kernel: section .nv.info has its registers (attribute 0x2f) and the
// bytes of its frame (0x11) by symbol, .nv.shared.<name> the size of its static
// shared memory. Source: what cuobjdump -res-usage of CUDA 13.0 prints.
#ifndef ENCORE_BACKENDS_CUDA_CODEGEN_CUBIN_H_
#define ENCORE_BACKENDS_CUDA_CODEGEN_CUBIN_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "encore/ir/support/status.h"

namespace encore::backends::cuda {

struct KernelResources {
  uint32_t registers = 0;     // of a thread
  uint32_t frame_bytes = 0;   // of local memory, of a thread: arrays, spills
  uint64_t shared_bytes = 0;  // static ones, of a block

  bool operator==(const KernelResources&) const = default;
};

// By kernel. Safe on any bytes: DataLoss where they are no such file.
StatusOr<std::map<std::string, KernelResources>> ReadResources(
    std::span<const std::byte> cubin);

// Bytes that kernels spill to local memory, all together, by the log of a
// compilation.
uint64_t SpilledBytes(std::string_view log);

}  // namespace encore::backends::cuda

#endif  // ENCORE_BACKENDS_CUDA_CODEGEN_CUBIN_H_
