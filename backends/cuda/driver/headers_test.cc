// The driver's list of functions and types beside NVIDIA's headers.
#include <cstddef>
#include <type_traits>

#include "cuda.h"
#include "cudaTypedefs.h"
#include "encore/backends/cuda/driver/driver.h"
#include "encore/backends/cuda/driver/testing/same_types.h"
#include "gtest/gtest.h"

namespace encore::backends::cuda {

// Field by field below.
template <>
inline constexpr bool
    kSameStructure<KernelNodeParams, CUDA_KERNEL_NODE_PARAMS_v2> = true;
template <>
inline constexpr bool kSameStructure<MemcpyNodeParams, CUDA_MEMCPY3D_v2> = true;
template <>
inline constexpr bool kSameStructure<GraphNodeParams, CUgraphNodeParams> = true;
template <>
inline constexpr bool
    kSameStructure<GraphUpdateResult, CUgraphExecUpdateResultInfo_v1> = true;

namespace {

// Each row has the form that cudaTypedefs.h knows under its version, and that
// is the one that a program gets which is compiled with cuda.h.
#define ENCORE_CUDA_FUNCTION(name, version, parameters)                     \
  static_assert(                                                            \
      SameFunction<decltype(DriverTable::name), PFN_##name##_v##version>()  \
          .value,                                                           \
      #name " is not what cudaTypedefs.h says");                            \
  static_assert(std::is_same_v<decltype(&::name), PFN_##name##_v##version>, \
                #name " has a later form in cuda.h");
#include "encore/backends/cuda/driver/functions.def"
#undef ENCORE_CUDA_FUNCTION
static_assert(SameFunction<FindFunction, PFN_cuGetProcAddress_v12000>().value);

// The comparison sees a difference.
static_assert(
    !SameFunction<decltype(DriverTable::cuMemAlloc), PFN_cuMemFree_v3020>()
         .value);
static_assert(!SameFunction<decltype(DriverTable::cuMemcpyHtoDAsync),
                            PFN_cuMemcpyDtoHAsync_v3020>()
                   .value);

#define ENCORE_SAME(ours, theirs)                                     \
  static_assert(static_cast<long>(ours) == static_cast<long>(theirs), \
                #ours " is not " #theirs)
#define ENCORE_ERROR(ours, theirs) ENCORE_SAME(Result::ours, CUDA_##theirs)
ENCORE_ERROR(kSuccess, SUCCESS);
ENCORE_ERROR(kInvalidValue, ERROR_INVALID_VALUE);
ENCORE_ERROR(kOutOfMemory, ERROR_OUT_OF_MEMORY);
ENCORE_ERROR(kNotInitialized, ERROR_NOT_INITIALIZED);
ENCORE_ERROR(kStubLibrary, ERROR_STUB_LIBRARY);
ENCORE_ERROR(kNoDevice, ERROR_NO_DEVICE);
ENCORE_ERROR(kInvalidDevice, ERROR_INVALID_DEVICE);
ENCORE_ERROR(kInvalidImage, ERROR_INVALID_IMAGE);
ENCORE_ERROR(kInvalidContext, ERROR_INVALID_CONTEXT);
ENCORE_ERROR(kNoBinaryForGpu, ERROR_NO_BINARY_FOR_GPU);
ENCORE_ERROR(kEccUncorrectable, ERROR_ECC_UNCORRECTABLE);
ENCORE_ERROR(kInvalidPtx, ERROR_INVALID_PTX);
ENCORE_ERROR(kNvlinkUncorrectable, ERROR_NVLINK_UNCORRECTABLE);
ENCORE_ERROR(kJitCompilerNotFound, ERROR_JIT_COMPILER_NOT_FOUND);
ENCORE_ERROR(kUnsupportedPtxVersion, ERROR_UNSUPPORTED_PTX_VERSION);
ENCORE_ERROR(kInvalidHandle, ERROR_INVALID_HANDLE);
ENCORE_ERROR(kNotFound, ERROR_NOT_FOUND);
ENCORE_ERROR(kNotReady, ERROR_NOT_READY);
ENCORE_ERROR(kIllegalAddress, ERROR_ILLEGAL_ADDRESS);
ENCORE_ERROR(kLaunchOutOfResources, ERROR_LAUNCH_OUT_OF_RESOURCES);
ENCORE_ERROR(kLaunchTimeout, ERROR_LAUNCH_TIMEOUT);
ENCORE_ERROR(kAssert, ERROR_ASSERT);
ENCORE_ERROR(kHardwareStackError, ERROR_HARDWARE_STACK_ERROR);
ENCORE_ERROR(kInvalidPc, ERROR_INVALID_PC);
ENCORE_ERROR(kLaunchFailed, ERROR_LAUNCH_FAILED);
ENCORE_ERROR(kNotSupported, ERROR_NOT_SUPPORTED);
ENCORE_ERROR(kCaptureUnsupported, ERROR_STREAM_CAPTURE_UNSUPPORTED);
ENCORE_ERROR(kCaptureInvalidated, ERROR_STREAM_CAPTURE_INVALIDATED);
ENCORE_ERROR(kCaptureMerge, ERROR_STREAM_CAPTURE_MERGE);
ENCORE_ERROR(kCaptureUnmatched, ERROR_STREAM_CAPTURE_UNMATCHED);
ENCORE_ERROR(kCaptureUnjoined, ERROR_STREAM_CAPTURE_UNJOINED);
ENCORE_ERROR(kCaptureIsolation, ERROR_STREAM_CAPTURE_ISOLATION);
ENCORE_ERROR(kCapturedEvent, ERROR_CAPTURED_EVENT);
ENCORE_ERROR(kGraphExecUpdateFailure, ERROR_GRAPH_EXEC_UPDATE_FAILURE);
ENCORE_ERROR(kUnknown, ERROR_UNKNOWN);

#define ENCORE_DEVICE(ours, theirs) \
  ENCORE_SAME(DeviceAttribute::ours, CU_DEVICE_ATTRIBUTE_##theirs)
ENCORE_DEVICE(kMaxThreadsPerBlock, MAX_THREADS_PER_BLOCK);
ENCORE_DEVICE(kMultiprocessorCount, MULTIPROCESSOR_COUNT);
ENCORE_DEVICE(kUnifiedAddressing, UNIFIED_ADDRESSING);
ENCORE_DEVICE(kComputeCapabilityMajor, COMPUTE_CAPABILITY_MAJOR);
ENCORE_DEVICE(kComputeCapabilityMinor, COMPUTE_CAPABILITY_MINOR);
ENCORE_DEVICE(kMaxSharedMemoryPerBlockOptin, MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);

#define ENCORE_FUNC(ours, theirs) \
  ENCORE_SAME(FunctionAttribute::ours, CU_FUNC_ATTRIBUTE_##theirs)
ENCORE_FUNC(kMaxThreadsPerBlock, MAX_THREADS_PER_BLOCK);
ENCORE_FUNC(kSharedSizeBytes, SHARED_SIZE_BYTES);
ENCORE_FUNC(kLocalSizeBytes, LOCAL_SIZE_BYTES);
ENCORE_FUNC(kNumRegs, NUM_REGS);
ENCORE_FUNC(kMaxDynamicSharedSizeBytes, MAX_DYNAMIC_SHARED_SIZE_BYTES);

ENCORE_SAME(JitOption::kErrorLogBuffer, CU_JIT_ERROR_LOG_BUFFER);
ENCORE_SAME(JitOption::kErrorLogBufferSizeBytes,
            CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
ENCORE_SAME(CaptureMode::kGlobal, CU_STREAM_CAPTURE_MODE_GLOBAL);
ENCORE_SAME(CaptureMode::kThreadLocal, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
ENCORE_SAME(CaptureMode::kRelaxed, CU_STREAM_CAPTURE_MODE_RELAXED);
ENCORE_SAME(CaptureStatus::kNone, CU_STREAM_CAPTURE_STATUS_NONE);
ENCORE_SAME(CaptureStatus::kActive, CU_STREAM_CAPTURE_STATUS_ACTIVE);
ENCORE_SAME(CaptureStatus::kInvalidated, CU_STREAM_CAPTURE_STATUS_INVALIDATED);
ENCORE_SAME(MemoryType::kHost, CU_MEMORYTYPE_HOST);
ENCORE_SAME(MemoryType::kDevice, CU_MEMORYTYPE_DEVICE);
ENCORE_SAME(kStreamNonBlocking, CU_STREAM_NON_BLOCKING);
ENCORE_SAME(kEventTiming, CU_EVENT_DEFAULT);
ENCORE_SAME(kEventDisableTiming, CU_EVENT_DISABLE_TIMING);
ENCORE_SAME(kHostAllocPortable, CU_MEMHOSTALLOC_PORTABLE);
ENCORE_SAME(kHostAllocDeviceMap, CU_MEMHOSTALLOC_DEVICEMAP);

// Structures: the same size, and fields of the same kind at the same places.
#define ENCORE_FIELD(ours, theirs, field)                           \
  static_assert(offsetof(ours, field) == offsetof(theirs, field) && \
                IsSame<decltype(ours::field), decltype(theirs::field)>())
#define ENCORE_KERNEL(field) \
  ENCORE_FIELD(KernelNodeParams, CUDA_KERNEL_NODE_PARAMS_v2, field)
static_assert(sizeof(KernelNodeParams) == sizeof(CUDA_KERNEL_NODE_PARAMS_v2));
ENCORE_KERNEL(func);
ENCORE_KERNEL(gridDimX);
ENCORE_KERNEL(gridDimY);
ENCORE_KERNEL(gridDimZ);
ENCORE_KERNEL(blockDimX);
ENCORE_KERNEL(blockDimY);
ENCORE_KERNEL(blockDimZ);
ENCORE_KERNEL(sharedMemBytes);
ENCORE_KERNEL(kernelParams);
ENCORE_KERNEL(extra);
ENCORE_KERNEL(kern);
ENCORE_KERNEL(ctx);

#define ENCORE_COPY(field) \
  ENCORE_FIELD(MemcpyNodeParams, CUDA_MEMCPY3D_v2, field)
static_assert(sizeof(MemcpyNodeParams) == sizeof(CUDA_MEMCPY3D_v2));
ENCORE_COPY(srcXInBytes);
ENCORE_COPY(srcY);
ENCORE_COPY(srcZ);
ENCORE_COPY(srcLOD);
ENCORE_COPY(srcMemoryType);
ENCORE_COPY(srcHost);
ENCORE_COPY(srcDevice);
ENCORE_COPY(srcArray);
ENCORE_COPY(reserved0);
ENCORE_COPY(srcPitch);
ENCORE_COPY(srcHeight);
ENCORE_COPY(dstXInBytes);
ENCORE_COPY(dstY);
ENCORE_COPY(dstZ);
ENCORE_COPY(dstLOD);
ENCORE_COPY(dstMemoryType);
ENCORE_COPY(dstHost);
ENCORE_COPY(dstDevice);
ENCORE_COPY(dstArray);
ENCORE_COPY(reserved1);
ENCORE_COPY(dstPitch);
ENCORE_COPY(dstHeight);
ENCORE_COPY(WidthInBytes);
ENCORE_COPY(Height);
ENCORE_COPY(Depth);

#define ENCORE_CONDITIONAL(field) \
  ENCORE_FIELD(ConditionalNodeParams, CUDA_CONDITIONAL_NODE_PARAMS, field)
static_assert(sizeof(ConditionalNodeParams) ==
              sizeof(CUDA_CONDITIONAL_NODE_PARAMS));
ENCORE_CONDITIONAL(handle);
ENCORE_CONDITIONAL(type);
ENCORE_CONDITIONAL(size);
ENCORE_CONDITIONAL(phGraph_out);
ENCORE_CONDITIONAL(ctx);
static_assert(sizeof(GraphNodeParams) == sizeof(CUgraphNodeParams));
static_assert(offsetof(GraphNodeParams, type) ==
              offsetof(CUgraphNodeParams, type));
static_assert(offsetof(GraphNodeParams, conditional) ==
              offsetof(CUgraphNodeParams, conditional));
static_assert(offsetof(GraphNodeParams, reserved2) ==
              offsetof(CUgraphNodeParams, reserved2));
ENCORE_SAME(NodeType::kConditional, CU_GRAPH_NODE_TYPE_CONDITIONAL);
ENCORE_SAME(ConditionalType::kIf, CU_GRAPH_COND_TYPE_IF);
ENCORE_SAME(ConditionalType::kWhile, CU_GRAPH_COND_TYPE_WHILE);
ENCORE_SAME(kSetCaptureDependencies, CU_STREAM_SET_CAPTURE_DEPENDENCIES);

#define ENCORE_UPDATE(field) \
  ENCORE_FIELD(GraphUpdateResult, CUgraphExecUpdateResultInfo_v1, field)
static_assert(sizeof(GraphUpdateResult) ==
              sizeof(CUgraphExecUpdateResultInfo_v1));
static_assert(sizeof(GraphUpdateResult::result) ==
              sizeof(CUgraphExecUpdateResultInfo_v1::result));
ENCORE_UPDATE(errorNode);
ENCORE_UPDATE(errorFromNode);

// All of it was compared when this was compiled.
TEST(Headers, AreOfTheRelease) { EXPECT_EQ(CUDA_VERSION, 13000); }

}  // namespace
}  // namespace encore::backends::cuda
