// What CUPTI's functions take, declared here so that building needs no toolkit:
// cupti_headers_test compares all of it with CUPTI's headers.
#ifndef ENCORE_BACKENDS_CUDA_PROFILING_CUPTI_TYPES_H_
#define ENCORE_BACKENDS_CUDA_PROFILING_CUPTI_TYPES_H_

#include <cstddef>
#include <cstdint>

#include "encore/backends/cuda/driver/types.h"

namespace encore::backends::cuda {

enum class CuptiResult : uint32_t {
  kSuccess = 0,
  kMaxLimitReached = 12,  // of a buffer: no more records
};

enum class CuptiKind : uint32_t {
  kMemcpy = 1,
  kConcurrentKernel = 10,
  kMemcpyPeer = 22,
};

// What every record begins with, aligned to 8 bytes.
struct CuptiRecord {
  CuptiKind kind;
};

// The first fields of the records of work, as CUPTI 13 has them (Kernel10,
// Memcpy6, MemcpyPtoP4): nanoseconds, 0 where they are not known.
struct CuptiKernelRecord {
  CuptiKind kind;
  uint8_t cacheConfig;
  uint8_t sharedMemoryConfig;
  uint16_t registersPerThread;
  uint32_t partitionedGlobalCacheRequested;
  uint32_t partitionedGlobalCacheExecuted;
  uint64_t start;
  uint64_t end;
  uint64_t completed;
  uint32_t deviceId;
  uint32_t contextId;
  uint32_t streamId;
};
struct CuptiCopyRecord {
  CuptiKind kind;
  uint8_t copyKind;
  uint8_t srcKind;
  uint8_t dstKind;
  uint8_t flags;
  uint64_t bytes;
  uint64_t start;
  uint64_t end;
  uint32_t deviceId;
  uint32_t contextId;
  uint32_t streamId;
};

using CuptiRequestBuffer = void (*)(uint8_t** buffer, size_t* bytes,
                                    size_t* most_records);
using CuptiTakeBuffer = void (*)(CUcontext context, uint32_t stream,
                                 uint8_t* buffer, size_t bytes,
                                 size_t valid_bytes);

}  // namespace encore::backends::cuda

#endif  // ENCORE_BACKENDS_CUDA_PROFILING_CUPTI_TYPES_H_
