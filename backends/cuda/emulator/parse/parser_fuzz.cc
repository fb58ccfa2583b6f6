#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "encore/backends/cuda/emulator/launch.h"
#include "encore/backends/cuda/emulator/launch_config.h"
#include "encore/backends/cuda/emulator/loaded_module.h"
#include "encore/backends/cuda/emulator/module.h"
#include "encore/backends/cuda/emulator/parse/parser.h"
#include "encore/ir/support/testing/fuzz_target.h"
#include "encore/ir/support/testing/text_mutations.h"

// Any text is refused or gives a module; what loads runs into its end or an
// error.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  auto module = encore::ptx::ParseModule(text);
  if (!module.ok()) return 0;
  std::vector<std::string> kernels;
  for (const encore::ptx::Function& function : module->functions) {
    if (function.is_kernel && function.defined)
      kernels.push_back(function.name);
  }
  const auto loaded =
      encore::ptx::LoadedModule::Load(*std::move(module), 0x10000);
  if (!loaded.ok()) return 0;
  const std::vector<std::byte> parameters(32768);
  encore::ptx::LaunchConfig config;
  config.block = {32, 1, 1};
  config.parameters = parameters;
  encore::ptx::LaunchOptions options;
  options.most_steps = 1000;
  for (const std::string& name : kernels) {
    const auto kernel = (*loaded)->Kernel(name);
    (void)encore::ptx::Launch(**kernel, config, (*loaded)->variables(), options,
                              nullptr);
  }
  return 0;
}

ENCORE_FUZZ_MUTATORS(encore::MutateText, encore::CrossTexts)
