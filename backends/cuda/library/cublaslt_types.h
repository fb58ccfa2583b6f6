// What cuBLASLt's functions take, declared here so that building needs no
// toolkit: values that Encore uses and structures of the same size.
// cublaslt_headers_test compares all of it with cublasLt.h.
#ifndef ENCORE_BACKENDS_CUDA_LIBRARY_CUBLASLT_TYPES_H_
#define ENCORE_BACKENDS_CUDA_LIBRARY_CUBLASLT_TYPES_H_

#include <array>
#include <cstddef>
#include <cstdint>

struct cublasLtContext;

namespace encore::backends::cuda {

using LtHandle = cublasLtContext*;

// cublasStatus_t.
enum class LtStatus : uint32_t {
  kSuccess = 0,
  kNotInitialized = 1,
  kAllocFailed = 3,
  kInvalidValue = 7,
  kArchMismatch = 8,
  kExecutionFailed = 13,
  kInternalError = 14,
  kNotSupported = 15,
};

// cudaDataType.
enum class LtType : uint32_t { kF32 = 0, kF64 = 1, kF16 = 2, kBF16 = 14 };

// cublasComputeType_t.
enum class LtCompute : uint32_t {
  kF32 = 68,
  kF64 = 70,
  kFastF16 = 74,
  kFastBF16 = 75,
  kFastTF32 = 77,
};

// cublasOperation_t, cublasLtEpilogue_t.
inline constexpr uint32_t kLtNotTransposed = 0, kLtTransposed = 1;
inline constexpr uint32_t kLtEpilogueDefault = 1, kLtEpilogueRelu = 2,
                          kLtEpilogueBias = 4;

// cublasLtMatmulDescAttributes_t.
enum class LtDescAttribute : uint32_t {
  kTransA = 3,
  kTransB = 4,
  kEpilogue = 7,
  kBiasPointer = 8,
};

// cublasLtMatrixLayoutAttribute_t.
enum class LtLayoutAttribute : uint32_t {
  kBatchCount = 5,
  kStridedBatchOffset = 6,
};

// cublasLtMatmulPreferenceAttributes_t.
enum class LtPreferenceAttribute : uint32_t {
  kMaxWorkspaceBytes = 1,
  kMinAlignmentA = 5,
  kMinAlignmentB = 6,
  kMinAlignmentC = 7,
  kMinAlignmentD = 8,
};

// The opaque structures; cublasLtMatmulAlgo_t may be kept for the same version
// of the library.
struct LtMatmulDesc {
  std::array<uint64_t, 32> data = {};
};
struct LtLayout {
  std::array<uint64_t, 8> data = {};
};
struct LtPreference {
  std::array<uint64_t, 8> data = {};
};
struct LtAlgorithm {
  std::array<uint64_t, 8> data = {};

  bool operator==(const LtAlgorithm&) const = default;
};

// cublasLtMatmulHeuristicResult_t.
struct LtHeuristic {
  LtAlgorithm algo;
  size_t workspaceSize = 0;
  LtStatus state = LtStatus::kNotInitialized;
  float wavesCount = 0;
  std::array<int, 4> reserved = {};
};

}  // namespace encore::backends::cuda

#endif  // ENCORE_BACKENDS_CUDA_LIBRARY_CUBLASLT_TYPES_H_
