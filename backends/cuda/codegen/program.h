// KernelProgram: the functions of many kernels as one program, which is
// compiled as a whole.
#ifndef ENCORE_BACKENDS_CUDA_CODEGEN_PROGRAM_H_
#define ENCORE_BACKENDS_CUDA_CODEGEN_PROGRAM_H_

#include <cstddef>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "encore/backends/cuda/codegen/region_kernel.h"
#include "encore/backends/cuda/module_file.h"
#include "encore/ir/support/status.h"

namespace encore::backends::cuda {

class KernelProgram {
 public:
  // Adds a function of region_kernel.h and returns its name, which is a digest
  // of the text.
  std::string Add(const std::string& function);

  bool empty() const { return functions_.empty(); }
  size_t size() const { return functions_.size(); }
  const std::set<std::string>& names() const { return names_; }

  // The program's text. Equal for equal functions, in whatever order they were
  // added.
  std::string Text() const;

 private:
  std::set<std::string> names_;
  std::set<std::string> functions_;
};

// A module file (module_file.h) for each text, a program's: machine code for
// `architectures`, at least one, and PTX for the first of them. `threads`
// compile at a time. The first error of CompileDeviceCode, in order.
StatusOr<std::vector<std::vector<std::byte>>> CompilePrograms(
    std::span<const std::string> texts,
    const std::vector<Architecture>& architectures, int threads);

}  // namespace encore::backends::cuda

#endif  // ENCORE_BACKENDS_CUDA_CODEGEN_PROGRAM_H_
