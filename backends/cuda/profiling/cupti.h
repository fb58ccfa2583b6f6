// Cupti: what work of a stream took by the device's own clock, from CUPTI's
// records of kernels and copies, where that library is there.
//
// The library is a table of functions, found at run time, so that one program
// runs with and without it. CUPTI belongs to the process, and records go to
// callbacks without an object, so that there is one Cupti for each library.
// Records are made only between a Start and its Stop.
//
// Of two clients that register callbacks the later one gets all records, and
// buffers of the earlier one too; CUPTI refuses neither. So nothing opens it
// unasked (CuptiLibrary): who asks says that the process has no other profiler
// by CUPTI's activities, as PyTorch's is.
//
// Source: NVIDIA's documentation of CUPTI, "CUPTI Activity API".
#ifndef ENCORE_BACKENDS_CUDA_PROFILING_CUPTI_H_
#define ENCORE_BACKENDS_CUDA_PROFILING_CUPTI_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "encore/backends/cuda/driver/types.h"
#include "encore/backends/cuda/profiling/cupti_types.h"
#include "encore/ir/support/status.h"

namespace encore::backends::cuda {

struct CuptiTable {
#define ENCORE_CUPTI_FUNCTION(name, parameters) \
  CuptiResult(*name) parameters = nullptr;
#include "encore/backends/cuda/profiling/cupti_functions.def"
#undef ENCORE_CUPTI_FUNCTION
};

// Thread-safe.
class Cupti {
 public:
  // The library at `path`, a path or a name that the dynamic linker looks for;
  // it is loaded once in a process and stays. REQUIRES a driver with a context:
  // CUPTI does not look whether there is one. FailedPrecondition where it is
  // not there, lacks a function or is of another major version than records are
  // known of; Internal with what it says where it gives no records. REQUIRES
  // that nothing else in the process registers callbacks for activities.
  static StatusOr<Cupti*> Open(const std::string& path);

  // Records of work of `stream` from here on. REQUIRES that nothing is enqueued
  // there, and that the stream's earlier Start was stopped.
  Status Start(CUcontext context, CUstream stream);
  // From the beginning of the first to the end of the last piece of work since
  // Start, in nanoseconds; nothing where CUPTI has no record of any. REQUIRES
  // that all of it is done.
  StatusOr<std::optional<int64_t>> Stop(CUcontext context, CUstream stream);

 private:
  struct Span {
    uint64_t begin = UINT64_MAX, end = 0;
  };

  Cupti() = default;
  Status Bind(void* library, const std::string& path);
  Status ToStatus(CuptiResult result, const char* what) const;
  StatusOr<uint32_t> IdOf(CUcontext context, CUstream stream) const;
  // Makes records of all kinds, or of none; the mutex is held.
  Status Enable();
  void Disable();
  static void RequestBuffer(uint8_t** buffer, size_t* bytes,
                            size_t* most_records);
  static void TakeBuffer(CUcontext context, uint32_t stream, uint8_t* buffer,
                         size_t bytes, size_t valid_bytes);
  void Read(uint8_t* buffer, size_t bytes);

  CuptiTable api_;
  std::mutex mutex_;  // of uses_
  int64_t uses_ = 0;  // of Start without Stop
  // Not held while a function is called, which may come back with records.
  std::mutex spans_mutex_;
  std::map<uint32_t, Span> spans_;  // by stream: of those that are timed
};

// ENCORE_CUPTI: a path, or a name that the dynamic linker looks for. Empty
// where it is not set, or the process has privileges that its caller lacks: no
// CUPTI.
std::string CuptiLibrary();

}  // namespace encore::backends::cuda

#endif  // ENCORE_BACKENDS_CUDA_PROFILING_CUPTI_H_
