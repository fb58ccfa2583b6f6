// A kernel of the CUDA backend on the PTX interpreter, in host memory: what
// tests of generated code run. Buffers are allocations of their own at
// addresses of their own, so that each access is checked against the one it is
// meant for.
#ifndef ENCORE_BACKENDS_CUDA_TESTING_EMULATED_KERNEL_H_
#define ENCORE_BACKENDS_CUDA_TESTING_EMULATED_KERNEL_H_

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "encore/backends/cuda/emulator/counters.h"
#include "encore/backends/cuda/emulator/launch_config.h"
#include "encore/backends/cuda/emulator/loaded_module.h"
#include "encore/backends/cuda/kernel_params.h"
#include "encore/ir/support/status.h"
#include "encore/runtime/device/device.h"

namespace encore::backends::cuda {

// A module of that PTX, ready to launch.
StatusOr<std::shared_ptr<const ptx::LoadedModule>> LoadEmulatedModule(
    std::string_view text);

class EmulatedKernel : public runtime::Kernel {
 public:
  using Module = std::shared_ptr<const ptx::LoadedModule>;

  // modules[i] has the function of launch i of `params`; they have `buffers`
  // buffers and `args` args.
  EmulatedKernel(std::vector<Module> modules, KernelParams params,
                 uint32_t buffers, uint32_t args);

  Status Launch(const runtime::LaunchContext& context) const override;

  // The same, with what each function did.
  Status LaunchCounted(const runtime::LaunchContext& context,
                       std::vector<ptx::Counters>* counters) const;

  ptx::LaunchOptions& options() { return options_; }
  // Buffers then begin so many bytes behind an aligned address. REQUIRES that
  // many bytes of memory before each.
  // Of the first buffers, so many of them: scratch memory is aligned.
  void set_misalignment(uint64_t bytes, uint32_t buffers) {
    misalignment_ = bytes;
    misaligned_ = buffers;
  }

 private:
  std::vector<Module> modules_;
  KernelParams params_;
  uint32_t buffers_, args_;
  ptx::LaunchOptions options_;
  uint64_t misalignment_ = 0;
  uint32_t misaligned_ = 0;
};

// The kernel of a program of the CUDA backend.
StatusOr<std::unique_ptr<runtime::Kernel>> LoadEmulatedKernel(
    const runtime::LoadRequest& request);

}  // namespace encore::backends::cuda

#endif  // ENCORE_BACKENDS_CUDA_TESTING_EMULATED_KERNEL_H_
