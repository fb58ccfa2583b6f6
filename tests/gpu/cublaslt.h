// cuBLASLt's products, for comparison: a library that is opened at run time and
// of which nothing is needed to build.
//
// Source: NVIDIA's cuBLAS documentation, "Using the cuBLASLt API"; enumerators
// and the layout of results are those of cublasLt.h of CUDA 13.
#ifndef ENCORE_TESTS_GPU_CUBLASLT_H_
#define ENCORE_TESTS_GPU_CUBLASLT_H_

#include <cstdint>
#include <functional>
#include <memory>

#include "encore/backends/cuda/driver/types.h"
#include "encore/ir/support/status.h"
#include "encore/ir/types/dtype.h"

namespace encore::gpu {

// d[m,n] = a[m,k] b[k,n], row-major in device memory, summed in f32.
struct Product {
  int64_t m = 0, n = 0, k = 0;
  DType dtype = DType::kF32;  // f32, f16 or bf16
  bool tf32 = false;          // f32 products may be TF32's
  const void* a = nullptr;
  const void* b = nullptr;
  void* d = nullptr;
};

class CublasLt {
 public:
  // ENCORE_CUBLASLT where it is set, else libcublasLt.so.13. The device's
  // context is current on this thread, then and in all calls. NotFound,
  // or FailedPrecondition, say what is wrong with the library.
  static StatusOr<std::unique_ptr<CublasLt>> Open();
  ~CublasLt();
  CublasLt(const CublasLt&) = delete;
  CublasLt& operator=(const CublasLt&) = delete;

  // What enqueues the product in a stream by the algorithm that the library's
  // heuristics put first, with `workspace` of so many bytes. It lives no longer
  // than this.
  using Launch = std::function<Status(CUstream stream)>;
  StatusOr<Launch> Plan(const Product& product, void* workspace,
                        uint64_t workspace_bytes);

 private:
  struct Library;
  struct Problem;
  CublasLt();

  std::unique_ptr<Library> library_;
  void* handle_ = nullptr;
};

}  // namespace encore::gpu

#endif  // ENCORE_TESTS_GPU_CUBLASLT_H_
