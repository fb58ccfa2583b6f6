// Nvtx: named ranges on the timeline of a profiler that is attached to the
// process (Nsight Systems, for one), by version 3 of NVIDIA's tools extension.
//
// A profiler names its library in NVTX_INJECTION64_PATH. That library is handed
// tables of pointers to functions and fills in its own; there is nothing of
// NVIDIA's to link or to install. Without the variable nothing is opened, and
// whoever would open ranges has a null pointer to look at.
//
// Source: the header-only library NVTX v3, nvtx3/nvtxDetail/nvtxInit.h
// (InitializeInjectionNvtx2) and nvtxTypes.h (export tables and their numbers).
#ifndef ENCORE_RUNTIME_REPLAY_NVTX_H_
#define ENCORE_RUNTIME_REPLAY_NVTX_H_

#include <cstdint>
#include <string>

namespace encore::runtime {

// Thread-safe; a range is of the thread that opens it.
class Nvtx {
 public:
  // The profiler that is attached; null where there is none, or it wants no
  // ranges. Attached by the first call; it stays as long as the process lives.
  static const Nvtx* Attached();

  // A name that ranges of any number may have. The profiler keeps it, once
  // however often it is registered.
  using Name = const void*;
  Name Register(const std::string& text) const;

  // Begins a range within those that this thread has open, and ends the last.
  void Push(Name name) const;
  void Pop() const;

 private:
  Nvtx() = default;
  bool Attach(const char* library);

  void* domain_ = nullptr;
};

// A range for as long as it lives; none where `nvtx` or the name is null.
class NvtxRange {
 public:
  NvtxRange(const Nvtx* nvtx, Nvtx::Name name)
      : nvtx_(name == nullptr ? nullptr : nvtx) {
    if (nvtx_ != nullptr) nvtx_->Push(name);
  }
  ~NvtxRange() {
    if (nvtx_ != nullptr) nvtx_->Pop();
  }
  NvtxRange(const NvtxRange&) = delete;
  NvtxRange& operator=(const NvtxRange&) = delete;

 private:
  const Nvtx* const nvtx_;
};

}  // namespace encore::runtime

#endif  // ENCORE_RUNTIME_REPLAY_NVTX_H_
