// What the driver's functions take, declared here so that building needs no
// toolkit. Handles are the types of cuda.h; enumerations have the values that
// Encore uses, structures the same fields in the same places: headers_test
// compares all of it with cuda.h.
#ifndef ENCORE_BACKENDS_CUDA_DRIVER_TYPES_H_
#define ENCORE_BACKENDS_CUDA_DRIVER_TYPES_H_

#include <cstddef>
#include <cstdint>

struct CUctx_st;
struct CUmod_st;
struct CUfunc_st;
struct CUkern_st;
struct CUstream_st;
struct CUevent_st;
struct CUgraph_st;
struct CUgraphNode_st;
struct CUgraphExec_st;
struct CUarray_st;
struct CUgraphEdgeData_st;
using CUcontext = CUctx_st*;
using CUmodule = CUmod_st*;
using CUfunction = CUfunc_st*;
using CUkernel = CUkern_st*;
using CUstream = CUstream_st*;
using CUevent = CUevent_st*;
using CUgraph = CUgraph_st*;
using CUgraphNode = CUgraphNode_st*;
using CUgraphExec = CUgraphExec_st*;
using CUarray = CUarray_st*;
using cuuint64_t = std::uint64_t;

namespace encore::backends::cuda {

using DeviceHandle = int;
using DevicePointer = unsigned long long;

enum class Result : uint32_t {
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kNotInitialized = 3,
  kStubLibrary = 34,
  kNoDevice = 100,
  kInvalidDevice = 101,
  kInvalidImage = 200,
  kInvalidContext = 201,
  kNoBinaryForGpu = 209,
  kEccUncorrectable = 214,
  kInvalidPtx = 218,
  kNvlinkUncorrectable = 220,
  kJitCompilerNotFound = 221,
  kUnsupportedPtxVersion = 222,
  kInvalidHandle = 400,
  kNotFound = 500,
  kNotReady = 600,
  kIllegalAddress = 700,
  kLaunchOutOfResources = 701,
  kLaunchTimeout = 702,
  kAssert = 710,
  kHardwareStackError = 714,
  kInvalidPc = 718,
  kLaunchFailed = 719,
  kNotSupported = 801,
  kCaptureUnsupported = 900,
  kCaptureInvalidated = 901,
  kCaptureMerge = 902,
  kCaptureUnmatched = 903,
  kCaptureUnjoined = 904,
  kCaptureIsolation = 905,
  kCapturedEvent = 907,
  kGraphExecUpdateFailure = 910,
  kUnknown = 999,
};

enum class DeviceAttribute : uint32_t {
  kMaxThreadsPerBlock = 1,
  kMultiprocessorCount = 16,
  kUnifiedAddressing = 41,
  kComputeCapabilityMajor = 75,
  kComputeCapabilityMinor = 76,
  kMaxSharedMemoryPerBlockOptin = 97,
};

enum class FunctionAttribute : uint32_t {
  kMaxThreadsPerBlock = 0,
  kSharedSizeBytes = 1,
  kLocalSizeBytes = 3,
  kNumRegs = 4,
  kMaxDynamicSharedSizeBytes = 8,
};

enum class JitOption : uint32_t {
  kErrorLogBuffer = 5,
  kErrorLogBufferSizeBytes = 6,
};

enum class CaptureMode : uint32_t {
  kGlobal = 0,
  kThreadLocal = 1,
  kRelaxed = 2,
};

enum class CaptureStatus : uint32_t {
  kNone = 0,
  kActive = 1,
  kInvalidated = 2,
};

enum class MemoryType : uint32_t { kHost = 1, kDevice = 2 };

inline constexpr unsigned int kStreamNonBlocking = 1;
inline constexpr unsigned int kEventTiming = 0, kEventDisableTiming = 2;
inline constexpr unsigned int kHostAllocPortable = 1;
inline constexpr unsigned int kHostAllocDeviceMap = 2;

// CUDA_KERNEL_NODE_PARAMS_v2.
struct KernelNodeParams {
  CUfunction func = nullptr;
  unsigned int gridDimX = 0, gridDimY = 0, gridDimZ = 0;
  unsigned int blockDimX = 0, blockDimY = 0, blockDimZ = 0;
  unsigned int sharedMemBytes = 0;
  void** kernelParams = nullptr;
  void** extra = nullptr;
  CUkernel kern = nullptr;
  CUcontext ctx = nullptr;
};

// CUDA_MEMCPY3D_v2.
struct MemcpyNodeParams {
  size_t srcXInBytes = 0, srcY = 0, srcZ = 0, srcLOD = 0;
  MemoryType srcMemoryType = MemoryType::kDevice;
  const void* srcHost = nullptr;
  DevicePointer srcDevice = 0;
  CUarray srcArray = nullptr;
  void* reserved0 = nullptr;
  size_t srcPitch = 0, srcHeight = 0;
  size_t dstXInBytes = 0, dstY = 0, dstZ = 0, dstLOD = 0;
  MemoryType dstMemoryType = MemoryType::kDevice;
  void* dstHost = nullptr;
  DevicePointer dstDevice = 0;
  CUarray dstArray = nullptr;
  void* reserved1 = nullptr;
  size_t dstPitch = 0, dstHeight = 0;
  size_t WidthInBytes = 0, Height = 0, Depth = 0;
};

// CUDA_CONDITIONAL_NODE_PARAMS.
enum class ConditionalType : uint32_t { kIf = 0, kWhile = 1 };
struct ConditionalNodeParams {
  cuuint64_t handle = 0;
  ConditionalType type = ConditionalType::kIf;
  unsigned int size = 0;
  CUgraph* phGraph_out = nullptr;
  CUcontext ctx = nullptr;
};

// CUgraphNodeParams, of a conditional node.
enum class NodeType : uint32_t { kConditional = 13 };
struct GraphNodeParams {
  NodeType type = NodeType::kConditional;
  int reserved0[3] = {};
  ConditionalNodeParams conditional;
  unsigned char unused[29 * 8 - sizeof(ConditionalNodeParams)] = {};
  long long reserved2 = 0;
};

inline constexpr unsigned int kSetCaptureDependencies = 1;

// CUgraphExecUpdateResultInfo_v1.
struct GraphUpdateResult {
  uint32_t result = 0;  // 0: updated
  CUgraphNode errorNode = nullptr;
  CUgraphNode errorFromNode = nullptr;
};

}  // namespace encore::backends::cuda

#endif  // ENCORE_BACKENDS_CUDA_DRIVER_TYPES_H_
