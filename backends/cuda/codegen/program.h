// KernelProgram: the functions of many kernels as one program, which is
// compiled as a whole.
#ifndef ENCORE_BACKENDS_CUDA_CODEGEN_PROGRAM_H_
#define ENCORE_BACKENDS_CUDA_CODEGEN_PROGRAM_H_

#include <cstddef>
#include <set>
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

// A module file (module_file.h) of the program: machine code for
// `architectures`, and PTX for the first of them. Errors of CompileDeviceCode.
StatusOr<std::vector<std::byte>> CompileProgram(
    const KernelProgram& program,
    const std::vector<Architecture>& architectures);

}  // namespace encore::backends::cuda

#endif  // ENCORE_BACKENDS_CUDA_CODEGEN_PROGRAM_H_
