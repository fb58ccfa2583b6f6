#include "encore/backends/cuda/testing/batched_backend.h"

#include <algorithm>
#include <ctime>
#include <utility>

#include "encore/backends/cuda/codegen/cubin.h"
#include "encore/backends/cuda/cuda_backend.h"
#include "encore/backends/cuda/kernel_params.h"
#include "encore/backends/cuda/module_builder.h"
#include "encore/backends/cuda/testing/emulated_kernel.h"
#include "encore/backends/host_memory_device.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::backends::cuda {
namespace {

using Modules = std::map<std::string, std::shared_ptr<const ptx::LoadedModule>>;

// The modules of the backend that makes devices: a loader is a plain function.
const Modules*& ModulesInUse() {
  static const Modules* modules = nullptr;
  return modules;
}

StatusOr<std::unique_ptr<runtime::Kernel>> LoadNoted(
    const runtime::LoadRequest& request) {
  const runtime::KernelBinary& binary = *request.binary;
  ENCORE_ASSIGN_OR_RETURN(KernelParams params,
                          DecodeKernelParams(binary.params, binary.args));
  std::vector<EmulatedKernel::Module> modules;
  for (const KernelParams::Launch& launch : params.launches) {
    const auto found = ModulesInUse()->find(launch.entry);
    if (found == ModulesInUse()->end()) {
      return InternalError(StrCat("kernel ", launch.entry, " was not noted"));
    }
    modules.push_back(found->second);
  }
  return std::unique_ptr<runtime::Kernel>(std::make_unique<EmulatedKernel>(
      std::move(modules), std::move(params), binary.reads + binary.writes,
      binary.args));
}

const Backend& Cuda() {
  static const Backend* const backend =
      NewCudaBackend([](uint32_t ordinal) {
        return NewHostMemoryDevice("cuda", ordinal, LoadNoted);
      }).release();
  return *backend;
}

}  // namespace

BatchedBackend::BatchedBackend() : WrappedBackend(Cuda()) {}

StatusOr<CompiledModule> BatchedBackend::Compile(
    std::span<const CompileRequest> requests, const CompileOptions& options,
    ArtifactStore*) const {
  CompiledModule module;
  if (noted_.empty() || noted_.back().size() >= kKernelsOfProgram) {
    noted_.emplace_back();
  }
  for (CompileRequest request : requests) {
    const auto candidates = Candidates(request.kernel, options);
    const auto found =
        std::ranges::find_if(candidates, [this](const Candidate& candidate) {
          return std::ranges::find(preferred_, candidate.kernel) !=
                 preferred_.end();
        });
    if (found != candidates.end()) request.candidate = *found;
    ENCORE_ASSIGN_OR_RETURN(
        module.kernels.emplace_back(),
        AddKernel(request, options, limits_, &noted_.back()));
    module.kernels.back().code.artifact = 0;
  }
  module.artifacts.push_back({{std::byte{0}}, /*executable=*/true});
  return module;
}

StatusOr<std::unique_ptr<runtime::Device>> BatchedBackend::NewDevice(
    uint32_t ordinal) const {
  ModulesInUse() = &modules_;
  return WrappedBackend::NewDevice(ordinal);
}

StatusOr<DeviceCode> BatchedBackend::CompileTimed(
    const KernelProgram& program, const Architecture& architecture,
    bool ptx_only) {
  const std::clock_t begin = std::clock();
  StatusOr<DeviceCode> code =
      CompileDeviceCode(program.Text(), architecture, ptx_only);
  figures_.seconds +=
      static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  figures_.functions += program.size();
  return code;
}

Status BatchedBackend::CompileKernels() {
  for (const KernelProgram& program : noted_) {
    if (program.empty()) continue;
    ENCORE_ASSIGN_OR_RETURN(const DeviceCode code,
                            CompileTimed(program, {8, 0}, /*ptx_only=*/true));
    ENCORE_ASSIGN_OR_RETURN(const auto module, LoadEmulatedModule(code.ptx));
    for (const std::string& name : program.names()) modules_[name] = module;
  }
  noted_.clear();
  return OkStatus();
}

Status BatchedBackend::CheckMachineCode(
    std::span<const Architecture> architectures) {
  for (const KernelProgram& program : noted_) {
    if (program.empty()) continue;
    for (const Architecture& architecture : architectures) {
      ENCORE_ASSIGN_OR_RETURN(
          const DeviceCode code,
          CompileTimed(program, architecture, /*ptx_only=*/false));
      if (SpilledBytes(code.log) > 0) {
        return InternalError(StrCat(Name(architecture), ": ", code.log));
      }
      ENCORE_ASSIGN_OR_RETURN(const auto resources, ReadResources(code.cubin));
      for (const auto& [name, of] : resources) {
        figures_.most_registers =
            std::max(figures_.most_registers, of.registers);
        figures_.most_frame_bytes =
            std::max(figures_.most_frame_bytes, of.frame_bytes);
        figures_.most_shared_bytes =
            std::max(figures_.most_shared_bytes, of.shared_bytes);
      }
    }
  }
  noted_.clear();
  return OkStatus();
}

}  // namespace encore::backends::cuda
