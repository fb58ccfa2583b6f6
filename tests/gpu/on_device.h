// A graph on the device under test, with inputs, outputs and weights in its
// memory.
#ifndef ENCORE_TESTS_GPU_ON_DEVICE_H_
#define ENCORE_TESTS_GPU_ON_DEVICE_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "encore/backends/options.h"
#include "encore/ir/graph/graph.h"
#include "encore/ir/support/status.h"
#include "encore/ir/types/literal.h"
#include "encore/runtime/device/device.h"
#include "encore/runtime/device/thread_pool.h"
#include "encore/runtime/plan/compiled_graph.h"
#include "encore/runtime/replay/replayer.h"

namespace encore::gpu {

// A device for each of the graph's, of the backends that are built in.
StatusOr<std::vector<std::shared_ptr<runtime::Device>>> DevicesOf(
    const runtime::CompiledGraph& graph);

// Memory of a device. The device outlives it.
class DeviceMemory {
 public:
  static StatusOr<std::unique_ptr<DeviceMemory>> New(runtime::Device& device,
                                                     int64_t bytes);
  // With the tensor's elements in it.
  static StatusOr<std::unique_ptr<DeviceMemory>> New(runtime::Device& device,
                                                     const Literal& value);
  ~DeviceMemory() { device_.Deallocate(data_, bytes_); }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  void* data() const { return data_; }
  int64_t bytes() const { return bytes_; }

 private:
  DeviceMemory(runtime::Device& device, void* data, int64_t bytes)
      : device_(device), data_(data), bytes_(bytes) {}

  runtime::Device& device_;
  void* const data_;
  const int64_t bytes_;
};

class OnDevice {
 public:
  // Compiles `graph` for options.target, with ports on the device, and prepares
  // the weights among `arguments`, of which there is one for each of the
  // graph's.
  static StatusOr<std::unique_ptr<OnDevice>> New(
      const Graph& graph, std::span<const Literal> arguments,
      backends::CompileOptions options);

  runtime::Replayer& replayer() { return *replayer_; }
  runtime::Device& device() { return *device_; }
  const runtime::CompiledGraph& graph() const { return *graph_; }

 private:
  OnDevice() = default;

  runtime::ThreadPool threads_{1};
  std::shared_ptr<const runtime::CompiledGraph> graph_;
  std::shared_ptr<runtime::Device> device_;
  std::unique_ptr<runtime::Replayer> replayer_;
};

}  // namespace encore::gpu

#endif  // ENCORE_TESTS_GPU_ON_DEVICE_H_
