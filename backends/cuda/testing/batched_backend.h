// A CUDA backend for tests of many graphs: kernels of all of them are compiled
// as few programs, and run on the PTX interpreter.
//
//   BatchedBackend backend;
//   Compile(graph, …)            for each graph: its kernels are noted
//   backend.CompileKernels()
//   Replay(graph, compiled, …)   kernels are found by name
#ifndef ENCORE_BACKENDS_CUDA_TESTING_BATCHED_BACKEND_H_
#define ENCORE_BACKENDS_CUDA_TESTING_BATCHED_BACKEND_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "encore/backends/conformance/wrapped_backend.h"
#include "encore/backends/cuda/codegen/device_compiler.h"
#include "encore/backends/cuda/codegen/plan.h"
#include "encore/backends/cuda/codegen/program.h"
#include "encore/backends/cuda/emulator/loaded_module.h"
#include "encore/backends/cuda/module_file.h"
#include "encore/ir/support/status.h"

namespace encore::backends::cuda {

class BatchedBackend : public WrappedBackend {
 public:
  BatchedBackend();

  StatusOr<CompiledModule> Compile(std::span<const CompileRequest> requests,
                                   const CompileOptions& options,
                                   ArtifactStore* store) const override;
  // REQUIRES that the backend outlives it.
  StatusOr<std::unique_ptr<runtime::Device>> NewDevice(
      uint32_t ordinal) const override;

  // How the kernels are planned that are noted from here on.
  void set_limits(const PlanLimits& limits) { limits_ = limits; }

  // The kernels to take for regions that have one of them.
  void set_preferred(std::vector<std::string_view> kernels) {
    preferred_ = std::move(kernels);
  }

  // Compiles what was noted since the last call. A program that the compiler or
  // the interpreter refuses is the error.
  Status CompileKernels();

  // The same for `architectures`, to machine code that nothing is run of.
  // Internal where a kernel spills registers.
  Status CheckMachineCode(std::span<const Architecture> architectures);

  // Functions that were compiled, for each architecture, and the seconds of a
  // processor that the compiler took for them.
  struct Figures {
    size_t functions = 0;
    double seconds = 0;
    uint32_t most_registers = 0;
    uint32_t most_frame_bytes = 0;
    uint64_t most_shared_bytes = 0;
  };
  const Figures& figures() const { return figures_; }

 private:
  static constexpr size_t kKernelsOfProgram = 128;

  StatusOr<DeviceCode> CompileTimed(const KernelProgram& program,
                                    const Architecture& architecture,
                                    bool ptx_only);

  PlanLimits limits_;
  std::vector<std::string_view> preferred_;
  mutable std::vector<KernelProgram> noted_;
  std::map<std::string, std::shared_ptr<const ptx::LoadedModule>> modules_;
  Figures figures_;
};

}  // namespace encore::backends::cuda

#endif  // ENCORE_BACKENDS_CUDA_TESTING_BATCHED_BACKEND_H_
