#include "encore/backends/cuda/module_builder.h"

#include <optional>
#include <string>
#include <utility>

#include "encore/backends/cuda/candidates.h"
#include "encore/backends/cuda/codegen/device_compiler.h"
#include "encore/backends/cuda/codegen/region_kernel.h"
#include "encore/backends/cuda/kernel_params.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::backends::cuda {
namespace {

// Everything that the module depends on beside the program's text.
std::string KeyOf(const std::vector<Architecture>& architectures,
                  const std::string& text) {
  std::string key = StrCat("nvrtc ", NvrtcVersion(), "\n");
  for (const Architecture& architecture : architectures) {
    StrAppend(&key, Name(architecture), "\n");
  }
  return key + text;
}

}  // namespace

StatusOr<CompiledKernel> AddKernel(const CompileRequest& request,
                                   Precision precision,
                                   const PlanLimits& limits,
                                   KernelProgram* program) {
  std::optional<GeneratedKernel> generated = GenerateCandidate(
      request.kernel, request.candidate.kernel, precision, limits);
  if (!generated) {
    return InternalError(StrCat("no cuda kernel called ",
                                request.candidate.kernel, " for the region"));
  }
  const Region& region = *request.kernel.region;
  const size_t arguments =
      region.inputs.size() + region.outputs.size() + region.symbols + 2;
  if (arguments > kMostArguments) {
    return InternalError(StrCat("a cuda kernel with ", arguments,
                                " arguments, at most ", kMostArguments));
  }
  CompiledKernel kernel;
  KernelParams& params = generated->params;
  for (size_t i = 0; i < generated->functions.size(); ++i) {
    params.launches[i].entry = program->Add(generated->functions[i]);
  }
  kernel.code.artifact = 0;
  if (!params.launches.empty()) kernel.code.entry = params.launches[0].entry;
  kernel.code.params = Encode(params);
  kernel.scratch = generated->scratch;
  kernel.in_place = std::move(generated->in_place);
  return kernel;
}

StatusOr<CompiledModule> BuildModule(
    std::span<const CompileRequest> requests, Precision precision,
    const std::vector<Architecture>& architectures, ArtifactStore* store) {
  constexpr std::string_view kKind = "cuda/module";
  CompiledModule module;
  KernelProgram program;
  for (const CompileRequest& request : requests) {
    ENCORE_ASSIGN_OR_RETURN(
        module.kernels.emplace_back(),
        AddKernel(request, precision, PlanLimits(), &program));
  }
  if (requests.empty()) return module;
  const std::string key = KeyOf(architectures, program.Text());
  std::optional<std::vector<std::byte>> file;
  if (store != nullptr) file = store->Get(kKind, key);
  if (!file) {
    ENCORE_ASSIGN_OR_RETURN(file, CompileProgram(program, architectures));
    if (store != nullptr) store->Put(kKind, key, *file);
  }
  const std::string requirement = Name(architectures[0]);
  for (CompiledKernel& kernel : module.kernels) {
    kernel.code.requirements.push_back(requirement);
  }
  module.artifacts.push_back({*std::move(file), /*executable=*/true});
  return module;
}

}  // namespace encore::backends::cuda
