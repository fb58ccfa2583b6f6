// A loaded module: its variables have addresses and values, and each kernel is
// linked into a program.
#ifndef ENCORE_BACKENDS_CUDA_EMULATOR_LOADED_MODULE_H_
#define ENCORE_BACKENDS_CUDA_EMULATOR_LOADED_MODULE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "encore/backends/cuda/emulator/module.h"
#include "encore/backends/cuda/emulator/program.h"
#include "encore/ir/support/status.h"

namespace encore::ptx {

class LoadedModule {
 public:
  // Places the variables from `address` on (REQUIRES it to be a multiple of
  // 4096), with room between them that belongs to nobody.
  static StatusOr<std::unique_ptr<LoadedModule>> Load(Module module,
                                                      uint64_t address);

  // NotFound names the kernels there are.
  StatusOr<const Program*> Kernel(std::string_view name) const;

  // The variables of the global and const spaces. Their bytes change as kernels
  // write to them.
  const std::vector<Allocation>& variables() const { return allocations_; }
  std::optional<Allocation> FindVariable(std::string_view name) const;

 private:
  explicit LoadedModule(Module module) : module_(std::move(module)) {}

  Status PlaceVariables(uint64_t address);

  Module module_;
  std::vector<uint64_t> addresses_;  // of each variable; of shared ones 0
  std::vector<std::vector<std::byte>> bytes_;
  std::vector<Allocation> allocations_;
  std::vector<Program> programs_;
};

}  // namespace encore::ptx

#endif  // ENCORE_BACKENDS_CUDA_EMULATOR_LOADED_MODULE_H_
