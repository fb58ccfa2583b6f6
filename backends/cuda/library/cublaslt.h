// CublasLt: cuBLASLt as a table of functions, found at run time, so that one
// program runs with and without it.
//
// Source: NVIDIA's cuBLAS documentation, "Using the cuBLASLt API".
#ifndef ENCORE_BACKENDS_CUDA_LIBRARY_CUBLASLT_H_
#define ENCORE_BACKENDS_CUDA_LIBRARY_CUBLASLT_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "encore/backends/cuda/driver/types.h"
#include "encore/backends/cuda/library/cublaslt_types.h"
#include "encore/ir/support/status.h"

namespace encore::backends::cuda {

struct CublasLtTable {
#define ENCORE_CUBLASLT_FUNCTION(result, name, parameters) \
  result(*name) parameters = nullptr;
#include "encore/backends/cuda/library/cublaslt_functions.def"
#undef ENCORE_CUBLASLT_FUNCTION
};

// Thread-safe.
class CublasLt {
 public:
  // The library at `path`, a path or a name that the dynamic linker looks for;
  // it is loaded once in a process and stays. FailedPrecondition says what is
  // wrong where it is not there, lacks a function, or is of another major
  // version than recipes are written for.
  static StatusOr<std::shared_ptr<CublasLt>> Open(const std::string& path);

  // Ok for kSuccess; else names `what` was done, the status and its number:
  // ResourceExhausted for lack of memory, Internal otherwise.
  Status ToStatus(LtStatus status, const char* what) const;

  const CublasLtTable& api() const { return api_; }
  // "13.1.0".
  const std::string& version() const { return version_; }

  // Algorithms that were chosen before in this process, for the same key.
  std::optional<LtAlgorithm> Recall(const std::string& key) const;
  void Keep(const std::string& key, const LtAlgorithm& algorithm);

 private:
  CublasLt() = default;
  Status Bind(void* library, const std::string& path);

  CublasLtTable api_;
  std::string version_;
  mutable std::mutex mutex_;
  std::map<std::string, LtAlgorithm> kept_;
};

// ENCORE_CUBLASLT where it is set, else libcublasLt.so.13.
std::string CublasLtLibrary();

}  // namespace encore::backends::cuda

#endif  // ENCORE_BACKENDS_CUDA_LIBRARY_CUBLASLT_H_
