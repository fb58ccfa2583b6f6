// The driver's functions of devices, contexts and memory.
#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "encore/backends/cuda/fake/state.h"
#include "encore/ir/support/strings.h"

namespace encore::backends::cuda::fake {
namespace {

thread_local CUcontext current_context = nullptr;

struct ErrorRow {
  Result result;
  const char* name;
};

constexpr ErrorRow kErrors[] = {
    {Result::kSuccess, "CUDA_SUCCESS"},
    {Result::kInvalidValue, "CUDA_ERROR_INVALID_VALUE"},
    {Result::kOutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY"},
    {Result::kNotInitialized, "CUDA_ERROR_NOT_INITIALIZED"},
    {Result::kInvalidDevice, "CUDA_ERROR_INVALID_DEVICE"},
    {Result::kInvalidContext, "CUDA_ERROR_INVALID_CONTEXT"},
    {Result::kNoBinaryForGpu, "CUDA_ERROR_NO_BINARY_FOR_GPU"},
    {Result::kEccUncorrectable, "CUDA_ERROR_ECC_UNCORRECTABLE"},
    {Result::kInvalidPtx, "CUDA_ERROR_INVALID_PTX"},
    {Result::kInvalidHandle, "CUDA_ERROR_INVALID_HANDLE"},
    {Result::kNotFound, "CUDA_ERROR_NOT_FOUND"},
    {Result::kIllegalAddress, "CUDA_ERROR_ILLEGAL_ADDRESS"},
    {Result::kLaunchOutOfResources, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"},
    {Result::kLaunchTimeout, "CUDA_ERROR_LAUNCH_TIMEOUT"},
    {Result::kLaunchFailed, "CUDA_ERROR_LAUNCH_FAILED"},
    {Result::kCaptureUnsupported, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"},
    {Result::kCaptureInvalidated, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED"},
    {Result::kCaptureMerge, "CUDA_ERROR_STREAM_CAPTURE_MERGE"},
    {Result::kCaptureUnmatched, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED"},
    {Result::kCaptureUnjoined, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED"},
    {Result::kCaptureIsolation, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION"},
    {Result::kCapturedEvent, "CUDA_ERROR_CAPTURED_EVENT"},
    {Result::kGraphExecUpdateFailure, "CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE"},
    {Result::kUnknown, "CUDA_ERROR_UNKNOWN"},
};

constexpr int kMostShared = 232448;

}  // namespace

Result FakeState::cuInit(unsigned int flags) {
  if (flags != 0) return Result::kInvalidValue;
  initialized_ = true;
  return Result::kSuccess;
}

Result FakeState::cuDriverGetVersion(int* version) {
  *version = options_.driver;
  return Result::kSuccess;
}

Result FakeState::cuGetErrorName(Result error, const char** name) {
  const auto row = std::ranges::find(kErrors, error, &ErrorRow::result);
  *name = row == std::end(kErrors) ? nullptr : row->name;
  return *name == nullptr ? Result::kInvalidValue : Result::kSuccess;
}

// What the emulator saw, for the errors that lose a context.
Result FakeState::cuGetErrorString(Result error, const char** text) {
  *text = nullptr;
  if (fault_.empty() || error < Result::kIllegalAddress ||
      error > Result::kLaunchFailed) {
    return Result::kInvalidValue;
  }
  *text = fault_.c_str();
  return Result::kSuccess;
}

Result FakeState::cuDeviceGetCount(int* count) {
  *count = options_.devices;
  return initialized_ ? Result::kSuccess : Result::kNotInitialized;
}

Result FakeState::cuDeviceGet(DeviceHandle* device, int ordinal) {
  if (!initialized_) return Result::kNotInitialized;
  if (ordinal < 0 || ordinal >= options_.devices) return Result::kInvalidDevice;
  *device = ordinal;
  return Result::kSuccess;
}

Result FakeState::cuDeviceGetName(char* name, int bytes, DeviceHandle device) {
  if (bytes <= 0) return Result::kInvalidValue;
  const std::string text =
      StrCat("emulated device of sm_", options_.capability);
  std::strncpy(name, text.c_str(), static_cast<size_t>(bytes));
  name[bytes - 1] = 0;
  return Result::kSuccess;
}

Result FakeState::cuDeviceGetAttribute(int* value, DeviceAttribute attribute,
                                       DeviceHandle device) {
  switch (attribute) {
    case DeviceAttribute::kMaxThreadsPerBlock:
      *value = 1024;
      return Result::kSuccess;
    case DeviceAttribute::kMultiprocessorCount:
      *value = 2;
      return Result::kSuccess;
    case DeviceAttribute::kUnifiedAddressing:
      *value = 1;
      return Result::kSuccess;
    case DeviceAttribute::kComputeCapabilityMajor:
      *value = options_.capability / 10;
      return Result::kSuccess;
    case DeviceAttribute::kComputeCapabilityMinor:
      *value = options_.capability % 10;
      return Result::kSuccess;
    case DeviceAttribute::kMaxSharedMemoryPerBlockOptin:
      *value = kMostShared;
      return Result::kSuccess;
  }
  return Result::kInvalidValue;
}

Result FakeState::cuDeviceTotalMem(size_t* bytes, DeviceHandle device) {
  *bytes = options_.memory;
  return Result::kSuccess;
}

Result FakeState::cuDevicePrimaryCtxRetain(CUcontext* context,
                                           DeviceHandle device) {
  if (device < 0 || device >= options_.devices) return Result::kInvalidDevice;
  std::unique_ptr<CUctx_st>& primary = contexts_[device];
  if (primary == nullptr) primary = std::make_unique<CUctx_st>();
  primary->device = device;
  ++primary->uses;
  *context = primary.get();
  return Result::kSuccess;
}

Result FakeState::cuDevicePrimaryCtxRelease(DeviceHandle device) {
  if (device < 0 || device >= options_.devices ||
      contexts_[device] == nullptr || contexts_[device]->uses == 0) {
    return Result::kInvalidContext;
  }
  // What is left in it stays, to be found as a leak.
  --contexts_[device]->uses;
  return Result::kSuccess;
}

Result FakeState::cuCtxGetCurrent(CUcontext* context) {
  *context = current_context;
  return Result::kSuccess;
}

Result FakeState::cuCtxSetCurrent(CUcontext context) {
  current_context = context;
  return Result::kSuccess;
}

Result FakeState::Current(CUcontext* context) const {
  for (const auto& one : contexts_) {
    if (one == nullptr || one.get() != current_context || one->uses == 0) {
      continue;
    }
    *context = one.get();
    return one->lost;
  }
  return Result::kInvalidContext;
}

Result FakeState::cuMemAlloc(DevicePointer* data, size_t bytes) {
  CUcontext context = nullptr;
  if (const Result result = Current(&context); result != Result::kSuccess) {
    return result;
  }
  if (bytes == 0) return Result::kInvalidValue;
  if (bytes > options_.memory ||
      memory_.used(context->device) > options_.memory - bytes) {
    return Result::kOutOfMemory;
  }
  const auto address = memory_.Allocate(bytes, context->device);
  if (!address) return Result::kOutOfMemory;
  *data = *address;
  return Result::kSuccess;
}

Result FakeState::cuMemFree(DevicePointer data) {
  CUcontext context = nullptr;
  const Result result = Current(&context);
  if (result == Result::kInvalidContext) return result;
  if (!memory_.Free(data, false)) return Result::kInvalidValue;
  return result;
}

Result FakeState::cuMemHostAlloc(void** data, size_t bytes,
                                 unsigned int flags) {
  CUcontext context = nullptr;
  if (const Result result = Current(&context); result != Result::kSuccess) {
    return result;
  }
  if (bytes == 0) return Result::kInvalidValue;
  if (bytes > options_.pinned ||
      memory_.used(Memory::kHost) > options_.pinned - bytes) {
    return Result::kOutOfMemory;
  }
  const auto address = memory_.Allocate(bytes, Memory::kHost);
  if (!address) return Result::kOutOfMemory;
  *data = reinterpret_cast<void*>(*address);
  return Result::kSuccess;
}

Result FakeState::cuMemFreeHost(void* data) {
  CUcontext context = nullptr;
  const Result result = Current(&context);
  if (result == Result::kInvalidContext) return result;
  if (!memory_.Free(reinterpret_cast<uint64_t>(data), true)) {
    return Result::kInvalidValue;
  }
  return result;
}

}  // namespace encore::backends::cuda::fake
