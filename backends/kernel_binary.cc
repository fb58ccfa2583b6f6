#include "encore/backends/kernel_binary.h"

#include <string>
#include <utility>

#include "encore/ir/support/status_macros.h"

namespace encore::backends {

LaunchShape ShapeOfLaunch(const Region& region, const CompiledKernel& kernel) {
  const bool scratch = !(kernel.scratch == Dim(0));
  return {.reads = region.inputs.size(),
          .writes = region.outputs.size() + (scratch ? 1 : 0),
          .args = region.symbols};
}

runtime::KernelBinary KernelBinaryOf(std::string_view backend,
                                     const KernelCode& code,
                                     const LaunchShape& shape) {
  runtime::KernelBinary binary;
  binary.backend = std::string(backend);
  binary.entry = code.entry;
  binary.params = code.params;
  binary.requirements = code.requirements;
  binary.identity = code.identity;
  binary.reads = static_cast<uint32_t>(shape.reads);
  binary.writes = static_cast<uint32_t>(shape.writes);
  binary.args = static_cast<uint32_t>(shape.args);
  return binary;
}

runtime::LoadRequest LoadRequestOf(const CompiledModule& module,
                                   const KernelCode& code,
                                   const runtime::KernelBinary& binary) {
  runtime::LoadRequest request{&binary, {}};
  if (code.artifact >= 0) {
    request.artifact = module.artifacts[code.artifact].bytes;
  }
  return request;
}

StatusOr<std::unique_ptr<runtime::Kernel>> LoadKernel(
    runtime::Device& device, const CompiledModule& module,
    const KernelCode& code, const LaunchShape& shape,
    runtime::ThreadPool* threads) {
  const runtime::KernelBinary binary =
      KernelBinaryOf(device.backend(), code, shape);
  const runtime::LoadRequest request = LoadRequestOf(module, code, binary);
  ENCORE_ASSIGN_OR_RETURN(auto kernels, device.Load({&request, 1}, threads));
  return std::move(kernels[0]);
}

}  // namespace encore::backends
