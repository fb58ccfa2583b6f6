#include "encore/backends/cuda/profiling/cupti.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <type_traits>

#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::backends::cuda {
namespace {

constexpr uint32_t kMajor = 13;
constexpr size_t kBufferBytes = 64 << 10;
constexpr size_t kAlignment = 8;
constexpr CuptiKind kKinds[] = {CuptiKind::kConcurrentKernel,
                                CuptiKind::kMemcpy, CuptiKind::kMemcpyPeer};

// Whom records are for: callbacks have no object.
Cupti* receiver = nullptr;

}  // namespace

std::string CuptiLibrary() {
  const char* const path = secure_getenv("ENCORE_CUPTI");
  return path == nullptr ? "" : path;
}

StatusOr<Cupti*> Cupti::Open(const std::string& path) {
  static auto* const mutex = new std::mutex;
  static auto* const opened = new std::map<std::string, Cupti*>;
  const std::lock_guard lock(*mutex);
  Cupti*& known = (*opened)[path];
  if (known != nullptr) return known;
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return FailedPreconditionError(
        StrCat("CUPTI cannot be loaded: ", dlerror()));
  }
  std::unique_ptr<Cupti> made(new Cupti);
  ENCORE_RETURN_IF_ERROR(made->Bind(library, path));
  ENCORE_RETURN_IF_ERROR(made->ToStatus(
      made->api_.cuptiActivityRegisterCallbacks(&RequestBuffer, &TakeBuffer),
      "cuptiActivityRegisterCallbacks"));
  receiver = made.release();
  known = receiver;
  return known;
}

Status Cupti::Bind(void* library, const std::string& path) {
  Status status;
  const auto bind = [&](auto& function, const char* name) {
    void* const symbol = dlsym(library, name);
    if (symbol == nullptr && status.ok()) {
      status = FailedPreconditionError(StrCat(path, " has no function ", name));
    }
    function = reinterpret_cast<std::decay_t<decltype(function)>>(symbol);
  };
#define ENCORE_CUPTI_FUNCTION(name, parameters) bind(api_.name, #name);
#include "encore/backends/cuda/profiling/cupti_functions.def"
#undef ENCORE_CUPTI_FUNCTION
  ENCORE_RETURN_IF_ERROR(status);
  uint32_t version = 0;
  ENCORE_RETURN_IF_ERROR(
      ToStatus(api_.cuptiGetVersion(&version), "cuptiGetVersion"));
  // 130001 of CUDA 13.0.
  if (version / 10000 == kMajor) return OkStatus();
  return FailedPreconditionError(
      StrCat(path, " is CUPTI ", version / 10000, ", wanted is ", kMajor));
}

Status Cupti::ToStatus(CuptiResult result, const char* what) const {
  if (result == CuptiResult::kSuccess) return OkStatus();
  const char* text = nullptr;
  if (api_.cuptiGetResultString(result, &text) != CuptiResult::kSuccess) {
    text = nullptr;
  }
  return InternalError(StrCat(what, ": ", text == nullptr ? "error" : text,
                              " (", static_cast<uint32_t>(result), ")"));
}

StatusOr<uint32_t> Cupti::IdOf(CUcontext context, CUstream stream) const {
  uint32_t id = 0;
  ENCORE_RETURN_IF_ERROR(ToStatus(
      api_.cuptiGetStreamIdEx(context, stream, 0, &id), "cuptiGetStreamIdEx"));
  return id;
}

Status Cupti::Enable() {
  for (const CuptiKind kind : kKinds) {
    const Status status =
        ToStatus(api_.cuptiActivityEnable(kind), "cuptiActivityEnable");
    if (status.ok()) continue;
    Disable();
    return status;
  }
  return OkStatus();
}

void Cupti::Disable() {
  for (const CuptiKind kind : kKinds) (void)api_.cuptiActivityDisable(kind);
}

Status Cupti::Start(CUcontext context, CUstream stream) {
  ENCORE_ASSIGN_OR_RETURN(const uint32_t id, IdOf(context, stream));
  {
    const std::lock_guard lock(mutex_);
    if (uses_ == 0) ENCORE_RETURN_IF_ERROR(Enable());
    ++uses_;
  }
  const std::lock_guard lock(spans_mutex_);
  spans_[id] = {};
  return OkStatus();
}

StatusOr<std::optional<int64_t>> Cupti::Stop(CUcontext context,
                                             CUstream stream) {
  const auto id = IdOf(context, stream);
  const Status flushed =
      ToStatus(api_.cuptiActivityFlushAll(0), "cuptiActivityFlushAll");
  {
    const std::lock_guard lock(mutex_);
    if (--uses_ == 0) Disable();
  }
  ENCORE_RETURN_IF_ERROR(id.status());
  Span span;
  {
    const std::lock_guard lock(spans_mutex_);
    const auto found = spans_.find(*id);
    if (found != spans_.end()) {
      span = found->second;
      spans_.erase(found);
    }
  }
  ENCORE_RETURN_IF_ERROR(flushed);
  if (span.end <= span.begin) return std::optional<int64_t>();
  return std::optional<int64_t>(static_cast<int64_t>(span.end - span.begin));
}

void Cupti::RequestBuffer(uint8_t** buffer, size_t* bytes,
                          size_t* most_records) {
  *buffer = static_cast<uint8_t*>(std::aligned_alloc(kAlignment, kBufferBytes));
  *bytes = *buffer == nullptr ? 0 : kBufferBytes;
  *most_records = 0;  // as many as have room
}

void Cupti::TakeBuffer(CUcontext, uint32_t, uint8_t* buffer, size_t,
                       size_t valid_bytes) {
  if (buffer == nullptr) return;
  if (receiver != nullptr) receiver->Read(buffer, valid_bytes);
  std::free(buffer);
}

void Cupti::Read(uint8_t* buffer, size_t bytes) {
  const auto add = [&](const auto& record) {
    // What CUPTI did not see to its end has no time.
    if (record.start == 0 || record.end <= record.start) return;
    const auto found = spans_.find(record.streamId);
    if (found == spans_.end()) return;
    Span& span = found->second;
    span.begin = std::min<uint64_t>(span.begin, record.start);
    span.end = std::max<uint64_t>(span.end, record.end);
  };
  const std::lock_guard lock(spans_mutex_);
  CuptiRecord* record = nullptr;
  while (api_.cuptiActivityGetNextRecord(buffer, bytes, &record) ==
         CuptiResult::kSuccess) {
    if (record->kind == CuptiKind::kConcurrentKernel) {
      CuptiKernelRecord kernel;
      std::memcpy(&kernel, record, sizeof(kernel));
      add(kernel);
    } else if (record->kind == CuptiKind::kMemcpy ||
               record->kind == CuptiKind::kMemcpyPeer) {
      CuptiCopyRecord copy;
      std::memcpy(&copy, record, sizeof(copy));
      add(copy);
    }
  }
}

}  // namespace encore::backends::cuda
