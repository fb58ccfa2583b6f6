#include "encore/runtime/testing/plan_runs.h"

#include "encore/ir/support/check.h"
#include "encore/ir/support/status_macros.h"
#include "encore/runtime/replay/frame.h"
#include "encore/runtime/replay/weights.h"
#include "encore/runtime/testing/device_plans.h"
#include "encore/runtime/testing/test_device.h"

namespace encore::runtime {

Devices DirectDevices() {
  Devices devices;
  for (const std::string& name : kPlanDevices) {
    devices.push_back(std::make_shared<TestDevice>(name));
  }
  return devices;
}

PlanInputs::PlanInputs(uint32_t seed) : limit(seed % 4) {
  for (uint32_t i = 0; i < 16; ++i) {
    x.push_back(static_cast<float>((seed + i) % 5));
    y.push_back(static_cast<float>(i % 3) - 1);
  }
}

Status Bind(const PlanInputs& inputs, Replayer* replayer) {
  Status status = replayer->BindInput(0, inputs.x.data(), 64);
  if (status.ok()) status = replayer->BindInput(1, inputs.y.data(), 64);
  if (status.ok()) status = replayer->BindInput(2, &inputs.limit, 8);
  return status;
}

StatusOr<std::unique_ptr<Replayer>> NewReplayer(const CompiledGraph& graph,
                                                const Devices& devices,
                                                ThreadPool* threads) {
  auto executable = Executable::Load(std::make_shared<CompiledGraph>(graph),
                                     devices, threads);
  if (!executable.ok()) return executable.status();
  auto weights = Weights::Prepare(*executable, {}, threads);
  if (!weights.ok()) return weights.status();
  return Replayer::Create(*executable, *weights, threads);
}

std::vector<std::string> OutputsOf(Replayer& replayer, size_t count) {
  std::vector<std::string> outputs;
  for (size_t i = 0; i < count; ++i) {
    const Replayer::Output output = replayer.output(i);
    outputs.emplace_back(static_cast<const char*>(output.data), output.bytes);
  }
  return outputs;
}

std::vector<std::string> Expected(const CompiledGraph& graph,
                                  const PlanInputs& inputs,
                                  ThreadPool* threads) {
  auto replayer = NewReplayer(graph, DirectDevices(), threads);
  ENCORE_CHECK_OK(replayer.status());
  ENCORE_CHECK_OK(Bind(inputs, replayer->get()));
  ENCORE_CHECK_OK((*replayer)->Replay());
  return OutputsOf(**replayer, graph.outputs.size());
}

StatusOr<std::vector<std::string>> RunCode(const Executable& executable,
                                           const ReplayCode& code,
                                           const PlanInputs& inputs,
                                           ThreadPool* threads) {
  const CompiledGraph& graph = executable.graph();
  Frame frame(graph, code, executable.devices(), threads);
  ENCORE_RETURN_IF_ERROR(frame.Init());
  ENCORE_RETURN_IF_ERROR(frame.Resize());
  const void* data[] = {inputs.x.data(), inputs.y.data(), &inputs.limit};
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    frame.SetAddress(graph.inputs[i], const_cast<void*>(data[i]));
  }
  std::vector<float> buffers[2];
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    buffers[i].resize(16);
    if (graph.slot(graph.outputs[i]).bytes.is_constant()) {
      frame.SetAddress(graph.outputs[i], buffers[i].data());
    } else {
      frame.SetRunTimeBuffer(graph.outputs[i], buffers[i].data(), 64);
    }
  }
  ENCORE_RETURN_IF_ERROR(frame.Run(nullptr));
  std::vector<std::string> outputs;
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    outputs.emplace_back(reinterpret_cast<const char*>(buffers[i].data()),
                         frame.bytes(graph.outputs[i]));
  }
  return outputs;
}

}  // namespace encore::runtime
