// A library in the place of cuBLASLt that computes on the driver that executes:
// it launches PTX of its own, checks what it is told, and fails where it is
// asked to. Long products where there is room for sums in the workspace are two
// launches.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <type_traits>

#include "encore/backends/cuda/driver/driver.h"
#include "encore/backends/cuda/driver/types.h"
#include "encore/backends/cuda/library/cublaslt_types.h"
#include "encore/backends/cuda/library/testing/emulated_cublaslt_abi.h"
#include "encore/backends/cuda/library/testing/emulated_product.h"

struct cublasLtContext {
  CUmodule module = nullptr;
};

namespace encore::backends::cuda {
namespace {

constexpr int64_t kLongDepth = 64, kPieces = 2;

struct Failure {
  int64_t calls = 0, at = -1;
  LtStatus status = LtStatus::kSuccess;
};

struct Library {
  std::mutex mutex;
  FindFunction find = nullptr;
  DriverTable api;
  std::string ptx;
  std::map<std::string, Failure> failures;
  int64_t handles = 0;
  size_t version = 130100;
};

Library& The() {
  static auto* const library = new Library;
  return *library;
}

// Counts a call; what it is to return at once, kSuccess: go on.
LtStatus Begin(const char* function) {
  const std::lock_guard lock(The().mutex);
  Failure& failure = The().failures[function];
  return failure.calls++ == failure.at ? failure.status : LtStatus::kSuccess;
}

LtStatus StatusOf(Result result) {
  if (result == Result::kSuccess) return LtStatus::kSuccess;
  return result == Result::kOutOfMemory ? LtStatus::kAllocFailed
                                        : LtStatus::kExecutionFailed;
}

void Use(FindFunction find, const char* ptx) {
  const std::lock_guard lock(The().mutex);
  The().find = find;
  The().ptx = ptx;
#define ENCORE_CUDA_FUNCTION(name, version, parameters) \
  find(#name, reinterpret_cast<void**>(&The().api.name), version, 0, nullptr);
#include "encore/backends/cuda/driver/functions.def"
#undef ENCORE_CUDA_FUNCTION
}

void Fail(const char* function, int64_t k, LtStatus status) {
  const std::lock_guard lock(The().mutex);
  The().failures[function] = {0, k, status};
}

int64_t Calls(const char* function) {
  const std::lock_guard lock(The().mutex);
  return The().failures[function].calls;
}

int64_t Handles() {
  const std::lock_guard lock(The().mutex);
  return The().handles;
}

void SetVersion(size_t version) { The().version = version; }

constexpr EmulatedCublasLtControl kControl = {Use, Fail, Calls, Handles,
                                              SetVersion};

template <typename Emulated, typename Opaque>
Emulated Read(const Opaque& opaque) {
  static_assert(sizeof(Emulated) <= sizeof(Opaque) &&
                std::is_trivially_copyable_v<Emulated>);
  Emulated value;
  std::memcpy(&value, &opaque, sizeof(value));
  return value;
}
template <typename Emulated, typename Opaque>
void Write(const Emulated& value, Opaque* opaque) {
  std::memcpy(opaque, &value, sizeof(value));
}

template <typename Value>
LtStatus Take(const void* from, size_t bytes, Value* value) {
  if (from == nullptr || bytes != sizeof(Value)) return LtStatus::kInvalidValue;
  std::memcpy(value, from, sizeof(Value));
  return LtStatus::kSuccess;
}

LtStatus ProductOf(LtMatmulDesc* desc, LtLayout* a, LtLayout* b, LtLayout* c,
                   LtLayout* d, EmulatedProduct* product) {
  return EmulatedProduct::Of(Read<EmulatedDesc>(*desc),
                             Read<EmulatedLayout>(*a), Read<EmulatedLayout>(*b),
                             Read<EmulatedLayout>(*c), Read<EmulatedLayout>(*d),
                             product);
}

bool IsOf(const EmulatedAlgorithm& algorithm, const EmulatedProduct& product) {
  return algorithm.mark == EmulatedAlgorithm::kMark &&
         algorithm.rows == product.rows &&
         algorithm.columns == product.columns &&
         algorithm.depth == product.depth && algorithm.batch == product.batch;
}

uint64_t AddressOf(const void* data) {
  return reinterpret_cast<uint64_t>(data);
}

// What an algorithm may count on; of an address that is not said, all.
uint64_t AlignmentOf(const void* data) {
  constexpr uint64_t kMost = 256;
  const uint64_t address = AddressOf(data);
  return address == 0 ? kMost : std::min(kMost, address & (0 - address));
}

}  // namespace

#define ENCORE_EXPORT extern "C" __attribute__((visibility("default")))
#define ENCORE_BEGIN(function)                                                 \
  if (const LtStatus status_ = Begin(function); status_ != LtStatus::kSuccess) \
  return status_

ENCORE_EXPORT const EmulatedCublasLtControl* EmulatedCublasLt() {
  return &kControl;
}

ENCORE_EXPORT size_t cublasLtGetVersion() { return The().version; }

ENCORE_EXPORT const char* cublasLtGetStatusName(LtStatus status) {
  return status == LtStatus::kNotSupported ? "CUBLAS_STATUS_NOT_SUPPORTED"
                                           : "CUBLAS_STATUS_OTHER";
}

ENCORE_EXPORT LtStatus cublasLtCreate(LtHandle* handle) {
  ENCORE_BEGIN("cublasLtCreate");
  if (The().find == nullptr) return LtStatus::kNotInitialized;
  CUcontext context = nullptr;
  (void)The().api.cuCtxGetCurrent(&context);
  if (context == nullptr) return LtStatus::kNotInitialized;
  CUmodule module = nullptr;
  const Result result = The().api.cuModuleLoadDataEx(&module, The().ptx.c_str(),
                                                     0, nullptr, nullptr);
  if (result != Result::kSuccess) return LtStatus::kNotInitialized;
  *handle = new cublasLtContext{module};
  const std::lock_guard lock(The().mutex);
  ++The().handles;
  return LtStatus::kSuccess;
}

ENCORE_EXPORT LtStatus cublasLtDestroy(LtHandle handle) {
  const LtStatus status = Begin("cublasLtDestroy");
  (void)The().api.cuModuleUnload(handle->module);
  delete handle;
  const std::lock_guard lock(The().mutex);
  --The().handles;
  return status;
}

ENCORE_EXPORT LtStatus cublasLtMatmulDescInit_internal(LtMatmulDesc* desc,
                                                       size_t bytes,
                                                       LtCompute compute,
                                                       LtType scale) {
  ENCORE_BEGIN("cublasLtMatmulDescInit_internal");
  if (bytes != sizeof(*desc)) return LtStatus::kInvalidValue;
  Write(EmulatedDesc{.compute = static_cast<uint64_t>(compute),
                     .scale = static_cast<uint64_t>(scale)},
        desc);
  return LtStatus::kSuccess;
}

ENCORE_EXPORT LtStatus cublasLtMatmulDescSetAttribute(LtMatmulDesc* desc,
                                                      LtDescAttribute attribute,
                                                      const void* value,
                                                      size_t bytes) {
  ENCORE_BEGIN("cublasLtMatmulDescSetAttribute");
  auto own = Read<EmulatedDesc>(*desc);
  uint32_t number = 0;
  LtStatus status = LtStatus::kSuccess;
  if (attribute == LtDescAttribute::kBiasPointer) {
    status = Take(value, bytes, &own.bias);
  } else {
    status = Take(value, bytes, &number);
    switch (attribute) {
      case LtDescAttribute::kTransA:
        own.trans_a = number;
        break;
      case LtDescAttribute::kTransB:
        own.trans_b = number;
        break;
      default:
        own.epilogue = number;
    }
  }
  Write(own, desc);
  return status;
}

ENCORE_EXPORT LtStatus cublasLtMatrixLayoutInit_internal(
    LtLayout* layout, size_t bytes, LtType type, uint64_t rows,
    uint64_t columns, int64_t pitch) {
  ENCORE_BEGIN("cublasLtMatrixLayoutInit_internal");
  if (bytes != sizeof(*layout)) return LtStatus::kInvalidValue;
  Write(EmulatedLayout{.type = static_cast<uint64_t>(type),
                       .rows = rows,
                       .columns = columns,
                       .pitch = pitch},
        layout);
  return LtStatus::kSuccess;
}

ENCORE_EXPORT LtStatus
cublasLtMatrixLayoutSetAttribute(LtLayout* layout, LtLayoutAttribute attribute,
                                 const void* value, size_t bytes) {
  ENCORE_BEGIN("cublasLtMatrixLayoutSetAttribute");
  auto own = Read<EmulatedLayout>(*layout);
  LtStatus status = LtStatus::kSuccess;
  if (attribute == LtLayoutAttribute::kBatchCount) {
    int32_t count = 0;
    status = Take(value, bytes, &count);
    own.batch = count;
  } else {
    status = Take(value, bytes, &own.batch_stride);
  }
  Write(own, layout);
  return status;
}

ENCORE_EXPORT LtStatus
cublasLtMatmulPreferenceInit_internal(LtPreference* preference, size_t bytes) {
  ENCORE_BEGIN("cublasLtMatmulPreferenceInit_internal");
  if (bytes != sizeof(*preference)) return LtStatus::kInvalidValue;
  Write(EmulatedPreference{}, preference);
  return LtStatus::kSuccess;
}

ENCORE_EXPORT LtStatus cublasLtMatmulPreferenceSetAttribute(
    LtPreference* preference, LtPreferenceAttribute attribute,
    const void* value, size_t bytes) {
  ENCORE_BEGIN("cublasLtMatmulPreferenceSetAttribute");
  auto own = Read<EmulatedPreference>(*preference);
  LtStatus status = LtStatus::kSuccess;
  if (attribute == LtPreferenceAttribute::kMaxWorkspaceBytes) {
    status = Take(value, bytes, &own.workspace_bytes);
  } else {
    uint32_t alignment = 0;
    status = Take(value, bytes, &alignment);
    const auto first =
        static_cast<uint32_t>(LtPreferenceAttribute::kMinAlignmentA);
    own.alignments[static_cast<uint32_t>(attribute) - first] = alignment;
  }
  Write(own, preference);
  return status;
}

ENCORE_EXPORT LtStatus cublasLtMatmulAlgoGetHeuristic(
    LtHandle, LtMatmulDesc* desc, LtLayout* a, LtLayout* b, LtLayout* c,
    LtLayout* d, LtPreference* preference, int wanted, LtHeuristic* results,
    int* found) {
  ENCORE_BEGIN("cublasLtMatmulAlgoGetHeuristic");
  *found = 0;
  const auto own = Read<EmulatedPreference>(*preference);
  if (wanted < 1 || own.mark != EmulatedPreference::kMark) {
    return LtStatus::kInvalidValue;
  }
  EmulatedProduct product;
  const LtStatus status = ProductOf(desc, a, b, c, d, &product);
  if (status != LtStatus::kSuccess) return status;
  const bool split = product.depth >= kLongDepth && !product.wide &&
                     product.WorkspaceBytes(kPieces) <= own.workspace_bytes;
  const EmulatedAlgorithm algorithm{
      .pieces = split ? kPieces : 1,
      .rows = product.rows,
      .columns = product.columns,
      .depth = product.depth,
      .batch = product.batch,
      .alignment = *std::min_element(own.alignments, own.alignments + 4),
      .bias_alignment = AlignmentOf(product.bias)};
  LtHeuristic& result = results[0];
  result = {};
  Write(algorithm, &result.algo);
  result.workspaceSize = product.WorkspaceBytes(algorithm.pieces);
  result.state = LtStatus::kSuccess;
  *found = 1;
  return LtStatus::kSuccess;
}

ENCORE_EXPORT LtStatus cublasLtMatmulAlgoCheck(LtHandle, LtMatmulDesc* desc,
                                               LtLayout* a, LtLayout* b,
                                               LtLayout* c, LtLayout* d,
                                               const LtAlgorithm* algorithm,
                                               LtHeuristic* result) {
  ENCORE_BEGIN("cublasLtMatmulAlgoCheck");
  EmulatedProduct product;
  const LtStatus status = ProductOf(desc, a, b, c, d, &product);
  if (status != LtStatus::kSuccess) return status;
  const auto own = Read<EmulatedAlgorithm>(*algorithm);
  if (!IsOf(own, product) || AlignmentOf(product.bias) < own.bias_alignment) {
    return LtStatus::kInvalidValue;
  }
  result->workspaceSize = product.WorkspaceBytes(own.pieces);
  return LtStatus::kSuccess;
}

ENCORE_EXPORT LtStatus cublasLtMatmul(
    LtHandle handle, LtMatmulDesc* desc, const void* alpha, const void* a,
    LtLayout* a_layout, const void* b, LtLayout* b_layout, const void* beta,
    const void* c, LtLayout* c_layout, void* d, LtLayout* d_layout,
    const LtAlgorithm* algorithm, void* workspace, size_t workspace_bytes,
    CUstream stream) {
  ENCORE_BEGIN("cublasLtMatmul");
  EmulatedProduct product;
  const LtStatus status =
      ProductOf(desc, a_layout, b_layout, c_layout, d_layout, &product);
  if (status != LtStatus::kSuccess) return status;
  const auto own = Read<EmulatedAlgorithm>(*algorithm);
  const auto factor = [&](const void* data) {
    return product.wide ? *static_cast<const double*>(data)
                        : *static_cast<const float*>(data);
  };
  const double added = factor(beta);
  const uint64_t all = AddressOf(a) | AddressOf(b) | AddressOf(d) |
                       (added == 0 ? 0 : AddressOf(c));
  if (!IsOf(own, product) || factor(alpha) != 1 || (added != 0 && added != 1) ||
      all % own.alignment != 0 ||
      (product.has_bias &&
       (product.bias == nullptr ||
        AddressOf(product.bias) % own.bias_alignment != 0)) ||
      workspace_bytes < product.WorkspaceBytes(own.pieces) ||
      AddressOf(workspace) % 256 != 0) {
    return LtStatus::kInvalidValue;
  }
  CUfunction function = nullptr;
  const Result found = The().api.cuModuleGetFunction(&function, handle->module,
                                                     product.kernel.c_str());
  if (found != Result::kSuccess) return StatusOf(found);
  return StatusOf(
      LaunchProduct(The().api, function, product,
                    {a, b, c, d, workspace, static_cast<int64_t>(added)},
                    own.pieces, stream));
}

}  // namespace encore::backends::cuda
