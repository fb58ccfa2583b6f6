// A program with a recipe (recipe.h), loaded: the library's product where the
// library has an algorithm for it on this device, else the generated kernel
// that the program carries. Which of the two it is, and why, its note says.
#ifndef ENCORE_BACKENDS_CUDA_LIBRARY_LIBRARY_KERNEL_H_
#define ENCORE_BACKENDS_CUDA_LIBRARY_LIBRARY_KERNEL_H_

#include <memory>
#include <string>
#include <utility>

#include "encore/backends/cuda/library/cublaslt.h"
#include "encore/backends/cuda/library/cublaslt_types.h"
#include "encore/backends/cuda/library/recipe.h"
#include "encore/backends/cuda/module_file.h"
#include "encore/backends/cuda/runtime/context.h"
#include "encore/backends/cuda/runtime/kernel.h"
#include "encore/ir/support/status.h"
#include "encore/runtime/device/device.h"
#include "encore/runtime/plan/compiled_graph.h"

namespace encore::backends::cuda {

// cuBLASLt's handle for the context of a device.
class CublasLtHandle {
 public:
  // Of the library at `path`; errors of CublasLt::Open, and what creating a
  // handle gives.
  static StatusOr<std::shared_ptr<const CublasLtHandle>> New(
      std::shared_ptr<const Context> context, const std::string& path);
  ~CublasLtHandle();
  CublasLtHandle(const CublasLtHandle&) = delete;
  CublasLtHandle& operator=(const CublasLtHandle&) = delete;

  CublasLt& library() const { return *library_; }
  const Context& context() const { return *context_; }
  LtHandle get() const { return handle_; }

 private:
  CublasLtHandle(std::shared_ptr<const Context> context,
                 std::shared_ptr<CublasLt> library)
      : context_(std::move(context)), library_(std::move(library)) {}

  const std::shared_ptr<const Context> context_;
  const std::shared_ptr<CublasLt> library_;
  LtHandle handle_ = nullptr;
};

// What a library's kernels are made with.
struct LibraryPlace {
  // Or why there is none.
  StatusOr<std::shared_ptr<const CublasLtHandle>> cublaslt;
  Architecture architecture;
  std::shared_ptr<DirectQueue> direct;
};

// `generated` is the loaded kernel of params.params, of `binary`. An algorithm
// is chosen here, by the library's heuristics unless one was chosen before in
// this process. Never fails: what goes wrong becomes the kernel's note.
std::unique_ptr<runtime::Kernel> NewLibraryKernel(
    LibraryParams params, const runtime::KernelBinary& binary,
    std::unique_ptr<runtime::Kernel> generated, const LibraryPlace& place);

}  // namespace encore::backends::cuda

#endif  // ENCORE_BACKENDS_CUDA_LIBRARY_LIBRARY_KERNEL_H_
