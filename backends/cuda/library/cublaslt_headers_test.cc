// cuBLASLt's functions and types beside those of cublasLt.h.
//
// That header wants headers of the runtime and of the compiler which are not
// looked at here, of which little is of use: it stands below.
#include <cstddef>
#include <cstdint>
#include <type_traits>

#define CU_COMPLEX_H_
#define __CUDA_BF16_H__
#define __CUDA_FP16_H__
#define __DRIVER_TYPES_H__
struct CUstream_st;
using cudaStream_t = CUstream_st*;
struct cuComplex;
struct cuDoubleComplex;
struct __half;
struct __nv_bfloat16;

#include "cublasLt.h"
#include "encore/backends/cuda/driver/testing/same_types.h"
#include "encore/backends/cuda/library/cublaslt.h"
#include "encore/backends/cuda/library/cublaslt_types.h"
#include "encore/backends/cuda/library/recipe.h"
#include "gtest/gtest.h"

namespace encore::backends::cuda {

template <>
inline constexpr bool kSameStructure<LtMatmulDesc, cublasLtMatmulDescOpaque_t> =
    true;
template <>
inline constexpr bool kSameStructure<LtLayout, cublasLtMatrixLayoutOpaque_t> =
    true;
template <>
inline constexpr bool
    kSameStructure<LtPreference, cublasLtMatmulPreferenceOpaque_t> = true;
template <>
inline constexpr bool kSameStructure<LtAlgorithm, cublasLtMatmulAlgo_t> = true;
template <>
inline constexpr bool
    kSameStructure<LtHeuristic, cublasLtMatmulHeuristicResult_t> = true;

namespace {

#define ENCORE_CUBLASLT_FUNCTION(result, name, parameters)                   \
  static_assert(                                                             \
      SameFunction<decltype(CublasLtTable::name), decltype(&::name)>::value, \
      #name " is not what cublasLt.h says");
#include "encore/backends/cuda/library/cublaslt_functions.def"
#undef ENCORE_CUBLASLT_FUNCTION

// The comparison sees a difference.
static_assert(!SameFunction<decltype(CublasLtTable::cublasLtDestroy),
                            decltype(&::cublasLtCreate)>::value);

static_assert(sizeof(LtMatmulDesc) == sizeof(cublasLtMatmulDescOpaque_t));
static_assert(sizeof(LtLayout) == sizeof(cublasLtMatrixLayoutOpaque_t));
static_assert(sizeof(LtPreference) == sizeof(cublasLtMatmulPreferenceOpaque_t));
static_assert(sizeof(LtAlgorithm) == sizeof(cublasLtMatmulAlgo_t));
static_assert(sizeof(LtHeuristic) == sizeof(cublasLtMatmulHeuristicResult_t));
#define ENCORE_FIELD(field)                                             \
  static_assert(offsetof(LtHeuristic, field) ==                         \
                    offsetof(cublasLtMatmulHeuristicResult_t, field) && \
                sizeof(LtHeuristic::field) ==                           \
                    sizeof(cublasLtMatmulHeuristicResult_t::field))
ENCORE_FIELD(algo);
ENCORE_FIELD(workspaceSize);
ENCORE_FIELD(state);
ENCORE_FIELD(wavesCount);
ENCORE_FIELD(reserved);

#define ENCORE_SAME(ours, theirs)                                     \
  static_assert(static_cast<long>(ours) == static_cast<long>(theirs), \
                #ours " is not " #theirs)
ENCORE_SAME(LtStatus::kSuccess, CUBLAS_STATUS_SUCCESS);
ENCORE_SAME(LtStatus::kNotInitialized, CUBLAS_STATUS_NOT_INITIALIZED);
ENCORE_SAME(LtStatus::kAllocFailed, CUBLAS_STATUS_ALLOC_FAILED);
ENCORE_SAME(LtStatus::kInvalidValue, CUBLAS_STATUS_INVALID_VALUE);
ENCORE_SAME(LtStatus::kArchMismatch, CUBLAS_STATUS_ARCH_MISMATCH);
ENCORE_SAME(LtStatus::kExecutionFailed, CUBLAS_STATUS_EXECUTION_FAILED);
ENCORE_SAME(LtStatus::kInternalError, CUBLAS_STATUS_INTERNAL_ERROR);
ENCORE_SAME(LtStatus::kNotSupported, CUBLAS_STATUS_NOT_SUPPORTED);
ENCORE_SAME(LtType::kF32, CUDA_R_32F);
ENCORE_SAME(LtType::kF64, CUDA_R_64F);
ENCORE_SAME(LtType::kF16, CUDA_R_16F);
ENCORE_SAME(LtType::kBF16, CUDA_R_16BF);
ENCORE_SAME(LtCompute::kF32, CUBLAS_COMPUTE_32F);
ENCORE_SAME(LtCompute::kF64, CUBLAS_COMPUTE_64F);
ENCORE_SAME(LtCompute::kFastF16, CUBLAS_COMPUTE_32F_FAST_16F);
ENCORE_SAME(LtCompute::kFastBF16, CUBLAS_COMPUTE_32F_FAST_16BF);
ENCORE_SAME(LtCompute::kFastTF32, CUBLAS_COMPUTE_32F_FAST_TF32);
ENCORE_SAME(kLtNotTransposed, CUBLAS_OP_N);
ENCORE_SAME(kLtTransposed, CUBLAS_OP_T);
ENCORE_SAME(kLtEpilogueDefault, CUBLASLT_EPILOGUE_DEFAULT);
ENCORE_SAME(kLtEpilogueRelu, CUBLASLT_EPILOGUE_RELU);
ENCORE_SAME(kLtEpilogueBias, CUBLASLT_EPILOGUE_BIAS);
ENCORE_SAME(kLtEpilogueRelu | kLtEpilogueBias, CUBLASLT_EPILOGUE_RELU_BIAS);
ENCORE_SAME(LtDescAttribute::kTransA, CUBLASLT_MATMUL_DESC_TRANSA);
ENCORE_SAME(LtDescAttribute::kTransB, CUBLASLT_MATMUL_DESC_TRANSB);
ENCORE_SAME(LtDescAttribute::kEpilogue, CUBLASLT_MATMUL_DESC_EPILOGUE);
ENCORE_SAME(LtDescAttribute::kBiasPointer, CUBLASLT_MATMUL_DESC_BIAS_POINTER);
ENCORE_SAME(LtLayoutAttribute::kBatchCount, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT);
ENCORE_SAME(LtLayoutAttribute::kStridedBatchOffset,
            CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
ENCORE_SAME(LtPreferenceAttribute::kMaxWorkspaceBytes,
            CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
ENCORE_SAME(LtPreferenceAttribute::kMinAlignmentA,
            CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES);
ENCORE_SAME(LtPreferenceAttribute::kMinAlignmentB,
            CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES);
ENCORE_SAME(LtPreferenceAttribute::kMinAlignmentC,
            CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES);
ENCORE_SAME(LtPreferenceAttribute::kMinAlignmentD,
            CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES);

// All of it was compared when this was compiled.
TEST(CublasLtHeaders, AreOfTheRelease) {
  EXPECT_EQ(static_cast<uint32_t>(CUBLAS_VER_MAJOR), kCublasLtMajor);
}

}  // namespace
}  // namespace encore::backends::cuda
