#include "encore/backends/cpu/bound_graph.h"

#include <algorithm>
#include <utility>

#include "encore/backends/backends.h"
#include "encore/backends/compile.h"
#include "encore/ir/support/check.h"
#include "encore/runtime/device/device.h"
#include "encore/runtime/plan/step_kinds.h"
#include "encore/runtime/replay/executable.h"
#include "encore/runtime/replay/weights.h"

namespace encore::backends::cpu {
namespace {

runtime::Blob Filled(const TensorType& type) {
  const int64_t elements = *ElementCount(type.shape.ConstantDims());
  if (type.dtype == DType::kF32) {
    const std::vector<float> values(elements, 0.5f);
    return runtime::Blob::Copy(std::as_bytes(std::span(values)));
  }
  const int64_t bits = elements * BitWidth(type.dtype);
  return runtime::Blob::Copy(std::vector<std::byte>((bits + 7) / 8));
}

}  // namespace

BoundGraph::BoundGraph(const Graph& graph, CpuKernels kernels,
                       runtime::ThreadPool* pool) {
  CompileOptions options;
  options.cpu_kernels = kernels;
  options.threads = pool->size();
  auto compiled = Compile(graph, options, AllBackends());
  ENCORE_CHECK_OK(compiled.status());
  compiled_ =
      std::make_shared<const runtime::CompiledGraph>(*std::move(compiled));
  std::vector<std::shared_ptr<runtime::Device>> devices;
  for (const runtime::DeviceInfo& info : compiled_->devices) {
    devices.push_back(
        *(*FindBackend(info.backend, AllBackends()))->NewDevice(info.ordinal));
  }
  const auto executable = runtime::Executable::Load(compiled_, devices, pool);
  ENCORE_CHECK_OK(executable.status());
  std::vector<runtime::Blob> parameters;
  for (const Graph::Argument& argument : graph.arguments()) {
    if (argument.data) {
      parameters.push_back(runtime::Blob::Copy(argument.data->bytes()));
    } else {
      const TensorType& type = graph.type(argument.value);
      (argument.is_parameter ? parameters : inputs_).push_back(Filled(type));
    }
  }
  const auto weights = runtime::Weights::Prepare(*executable, parameters, pool);
  ENCORE_CHECK_OK(weights.status());
  auto replayer = runtime::Replayer::Create(*executable, *weights, pool);
  ENCORE_CHECK_OK(replayer.status());
  replayer_ = *std::move(replayer);
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const auto bytes = inputs_[i].bytes;
    ENCORE_CHECK_OK(replayer_->BindInput(i, bytes.data(),
                                         static_cast<int64_t>(bytes.size())));
  }
}

void BoundGraph::Replay(runtime::Profiler* profiler) {
  ENCORE_CHECK_OK(replayer_->Replay(profiler));
}

std::optional<VendorProgram> BoundGraph::VendorOf(
    const runtime::Step& step) const {
  const auto* const launch = runtime::LaunchOf(step);
  if (launch == nullptr) return std::nullopt;
  const auto& params = compiled_->kernel_binary(launch->binary).params;
  if (!IsVendor(params)) return std::nullopt;
  const auto decoded = DecodeVendor(params);
  ENCORE_CHECK_OK(decoded.status());
  return decoded->program;
}

}  // namespace encore::backends::cpu
