#include "encore/backends/cuda/emulator/loaded_module.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "encore/backends/cuda/emulator/linker.h"
#include "encore/ir/support/check.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::ptx {

StatusOr<std::unique_ptr<LoadedModule>> LoadedModule::Load(Module module,
                                                           uint64_t address) {
  ENCORE_CHECK_EQ(address % 4096, 0u);
  std::unique_ptr<LoadedModule> loaded(new LoadedModule(std::move(module)));
  ENCORE_RETURN_IF_ERROR(loaded->PlaceVariables(address));
  const std::vector<Function>& functions = loaded->module_.functions;
  for (uint32_t i = 0; i < functions.size(); ++i) {
    if (!functions[i].is_kernel || !functions[i].defined) continue;
    ENCORE_ASSIGN_OR_RETURN(Program program,
                            LinkKernel(loaded->module_, i, loaded->addresses_));
    loaded->programs_.push_back(std::move(program));
  }
  return loaded;
}

Status LoadedModule::PlaceVariables(uint64_t address) {
  constexpr uint64_t kGap = 256;
  addresses_.resize(module_.variables.size());
  bytes_.resize(module_.variables.size());
  for (size_t i = 0; i < module_.variables.size(); ++i) {
    const Variable& variable = module_.variables[i];
    if (variable.space == Space::kShared) continue;
    const uint64_t alignment = std::max(kGap, variable.alignment);
    address = (address + alignment - 1) / alignment * alignment;
    addresses_[i] = address;
    address += variable.bytes + kGap;
    bytes_[i] = variable.value;
    bytes_[i].resize(variable.bytes);
    allocations_.push_back({addresses_[i], bytes_[i], variable.name,
                            variable.space == Space::kConst, true});
  }
  for (size_t i = 0; i < module_.variables.size(); ++i) {
    for (const Variable::Pointer& pointer : module_.variables[i].pointers) {
      if (module_.variables[pointer.variable].space == Space::kShared) {
        return FailedPreconditionError(
            StrCat("variable ", module_.variables[i].name,
                   " has the address of shared memory as its value"));
      }
      uint64_t value;
      std::memcpy(&value, bytes_[i].data() + pointer.offset, sizeof(value));
      value += addresses_[pointer.variable];
      std::memcpy(bytes_[i].data() + pointer.offset, &value, sizeof(value));
    }
  }
  return OkStatus();
}

StatusOr<const Program*> LoadedModule::Kernel(std::string_view name) const {
  const auto found = std::ranges::find(programs_, name, &Program::name);
  if (found != programs_.end()) return &*found;
  const auto append = [](std::string* out, const Program& program) {
    out->append(program.name);
  };
  return NotFoundError(
      StrCat("no kernel is called ", Quote(name),
             "; there are: ", StrJoin(programs_, ", ", append)));
}

std::optional<Allocation> LoadedModule::FindVariable(
    std::string_view name) const {
  const auto found = std::ranges::find(allocations_, name, &Allocation::name);
  if (found == allocations_.end()) return std::nullopt;
  return *found;
}

}  // namespace encore::ptx
