#include "encore/tests/gpu/on_device.h"

#include <cstddef>
#include <utility>

#include "encore/backends/backends.h"
#include "encore/backends/compile.h"
#include "encore/ir/support/status_macros.h"
#include "encore/runtime/replay/executable.h"
#include "encore/runtime/replay/weights.h"

namespace encore::gpu {

StatusOr<std::vector<std::shared_ptr<runtime::Device>>> DevicesOf(
    const runtime::CompiledGraph& graph) {
  return backends::NewDevices(graph, backends::AllBackends());
}

StatusOr<std::unique_ptr<DeviceMemory>> DeviceMemory::New(
    runtime::Device& device, int64_t bytes) {
  ENCORE_ASSIGN_OR_RETURN(void* const data, device.Allocate(bytes));
  return std::unique_ptr<DeviceMemory>(new DeviceMemory(device, data, bytes));
}

StatusOr<std::unique_ptr<DeviceMemory>> DeviceMemory::New(
    runtime::Device& device, const Literal& value) {
  ENCORE_ASSIGN_OR_RETURN(
      auto memory, New(device, static_cast<int64_t>(value.bytes().size())));
  ENCORE_RETURN_IF_ERROR(device.CopyFromHost(
      memory->data(), value.bytes().data(), memory->bytes(), nullptr));
  return memory;
}

StatusOr<std::unique_ptr<OnDevice>> OnDevice::New(
    const Graph& graph, std::span<const Literal> arguments,
    backends::CompileOptions options) {
  options.ports = backends::Ports::kDevice;
  std::unique_ptr<OnDevice> here(new OnDevice);
  ENCORE_ASSIGN_OR_RETURN(
      runtime::CompiledGraph compiled,
      backends::Compile(graph, options, backends::AllBackends()));
  here->graph_ =
      std::make_shared<const runtime::CompiledGraph>(std::move(compiled));
  ENCORE_ASSIGN_OR_RETURN(auto devices, DevicesOf(*here->graph_));
  here->device_ = devices.at(0);
  ENCORE_ASSIGN_OR_RETURN(
      auto executable, runtime::Executable::Load(
                           here->graph_, std::move(devices), &here->threads_));
  std::vector<runtime::Blob> weights;
  for (size_t i = 0; i < graph.arguments().size(); ++i) {
    if (!graph.arguments()[i].is_parameter) continue;
    weights.push_back(runtime::Blob::Copy(arguments[i].bytes()));
  }
  ENCORE_ASSIGN_OR_RETURN(
      auto prepared,
      runtime::Weights::Prepare(executable, weights, &here->threads_));
  ENCORE_ASSIGN_OR_RETURN(
      here->replayer_,
      runtime::Replayer::Create(executable, prepared, &here->threads_));
  return here;
}

}  // namespace encore::gpu
